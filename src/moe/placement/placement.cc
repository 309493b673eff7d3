#include "moe/placement/placement.h"

#include <algorithm>

#include <fmt/format.h>

namespace sluice::moe {

Result<Placement> Placement::create(PlacementStrategy strategy, std::int32_t num_experts, std::int32_t num_ranks,
                                    std::uint64_t version) {
  if (num_experts < 1 || num_ranks < 1) {
    return Error(
        ErrorCode::kInvalidArgument,
        fmt::format("placement of {} experts on {} ranks: at least one of each is needed", num_experts, num_ranks));
  }
  return Placement(strategy, num_experts, num_ranks, version);
}

std::int32_t Placement::num_local(std::int32_t rank) const {
  return num_experts_ / num_ranks_ + (rank < num_experts_ % num_ranks_ ? 1 : 0);
}

std::int32_t Placement::first_of(std::int32_t rank) const {
  return rank * (num_experts_ / num_ranks_) + std::min(rank, num_experts_ % num_ranks_);
}

ExpertOwner Placement::owner(GlobalExpert id) const {
  const std::int32_t e = index(id);
  if (strategy_ == PlacementStrategy::kRoundRobin) return {e % num_ranks_, LocalExpert{e / num_ranks_}};
  const std::int32_t base = num_experts_ / num_ranks_;
  const std::int32_t longer = num_experts_ % num_ranks_;  // ranks with base + 1 experts
  const std::int32_t in_longer = longer * (base + 1);
  const std::int32_t rank = e < in_longer ? e / (base + 1) : longer + (e - in_longer) / base;
  return {rank, LocalExpert{e - first_of(rank)}};
}

GlobalExpert Placement::global(std::int32_t rank, LocalExpert slot) const {
  if (strategy_ == PlacementStrategy::kRoundRobin) return GlobalExpert{index(slot) * num_ranks_ + rank};
  return GlobalExpert{first_of(rank) + index(slot)};
}

std::int32_t Placement::physical(GlobalExpert id) const {
  const ExpertOwner at = owner(id);
  return first_of(at.rank) + index(at.slot);
}

LocalExpertMap Placement::local_map(std::int32_t rank) const {
  std::vector<LocalExpert> slots(static_cast<std::size_t>(num_experts_), kNoLocalExpert);
  for (std::int32_t slot = 0; slot < num_local(rank); ++slot) {
    slots[static_cast<std::size_t>(index(global(rank, LocalExpert{slot})))] = LocalExpert{slot};
  }
  return LocalExpertMap(std::move(slots));
}

ExpertMask Placement::mask(std::int32_t rank) const {
  std::vector<std::uint8_t> held(static_cast<std::size_t>(num_experts_), 0);
  for (std::int32_t slot = 0; slot < num_local(rank); ++slot) {
    held[static_cast<std::size_t>(index(global(rank, LocalExpert{slot})))] = 1;
  }
  return ExpertMask(std::move(held));
}

std::string_view name_of(PlacementStrategy strategy) {
  return strategy == PlacementStrategy::kLinear ? "linear" : "round_robin";
}

}  // namespace sluice::moe
