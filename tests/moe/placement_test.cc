// Placement: both strategies, even and uneven counts, and the two forms of the map.
#include <set>

#include <gtest/gtest.h>

#include "moe/placement/placement.h"

namespace sluice::moe {
namespace {

std::vector<std::int32_t> experts_of(const Placement& placement, std::int32_t rank) {
  std::vector<std::int32_t> ids;
  for (std::int32_t s = 0; s < placement.num_local(rank); ++s) {
    ids.push_back(index(placement.global(rank, LocalExpert{s})));
  }
  return ids;
}

TEST(Placement, LinearGivesTheRemainderToTheFirstRanks) {
  const auto placement = Placement::create(PlacementStrategy::kLinear, 10, 4);
  ASSERT_TRUE(placement.ok());
  EXPECT_EQ(experts_of(*placement, 0), (std::vector{0, 1, 2}));
  EXPECT_EQ(experts_of(*placement, 1), (std::vector{3, 4, 5}));
  EXPECT_EQ(experts_of(*placement, 2), (std::vector{6, 7}));
  EXPECT_EQ(experts_of(*placement, 3), (std::vector{8, 9}));
}

TEST(Placement, RoundRobinDealsThemOut) {
  const auto placement = Placement::create(PlacementStrategy::kRoundRobin, 10, 4);
  ASSERT_TRUE(placement.ok());
  EXPECT_EQ(experts_of(*placement, 0), (std::vector{0, 4, 8}));
  EXPECT_EQ(experts_of(*placement, 1), (std::vector{1, 5, 9}));
  EXPECT_EQ(experts_of(*placement, 3), (std::vector{3, 7}));
  EXPECT_EQ(placement->physical(GlobalExpert{5}), 4) << "three slots of rank 0, then slot 1 of rank 1";
  EXPECT_EQ(placement->physical(GlobalExpert{7}), 9);
}

TEST(Placement, EveryExpertHasOneSlotAndBackAgain) {
  for (const PlacementStrategy strategy : {PlacementStrategy::kLinear, PlacementStrategy::kRoundRobin}) {
    for (const std::int32_t experts : {1, 3, 8, 60, 257, 70000}) {
      for (const std::int32_t ranks : {1, 2, 3, 7, 64}) {
        const auto placement = Placement::create(strategy, experts, ranks, 5);
        ASSERT_TRUE(placement.ok());
        EXPECT_EQ(placement->version(), 5U);
        std::int32_t total = 0;
        std::int32_t most = 0;
        std::int32_t least = experts;
        for (std::int32_t r = 0; r < ranks; ++r) {
          total += placement->num_local(r);
          most = std::max(most, placement->num_local(r));
          least = std::min(least, placement->num_local(r));
        }
        EXPECT_EQ(total, experts);
        EXPECT_LE(most - least, 1);
        std::vector<bool> taken(static_cast<std::size_t>(experts), false);
        for (std::int32_t e = 0; e < experts; ++e) {
          const ExpertOwner owner = placement->owner(GlobalExpert{e});
          ASSERT_GE(owner.rank, 0);
          ASSERT_LT(owner.rank, ranks);
          ASSERT_LT(index(owner.slot), placement->num_local(owner.rank));
          ASSERT_EQ(placement->global(owner.rank, owner.slot), GlobalExpert{e});
          const std::int32_t physical = placement->physical(GlobalExpert{e});
          ASSERT_GE(physical, 0);
          ASSERT_LT(physical, experts);
          ASSERT_FALSE(taken[static_cast<std::size_t>(physical)]);
          taken[static_cast<std::size_t>(physical)] = true;
        }
      }
    }
  }
}

TEST(Placement, MapAndMaskAgree) {
  for (const PlacementStrategy strategy : {PlacementStrategy::kLinear, PlacementStrategy::kRoundRobin}) {
    const auto placement = Placement::create(strategy, 10, 4);
    ASSERT_TRUE(placement.ok());
    for (std::int32_t r = 0; r < 4; ++r) {
      const LocalExpertMap map = placement->local_map(r);
      const ExpertMask mask = placement->mask(r);
      ASSERT_EQ(map.slots().size(), 10U);
      ASSERT_EQ(mask.values().size(), 10U);
      for (std::int32_t e = 0; e < 10; ++e) {
        const ExpertOwner owner = placement->owner(GlobalExpert{e});
        EXPECT_EQ(map[GlobalExpert{e}], owner.rank == r ? owner.slot : kNoLocalExpert);
        EXPECT_EQ(mask.holds(GlobalExpert{e}), owner.rank == r);
      }
      EXPECT_EQ(map[kNoGlobalExpert], kNoLocalExpert);
      EXPECT_FALSE(mask.holds(kNoGlobalExpert));
    }
  }
  static_assert(!std::is_convertible_v<LocalExpertMap, ExpertMask> &&
                !std::is_convertible_v<ExpertMask, LocalExpertMap>);
}

TEST(Placement, MoreRanksThanExperts) {
  const auto placement = Placement::create(PlacementStrategy::kLinear, 2, 5);
  ASSERT_TRUE(placement.ok());
  EXPECT_EQ(placement->num_local(1), 1);
  EXPECT_EQ(placement->num_local(4), 0);
  EXPECT_TRUE(experts_of(*placement, 4).empty());
}

TEST(Placement, ImpossibleSizesAreErrors) {
  EXPECT_EQ(Placement::create(PlacementStrategy::kLinear, 0, 2).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(Placement::create(PlacementStrategy::kLinear, 8, 0).error().code(), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace sluice::moe
