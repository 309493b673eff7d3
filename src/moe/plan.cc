#include "moe/plan.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "moe/names.h"
#include "moe/oracle.h"
#include "moe/placement/placement.h"
#include "moe/prepare_finalize/hidden_size_rounding.h"

namespace sluice::moe {
namespace {

// Rows and columns are counted in int32 by kernels; far above any model.
constexpr std::int64_t kMaxSize = std::numeric_limits<std::int32_t>::max() / 2;

Error invalid(std::string text) { return Error(ErrorCode::kInvalidArgument, "MoE layer: " + std::move(text)); }

Status check_inputs(const PlanInputs& inputs) {
  const MoeSpec& spec = inputs.spec;
  SLUICE_TRY(spec.routing.validate());
  const auto size = [](std::string_view name, std::int64_t value) -> Status {
    if (value >= 1 && value <= kMaxSize) return Status::success();
    return invalid(fmt::format("{} is {}, outside 1 to {}", name, value, kMaxSize));
  };
  SLUICE_TRY(size("hidden_size", spec.hidden_size));
  SLUICE_TRY(size("intermediate_size", spec.intermediate_size));
  if (spec.shared.count < 0 || spec.shared.count > kMaxSize - spec.routing.num_experts) {
    return invalid(fmt::format("the number of shared experts is {}", spec.shared.count));
  }
  if (spec.shared.count > 0) SLUICE_TRY(size("intermediate_size of the shared experts", spec.shared.intermediate_size));
  if (spec.shared.gated && spec.shared.count == 0) return invalid("a gate for shared experts, but no shared experts");
  if (inputs.ep_size < 1 || inputs.ep_rank < 0 || inputs.ep_rank >= inputs.ep_size) {
    return invalid(fmt::format("rank {} of {} ranks", inputs.ep_rank, inputs.ep_size));
  }
  return Status::success();
}

std::string_view score_field(Score score) {
  return score == Score::kSoftmax ? "softmax" : score == Score::kSigmoid ? "sigmoid" : "sqrt_softplus";
}

}  // namespace

Result<Plan> make_plan(const PlanInputs& inputs) {
  SLUICE_TRY(check_inputs(inputs));
  const MoeSpec& spec = inputs.spec;
  Oracle oracle(inputs);
  SLUICE_ASSIGN(const BackendEntry* backend, oracle.choose_backend());
  SLUICE_ASSIGN(const SharedExpertsMode shared, oracle.choose_shared());
  SLUICE_ASSIGN(const ExpertsEntry* experts, oracle.choose_experts(*backend, shared));
  SLUICE_ASSIGN(const std::int64_t padded, round_hidden_size(backend->capabilities.name, spec.hidden_size,
                                                             static_cast<std::int64_t>(sizeof(float))));
  SLUICE_ASSIGN(const Placement placement,
                Placement::create(PlacementStrategy::kLinear, spec.routing.num_experts, inputs.ep_size));

  const std::int32_t fused = shared == SharedExpertsMode::kFused ? spec.shared.count : 0;
  Plan plan;
  plan.experts = experts->capabilities.name;
  plan.prepare_finalize = backend->capabilities.name;
  plan.shared_experts = shared;
  plan.isa = experts->capabilities.isa;
  plan.hidden_size = spec.hidden_size;
  plan.padded_hidden_size = padded;
  plan.num_local_experts = placement.num_local(inputs.ep_rank) + fused;
  plan.num_experts = spec.routing.num_experts + fused;
  plan.intermediate_size = spec.intermediate_size;
  plan.ep_size = inputs.ep_size;
  plan.ep_rank = inputs.ep_rank;
  plan.routing = spec.routing;
  plan.shared = spec.shared;
  plan.activation = spec.activation;
  plan.weight_types =
      fmt::format("{}, {}, {}", name_of(inputs.gate_dtype), name_of(inputs.up_dtype), name_of(inputs.down_dtype));
  plan.placement = name_of(placement.strategy());
  plan.refusals = oracle.take_refusals();
  plan.notes = oracle.take_notes();
  return plan;
}

std::vector<PlanField> Plan::agreed_fields() const {
  std::vector<PlanField> fields;
  const auto add = [&](std::string_view name, const auto& value) {
    fields.push_back({std::string(name), fmt::format("{}", value)});
  };
  add("ep_size", ep_size);
  add("prepare_finalize", prepare_finalize);
  add("placement", placement);
  add("experts", experts);
  add("isa", isa_name(isa));
  add("hidden_size", hidden_size);
  add("padded_hidden_size", padded_hidden_size);
  add("intermediate_size", intermediate_size);
  add("num_experts", num_experts);
  add("weight_types", weight_types);
  add("activation", name_of(activation));
  add("shared_experts", name_of(shared_experts));
  add("shared.count", shared.count);
  add("shared.intermediate_size", shared.intermediate_size);
  add("shared.gated", shared.gated);
  add("routing.num_experts", routing.num_experts);
  add("routing.top_k", routing.top_k);
  add("routing.score", score_field(routing.score));
  add("routing.logit_bias", routing.logit_bias);
  add("routing.selection_bias", routing.selection_bias);
  add("routing.num_groups", routing.num_groups);
  add("routing.groups_used", routing.groups_used);
  add("routing.group_value", routing.group_value == GroupValue::kMax ? "max" : "top_two_sum");
  add("routing.normalize", routing.normalize);
  add("routing.norm_guard", routing.norm_guard == NormGuard::kAdd ? "add" : "clamp");
  add("routing.norm_epsilon", routing.norm_epsilon);
  add("routing.scale", routing.scale);
  return fields;
}

std::uint64_t Plan::hash() const {
  // FNV-1a, 64 bits, over name '=' value '\n' of each field.
  std::uint64_t state = 0xcbf29ce484222325U;
  const auto eat = [&](std::string_view text) {
    for (const char c : text) {
      state ^= static_cast<unsigned char>(c);
      state *= 0x100000001b3U;
    }
  };
  for (const PlanField& field : agreed_fields()) {
    eat(field.name);
    eat("=");
    eat(field.value);
    eat("\n");
  }
  return state;
}

std::optional<PlanDifference> first_difference(const std::vector<PlanField>& ours,
                                               const std::vector<PlanField>& theirs) {
  const auto value_of = [](const std::vector<PlanField>& fields, std::string_view name) -> std::string {
    const auto field = std::ranges::find(fields, name, &PlanField::name);
    return field == fields.end() ? "(no such field)" : field->value;
  };
  for (const std::vector<PlanField>* side : {&ours, &theirs}) {  // theirs may know fields that we do not
    for (const PlanField& field : *side) {
      const std::string a = value_of(ours, field.name);
      const std::string b = value_of(theirs, field.name);
      if (a != b) return PlanDifference{field.name, a, b};
    }
  }
  return std::nullopt;
}

std::string Plan::explain() const {
  std::string text;
  const auto line = [&](std::string_view name, std::string_view value) {
    text += fmt::format("{:<18}{}\n", name, value);
  };
  line("routing", routing.describe());
  line("experts", fmt::format("{} (weights {}, {} wide, activation {})", experts, weight_types, intermediate_size,
                              name_of(activation)));
  line("prepare_finalize", prepare_finalize);
  if (shared_experts != SharedExpertsMode::kNone) {
    line("shared experts", fmt::format("{}, {} of them, {} wide together{}", name_of(shared_experts), shared.count,
                                       shared.intermediate_size, shared.gated ? ", gated" : ""));
  }
  line("hidden size", padded_hidden_size == hidden_size
                          ? fmt::format("{}", hidden_size)
                          : fmt::format("{}, padded to {} on the wire", hidden_size, padded_hidden_size));
  line("local experts",
       fmt::format("{} of {}, rank {} of {}, {}", num_local_experts, num_experts, ep_rank, ep_size, placement));
  line("plan hash", fmt::format("{:016x}", hash()));
  for (const Refusal& refusal : refusals) line("refused", fmt::format("{}: {}", refusal.candidate, refusal.reason));
  for (const std::string& note : notes) line("note", note);
  return text;
}

}  // namespace sluice::moe
