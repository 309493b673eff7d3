#include "moe/workspace.h"

#include <new>

#include <fmt/format.h>

namespace sluice::moe {
namespace {

constexpr std::align_val_t kAlignment{64};

}  // namespace

Workspace::~Workspace() {
  for (const Buffer& buffer : buffers_) ::operator delete(buffer.data, kAlignment);
}

Result<std::byte*> Workspace::get(Slot slot, std::size_t bytes) {
  Buffer& buffer = buffers_[static_cast<std::size_t>(slot)];
  if (buffer.size >= bytes && buffer.data != nullptr) return buffer.data;
  ::operator delete(buffer.data, kAlignment);
  buffer = {};
  // Half as much again: a slowly growing batch must not reallocate at every step.
  const std::size_t size = bytes + bytes / 2 + 64;
  void* data = ::operator new(size, kAlignment, std::nothrow);
  if (data == nullptr) {
    return Error(ErrorCode::kResource,
                 fmt::format("no memory for {} MiB of activations; use smaller batches", size >> 20));
  }
  buffer = {static_cast<std::byte*>(data), size};
  return buffer.data;
}

std::size_t Workspace::allocated() const {
  std::size_t sum = 0;
  for (const Buffer& buffer : buffers_) sum += buffer.size;
  return sum;
}

Result<Workspace::Lease> Workspace::acquire() {
  if (in_use_.exchange(true, std::memory_order_acquire)) {
    return Error(ErrorCode::kInvalidArgument,
                 "a forward of these layers is already running; use one object per thread");
  }
  return Lease(*this);
}

}  // namespace sluice::moe
