// The MoE layer: router -> prepare -> experts -> finalize, put together by a Plan.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/result.h"
#include "cpu/thread_pool.h"
#include "kernels/kernels.h"
#include "moe/plan.h"
#include "moe/prepare_finalize/prepare_finalize.h"
#include "moe/spec.h"
#include "moe/workspace.h"

namespace sluice::moe {

// Called once per forward with the routing of all tokens, before the experts run (tests, `--routing`, load counters).
// ids and weights are [tokens, top_k], final weights, by falling weight within a token; ties by lower id.
using RoutingObserver =
    std::function<void(std::int64_t tokens, std::int32_t top_k, const GlobalExpert* ids, const float* weights)>;

// One layer. Immutable but for its workspace: one forward at a time per workspace.
class FusedMoe {
 public:
  // Checks the weights' shapes against the spec and builds what the plan chose. Layers that run one after the other
  // should share a workspace: it grows to tens of MiB in prefill. Null: one of its own. Errors: kInvalidArgument (a
  // shape or a missing weight, by name), kUnsupported (the plan does not fit the weights).
  static Result<std::unique_ptr<FusedMoe>> create(const MoeSpec& spec, const MoeWeights& weights, const Plan& plan,
                                                  ThreadPool& pool, std::shared_ptr<Workspace> workspace = nullptr);
  // The same with a prepare/finalize backend that the caller made (a group of ranks, a test).
  static Result<std::unique_ptr<FusedMoe>> create_with(std::unique_ptr<PrepareFinalize> backend, const MoeSpec& spec,
                                                       const MoeWeights& weights, const Plan& plan, ThreadPool& pool,
                                                       std::shared_ptr<Workspace> workspace = nullptr);
  virtual ~FusedMoe() = default;

  // out[T, H] = routed experts (+ shared experts) of x[T, H]; rows are contiguous; out must not alias x. T may be 0.
  virtual Status forward(const float* x, std::int64_t tokens, float* out, const RoutingObserver& observer) = 0;
  virtual const Plan& plan() const = 0;
};

// A dense FFN (the case of no experts) through the same kernels: out[T, H] = down(act(gate(x)) * up(x)).
class DenseFfn {
 public:
  static Result<std::unique_ptr<DenseFfn>> create(std::int64_t hidden_size, std::int64_t intermediate_size,
                                                  Activation activation, const ExpertMatrices& weights, Isa isa,
                                                  ThreadPool& pool, std::shared_ptr<Workspace> workspace = nullptr);
  virtual ~DenseFfn() = default;
  // x and out [tokens, H], contiguous, not overlapping. tokens may be 0.
  virtual Status forward(const float* x, std::int64_t tokens, float* out) = 0;
};

}  // namespace sluice::moe
