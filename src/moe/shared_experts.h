// Shared experts run as extra routed experts: ids num_experts, num_experts + 1, ... whose weights are injected after
// the routing. Weights that come out of the router are final (scale included), so what is injected is 1, or the value
// of the shared gate.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "moe/spec.h"

namespace sluice::moe {

// Matrices of shared expert i of the `count` that lie side by side: rows [i * I, (i + 1) * I) of gate and up, the same
// columns of down. The down bias belongs to the sum, so it goes with expert 0.
// REQUIRES: fusion_refusal() had nothing to say, so that the columns begin at a block.
ExpertMatrices shared_expert_slice(const ExpertMatrices& all, std::int64_t intermediate_size, std::int32_t i);

// The routed experts' store followed by the shared experts.
std::shared_ptr<const ExpertWeightStore> with_fused_shared(std::shared_ptr<const ExpertWeightStore> routed,
                                                           const ExpertMatrices& shared, const MoeSpec& spec);

// ids, weights [tokens, top_k] -> fused_ids, fused_weights [tokens, top_k + count]: routed slots first, then the shared
// experts with gate[t] (null: 1).
void inject_shared_experts(const RoutingProgram& routing, std::int32_t count, std::int64_t tokens,
                           const GlobalExpert* ids, const float* weights, const float* gate, GlobalExpert* fused_ids,
                           float* fused_weights);

}  // namespace sluice::moe
