#include "moe/fused_moe.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "moe/experts/experts.h"
#include "moe/experts/ffn_pass.h"
#include "moe/layer_checks.h"
#include "moe/oracle.h"
#include "moe/prepare_finalize/hidden_size_rounding.h"
#include "moe/router/gate.h"
#include "moe/shared_experts.h"

namespace sluice::moe {
namespace {

class FusedMoeImpl final : public FusedMoe {
 public:
  struct Parts {
    MoeSpec spec;
    MoeWeights weights;
    Plan plan;
    Gate gate;
    std::unique_ptr<ExpertsKernel> experts;
    std::unique_ptr<PrepareFinalize> backend;
    const KernelTable* kernels;
    ThreadPool* pool;
    std::shared_ptr<Workspace> workspace;
    FfnFacts facts;
  };

  explicit FusedMoeImpl(Parts parts)
      : parts_(std::move(parts)),
        fused_(parts_.plan.shared_experts == SharedExpertsMode::kFused ? parts_.spec.shared.count : 0),
        shared_pass_(parts_.facts, *parts_.kernels, *parts_.pool, parts_.workspace) {
    // The experts can sum the shared expert themselves only where they see the rank's own tokens and write the result.
    const PrepareFinalizeCapabilities& can = parts_.backend->capabilities();
    const bool reduces =
        std::ranges::find(can.weight_and_reduce, WeightAndReduce::kByExperts) != can.weight_and_reduce.end();
    form_ = reduces ? WeightAndReduce::kByExperts : WeightAndReduce::kByFinalize;
    in_place_ =
        reduces && can.zero_copy_in && can.zero_copy_out && parts_.plan.padded_hidden_size == parts_.plan.hidden_size;
    beside_ = parts_.plan.shared_experts == SharedExpertsMode::kBeside;
  }

  const Plan& plan() const override { return parts_.plan; }

  Status forward(const float* x, std::int64_t tokens, float* out, const RoutingObserver& observer) override {
    if (tokens < 0 || (tokens > 0 && (x == nullptr || out == nullptr))) {
      return Error(ErrorCode::kInvalidArgument, fmt::format("MoE layer: forward of {} tokens without rows", tokens));
    }
    SLUICE_ASSIGN(const Workspace::Lease lease, parts_.workspace->acquire());
    SLUICE_ASSIGN(const Routing routing, route(x, tokens, observer));
    SLUICE_TRY(run_experts(x, tokens, routing, out));
    if (beside_ && !in_place_) SLUICE_TRY(add_shared(x, tokens, routing.shared, out));
    return Status::success();
  }

 private:
  struct Routing {
    const GlobalExpert* ids = nullptr;  // [tokens, top_k + fused]
    const float* weights = nullptr;
    const float* shared = nullptr;  // [tokens], or null: all ones
    PackedRows packed;
    bool has_packed = false;
  };

  Result<Routing> route(const float* x, std::int64_t tokens, const RoutingObserver& observer) {
    Workspace& workspace = *parts_.workspace;
    const std::int32_t top_k = parts_.spec.routing.top_k;
    const std::int64_t routed = tokens * top_k;
    const std::int64_t with_shared = fused_ > 0 ? tokens * (top_k + fused_) : 0;
    SLUICE_ASSIGN(auto* const ids, workspace.get<GlobalExpert>(Workspace::Slot::kRouting, routed + with_shared));
    SLUICE_ASSIGN(auto* const weights, workspace.get<float>(Workspace::Slot::kWeights, routed + with_shared));
    Gate::Output output = {.ids = ids, .weights = weights, .shared_weights = nullptr, .formats = {}, .packed = {}};
    if (parts_.spec.shared.gated) {
      SLUICE_ASSIGN(output.shared_weights, workspace.get<float>(Workspace::Slot::kSharedGate, tokens));
    }

    Routing routing;
    const ActFormatSet formats = parts_.experts->input_formats();
    std::int64_t bytes = 0;
    formats.for_each([&](ActFormat format) {
      bytes += tokens * static_cast<std::int64_t>(parts_.kernels->packed_row_bytes(format, parts_.spec.hidden_size));
    });
    // Packed in the router's region unless there are so many that the experts must pack them chunk by chunk.
    if (parts_.backend->capabilities().zero_copy_in && bytes <= workspace.chunk_bytes() / 2) {
      SLUICE_ASSIGN(routing.packed,
                    packed_buffers(*parts_.kernels, workspace, tokens, parts_.spec.hidden_size, formats));
      routing.has_packed = true;
      output.formats = formats;
      output.packed = routing.packed;
    }
    SLUICE_TRY(parts_.gate.run(x, tokens, output));
    if (observer) observer(tokens, top_k, ids, weights);

    routing.ids = ids;
    routing.weights = weights;
    routing.shared = output.shared_weights;
    if (fused_ > 0) {
      inject_shared_experts(parts_.spec.routing, fused_, tokens, ids, weights, output.shared_weights, ids + routed,
                            weights + routed);
      routing.ids = ids + routed;
      routing.weights = weights + routed;
    }
    return routing;
  }

  Status run_experts(const float* x, std::int64_t tokens, const Routing& routing, float* out) {
    const std::int64_t hidden = parts_.plan.hidden_size;
    const std::int64_t padded = parts_.plan.padded_hidden_size;
    const bool pads = padded != hidden;
    const float* rows = x;
    float* padded_out = out;
    if (pads) {
      SLUICE_ASSIGN(float* const buffer, parts_.workspace->get<float>(Workspace::Slot::kPadded, 2 * tokens * padded));
      pad_rows(x, tokens, hidden, padded, buffer);
      rows = buffer;
      padded_out = buffer + tokens * padded;
    }
    SLUICE_ASSIGN(PrepareFinalize::Prepared prepared,
                  parts_.backend->prepare({.x = rows,
                                           .tokens = tokens,
                                           .ids = routing.ids,
                                           .weights = routing.weights,
                                           .packed = routing.has_packed ? &routing.packed : nullptr}));
    const ReceivedRows& received = prepared.rows;
    ExpertOutput output = {.form = form_, .rows = out, .row_stride = hidden};
    if (!in_place_) {
      // The padding of these rows is left as it is: nobody reads it.
      output.row_stride = padded;
      SLUICE_ASSIGN(output.rows,
                    parts_.workspace->get<float>(Workspace::Slot::kExpertRows, output_rows(received) * padded));
    }
    const SharedFfn shared = {&parts_.weights.shared, parts_.spec.shared.intermediate_size, routing.shared};
    SLUICE_TRY(parts_.experts->apply(received, beside_ && in_place_ ? &shared : nullptr, output));
    SLUICE_TRY(parts_.backend->finalize(prepared.handle, output, padded_out));
    if (pads) trim_rows(padded_out, tokens, padded, hidden, out);
    return Status::success();
  }

  std::int64_t output_rows(const ReceivedRows& received) const {
    if (received.format == ActivationFormat::kBatched) return received.rows * parts_.plan.num_local_experts;
    return form_ == WeightAndReduce::kByExperts ? received.rows : received.rows * received.top_k;
  }

  // The shared expert apart from the routed ones: summed last, as it is when the experts do it.
  Status add_shared(const float* x, std::int64_t tokens, const float* weights, float* out) {
    const std::int64_t hidden = parts_.spec.hidden_size;
    const std::int64_t width = parts_.spec.shared.intermediate_size;
    const ActFormatSet formats = shared_pass_.input_formats(parts_.weights.shared);
    const std::int64_t chunk =
        parts_.workspace->chunk_tokens(shared_pass_.bytes_per_input() + shared_pass_.bytes_per_row(width));
    for (std::int64_t begin = 0; begin < tokens; begin += chunk) {
      const std::int64_t count = std::min(chunk, tokens - begin);
      SLUICE_ASSIGN(float* const result, parts_.workspace->get<float>(Workspace::Slot::kShared, count * hidden));
      SLUICE_ASSIGN(const PackedRows packed, shared_pass_.pack(x + begin * hidden, count, hidden, formats));
      const FfnJob job = {.weights = parts_.weights.shared, .intermediate_size = width, .rows = count};
      SLUICE_TRY(shared_pass_.run({&job, 1}, packed,
                                  {.rows = count,
                                   .weights = weights == nullptr ? nullptr : weights + begin,
                                   .out = result,
                                   .out_stride = hidden}));
      for (std::int64_t i = 0; i < count * hidden; ++i) out[begin * hidden + i] += result[i];
    }
    return Status::success();
  }

  Parts parts_;
  std::int32_t fused_;  // shared experts among the routed ones
  FfnPass shared_pass_;
  WeightAndReduce form_;
  bool in_place_;  // experts read the caller's rows and write its output
  bool beside_;
};

}  // namespace

Result<std::unique_ptr<FusedMoe>> FusedMoe::create(const MoeSpec& spec, const MoeWeights& weights, const Plan& plan,
                                                   ThreadPool& pool, std::shared_ptr<Workspace> workspace) {
  const BackendEntry* backend = find_backend_entry(plan.prepare_finalize);
  if (backend == nullptr || backend->create == nullptr) {
    return Error(ErrorCode::kUnsupported,
                 fmt::format("MoE layer: this build has no prepare/finalize backend {}", plan.prepare_finalize));
  }
  const std::int32_t fused = plan.shared_experts == SharedExpertsMode::kFused ? spec.shared.count : 0;
  const PrepareFinalize::Shape shape = {
      .hidden_size = plan.padded_hidden_size, .num_experts = plan.num_experts, .top_k = spec.routing.top_k + fused};
  return create_with(backend->create(shape, plan.isa == Isa::kScalar), spec, weights, plan, pool, std::move(workspace));
}

Result<std::unique_ptr<FusedMoe>> FusedMoe::create_with(std::unique_ptr<PrepareFinalize> backend, const MoeSpec& spec,
                                                        const MoeWeights& weights, const Plan& plan, ThreadPool& pool,
                                                        std::shared_ptr<Workspace> workspace) {
  SLUICE_TRY(check_layer(spec, weights, plan));
  if (workspace == nullptr) workspace = std::make_shared<Workspace>();
  const ExpertsEntry& entry = *find_experts(plan.experts);
  if (std::string reason = pair_refusal(backend->capabilities(), entry.capabilities); !reason.empty()) {
    return Error(ErrorCode::kUnsupported, "MoE layer: " + reason);
  }
  const bool exact = entry.capabilities.exact;
  SLUICE_ASSIGN(const Router router, Router::create(spec.routing, weights.selection_bias,
                                                    exact ? RouterPrecision::kDouble : RouterPrecision::kFloat));
  const KernelTable& kernels = kernels_for(plan.isa);
  const bool fused = plan.shared_experts == SharedExpertsMode::kFused;
  const ExpertsSetup setup = {
      .spec = &spec,
      .store = fused ? with_fused_shared(weights.experts, weights.shared, spec) : weights.experts,
      .shared = plan.shared_experts == SharedExpertsMode::kBeside ? weights.shared : ExpertMatrices{},
      .pool = &pool,
      .workspace = workspace,
  };
  const Gate::Weights gate = {.router = weights.router,
                              .logit_bias = spec.routing.logit_bias ? weights.router_bias : nullptr,
                              .shared_gate = spec.shared.gated ? weights.shared_gate : WeightView{}};
  FusedMoeImpl::Parts parts = {
      .spec = spec,
      .weights = weights,
      .plan = plan,
      .gate = Gate(router, gate, spec.hidden_size, exact, kernels, pool, workspace),
      .experts = entry.create(entry.capabilities, setup),
      .backend = std::move(backend),
      .kernels = &kernels,
      .pool = &pool,
      .workspace = workspace,
      .facts = {spec.hidden_size, spec.activation, spec.swiglu_alpha, spec.swiglu_limit, exact},
  };
  return std::unique_ptr<FusedMoe>(std::make_unique<FusedMoeImpl>(std::move(parts)));
}

}  // namespace sluice::moe
