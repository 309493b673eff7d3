// Which rows each expert works on: the (token, top-k slot) pairs of a batch, sorted by expert.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "moe/ids.h"

namespace sluice::moe {

// Pairs are numbered by their "position": experts by rising id, within an expert by rising (token, slot). Pairs without
// an expert (kNoLocalExpert) have no position. A token that names an expert twice has two positions there.
struct ExpertGrouping {
  struct Group {
    LocalExpert expert;
    std::int64_t first;  // position of its first pair
    std::int64_t rows;   // at least 1
  };
  std::vector<Group> groups;            // experts with work, by rising id
  std::vector<std::int32_t> tokens;     // [positions] the pair's token
  std::vector<std::int32_t> positions;  // [tokens * top_k] position of the pair, -1 without an expert

  std::int64_t rows() const { return static_cast<std::int64_t>(tokens.size()); }

  // ids [tokens, top_k], each kNoLocalExpert or in [0, num_experts); tokens * top_k < 2^31. Reuses the vectors.
  // O(pairs + num_experts), or O(pairs log pairs) when the pairs are few.
  void build(std::span<const LocalExpert> ids, std::int32_t top_k, std::int32_t num_experts);
};

}  // namespace sluice::moe
