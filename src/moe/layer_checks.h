// Checks of a layer's weights against its spec, so that kernels can trust every shape they are given.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "moe/plan.h"
#include "moe/spec.h"

namespace sluice::moe {

// A matrix that kernels can read: data, this shape, a known type, whole blocks per row, rows that lie apart.
// Errors: kInvalidArgument, naming `name`, what was wanted and what was found.
Status check_matrix(std::string_view name, const WeightView& weight, std::int64_t rows, std::int64_t cols);

// The three matrices of an FFN; `bias`: all three biases must be there. Errors name `name`.
Status check_ffn(std::string_view name, const ExpertMatrices& weights, std::int64_t hidden_size,
                 std::int64_t intermediate_size, bool bias);

// All of a layer. Errors: kInvalidArgument (shape or missing weight, by name), kUnsupported (the plan was made for
// another layer).
Status check_layer(const MoeSpec& spec, const MoeWeights& weights, const Plan& plan);

}  // namespace sluice::moe
