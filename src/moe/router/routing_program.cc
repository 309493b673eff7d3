#include "moe/router/routing_program.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

namespace sluice::moe {
namespace {

Error invalid(std::string text) { return Error(ErrorCode::kInvalidArgument, "routing: " + std::move(text)); }

Error not_built(char letter, std::string_view what) {
  return Error(ErrorCode::kUnsupported,
               fmt::format("routing: program {} ({}) is not supported yet; programs A to D are", letter, what));
}

std::string_view score_name(Score score) {
  switch (score) {
    case Score::kSoftmax:
      return "softmax";
    case Score::kSigmoid:
      return "sigmoid";
    case Score::kSqrtSoftplus:
      return "sqrt(softplus)";
  }
  return "?";
}

// Groups restrict the choice only if some of them are dropped.
bool limits_groups(const RoutingProgram& p) { return p.num_groups > 1 && p.groups_used < p.num_groups; }

}  // namespace

Status RoutingProgram::validate() const {
  if (num_experts < 1) return invalid(fmt::format("num_experts is {}, at least 1 is needed", num_experts));
  if (top_k < 1 || top_k > num_experts) {
    return invalid(fmt::format("top_k is {}, outside 1 to num_experts = {}", top_k, num_experts));
  }
  if (num_groups < 1 || num_experts % num_groups != 0) {
    return invalid(fmt::format("num_groups is {}, which does not divide num_experts = {}", num_groups, num_experts));
  }
  if (groups_used < 1 || groups_used > num_groups) {
    return invalid(fmt::format("groups_used is {}, outside 1 to num_groups = {}", groups_used, num_groups));
  }
  const std::int64_t reachable = std::int64_t{num_experts / num_groups} * groups_used;
  if (top_k > reachable) {
    return invalid(fmt::format("top_k is {}, but groups_used = {} of num_groups = {} hold only {} experts", top_k,
                               groups_used, num_groups, reachable));
  }
  if (!std::isfinite(norm_epsilon) || norm_epsilon < 0.0F) {
    return invalid(fmt::format("norm_epsilon is {}, a finite number of at least 0 is needed", norm_epsilon));
  }
  if (!std::isfinite(scale) || scale <= 0.0F) {
    return invalid(fmt::format("scale is {}, a finite number above 0 is needed", scale));
  }
  if (score != Score::kSoftmax && score != Score::kSigmoid && score != Score::kSqrtSoftplus) {
    return invalid(fmt::format("score has the unknown value {}", static_cast<int>(score)));
  }
  switch (letter()) {
    case 'E':
      return not_built('E', hash_routing ? "experts chosen by token id" : "sqrt(softplus) scores");
    case 'F':
      return not_built('F', "weights multiply the expert's input");
    case 'G':
      return not_built('G', "routed and shared experts normalised together");
    default:
      return Status::success();
  }
}

char RoutingProgram::letter() const {
  if (hash_routing || score == Score::kSqrtSoftplus) return 'E';
  if (placement == WeightPlacement::kInput) return 'F';
  if (joint_shared_normalize) return 'G';
  if (score == Score::kSigmoid) return limits_groups(*this) ? 'D' : 'C';
  return normalize ? 'B' : 'A';
}

std::string RoutingProgram::describe() const {
  std::string text = fmt::format("{}: {}", letter(), score_name(score));
  if (logit_bias) text += " of biased logits";
  if (selection_bias) text += " + selection bias";
  text += fmt::format(", {} of {} experts", top_k, num_experts);
  if (limits_groups(*this)) {
    text += fmt::format(", {} of {} groups ({})", groups_used, num_groups,
                        group_value == GroupValue::kMax ? "best" : "sum of two best");
  }
  if (hash_routing) text += ", first layers by token id";
  if (joint_shared_normalize) {
    text += ", normalised with the shared experts";
  } else {
    text += normalize ? ", normalised" : ", not normalised";
  }
  if (placement == WeightPlacement::kInput) text += ", weights on the input";
  if (scale != 1.0F) text += fmt::format(", x{:.4g}", scale);
  return text;
}

}  // namespace sluice::moe
