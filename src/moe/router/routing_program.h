// A routing program: how a router turns logits into experts and weights, described by data instead of a class per
// model.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace sluice::moe {

enum class Score : std::uint8_t {
  kSoftmax,       // over all experts (programs A, B, B')
  kSigmoid,       // per expert (C, D, F)
  kSqrtSoftplus,  // sqrt(softplus(l)) (E, DeepSeek-V4)
};

// What a group of experts is worth when only the best groups are kept.
enum class GroupValue : std::uint8_t { kMax /* DeepSeek-V2 */, kTopTwoSum /* DeepSeek-V3 */ };

// Guard of the division when weights are renormalised: sum + eps, or max(sum, eps).
enum class NormGuard : std::uint8_t { kAdd, kClamp };

enum class WeightPlacement : std::uint8_t { kOutput, kInput /* F: multiplies the expert's input */ };

// Steps: s = score(l + logit bias); selection value = s + selection bias; groups masked; the top_k largest selection
// values win (ties: lower id); weights are s without the bias; renormalised; times scale.
// Source: the programs A to G of docs/routing.md.
struct RoutingProgram {
  std::int32_t num_experts = 0;
  std::int32_t top_k = 0;
  Score score = Score::kSoftmax;
  bool logit_bias = false;      // a bias added to the logits (gpt-oss)
  bool selection_bias = false;  // a bias used for selection only (e_score_correction_bias)
  std::int32_t num_groups = 1;
  std::int32_t groups_used = 1;
  GroupValue group_value = GroupValue::kMax;
  bool normalize = false;
  NormGuard norm_guard = NormGuard::kAdd;
  float norm_epsilon = 0.0F;
  float scale = 1.0F;
  WeightPlacement placement = WeightPlacement::kOutput;
  // Places for programs that are not built yet; validate() refuses them by name.
  bool hash_routing = false;            // E: the first layers choose by token id
  bool joint_shared_normalize = false;  // G: routed and shared experts are normalised together

  bool operator==(const RoutingProgram&) const = default;

  // kInvalidArgument / kUnsupported with the field's name.
  Status validate() const;
  // The letter of the program in the field's taxonomy: 'A' .. 'G'.
  char letter() const;
  // One line for people: "D: sigmoid + selection bias, 8 of 256 experts, 4 of 8 groups (sum of two best), normalised,
  // x2.5".
  std::string describe() const;
};

}  // namespace sluice::moe
