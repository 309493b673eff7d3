// Random MoE layers with weights of any type, and what tests do with them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cpu/thread_pool.h"
#include "kernels/random_matrix.h"
#include "moe/fused_moe.h"
#include "moe/plan.h"
#include "moe/spec.h"

namespace sluice::moe {

// A spec with the usual parts set: softmax, top_k of experts, normalised.
MoeSpec simple_spec(std::int64_t hidden, std::int64_t intermediate, std::int32_t experts, std::int32_t top_k);

struct LayerTypes {
  DType gate = DType::kF32, up = DType::kF32, down = DType::kF32;
  DType shared = DType::kF32;
};

// Weights of about unit size, owned. The store may be replaced before use.
class RandomLayer {
 public:
  RandomLayer(const MoeSpec& spec, std::uint32_t seed, const LayerTypes& types = {});

  MoeSpec spec;
  LayerTypes types;
  MoeWeights weights;
  std::vector<ExpertMatrices> experts;  // what the store was made of

  void use_experts(std::vector<ExpertMatrices> replaced);
  // Rows [tokens, H] that make products with the weights about one in size.
  std::vector<float> rows(std::int64_t tokens, std::uint32_t seed) const;
  PlanInputs inputs(Isa isa) const;

 private:
  WeightView matrix(DType dtype, std::int64_t rows, std::int64_t cols);
  const float* vector(std::int64_t n, float size);
  ExpertMatrices ffn(std::int64_t intermediate, DType gate, DType up, DType down, bool bias);

  std::uint32_t seed_;
  std::vector<std::unique_ptr<RandomMatrix>> matrices_;
  std::vector<std::unique_ptr<std::vector<float>>> vectors_;
};

struct LayerRun {
  std::vector<float> out;
  std::vector<std::int32_t> ids;  // [tokens, top_k]
  std::vector<float> weights;
};

struct RunOptions {
  int threads = 2;
  std::int64_t batch = 0;  // tokens per forward, 0: all at once
  std::string shared = "auto";
  std::int64_t chunk_bytes = Workspace::kDefaultChunkBytes;
  // Makes the backend; empty: the plan's.
  std::function<std::unique_ptr<PrepareFinalize>(const PrepareFinalize::Shape&)> backend = {};
  std::int64_t padded_hidden_size = 0;  // with `backend`: width on the wire
};

// Plans, creates and runs the layer; failures are reported to gtest.
LayerRun run_layer(const RandomLayer& layer, Isa isa, std::span<const float> x, const RunOptions& options = {});

std::vector<Isa> available_isas();

// Largest difference, in units of the root mean square of `want`; infinity if a value is not a number.
double relative_error(std::span<const float> got, std::span<const double> want);
double relative_error(std::span<const float> got, std::span<const float> want);

}  // namespace sluice::moe
