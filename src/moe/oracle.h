// The oracle: walks the candidates for each part of the layer in the order of preference, and keeps each refusal with
// its reason. Pure: it looks at PlanInputs and at the capabilities that backends and kernels publish, at nothing else.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "moe/experts/experts.h"
#include "moe/plan.h"
#include "moe/prepare_finalize/backends.h"

namespace sluice::moe {

// A choice and what was said about the others. One oracle resolves in dependency order: prepare/finalize, the way of
// the shared experts, the experts kernel. A later step may refuse, never change an earlier one.
class Oracle {
 public:
  explicit Oracle(const PlanInputs& inputs) : inputs_(inputs) {}

  // Errors: kInvalidArgument for an unknown name; kUnsupported when a wish cannot be met or nothing is left, listing
  // each candidate with its reason.
  Result<const BackendEntry*> choose_backend();
  Result<SharedExpertsMode> choose_shared();
  Result<const ExpertsEntry*> choose_experts(const BackendEntry& backend, SharedExpertsMode shared);

  std::vector<Refusal> take_refusals() { return std::move(refusals_); }
  std::vector<std::string> take_notes() { return std::move(notes_); }

 private:
  Error nothing_left(std::string_view what, std::size_t first_refusal) const;

  const PlanInputs& inputs_;
  std::vector<Refusal> refusals_;
  std::vector<std::string> notes_;
};

// Why two parts cannot work together, all reasons joined by "; "; empty if they can. (vLLM checks this with a bare
// assert, or not at all.)
std::string pair_refusal(const PrepareFinalizeCapabilities& backend, const ExpertsCapabilities& experts);

// Names of experts kernels in the order in which they are tried for weights of this type on this platform.
std::vector<std::string_view> experts_priority(DType weight, std::string_view platform);

// Why the shared experts cannot run as extra routed experts; empty if they can.
std::string fusion_refusal(const PlanInputs& inputs);

}  // namespace sluice::moe
