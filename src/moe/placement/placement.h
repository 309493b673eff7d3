// Placement: which rank holds which expert, and in which slot.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "moe/ids.h"

namespace sluice::moe {

enum class PlacementStrategy : std::uint8_t {
  kLinear,      // each rank a contiguous range
  kRoundRobin,  // rank r holds r, r + ranks, ...
};

struct ExpertOwner {
  std::int32_t rank = 0;
  LocalExpert slot{0};
};

// Global -> local of one rank: the slot, or kNoLocalExpert for an expert that lives elsewhere.
class LocalExpertMap {
 public:
  explicit LocalExpertMap(std::vector<LocalExpert> slots) : slots_(std::move(slots)) {}
  // REQUIRES: id in range, or kNoGlobalExpert (which stays "none").
  LocalExpert operator[](GlobalExpert id) const {
    return id == kNoGlobalExpert ? kNoLocalExpert : slots_[static_cast<std::size_t>(index(id))];
  }
  std::span<const LocalExpert> slots() const { return slots_; }

 private:
  std::vector<LocalExpert> slots_;
};

// Which experts a rank holds, as 0 and 1. A type of its own: vLLM once gave kernels that wanted this mask the -1/slot
// map, both being vectors of about num_experts integers, and every answer was wrong.
class ExpertMask {
 public:
  explicit ExpertMask(std::vector<std::uint8_t> held) : held_(std::move(held)) {}
  bool holds(GlobalExpert id) const { return id != kNoGlobalExpert && held_[static_cast<std::size_t>(index(id))] != 0; }
  std::span<const std::uint8_t> values() const { return held_; }

 private:
  std::vector<std::uint8_t> held_;
};

// Immutable; a change of placement is a new value with a higher version. The counts may be uneven: the first
// num_experts % num_ranks ranks hold one more.
class Placement {
 public:
  // Errors: kInvalidArgument for num_experts < 1 or num_ranks < 1. Ranks without experts are allowed.
  static Result<Placement> create(PlacementStrategy strategy, std::int32_t num_experts, std::int32_t num_ranks,
                                  std::uint64_t version = 0);

  PlacementStrategy strategy() const { return strategy_; }
  std::int32_t num_experts() const { return num_experts_; }
  std::int32_t num_ranks() const { return num_ranks_; }
  std::uint64_t version() const { return version_; }

  // Experts that a rank holds. REQUIRES: 0 <= rank < num_ranks().
  std::int32_t num_local(std::int32_t rank) const;
  // REQUIRES: id in range.
  ExpertOwner owner(GlobalExpert id) const;
  // The inverse. REQUIRES: rank in range, slot below num_local(rank).
  GlobalExpert global(std::int32_t rank, LocalExpert slot) const;
  // Number of an expert's slot when the slots of all ranks are counted through, rank by rank.
  std::int32_t physical(GlobalExpert id) const;

  LocalExpertMap local_map(std::int32_t rank) const;
  ExpertMask mask(std::int32_t rank) const;

 private:
  Placement(PlacementStrategy strategy, std::int32_t num_experts, std::int32_t num_ranks, std::uint64_t version)
      : strategy_(strategy), num_experts_(num_experts), num_ranks_(num_ranks), version_(version) {}
  std::int32_t first_of(std::int32_t rank) const;  // slots of all lower ranks

  PlacementStrategy strategy_;
  std::int32_t num_experts_;
  std::int32_t num_ranks_;
  std::uint64_t version_;
};

std::string_view name_of(PlacementStrategy strategy);

}  // namespace sluice::moe
