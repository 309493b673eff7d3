#include "moe/layer_checks.h"

#include <fmt/format.h>

#include "moe/experts/experts.h"
#include "moe/names.h"

namespace sluice::moe {
namespace {

Error invalid(std::string text) { return Error(ErrorCode::kInvalidArgument, "MoE layer: " + std::move(text)); }

Status check_vector(std::string_view name, const float* values, bool wanted) {
  if (wanted && values == nullptr) return invalid(fmt::format("{} is missing", name));
  return Status::success();
}

Status check_plan(const MoeSpec& spec, const Plan& plan) {
  const auto mismatch = [](std::string_view field, const auto& planned, const auto& found) {
    return Error(ErrorCode::kUnsupported,
                 fmt::format("MoE layer: the plan was made for {} {}, the layer has {}", field, planned, found));
  };
  const std::int32_t fused = plan.shared_experts == SharedExpertsMode::kFused ? spec.shared.count : 0;
  if (plan.hidden_size != spec.hidden_size) return mismatch("hidden_size", plan.hidden_size, spec.hidden_size);
  if (plan.padded_hidden_size < spec.hidden_size) {
    return mismatch("padded_hidden_size", plan.padded_hidden_size, spec.hidden_size);
  }
  if (plan.intermediate_size != spec.intermediate_size) {
    return mismatch("intermediate_size", plan.intermediate_size, spec.intermediate_size);
  }
  if (plan.num_experts != spec.routing.num_experts + fused) {
    return mismatch("num_experts", plan.num_experts, spec.routing.num_experts + fused);
  }
  if (plan.shared.count != spec.shared.count) return mismatch("shared experts", plan.shared.count, spec.shared.count);
  if (plan.routing != spec.routing) {
    return mismatch("routing", plan.routing.describe(), spec.routing.describe());
  }
  if (plan.activation != spec.activation)
    return mismatch("activation", name_of(plan.activation), name_of(spec.activation));
  return Status::success();
}

}  // namespace

Status check_matrix(std::string_view name, const WeightView& weight, std::int64_t rows, std::int64_t cols) {
  if (!weight) return invalid(fmt::format("{} is missing", name));
  if (weight.rows != rows || weight.cols != cols) {
    return invalid(fmt::format("{} must be [{}, {}], it is [{}, {}]", name, rows, cols, weight.rows, weight.cols));
  }
  const FormatInfo* info = find_format(weight.dtype);
  if (info == nullptr || info->decode == nullptr) {
    return invalid(fmt::format("{} has type {}, which holds no weights", name, name_of(weight.dtype)));
  }
  const auto bytes = row_bytes(weight.dtype, static_cast<std::uint64_t>(cols));
  if (!bytes) {
    return invalid(fmt::format("{} has rows of {} values, not a whole number of {} blocks of {}", name, cols,
                               info->name, info->block_values));
  }
  if (rows > 1 && weight.row_bytes < *bytes) {
    return invalid(fmt::format("{} has rows {} bytes apart, each needs {}", name, weight.row_bytes, *bytes));
  }
  return Status::success();
}

Status check_ffn(std::string_view name, const ExpertMatrices& weights, std::int64_t hidden_size,
                 std::int64_t intermediate_size, bool bias) {
  const auto part = [&](std::string_view which) { return fmt::format("{} {}", which, name); };
  SLUICE_TRY(check_matrix(part("gate of"), weights.gate, intermediate_size, hidden_size));
  SLUICE_TRY(check_matrix(part("up of"), weights.up, intermediate_size, hidden_size));
  SLUICE_TRY(check_matrix(part("down of"), weights.down, hidden_size, intermediate_size));
  SLUICE_TRY(check_vector(part("gate bias of"), weights.gate_bias, bias));
  SLUICE_TRY(check_vector(part("up bias of"), weights.up_bias, bias));
  return check_vector(part("down bias of"), weights.down_bias, bias);
}

Status check_layer(const MoeSpec& spec, const MoeWeights& weights, const Plan& plan) {
  SLUICE_TRY(check_plan(spec, plan));
  SLUICE_TRY(check_matrix("router", weights.router, spec.routing.num_experts, spec.hidden_size));
  SLUICE_TRY(check_vector("router bias", weights.router_bias, spec.routing.logit_bias));
  SLUICE_TRY(check_vector("selection bias", weights.selection_bias, spec.routing.selection_bias));
  const ExpertsEntry* kernel = find_experts(plan.experts);
  if (kernel == nullptr || kernel->create == nullptr) {
    return Error(ErrorCode::kUnsupported, fmt::format("MoE layer: this build has no experts kernel {}", plan.experts));
  }
  // Those of this rank; fused shared experts are no part of the store yet.
  const std::int32_t fused = plan.shared_experts == SharedExpertsMode::kFused ? spec.shared.count : 0;
  const std::int32_t experts = plan.num_local_experts - fused;
  if (weights.experts == nullptr) return invalid("the experts' weights are missing");
  if (weights.experts->num_experts() != experts) {
    return invalid(fmt::format("{} experts are needed, the store holds {}", experts, weights.experts->num_experts()));
  }
  for (std::int32_t e = 0; e < experts; ++e) {
    SLUICE_TRY(check_ffn(fmt::format("expert {}", e), weights.experts->expert(LocalExpert{e}), spec.hidden_size,
                         spec.intermediate_size, spec.expert_bias));
  }
  if (spec.shared.count > 0) {
    SLUICE_TRY(check_ffn("the shared experts", weights.shared, spec.hidden_size, spec.shared.intermediate_size, false));
    if (spec.shared.gated)
      SLUICE_TRY(check_matrix("gate of the shared experts", weights.shared_gate, 1, spec.hidden_size));
  }
  return Status::success();
}

}  // namespace sluice::moe
