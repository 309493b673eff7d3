#include "moe/support/random_layer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace sluice::moe {

MoeSpec simple_spec(std::int64_t hidden, std::int64_t intermediate, std::int32_t experts, std::int32_t top_k) {
  MoeSpec spec;
  spec.hidden_size = hidden;
  spec.intermediate_size = intermediate;
  spec.routing.num_experts = experts;
  spec.routing.top_k = top_k;
  spec.routing.normalize = true;
  return spec;
}

RandomLayer::RandomLayer(const MoeSpec& layer_spec, std::uint32_t seed, const LayerTypes& layer_types)
    : spec(layer_spec), types(layer_types), seed_(seed * 1000U) {
  const RoutingProgram& routing = spec.routing;
  weights.router = matrix(DType::kF32, routing.num_experts, spec.hidden_size);
  if (routing.logit_bias) weights.router_bias = vector(routing.num_experts, 0.5F);
  if (routing.selection_bias) weights.selection_bias = vector(routing.num_experts, 0.2F);
  for (std::int32_t e = 0; e < routing.num_experts; ++e) {
    experts.push_back(ffn(spec.intermediate_size, types.gate, types.up, types.down, spec.expert_bias));
  }
  use_experts(experts);
  if (spec.shared.count > 0) {
    weights.shared = ffn(spec.shared.intermediate_size, types.shared, types.shared, types.shared, false);
    if (spec.shared.gated) weights.shared_gate = matrix(DType::kF32, 1, spec.hidden_size);
  }
}

void RandomLayer::use_experts(std::vector<ExpertMatrices> replaced) {
  experts = replaced;
  weights.experts = std::make_shared<MappedExpertStore>(std::move(replaced));
}

WeightView RandomLayer::matrix(DType dtype, std::int64_t rows, std::int64_t cols) {
  matrices_.push_back(std::make_unique<RandomMatrix>(dtype, rows, cols, ++seed_));
  return matrices_.back()->view;
}

const float* RandomLayer::vector(std::int64_t n, float size) {
  std::mt19937 random(++seed_);
  std::normal_distribution<float> normal(0.0F, size);
  auto values = std::make_unique<std::vector<float>>(static_cast<std::size_t>(n));
  for (float& v : *values) v = normal(random);
  vectors_.push_back(std::move(values));
  return vectors_.back()->data();
}

ExpertMatrices RandomLayer::ffn(std::int64_t intermediate, DType gate, DType up, DType down, bool bias) {
  ExpertMatrices m{.gate = matrix(gate, intermediate, spec.hidden_size),
                   .up = matrix(up, intermediate, spec.hidden_size),
                   .down = matrix(down, spec.hidden_size, intermediate)};
  if (bias) {
    m.gate_bias = vector(intermediate, 1.0F);
    m.up_bias = vector(intermediate, 1.0F);
    m.down_bias = vector(spec.hidden_size, 1.0F);
  }
  return m;
}

std::vector<float> RandomLayer::rows(std::int64_t tokens, std::uint32_t seed) const {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, 1.0F / std::sqrt(static_cast<float>(spec.hidden_size)));
  std::vector<float> x(static_cast<std::size_t>(tokens * spec.hidden_size));
  for (float& v : x) v = normal(random);
  return x;
}

PlanInputs RandomLayer::inputs(Isa isa) const {
  PlanInputs inputs;
  inputs.spec = spec;
  inputs.gate_dtype = types.gate;
  inputs.up_dtype = types.up;
  inputs.down_dtype = types.down;
  inputs.shared_dtype = types.shared;
  inputs.wishes.isa = isa;
  return inputs;
}

LayerRun run_layer(const RandomLayer& layer, Isa isa, std::span<const float> x, const RunOptions& options) {
  LayerRun run;
  PlanInputs inputs = layer.inputs(isa);
  inputs.wishes.shared_experts = options.shared;
  auto plan = make_plan(inputs);
  if (!plan.ok()) {
    ADD_FAILURE() << plan.error().message();
    return run;
  }
  ThreadPool pool(options.threads);
  auto workspace = std::make_shared<Workspace>(options.chunk_bytes);
  const auto create = [&]() -> Result<std::unique_ptr<FusedMoe>> {
    if (!options.backend) return FusedMoe::create(layer.spec, layer.weights, *plan, pool, workspace);
    if (options.padded_hidden_size > 0) plan->padded_hidden_size = options.padded_hidden_size;
    const std::int32_t fused = plan->num_experts - layer.spec.routing.num_experts;
    return FusedMoe::create_with(
        options.backend({plan->padded_hidden_size, plan->num_experts, layer.spec.routing.top_k + fused}), layer.spec,
        layer.weights, *plan, pool, workspace);
  };
  auto moe = create();
  if (!moe.ok()) {
    ADD_FAILURE() << moe.error().message();
    return run;
  }
  const auto hidden = static_cast<std::size_t>(layer.spec.hidden_size);
  const auto tokens = static_cast<std::int64_t>(x.size() / hidden);
  const std::int64_t batch = options.batch > 0 ? options.batch : std::max<std::int64_t>(1, tokens);
  run.out.resize(x.size(), std::numeric_limits<float>::quiet_NaN());
  for (std::int64_t begin = 0; begin < tokens; begin += batch) {
    const std::int64_t count = std::min(batch, tokens - begin);
    const auto at = static_cast<std::size_t>(begin) * hidden;
    const Status status =
        (*moe)->forward(x.data() + at, count, run.out.data() + at,
                        [&](std::int64_t rows, std::int32_t top_k, const GlobalExpert* ids, const float* weights) {
                          EXPECT_EQ(rows, count);
                          for (std::int64_t i = 0; i < rows * top_k; ++i) run.ids.push_back(index(ids[i]));
                          run.weights.insert(run.weights.end(), weights, weights + rows * top_k);
                        });
    if (!status.ok()) ADD_FAILURE() << status.error().message();
  }
  return run;
}

std::vector<Isa> available_isas() {
  std::vector<Isa> isas;
  for (int i = 0; i < kIsaCount; ++i) {
    if (isa_available(static_cast<Isa>(i))) isas.push_back(static_cast<Isa>(i));
  }
  return isas;
}

double relative_error(std::span<const float> got, std::span<const double> want) {
  if (got.size() != want.size()) return std::numeric_limits<double>::infinity();
  double squares = 0.0;
  double worst = 0.0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double difference = std::abs(static_cast<double>(got[i]) - want[i]);
    if (!(difference <= worst)) worst = difference;
    if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
    squares += want[i] * want[i];
  }
  return got.empty() ? 0.0 : worst / std::sqrt(squares / static_cast<double>(got.size()));
}

double relative_error(std::span<const float> got, std::span<const float> want) {
  return relative_error(got, std::vector<double>(want.begin(), want.end()));
}

}  // namespace sluice::moe
