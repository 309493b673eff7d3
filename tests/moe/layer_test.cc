// The whole layer against the plain fp64 oracle, in every instruction set of this machine.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/support/random_layer.h"
#include "moe/support/reference.h"

namespace sluice::moe {
namespace {

// Largest error allowed, in units of the output's root mean square.
double tolerance(Isa isa, const LayerTypes& types) {
  if (isa == Isa::kScalar) return 1e-5;
  // Block formats: activations are rounded to int8 twice.
  for (const DType dtype : {types.gate, types.up, types.down, types.shared}) {
    if (find_format(dtype)->quantised) return 0.12;
  }
  // bf16 products where the level has them.
  return types.gate == DType::kBF16 && isa == Isa::kAvx512Bf16 ? 0.05 : 1e-4;
}

void expect_reference(const RandomLayer& layer, std::int64_t tokens, const RunOptions& options = {}) {
  const std::vector<float> x = layer.rows(tokens, 99);
  const ReferenceOutput want = reference_forward(layer.spec, layer.weights, x);
  for (const Isa isa : available_isas()) {
    SCOPED_TRACE(isa_name(isa));
    const LayerRun run = run_layer(layer, isa, x, options);
    EXPECT_LT(relative_error(run.out, want.out), tolerance(isa, layer.types));
    const auto top_k = static_cast<std::size_t>(layer.spec.routing.top_k);
    ASSERT_EQ(run.ids.size(), static_cast<std::size_t>(tokens) * top_k);
    for (std::size_t t = 0; t < static_cast<std::size_t>(tokens); ++t) {
      for (std::size_t k = 0; k < top_k; ++k) {
        EXPECT_EQ(run.ids[t * top_k + k], want.routing[t].ids[k]) << "token " << t << " slot " << k;
        EXPECT_NEAR(run.weights[t * top_k + k], want.routing[t].weights[k], 1e-5);
      }
    }
  }
}

struct SizeCase {
  const char* name;
  std::int64_t hidden, intermediate;
  std::int32_t experts, top_k;
  std::int64_t tokens;
};

class LayerSizes : public testing::TestWithParam<SizeCase> {};

TEST_P(LayerSizes, EqualsTheOracle) {
  const SizeCase& c = GetParam();
  expect_reference(RandomLayer(simple_spec(c.hidden, c.intermediate, c.experts, c.top_k), 1), c.tokens);
}

INSTANTIATE_TEST_SUITE_P(All, LayerSizes,
                         testing::Values(SizeCase{"one_token", 64, 48, 8, 2, 1}, SizeCase{"batch", 64, 48, 8, 2, 33},
                                         SizeCase{"odd_sizes", 37, 23, 8, 2, 9}, SizeCase{"one_column", 1, 1, 4, 2, 5},
                                         SizeCase{"one_expert", 32, 16, 1, 1, 7},
                                         SizeCase{"three_experts", 32, 16, 3, 2, 7},
                                         SizeCase{"all_experts", 32, 16, 6, 6, 7},
                                         SizeCase{"many_experts", 16, 8, 300, 8, 11},
                                         SizeCase{"more_rows_than_a_block", 16, 24, 2, 2, 300}),
                         [](const auto& test) { return test.param.name; });

TEST(Layer, BiasesAndClampedActivation) {
  MoeSpec spec = simple_spec(32, 40, 8, 3);
  spec.activation = Activation::kSwigluOai;
  spec.swiglu_limit = 0.8F;  // so that random values meet the clamp on both sides
  spec.expert_bias = true;
  spec.routing.logit_bias = true;
  expect_reference(RandomLayer(spec, 2), 17);
}

TEST(Layer, SelectionBiasAndGroups) {
  MoeSpec spec = simple_spec(32, 24, 16, 4);
  spec.routing.score = Score::kSigmoid;
  spec.routing.selection_bias = true;
  spec.routing.num_groups = 4;
  spec.routing.groups_used = 2;
  spec.routing.group_value = GroupValue::kTopTwoSum;
  spec.routing.norm_epsilon = 1e-20F;
  spec.routing.scale = 2.5F;
  expect_reference(RandomLayer(spec, 3), 17);
}

TEST(Layer, NoTokens) {
  const RandomLayer layer(simple_spec(32, 24, 4, 2), 4);
  for (const Isa isa : available_isas()) {
    ThreadPool pool(2);
    auto plan = make_plan(layer.inputs(isa));
    ASSERT_TRUE(plan.ok()) << plan.error().message();
    auto moe = FusedMoe::create(layer.spec, layer.weights, *plan, pool);
    ASSERT_TRUE(moe.ok()) << moe.error().message();
    int calls = 0;
    const auto count = [&](std::int64_t tokens, std::int32_t, const GlobalExpert*, const float*) {
      ++calls;
      EXPECT_EQ(tokens, 0);
    };
    EXPECT_TRUE((*moe)->forward(nullptr, 0, nullptr, count).ok());
    EXPECT_EQ(calls, 1);
  }
}

class LayerWeights : public testing::TestWithParam<DType> {};

TEST_P(LayerWeights, EqualsTheOracle) {
  const DType dtype = GetParam();
  const std::int64_t block = find_format(dtype)->block_values;
  const std::int64_t unit = block == 1 ? 40 : block;
  MoeSpec spec = simple_spec(2 * unit, unit, 4, 2);
  spec.shared = {.count = 1, .intermediate_size = 2 * unit, .gated = true};
  expect_reference(RandomLayer(spec, 5, {dtype, dtype, dtype, dtype}), 5);
}

INSTANTIATE_TEST_SUITE_P(All, LayerWeights, testing::ValuesIn(weight_types()),
                         [](const auto& test) { return std::string(dtype_name(test.param)); });

TEST(Layer, MixedWeightTypes) {
  expect_reference(RandomLayer(simple_spec(256, 256, 4, 2), 6, {DType::kQ4_K, DType::kF32, DType::kQ6_K}), 20);
  expect_reference(RandomLayer(simple_spec(64, 64, 4, 2), 6, {DType::kF16, DType::kQ8_0, DType::kBF16}), 20);
}

}  // namespace
}  // namespace sluice::moe
