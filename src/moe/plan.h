// The plan of a MoE layer: one value, made once when the model is loaded, from facts and wishes. It says which part
// does what, or lists every candidate with the reason why it was refused. No other code reads flags or environment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cpu/isa.h"
#include "moe/spec.h"

namespace sluice::moe {

struct Refusal {
  std::string candidate;  // "experts/avx512vnni", "prepare_finalize/low_latency"
  std::string reason;     // one sentence: what was wanted, what was found, the way out
};

enum class SharedExpertsMode : std::uint8_t { kNone, kBeside, kFused };

// What the user asked for; "auto" leaves the choice to the oracle. A wish that cannot be met is an error; a wish that
// has no effect is reported in Plan::notes.
struct PlanWishes {
  Isa isa = Isa::kScalar;  // already resolved by parse_isa()
  std::string experts = "auto";
  std::string all2all_backend = "auto";
  std::string shared_experts = "auto";  // auto | beside | fused
};

// Everything the oracle may look at. Filled by whoever loads the model.
struct PlanInputs {
  MoeSpec spec;
  // Weight types of the routed experts and of the shared ones (for "may they be fused?").
  DType gate_dtype = DType::kF32, up_dtype = DType::kF32, down_dtype = DType::kF32;
  DType shared_dtype = DType::kF32;
  std::int32_t ep_size = 1;
  std::int32_t ep_rank = 0;
  PlanWishes wishes;
};

// A field that all ranks must agree on, as text that is the same on every machine.
struct PlanField {
  std::string name;
  std::string value;
};

// The first field in which two plans differ.
struct PlanDifference {
  std::string field;
  std::string ours;
  std::string theirs;
};

struct Plan {
  std::string experts;           // name of the experts kernel
  std::string prepare_finalize;  // name of the backend ("no_ep")
  SharedExpertsMode shared_experts = SharedExpertsMode::kNone;
  Isa isa = Isa::kScalar;
  std::int64_t hidden_size = 0;         // the model's
  std::int64_t padded_hidden_size = 0;  // after the backend's rounding rule
  std::int32_t num_local_experts = 0;   // fused shared experts included
  std::int32_t num_experts = 0;         // of the model, fused shared experts included
  std::int64_t intermediate_size = 0;   // of one routed expert
  std::int32_t ep_size = 1;
  std::int32_t ep_rank = 0;
  RoutingProgram routing;
  SharedExperts shared;
  Activation activation = Activation::kSilu;
  std::string weight_types;  // of gate, up and down: "Q4_K, Q4_K, Q6_K"
  std::string placement = "linear";
  std::vector<Refusal> refusals;   // every candidate that was not chosen, with its reason
  std::vector<std::string> notes;  // wishes without effect

  // Everything but what differs from rank to rank (ep_rank, num_local_experts) and what only explains.
  std::vector<PlanField> agreed_fields() const;
  // Stable 64-bit hash over agreed_fields(): the same on every machine and in every build.
  std::uint64_t hash() const;
  // Several lines for `--explain` and `doctor`.
  std::string explain() const;
};

// For ranks whose hashes differ: which field is to blame. Nullopt if the agreed fields are equal.
std::optional<PlanDifference> first_difference(const std::vector<PlanField>& ours,
                                               const std::vector<PlanField>& theirs);

// The resolver. Errors: kUnsupported / kInvalidArgument listing each candidate with its reason.
Result<Plan> make_plan(const PlanInputs& inputs);

}  // namespace sluice::moe
