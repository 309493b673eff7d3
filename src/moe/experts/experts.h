// Experts kernels: capabilities as data, one interface, one registry.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cpu/isa.h"
#include "cpu/thread_pool.h"
#include "moe/activation_format.h"
#include "moe/prepare_finalize/prepare_finalize.h"
#include "moe/spec.h"
#include "moe/workspace.h"

namespace sluice::moe {

// What a kernel supports. It is never given anything else: the oracle asks refusal() first. 0 means "no limit".
struct ExpertsCapabilities {
  std::string_view name;
  std::string_view platform;  // "cpu"
  Isa isa = Isa::kScalar;     // level that it needs
  bool exact = false;         // fp32 activations, fp64 sums
  bool (*supports_weight)(DType dtype) = nullptr;
  std::span<const Activation> activations = {};
  std::span<const ActivationFormat> formats = {};
  std::span<const WeightAndReduce> weight_and_reduce = {};
  std::int32_t id_bits = 32;
  std::int64_t max_hidden_size = 0;
  std::int64_t max_intermediate_size = 0;
  std::int64_t hidden_multiple = 1;
  std::int64_t intermediate_multiple = 1;
  std::int32_t max_experts = 0;
  bool expert_bias = false;
  bool shared_beside = false;  // runs the shared FFN in its own parallel regions, beside the routed experts
  bool monolithic = false;     // takes router logits and does the routing itself: the plan then has no router
};

// What a layer asks of a kernel.
struct ExpertsRequest {
  std::span<const DType> weight_dtypes;
  Activation activation = Activation::kSilu;
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int32_t num_experts = 0;  // slots of this rank
  bool expert_bias = false;
  bool shared_beside = false;
  Isa isa = Isa::kScalar;  // the level that the user or the machine allows
};

// All reasons why the kernel cannot serve the request, joined by "; "; empty if it can.
std::string refusal(const ExpertsCapabilities& kernel, const ExpertsRequest& request);

// The shared expert as a plain FFN over the rank's own tokens, summed last, after the routed slots.
struct SharedFfn {
  const ExpertMatrices* matrices = nullptr;
  std::int64_t intermediate_size = 0;
  const float* weights = nullptr;  // per token, or null: all ones
};

// One layer's experts. One apply() at a time per object and per workspace.
class ExpertsKernel {
 public:
  virtual ~ExpertsKernel() = default;
  virtual const ExpertsCapabilities& capabilities() const = 0;
  // Packings of the input rows that apply() wants; what ReceivedRows::packed lacks it packs itself.
  virtual ActFormatSet input_formats() const = 0;
  // rows -> out. kByExperts: out.rows [rows, H]; kByFinalize: [rows * top_k, H] (slots without a local expert are
  // zeroed) or, for batched rows, [local experts * capacity, H] (padding left as it is). `shared` (may be null) needs
  // kByExperts, standard rows and rows that are the rank's own tokens.
  // Each row of the result depends only on its own token: bit-identical whatever the batch and the thread count.
  virtual Status apply(const ReceivedRows& rows, const SharedFfn* shared, const ExpertOutput& out) = 0;
};

// What a kernel is built from.
struct ExpertsSetup {
  const MoeSpec* spec = nullptr;  // borrowed during create only
  std::shared_ptr<const ExpertWeightStore> store;
  ExpertMatrices shared;  // set when the kernel runs the shared FFN beside
  ThreadPool* pool = nullptr;
  std::shared_ptr<Workspace> workspace;
};

// One row of the registry. `create` is null for kernels of later issues; `missing` then says so.
struct ExpertsEntry {
  ExpertsCapabilities capabilities;
  std::unique_ptr<ExpertsKernel> (*create)(const ExpertsCapabilities& capabilities,
                                           const ExpertsSetup& setup) = nullptr;
  std::string_view missing;
};

// All kernels of this build, best first.
std::span<const ExpertsEntry> experts_registry();
const ExpertsEntry* find_experts(std::string_view name);

}  // namespace sluice::moe
