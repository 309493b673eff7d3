#include "moe/expert_grouping.h"

#include <algorithm>

namespace sluice::moe {

void ExpertGrouping::build(std::span<const LocalExpert> ids, std::int32_t top_k, std::int32_t num_experts) {
  const auto pairs = static_cast<std::int32_t>(ids.size());
  groups.clear();
  tokens.clear();
  positions.assign(ids.size(), -1);
  const auto place = [&](std::int32_t pair) {
    const LocalExpert expert = ids[static_cast<std::size_t>(pair)];
    if (groups.empty() || groups.back().expert != expert) groups.push_back({expert, rows(), 0});
    ++groups.back().rows;
    positions[static_cast<std::size_t>(pair)] = static_cast<std::int32_t>(tokens.size());
    tokens.push_back(pair / top_k);
  };

  std::vector<std::int32_t> sorted;
  if (pairs < num_experts / 8) {  // decode with many experts: a table of all of them costs more than a small sort
    for (std::int32_t pair = 0; pair < pairs; ++pair) {
      if (ids[static_cast<std::size_t>(pair)] != kNoLocalExpert) sorted.push_back(pair);
    }
    std::sort(sorted.begin(), sorted.end(), [&](std::int32_t a, std::int32_t b) {
      const std::int32_t x = index(ids[static_cast<std::size_t>(a)]);
      const std::int32_t y = index(ids[static_cast<std::size_t>(b)]);
      return x != y ? x < y : a < b;
    });
  } else {
    std::vector<std::int32_t> first(static_cast<std::size_t>(num_experts) + 1, 0);
    for (const LocalExpert id : ids) {
      if (id != kNoLocalExpert) ++first[static_cast<std::size_t>(index(id)) + 1];
    }
    for (std::size_t e = 1; e < first.size(); ++e) first[e] += first[e - 1];
    sorted.resize(static_cast<std::size_t>(first.back()));
    for (std::int32_t pair = 0; pair < pairs; ++pair) {
      const LocalExpert id = ids[static_cast<std::size_t>(pair)];
      if (id == kNoLocalExpert) continue;
      sorted[static_cast<std::size_t>(first[static_cast<std::size_t>(index(id))]++)] = pair;
    }
  }
  tokens.reserve(sorted.size());
  for (const std::int32_t pair : sorted) place(pair);
}

}  // namespace sluice::moe
