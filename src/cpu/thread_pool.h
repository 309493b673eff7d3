// One pool of worker threads; parallel regions are named and counted (barriers per token is a tracked number).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

struct RegionStats {
  std::string name;
  std::uint64_t calls = 0;
  double seconds = 0.0;
};

// Not reentrant: one parallel_for at a time, from one thread. Workers spin briefly, then sleep.
class ThreadPool {
 public:
  // threads <= 0: as many as physical cores that this process may use (container limits respected).
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const;

  // Runs body(begin, end, thread) over [0, count) split in chunks of at least `grain`, dynamically balanced.
  // `region` must be a string literal: its address identifies the region's counter.
  void parallel_for(const char* region, std::int64_t count, std::int64_t grain,
                    const std::function<void(std::int64_t begin, std::int64_t end, int thread)>& body);

  // Figures per region since construction or reset_stats().
  std::vector<RegionStats> stats() const;
  void reset_stats();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Cores this process may use: physical cores within the affinity mask and the cgroup's CPU limit; at least 1.
int usable_cores();

}  // namespace sluice
