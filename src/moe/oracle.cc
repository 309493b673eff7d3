#include "moe/oracle.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "moe/names.h"

namespace sluice::moe {
namespace {

template <typename T>
bool contains(std::span<const T> values, const T& value) {
  return std::ranges::find(values, value) != values.end();
}

void add(std::string& reasons, std::string reason) {
  if (!reasons.empty()) reasons += "; ";
  reasons += reason;
}

Error unsupported(std::string text) { return Error(ErrorCode::kUnsupported, std::move(text)); }

// What the backend's class itself says to this group of ranks.
std::string backend_refusal(const BackendEntry& entry, const PlanInputs& inputs) {
  const PrepareFinalizeCapabilities& can = entry.capabilities;
  if (entry.create == nullptr) return std::string(entry.missing);
  std::string reasons;
  const std::int32_t experts = inputs.spec.routing.num_experts;
  if (can.max_ranks > 0 && inputs.ep_size > can.max_ranks) {
    add(reasons,
        fmt::format("serves {} rank{}, there are {}", can.max_ranks, can.max_ranks == 1 ? "" : "s", inputs.ep_size));
  }
  if (can.max_top_k > 0 && inputs.spec.routing.top_k > can.max_top_k) {
    add(reasons, fmt::format("top_k is {}, at most {} is possible", inputs.spec.routing.top_k, can.max_top_k));
  }
  if (can.needs_equal_experts && experts % inputs.ep_size != 0) {
    add(reasons, fmt::format("{} experts do not divide among {} ranks", experts, inputs.ep_size));
  }
  if (can.id_bits < 31 && experts > (std::int64_t{1} << can.id_bits)) {
    add(reasons, fmt::format("{} experts do not fit ids of {} bits", experts, can.id_bits));
  }
  return reasons;
}

}  // namespace

std::string pair_refusal(const PrepareFinalizeCapabilities& backend, const ExpertsCapabilities& experts) {
  std::string reasons;
  if (!contains(experts.formats, backend.format)) {
    add(reasons, fmt::format("{} delivers {} activations, {} does not read them", backend.name, name_of(backend.format),
                             experts.name));
  }
  const bool common = std::ranges::any_of(
      backend.weight_and_reduce, [&](WeightAndReduce who) { return contains(experts.weight_and_reduce, who); });
  if (!common) {
    add(reasons, fmt::format("{} and {} do not agree who applies the routing weights", backend.name, experts.name));
  }
  if (experts.id_bits < backend.id_bits && experts.max_experts == 0) {
    add(reasons, fmt::format("{} delivers ids of {} bits, {} reads {}", backend.name, backend.id_bits, experts.name,
                             experts.id_bits));
  }
  return reasons;
}

std::vector<std::string_view> experts_priority(DType weight, std::string_view platform) {
  if (platform != "cpu") return {};
  (void)weight;  // the same for all types so far: the levels contain each other, so a higher one is never slower
  return {"amx", "avx512bf16", "avx512vnni", "avx512", "avx2", "scalar"};
}

std::string fusion_refusal(const PlanInputs& inputs) {
  const SharedExperts& shared = inputs.spec.shared;
  const std::int64_t width = inputs.spec.intermediate_size;
  if (shared.count < 1) return "the layer has no shared experts";
  std::string reasons;
  if (shared.intermediate_size != shared.count * width) {
    add(reasons, fmt::format("a shared expert is {} wide, a routed one {}: widths must be equal",
                             shared.intermediate_size / shared.count, width));
  }
  // All shared experts lie side by side in one matrix; to be told apart in the down matrix each must begin at a block.
  const FormatInfo* info = find_format(inputs.shared_dtype);
  const std::int64_t block = inputs.shared_dtype == DType::kF8_E4M3 ? 128 : info == nullptr ? 1 : info->block_values;
  if (shared.count > 1 && width % block != 0) {
    add(reasons, fmt::format("{} shared experts of {} columns each: blocks of {} hold {} values and cannot be split",
                             shared.count, width, name_of(inputs.shared_dtype), block));
  }
  return reasons;
}

Error Oracle::nothing_left(std::string_view what, std::size_t first_refusal) const {
  std::string text = fmt::format("no {} serves this layer: ", what);
  for (std::size_t i = first_refusal; i < refusals_.size(); ++i) {
    if (i > first_refusal) text += "; ";
    text += fmt::format("{} ({})", refusals_[i].candidate, refusals_[i].reason);
  }
  return unsupported(std::move(text));
}

Result<const BackendEntry*> Oracle::choose_backend() {
  const std::string& wish = inputs_.wishes.all2all_backend;
  std::string_view wanted;  // class, empty for auto
  if (wish != "auto" && !wish.empty()) {
    SLUICE_ASSIGN(const BackendName* name, find_backend(wish));
    wanted = name->stands_for;
    if (!name->own()) {
      notes_.push_back(
          fmt::format("all2all backend {} is a name of vLLM; {} takes its place here", name->name, wanted));
    }
    if (inputs_.ep_size == 1 && wanted != "no_ep") {
      notes_.push_back(fmt::format("all2all backend {} has no effect: there is one rank", wish));
      wanted = {};
    }
  }
  const std::size_t first_refusal = refusals_.size();
  const BackendEntry* chosen = nullptr;
  for (const BackendEntry& entry : backend_registry()) {
    const std::string_view name = entry.capabilities.name;
    std::string reason = backend_refusal(entry, inputs_);
    if (!wanted.empty() && name == wanted && !reason.empty()) {
      const std::string alias = wish == wanted ? "" : fmt::format(", which takes the place of {} here,", wish);
      return unsupported(fmt::format("all2all backend {}{} cannot be used: {}", wanted, alias, reason));
    }
    if (reason.empty() && !wanted.empty() && name != wanted) reason = fmt::format("{} was asked for", wanted);
    if (reason.empty() && chosen != nullptr) reason = fmt::format("{} comes first", chosen->capabilities.name);
    if (reason.empty()) {
      chosen = &entry;
    } else {
      refusals_.push_back({fmt::format("prepare_finalize/{}", name), std::move(reason)});
    }
  }
  if (chosen == nullptr) return nothing_left("prepare/finalize backend", first_refusal);
  return chosen;
}

Result<SharedExpertsMode> Oracle::choose_shared() {
  const std::string& wish = inputs_.wishes.shared_experts;
  if (wish != "auto" && wish != "beside" && wish != "fused") {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("unknown way '{}' to run shared experts; known: auto, beside, fused", wish));
  }
  if (inputs_.spec.shared.count == 0) {
    if (wish != "auto") notes_.push_back(fmt::format("shared experts {} has no effect: the layer has none", wish));
    return SharedExpertsMode::kNone;
  }
  const std::string refused = fusion_refusal(inputs_);
  if (wish == "fused") {
    if (!refused.empty()) {
      return unsupported(fmt::format("shared experts cannot be fused: {}; use beside", refused));
    }
    refusals_.push_back({"shared_experts/beside", "fused was asked for"});
    return SharedExpertsMode::kFused;
  }
  refusals_.push_back({"shared_experts/fused", !refused.empty() ? refused
                                               : wish == "beside"
                                                   ? "beside was asked for"
                                                   : "beside costs no further barrier here and needs no equal widths"});
  return SharedExpertsMode::kBeside;
}

Result<const ExpertsEntry*> Oracle::choose_experts(const BackendEntry& backend, SharedExpertsMode shared) {
  const PlanWishes& wishes = inputs_.wishes;
  const MoeSpec& spec = inputs_.spec;
  const std::string& wish = wishes.experts;
  if (wish != "auto" && find_experts(wish) == nullptr) {
    std::string known;
    for (const ExpertsEntry& entry : experts_registry()) known += fmt::format(", {}", entry.capabilities.name);
    return Error(ErrorCode::kInvalidArgument, fmt::format("unknown experts kernel '{}'; known: auto{}", wish, known));
  }

  std::vector<DType> dtypes = {inputs_.gate_dtype, inputs_.up_dtype, inputs_.down_dtype};
  if (spec.shared.count > 0) dtypes.push_back(inputs_.shared_dtype);
  const ExpertsRequest request = {.weight_dtypes = dtypes,
                                  .activation = spec.activation,
                                  .hidden_size = spec.hidden_size,
                                  .intermediate_size = spec.intermediate_size,
                                  .num_experts = spec.routing.num_experts + spec.shared.count,
                                  .expert_bias = spec.expert_bias,
                                  .shared_beside = shared == SharedExpertsMode::kBeside,
                                  .isa = wishes.isa};
  const std::size_t first_refusal = refusals_.size();
  const std::vector<std::string_view> priority = experts_priority(inputs_.gate_dtype, "cpu");
  std::vector<const ExpertsEntry*> candidates;
  for (const std::string_view name : priority) {
    if (const ExpertsEntry* entry = find_experts(name); entry != nullptr) candidates.push_back(entry);
  }
  for (const ExpertsEntry& entry : experts_registry()) {  // those of other platforms, to be named
    if (!contains(std::span<const std::string_view>(priority), entry.capabilities.name)) candidates.push_back(&entry);
  }

  const ExpertsEntry* chosen = nullptr;
  for (const ExpertsEntry* entry : candidates) {
    const std::string_view name = entry->capabilities.name;
    std::string reason;
    if (entry->create == nullptr) {
      reason = entry->missing;
    } else {
      reason = refusal(entry->capabilities, request);
      if (std::string pair = pair_refusal(backend.capabilities, entry->capabilities); !pair.empty()) {
        add(reason, std::move(pair));
      }
    }
    if (wish == name && !reason.empty()) {
      return unsupported(fmt::format("experts kernel {} cannot be used: {}", name, reason));
    }
    if (reason.empty() && wish != "auto" && wish != name) reason = fmt::format("{} was asked for", wish);
    if (reason.empty() && chosen != nullptr) reason = fmt::format("{} comes first", chosen->capabilities.name);
    if (reason.empty()) {
      chosen = entry;
    } else {
      refusals_.push_back({fmt::format("experts/{}", name), std::move(reason)});
    }
  }
  if (chosen == nullptr) return nothing_left("experts kernel", first_refusal);
  return chosen;
}

}  // namespace sluice::moe
