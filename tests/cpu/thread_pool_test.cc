#include "cpu/thread_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cpu/topology.h"

// Counts every allocation of this program; sanitizers bring their own operator new and keep it.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SLUICE_SANITIZED 1
#endif
#endif
#ifndef SLUICE_SANITIZED
#define SLUICE_COUNT_ALLOCATIONS 1
namespace {
std::atomic<std::int64_t> allocation_count{0};
}  // namespace
// Not inlined: GCC takes the inner free() for a mismatch once it sees through one of the pair only.
[[gnu::noinline]] void* operator new(std::size_t size) {
  allocation_count.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif
#endif

namespace sluice {
namespace {

class ThreadPoolTest : public ::testing::TestWithParam<int> {};

TEST_P(ThreadPoolTest, CoversEveryIndexOnceAtMultiplesOfTheGrain) {
  ThreadPool pool(GetParam());
  ASSERT_EQ(pool.size(), GetParam());
  for (const std::int64_t count : {0, 1, 2, 7, 64, 1000, 4099}) {
    for (const std::int64_t grain : {0, 1, 3, 16, 5000}) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
      pool.parallel_for("cover", count, grain, [&](std::int64_t begin, std::int64_t end, int thread) {
        EXPECT_GE(thread, 0);
        EXPECT_LT(thread, pool.size());
        EXPECT_LT(begin, end);
        EXPECT_EQ(begin % std::max<std::int64_t>(grain, 1), 0);
        for (std::int64_t i = begin; i < end; ++i) visits[static_cast<std::size_t>(i)].fetch_add(1);
      });
      for (std::size_t i = 0; i < visits.size(); ++i) {
        ASSERT_EQ(visits[i].load(), 1) << "index " << i << " of " << count << ", grain " << grain;
      }
    }
  }
}

// What the body writes is visible to the caller, and what the caller wrote to the body, without further locks.
TEST_P(ThreadPoolTest, RegionsOrderMemory) {
  ThreadPool pool(GetParam());
  constexpr std::int64_t kCount = 257;
  std::vector<std::int64_t> values(kCount, 0);
  constexpr int kRounds = 2000;
  for (int round = 0; round < kRounds; ++round) {
    pool.parallel_for("increment", kCount, 4, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) values[static_cast<std::size_t>(i)] += 1;
    });
  }
  for (const std::int64_t value : values) ASSERT_EQ(value, kRounds);
}

// More regions than there are region numbers (2^16): numbers that come back must not end a region early.
TEST_P(ThreadPoolTest, RegionNumbersMayWrap) {
  ThreadPool pool(GetParam());
  std::int64_t slots[4] = {0, 0, 0, 0};
  constexpr int kRounds = 70000;
  for (int round = 0; round < kRounds; ++round) {
    pool.parallel_for("wrap", 4, 1, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) ++slots[i];
    });
  }
  for (const std::int64_t slot : slots) EXPECT_EQ(slot, kRounds);
}

TEST_P(ThreadPoolTest, WakesSleepers) {
  ThreadPool pool(GetParam());
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));  // far longer than workers spin
    std::atomic<std::int64_t> sum{0};
    pool.parallel_for("sum", 100, 1, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) sum += i;
    });
    EXPECT_EQ(sum.load(), 4950);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, ThreadPoolTest, ::testing::Values(1, 2, 3, 8));

TEST(ThreadPool, WorkersTakePart) {
  ThreadPool pool(2);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::atomic<int> inside{0};
  // Each of two chunks waits for the other: one thread alone could not finish.
  pool.parallel_for("meet", 2, 1, [&](std::int64_t, std::int64_t, int) {
    inside.fetch_add(1);
    while (inside.load() < 2) std::this_thread::yield();
    const std::lock_guard<std::mutex> lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(threads.size(), 2U);
}

TEST(ThreadPool, SmallRegionsRunOnTheCaller) {
  ThreadPool pool(4);
  const std::thread::id caller = std::this_thread::get_id();
  int calls = 0;
  pool.parallel_for("small", 16, 16, [&](std::int64_t begin, std::int64_t end, int thread) {
    ++calls;
    EXPECT_EQ(begin, 0);
    EXPECT_EQ(end, 16);
    EXPECT_EQ(thread, 0);
    EXPECT_EQ(std::this_thread::get_id(), caller);
  });
  EXPECT_EQ(calls, 1);
  const std::vector<RegionStats> stats = pool.stats();
  ASSERT_EQ(stats.size(), 1U);
  EXPECT_EQ(stats[0].calls, 1U);
  EXPECT_EQ(stats[0].barriers, 0U);
}

TEST(ThreadPool, CountsRegionsByName) {
  ThreadPool pool(2);
  const auto nothing = [](std::int64_t, std::int64_t, int) {};
  static const char first[] = "twin";
  static const char second[] = "twin";
  for (int i = 0; i < 3; ++i) pool.parallel_for(first, 10, 1, nothing);
  for (int i = 0; i < 4; ++i) pool.parallel_for(second, 10, 10, nothing);
  pool.parallel_for("other", 10, 1,
                    [](std::int64_t, std::int64_t, int) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
  std::vector<RegionStats> stats = pool.stats();
  ASSERT_EQ(stats.size(), 2U);
  EXPECT_EQ(stats[0].name, "other");
  EXPECT_EQ(stats[0].calls, 1U);
  EXPECT_GE(stats[0].seconds, 0.001);
  EXPECT_EQ(stats[1].name, "twin");
  EXPECT_EQ(stats[1].calls, 7U);
  EXPECT_EQ(stats[1].barriers, 3U);
  pool.reset_stats();
  EXPECT_TRUE(pool.stats().empty());
}

TEST(ThreadPool, MoreRegionsThanCounters) {
  ThreadPool pool(1);
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (int i = 0; i < 500; ++i) all.push_back("region " + std::to_string(i));
    return all;
  }();
  for (const std::string& name : names) pool.parallel_for(name.c_str(), 1, 1, [](std::int64_t, std::int64_t, int) {});
  std::uint64_t calls = 0;
  for (const RegionStats& stats : pool.stats()) calls += stats.calls;
  EXPECT_EQ(calls, names.size());
}

TEST(ThreadPool, TakesStdFunctionAndPins) {
  ThreadPool pool(3, Pinning::kCores);
  std::atomic<std::int64_t> sum{0};
  const std::function<void(std::int64_t, std::int64_t, int)> body = [&](std::int64_t begin, std::int64_t end, int) {
    sum += end - begin;
  };
  pool.parallel_for("function", 1000, 1, body);
  EXPECT_EQ(sum.load(), 1000);
}

#ifdef SLUICE_COUNT_ALLOCATIONS
TEST(ThreadPool, AllocatesNothingPerRegion) {
  ThreadPool pool(2);
  std::atomic<std::int64_t> a{0}, b{0}, c{0}, d{0};
  const auto run = [&] {
    pool.parallel_for("allocations", 100, 1,
                      [&](std::int64_t begin, std::int64_t end, int) { a += begin, b += end, c += 1, d += 1; });
  };
  run();
  const std::int64_t before = allocation_count.load();
  for (int i = 0; i < 100; ++i) run();
  EXPECT_EQ(allocation_count.load(), before);
}
#endif

// A made-up tree of /proc and /sys.
class TopologyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const ::testing::TestInfo* info = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ = std::filesystem::path(::testing::TempDir()) / (std::string("topology_") + info->name());
    std::filesystem::remove_all(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::string root() const { return root_.string(); }

  std::filesystem::path root_;
};

TEST_F(TopologyTest, SiblingsAreOneCore) {
  for (int cpu = 0; cpu < 4; ++cpu) {
    const std::string siblings = std::to_string(cpu % 2) + "," + std::to_string(cpu % 2 + 2) + "\n";
    write("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/core_cpus_list", siblings);
  }
  const std::vector<int> all = {0, 1, 2, 3};
  const std::vector<Core> cores = group_cores(all, root());
  ASSERT_EQ(cores.size(), 2U);
  EXPECT_EQ(cores[0].cpus, (std::vector<int>{0, 2}));
  EXPECT_EQ(cores[1].cpus, (std::vector<int>{1, 3}));
  // A mask that holds one sibling of each core, and one that holds both of one.
  EXPECT_EQ(group_cores(std::vector<int>{2, 3}, root()).size(), 2U);
  EXPECT_EQ(group_cores(std::vector<int>{1, 3}, root()).size(), 1U);
}

TEST_F(TopologyTest, UnknownSiblingsAndOldKernels) {
  write("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0-1\n");
  write("sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "0-1\n");
  EXPECT_EQ(group_cores(std::vector<int>{0, 1, 5, 6}, root()).size(), 3U);
}

TEST_F(TopologyTest, NoLimit) {
  EXPECT_EQ(cgroup_cpu_limit(root()), std::nullopt);
  write("proc/self/cgroup", "0::/user.slice\n");
  EXPECT_EQ(cgroup_cpu_limit(root()), std::nullopt);
  write("sys/fs/cgroup/user.slice/cpu.max", "max 100000\n");
  EXPECT_EQ(cgroup_cpu_limit(root()), std::nullopt);
  write("sys/fs/cgroup/user.slice/cpu.max", "nonsense\n");
  EXPECT_EQ(cgroup_cpu_limit(root()), std::nullopt);
}

TEST_F(TopologyTest, SmallestLimitOfAllParents) {
  write("proc/self/cgroup", "0::/a/b/c\n");
  write("sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/a/b/cpu.max", "150000 100000\n");
  write("sys/fs/cgroup/a/cpu.max", "400000 100000\n");
  EXPECT_EQ(cgroup_cpu_limit(root()), 2);  // 1.5 rounded up
  write("sys/fs/cgroup/a/b/c/cpu.max", "50000 100000\n");
  EXPECT_EQ(cgroup_cpu_limit(root()), 1);
}

// A container without a cgroup namespace sees the host's path, but its own group mounted at the root.
TEST_F(TopologyTest, ContainersPathIsNotThere) {
  write("proc/self/cgroup", "0::/docker/0123\n");
  write("sys/fs/cgroup/cpu.max", "300000 100000\n");
  EXPECT_EQ(cgroup_cpu_limit(root()), 3);
}

TEST_F(TopologyTest, VersionOne) {
  write("proc/self/cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/x\n1:name=systemd:/x\n");
  write("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroup_cpu_limit(root()), std::nullopt);
  write("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "250000\n");
  EXPECT_EQ(cgroup_cpu_limit(root()), 3);
}

TEST(Topology, ThisMachine) {
  const std::vector<int> cpus = allowed_cpus();
  ASSERT_FALSE(cpus.empty());
  EXPECT_TRUE(std::is_sorted(cpus.begin(), cpus.end()));
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), static_cast<int>(cpus.size()));
  EXPECT_EQ(ThreadPool().size(), usable_cores());
}

}  // namespace
}  // namespace sluice
