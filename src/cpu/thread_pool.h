// One pool of worker threads; parallel regions are named and counted (barriers per token is a tracked number).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace sluice {

struct RegionStats {
  std::string name;
  std::uint64_t calls = 0;
  double seconds = 0.0;
  std::uint64_t barriers = 0;  // calls that were opened to the workers; the others were too small and ran on the caller
};

// The body of a parallel region by reference: unlike std::function it never allocates. The callable must outlive the
// call that it is passed to and be callable as const (threads share it); it must not throw.
class RangeBody {
 public:
  template <typename F>
  requires(std::is_invocable_v<const F&, std::int64_t, std::int64_t, int>)
      RangeBody(const F& body)  // NOLINT(google-explicit-constructor)
      : object_(&body), call_([](const void* object, std::int64_t begin, std::int64_t end, int thread) {
          (*static_cast<const F*>(object))(begin, end, thread);
        }) {}

  void operator()(std::int64_t begin, std::int64_t end, int thread) const { call_(object_, begin, end, thread); }

 private:
  const void* object_;
  void (*call_)(const void*, std::int64_t, std::int64_t, int);
};

// Where workers may run.
enum class Pinning : std::uint8_t {
  kNone,   // wherever the system puts them: right when other programs share the machine
  kCores,  // worker i stays on the i-th usable core; the caller, thread 0, is left where it is
};

// Not reentrant: one parallel_for at a time, from one thread. Workers spin briefly, then sleep.
class ThreadPool {
 public:
  static constexpr int kMaxThreads = 1024;

  // threads <= 0: as many as physical cores that this process may use (container limits respected). The pool is smaller
  // than asked for (at most kMaxThreads) where the system refuses to start more threads.
  explicit ThreadPool(int threads = 0, Pinning pinning = Pinning::kNone);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Threads that take part in a region, the caller among them; 1 means that there are no workers.
  int size() const;

  // Runs body(begin, end, thread) over [0, count) and returns when all is done. The range is split at multiples of
  // `grain` (at least 1) and balanced dynamically: a thread that starts late takes less, and is not waited for if it
  // takes nothing. thread is in [0, size()), 0 for the caller. count <= grain runs on the caller, without a barrier.
  // `region` must be a string literal: its address identifies the region's counter. Allocates nothing.
  void parallel_for(const char* region, std::int64_t count, std::int64_t grain, RangeBody body);

  // Figures per region since construction or reset_stats(), by name. Any thread may ask.
  std::vector<RegionStats> stats() const;
  void reset_stats();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Cores this process may use: physical cores within the affinity mask and the cgroup's CPU limit; at least 1.
int usable_cores();

}  // namespace sluice
