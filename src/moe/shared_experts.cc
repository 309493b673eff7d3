#include "moe/shared_experts.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace sluice::moe {
namespace {

class FusedStore final : public ExpertWeightStore {
 public:
  FusedStore(std::shared_ptr<const ExpertWeightStore> routed, std::vector<ExpertMatrices> shared)
      : routed_(std::move(routed)), shared_(std::move(shared)) {}

  std::int32_t num_experts() const override {
    return routed_->num_experts() + static_cast<std::int32_t>(shared_.size());
  }
  ExpertMatrices expert(LocalExpert id) const override {
    const std::int32_t routed = routed_->num_experts();
    return index(id) < routed ? routed_->expert(id) : shared_[static_cast<std::size_t>(index(id) - routed)];
  }
  // Shared experts are used by every token: the store below is told about the routed ones only.
  void will_need(std::span<const LocalExpert> ids) const override {
    std::vector<LocalExpert> routed;
    for (const LocalExpert id : ids) {
      if (index(id) < routed_->num_experts()) routed.push_back(id);
    }
    routed_->will_need(routed);
  }

 private:
  std::shared_ptr<const ExpertWeightStore> routed_;
  std::vector<ExpertMatrices> shared_;
};

WeightView slice_columns(WeightView view, std::int64_t first, std::int64_t count) {
  const auto skipped = row_bytes(view.dtype, static_cast<std::uint64_t>(first));
  view.data += skipped.value_or(0);
  view.cols = count;
  if (view.scales != nullptr) view.scales += first / 128;
  return view;
}

const float* offset(const float* values, std::int64_t by) { return values == nullptr ? nullptr : values + by; }

}  // namespace

ExpertMatrices shared_expert_slice(const ExpertMatrices& all, std::int64_t intermediate_size, std::int32_t i) {
  const std::int64_t first = i * intermediate_size;
  return {.gate = all.gate.slice_rows(first, intermediate_size),
          .up = all.up.slice_rows(first, intermediate_size),
          .down = slice_columns(all.down, first, intermediate_size),
          .gate_bias = offset(all.gate_bias, first),
          .up_bias = offset(all.up_bias, first),
          .down_bias = i == 0 ? all.down_bias : nullptr};
}

std::shared_ptr<const ExpertWeightStore> with_fused_shared(std::shared_ptr<const ExpertWeightStore> routed,
                                                           const ExpertMatrices& shared, const MoeSpec& spec) {
  std::vector<ExpertMatrices> slices;
  for (std::int32_t i = 0; i < spec.shared.count; ++i) {
    slices.push_back(shared_expert_slice(shared, spec.intermediate_size, i));
  }
  return std::make_shared<FusedStore>(std::move(routed), std::move(slices));
}

void inject_shared_experts(const RoutingProgram& routing, std::int32_t count, std::int64_t tokens,
                           const GlobalExpert* ids, const float* weights, const float* gate, GlobalExpert* fused_ids,
                           float* fused_weights) {
  const std::int64_t top_k = routing.top_k;
  const std::int64_t slots = top_k + count;
  for (std::int64_t t = 0; t < tokens; ++t) {
    std::copy_n(ids + t * top_k, top_k, fused_ids + t * slots);
    std::copy_n(weights + t * top_k, top_k, fused_weights + t * slots);
    for (std::int32_t i = 0; i < count; ++i) {
      fused_ids[t * slots + top_k + i] = GlobalExpert{routing.num_experts + i};
      fused_weights[t * slots + top_k + i] = gate == nullptr ? 1.0F : gate[t];
    }
  }
}

}  // namespace sluice::moe
