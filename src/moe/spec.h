// What a MoE layer is, apart from its weights' values: sizes, routing, activation, shared experts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "moe/ids.h"
#include "moe/router/routing_program.h"
#include "quant/weight_view.h"

namespace sluice::moe {

enum class Activation : std::uint8_t {
  kSilu,       // silu(gate) * up
  kSwigluOai,  // gpt-oss: clamped, alpha, (up + 1)
};

struct SharedExperts {
  std::int32_t count = 0;              // logical shared experts, 0 = none
  std::int64_t intermediate_size = 0;  // width of all of them together
  bool gated = false;                  // times sigmoid(shared_gate . x)
};

struct MoeSpec {
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;  // of one routed expert
  RoutingProgram routing;
  SharedExperts shared;
  Activation activation = Activation::kSilu;
  float swiglu_alpha = 1.702F;
  float swiglu_limit = 7.0F;
  bool expert_bias = false;  // gate, up and down products have biases
};

// The matrices of one expert (or of a dense FFN). Biases may be null; [rows] floats each.
struct ExpertMatrices {
  WeightView gate;  // [I, H]
  WeightView up;    // [I, H]
  WeightView down;  // [H, I]
  const float* gate_bias = nullptr;
  const float* up_bias = nullptr;
  const float* down_bias = nullptr;
};

// The one seam through which kernels reach expert weights. They ask for an expert and say what they need next; they
// never see a file. Implementations: mapped (here), later NUMA-owned and a budgeted cache. Thread-safe.
class ExpertWeightStore {
 public:
  virtual ~ExpertWeightStore() = default;
  virtual std::int32_t num_experts() const = 0;
  // Views stay valid until the end of the layer's step (until the next will_need() of the same layer).
  virtual ExpertMatrices expert(LocalExpert id) const = 0;
  // The experts of this step, in the order of use: a chance to prefetch or page in.
  virtual void will_need(std::span<const LocalExpert> ids) const { (void)ids; }
};

// A store over views that somebody else keeps alive.
class MappedExpertStore final : public ExpertWeightStore {
 public:
  explicit MappedExpertStore(std::vector<ExpertMatrices> experts) : experts_(std::move(experts)) {}
  std::int32_t num_experts() const override { return static_cast<std::int32_t>(experts_.size()); }
  ExpertMatrices expert(LocalExpert id) const override { return experts_[static_cast<std::size_t>(index(id))]; }

 private:
  std::vector<ExpertMatrices> experts_;
};

// All weights of one MoE layer. Pointers are borrowed for the layer's life.
struct MoeWeights {
  WeightView router;                      // [E, H]
  const float* router_bias = nullptr;     // [E], with RoutingProgram::logit_bias
  const float* selection_bias = nullptr;  // [E], with RoutingProgram::selection_bias
  std::shared_ptr<const ExpertWeightStore> experts;
  ExpertMatrices shared;   // with SharedExperts::count > 0: all shared experts side by side
  WeightView shared_gate;  // [1, H], with SharedExperts::gated
};

}  // namespace sluice::moe
