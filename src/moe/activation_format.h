// How token rows lie in memory between the parts of the layer. Prepare/finalize backends and experts kernels publish
// which of these they speak; the oracle pairs them.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::moe {

enum class ActivationFormat : std::uint8_t {
  kStandard,  // rows [R, H] with local ids and weights [R, top_k]; an expert finds its rows through an index
  kBatched,   // rows [local experts, capacity, H] with a count per expert; the rest is padding
};

// Who multiplies by the routing weights and sums over a token's experts. Exactly one of the two does it.
enum class WeightAndReduce : std::uint8_t {
  kByExperts,   // experts give [R, H]: sum over the row's local slots, in slot order
  kByFinalize,  // experts give one unweighted row per (row, slot) (standard) or per batched row
};

constexpr std::string_view name_of(ActivationFormat format) {
  return format == ActivationFormat::kStandard ? "standard" : "batched";
}
constexpr std::string_view name_of(WeightAndReduce who) {
  return who == WeightAndReduce::kByExperts ? "experts" : "finalize";
}

}  // namespace sluice::moe
