#include "cpu/thread_pool.h"

#include <immintrin.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <system_error>
#include <thread>

#include "base/check.h"
#include "cpu/topology.h"

namespace sluice {
namespace {

using Clock = std::chrono::steady_clock;

// How long a thread without work spins before it sleeps. Regions of one token follow each other within microseconds;
// waking a sleeper costs 5 to 50.
constexpr std::chrono::microseconds kSpin(50);

// Chunks per thread and region: enough that a thread which loses its core to a neighbour is not waited for long.
constexpr std::int64_t kChunksPerThread = 8;

// Waits until the value differs from `seen`; spins first unless told not to.
std::uint32_t wait_for_change(const std::atomic<std::uint32_t>& value, std::uint32_t seen, bool spin) {
  std::uint32_t now = value.load(std::memory_order_acquire);
  if (spin && now == seen) {
    const auto deadline = Clock::now() + kSpin;
    do {
      for (int i = 0; i < 32 && now == seen; ++i) {
        _mm_pause();
        now = value.load(std::memory_order_acquire);
      }
    } while (now == seen && Clock::now() < deadline);
  }
  while (now == seen) {
    value.wait(seen, std::memory_order_acquire);
    now = value.load(std::memory_order_acquire);
  }
  return now;
}

struct Counter {
  std::atomic<const char*> region{nullptr};
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> barriers{0};
  std::atomic<std::uint64_t> nanoseconds{0};
};

// Counters by the address of the region's name. Written by the pool's one caller, read by anyone. A program has a few
// dozen regions; should they be more than fit, the rest share the last counter.
class Counters {
 public:
  Counter& of(const char* region) {
    const auto address = reinterpret_cast<std::uintptr_t>(region);
    const std::size_t start = (address * 0x9E3779B97F4A7C15ULL) >> 57;  // kSlots = 2^7
    for (std::size_t i = 0; i < kSlots; ++i) {
      Counter& counter = slots_[(start + i) % kSlots];
      const char* owner = counter.region.load(std::memory_order_relaxed);
      if (owner == region) return counter;
      if (owner == nullptr) {
        counter.region.store(region, std::memory_order_release);
        return counter;
      }
    }
    slots_[kSlots].region.store("(other)", std::memory_order_release);
    return slots_[kSlots];
  }

  // Literals of the same text in different files have different addresses: merged by name.
  std::vector<RegionStats> read() const {
    std::map<std::string, RegionStats> by_name;
    for (const Counter& counter : slots_) {
      const char* region = counter.region.load(std::memory_order_acquire);
      const std::uint64_t calls = counter.calls.load(std::memory_order_relaxed);
      if (region == nullptr || calls == 0) continue;
      RegionStats& stats = by_name[region];
      stats.name = region;
      stats.calls += calls;
      stats.barriers += counter.barriers.load(std::memory_order_relaxed);
      stats.seconds += static_cast<double>(counter.nanoseconds.load(std::memory_order_relaxed)) * 1e-9;
    }
    std::vector<RegionStats> all;
    all.reserve(by_name.size());
    for (auto& [name, stats] : by_name) all.push_back(std::move(stats));
    return all;
  }

  void reset() {
    for (Counter& counter : slots_) {
      counter.calls.store(0, std::memory_order_relaxed);
      counter.barriers.store(0, std::memory_order_relaxed);
      counter.nanoseconds.store(0, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr std::size_t kSlots = 128;
  std::array<Counter, kSlots + 1> slots_;
};

}  // namespace

// Protocol. `state` holds, from the top, the region's number (16 bits), kOpen, and how many workers are inside.
//  1. Only the caller writes the job, and only while the region is closed and nobody is inside.
//  2. A worker enters by adding one to `state` while kOpen is set, so what it reads then is the job of that region.
//  3. The caller closes the region once all chunks are taken; from then on nobody enters, and the last worker to leave
//     says so in `finished`. A worker that slept through the region is not waited for.
// The region's number keeps a worker that found no chunk left from entering the same region again and again. It wraps:
// a worker that slept for exactly 2^16 regions sits one out.
struct ThreadPool::Impl {
  static constexpr std::uint32_t kOpen = 1U << 15;
  static constexpr std::uint32_t kInside = kOpen - 1;
  static constexpr std::uint32_t kRegion = 1U << 16;
  static constexpr std::uint32_t kStop = ~0U;  // never a region's state: it would have 2^15 - 1 workers inside

  alignas(64) std::atomic<std::uint32_t> state{0};
  alignas(64) std::atomic<std::int64_t> next{0};
  alignas(64) std::atomic<std::uint32_t> finished{0};

  alignas(64) const RangeBody* body = nullptr;
  std::int64_t count = 0;
  std::int64_t chunk = 0;
  bool spin = true;

  std::atomic<bool> busy{false};
  Counters counters;
  std::vector<std::thread> workers;

  void run_chunks(int thread) {
    while (true) {
      const std::int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
      if (begin >= count) return;
      (*body)(begin, std::min(begin + chunk, count), thread);
    }
  }

  static std::uint32_t number_of(std::uint32_t value) { return value & ~(kOpen | kInside); }

  void work(int thread) {
    std::uint32_t last = 0;  // number of the region seen last
    std::uint32_t now = 0;
    while (true) {
      // Others that enter and leave change `state` too; wait until the number does.
      while (now != kStop && number_of(now) == last) now = wait_for_change(state, now, spin);
      if (now == kStop) return;
      last = number_of(now);
      while (now != kStop && (now & kOpen) != 0 && number_of(now) == last) {
        if (!state.compare_exchange_weak(now, now + 1, std::memory_order_acquire)) continue;
        run_chunks(thread);
        // acq_rel: the last to leave passes on what all who left before it have written.
        now = state.fetch_sub(1, std::memory_order_acq_rel) - 1;
        if ((now & (kOpen | kInside)) == 0) {
          finished.store(last, std::memory_order_release);
          finished.notify_one();
        }
        break;
      }
    }
  }
};

ThreadPool::ThreadPool(int threads, Pinning pinning) : impl_(std::make_unique<Impl>()) {
  const std::vector<Core> cores = usable_core_list();
  const int usable = static_cast<int>(cores.size());
  const int wanted = std::min(threads <= 0 ? usable : threads, kMaxThreads);
  // With more threads than cores a spinning thread keeps a working one from its core.
  impl_->spin = wanted <= usable;
  impl_->workers.reserve(static_cast<std::size_t>(wanted - 1));
  for (int thread = 1; thread < wanted; ++thread) {
    try {
      impl_->workers.emplace_back([impl = impl_.get(), thread] { impl->work(thread); });
    } catch (const std::system_error&) {
      break;
    }
    if (pinning == Pinning::kCores) {
      cpu_set_t mask;
      CPU_ZERO(&mask);
      const int cpu = cores[static_cast<std::size_t>(thread % usable)].cpus.front();
      if (cpu >= CPU_SETSIZE) continue;
      CPU_SET(cpu, &mask);
      // Refused only if the mask of the process shrank meanwhile; the worker then runs where it may.
      (void)::pthread_setaffinity_np(impl_->workers.back().native_handle(), sizeof(mask), &mask);
    }
  }
}

ThreadPool::~ThreadPool() {
  impl_->state.store(Impl::kStop, std::memory_order_release);
  impl_->state.notify_all();
  for (std::thread& worker : impl_->workers) worker.join();
}

int ThreadPool::size() const { return static_cast<int>(impl_->workers.size()) + 1; }

void ThreadPool::parallel_for(const char* region, std::int64_t count, std::int64_t grain, RangeBody body) {
  if (count <= 0) return;
  Impl& impl = *impl_;
  SLUICE_CHECK(!impl.busy.exchange(true, std::memory_order_acquire));
  grain = std::max<std::int64_t>(grain, 1);
  Counter& counter = impl.counters.of(region);
  const auto start = Clock::now();
  if (impl.workers.empty() || count <= grain) {
    body(0, count, 0);
  } else {
    const std::int64_t even = count / (kChunksPerThread * size());
    impl.body = &body;
    impl.count = count;
    impl.chunk = std::max<std::int64_t>((even + grain - 1) / grain, 1) * grain;
    impl.next.store(0, std::memory_order_relaxed);
    const std::uint32_t number = Impl::number_of(impl.state.load(std::memory_order_relaxed)) + Impl::kRegion;
    impl.finished.store(~number, std::memory_order_relaxed);  // numbers come back: forget who finished last time
    impl.state.store(number | Impl::kOpen, std::memory_order_release);
    impl.state.notify_all();
    impl.run_chunks(0);
    const std::uint32_t before = impl.state.fetch_and(~Impl::kOpen, std::memory_order_acq_rel);
    if ((before & Impl::kInside) != 0) {
      std::uint32_t finished = impl.finished.load(std::memory_order_acquire);
      while (finished != number) finished = wait_for_change(impl.finished, finished, impl.spin);
    }
    counter.barriers.fetch_add(1, std::memory_order_relaxed);
  }
  const auto elapsed = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
  counter.nanoseconds.fetch_add(static_cast<std::uint64_t>(elapsed), std::memory_order_relaxed);
  counter.calls.fetch_add(1, std::memory_order_relaxed);
  impl.busy.store(false, std::memory_order_release);
}

std::vector<RegionStats> ThreadPool::stats() const { return impl_->counters.read(); }

void ThreadPool::reset_stats() { impl_->counters.reset(); }

}  // namespace sluice
