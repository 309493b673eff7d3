// The plain oracle of the MoE layer: fp64, one token at a time, the routing program word for word. It shares no code
// with src/moe but the types.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "moe/plan.h"
#include "moe/spec.h"

namespace sluice::moe {

struct ReferenceRouting {
  std::vector<std::int32_t> ids;  // by falling weight, ties by lower id
  std::vector<double> weights;
};

// logits: with the logit bias added already. selection_bias: [num_experts] or null.
ReferenceRouting reference_route(const RoutingProgram& program, std::span<const double> logits,
                                 const float* selection_bias);

// The matrix as doubles, [rows, cols].
std::vector<double> decode_matrix(const WeightView& weight);

// down(act(gate(x)) * up(x)) of one row.
std::vector<double> reference_ffn(const MoeSpec& spec, const ExpertMatrices& weights, std::span<const float> x);

struct ReferenceOutput {
  std::vector<double> out;                // [tokens, H]
  std::vector<ReferenceRouting> routing;  // per token
};
ReferenceOutput reference_forward(const MoeSpec& spec, const MoeWeights& weights, std::span<const float> x);

}  // namespace sluice::moe
