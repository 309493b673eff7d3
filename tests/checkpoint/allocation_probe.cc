#include "checkpoint/allocation_probe.h"

#include <atomic>
#include <cstdlib>
#include <new>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SLUICE_SANITIZER_ALLOCATES
#include <sanitizer/allocator_interface.h>
#endif
#endif

namespace {

std::atomic<std::size_t> largest_size{0};

void note(std::size_t size) {
  std::size_t seen = largest_size.load(std::memory_order_relaxed);
  while (size > seen && !largest_size.compare_exchange_weak(seen, size, std::memory_order_relaxed)) {
  }
}

}  // namespace

#ifdef SLUICE_SANITIZER_ALLOCATES
// A sanitizer brings its own operator new, and tells what it allocates.
[[maybe_unused]] static const int hooks = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, std::size_t size) { note(size); }, [](const volatile void*) {});
#else
namespace {

void* allocate(std::size_t size, std::size_t alignment) {
  note(size);
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* memory = alignment <= alignof(std::max_align_t) ? std::malloc(size == 0 ? 1 : size)
                                                        : std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// The other forms (arrays, nothrow) call these.
void* operator new(std::size_t size) { return allocate(size, 1); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept { std::free(memory); }
#endif

namespace sluice::testing {

AllocationProbe::AllocationProbe() { largest_size = 0; }
std::size_t AllocationProbe::largest() const { return largest_size; }

}  // namespace sluice::testing
