#include "comm/shared_group.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::comm {
namespace {

using std::chrono::milliseconds;

std::shared_ptr<SharedGroup> make_group(std::int32_t ranks, milliseconds deadline = milliseconds(20000)) {
  auto group = SharedGroup::create(ranks, 4096, deadline);
  EXPECT_TRUE(group.ok());
  return *group;
}

EpochFlag& flag_of(const SharedGroup& group, std::int32_t rank) {
  return *reinterpret_cast<EpochFlag*>(group.window(rank).data());
}

TEST(SharedGroup, RefusesSizes) {
  EXPECT_FALSE(SharedGroup::create(0, 64, milliseconds(1)).ok());
  EXPECT_FALSE(SharedGroup::create(SharedGroup::kMaxRanks + 1, 64, milliseconds(1)).ok());
  EXPECT_FALSE(SharedGroup::create(2, SIZE_MAX, milliseconds(1)).ok());
  EXPECT_FALSE(SharedGroup::create(2, 64, milliseconds(0)).ok());
}

// More ranks than cores: each round every rank waits for every other one, and sees what it wrote before its flag.
TEST(SharedGroup, ThreadsSeeWhatWasPublished) {
  constexpr std::int32_t kRanks = 8;
  constexpr std::uint32_t kRounds = 300;
  const auto group = make_group(kRanks);
  std::vector<int> wrong(kRanks, 0);
  std::vector<std::thread> threads;
  for (std::int32_t rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      // Two values by parity: a rank is at most one round ahead.
      const auto value = [&](std::int32_t r, std::uint32_t round) {
        return reinterpret_cast<std::uint32_t*>(group->window(r).data() + 128) + round % 2;
      };
      for (std::uint32_t round = 1; round <= kRounds; ++round) {
        *value(rank, round) = round * 100 + static_cast<std::uint32_t>(rank);
        SharedGroup::publish(flag_of(*group, rank), round);
        for (std::int32_t other = 0; other < kRanks; ++other) {
          if (!group->wait(flag_of(*group, other), round, other, "test").ok()) ++wrong[static_cast<std::size_t>(rank)];
          const std::uint32_t expected = round * 100 + static_cast<std::uint32_t>(other);
          if (*value(other, round) != expected) ++wrong[static_cast<std::size_t>(rank)];
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(kRanks, 0));
}

TEST(SharedGroup, EpochsWrapAround) {
  const auto group = make_group(1, milliseconds(30));
  SharedGroup::publish(flag_of(*group, 0), 2);
  EXPECT_TRUE(group->wait(flag_of(*group, 0), 0xffffffffU, 0, "test").ok());
  EXPECT_FALSE(group->wait(flag_of(*group, 0), 3, 0, "test").ok());
}

TEST(SharedGroup, DeadlineAndLeavingNameTheRank) {
  const auto group = make_group(2, milliseconds(50));
  const Status late = group->wait(flag_of(*group, 1), 1, 1, "dispatch");
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().message(), "rank 1 did not answer within 50 ms in dispatch");
  group->leave(1);
  const Status left = group->wait(flag_of(*group, 1), 1, 1, "dispatch");
  ASSERT_FALSE(left.ok());
  EXPECT_EQ(left.error().message(), "rank 1 has left the group; it was waited for in dispatch");
}

TEST(SharedGroup, KilledProcessIsNoticedBeforeTheDeadline) {
  const auto group = make_group(2);
  group->join(0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    group->join(1);
    SharedGroup::publish(flag_of(*group, 1), 1);
    for (;;) ::pause();
  }
  EXPECT_TRUE(group->wait(flag_of(*group, 1), 1, 1, "start").ok());
  ::kill(child, SIGKILL);
  const auto start = std::chrono::steady_clock::now();
  const Status died = group->wait(flag_of(*group, 1), 2, 1, "dispatch");
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(5000));
  ::waitpid(child, nullptr, 0);
  ASSERT_FALSE(died.ok());
  EXPECT_EQ(died.error().message(), "rank 1 has died; it was waited for in dispatch");
}

TEST(SharedGroup, AgreeNamesTheFieldThatDiffers) {
  const auto group = make_group(3);
  std::vector<std::string> messages(3);
  std::vector<std::thread> threads;
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      const std::vector<AgreedField> fields = {
          {"ep_size", "3"}, {"experts", rank == 2 ? "avx2" : "avx512"}, {"k", "2"}};
      const Status status = group->agree(rank, fields);
      if (!status.ok()) messages[static_cast<std::size_t>(rank)] = status.error().message();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(messages[0], "ranks 0 and 2 differ in experts: 'avx512' and 'avx2'");
  EXPECT_EQ(messages[2], "ranks 2 and 0 differ in experts: 'avx2' and 'avx512'");
  const auto same = make_group(1);
  EXPECT_TRUE(same->agree(0, std::vector<AgreedField>{{"a", "b"}}).ok());
}

}  // namespace
}  // namespace sluice::comm
