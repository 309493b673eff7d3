// The router: hand-computed cases, every family's program against the plain oracle, and the logits that hurt.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "moe/router/router.h"
#include "moe/support/reference.h"

namespace sluice::moe {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

struct Routed {
  std::vector<std::int32_t> ids;
  std::vector<float> weights;
};

Routed route(const RoutingProgram& program, const std::vector<float>& logits, const float* bias = nullptr,
             RouterPrecision precision = RouterPrecision::kDouble) {
  auto router = Router::create(program, bias, precision);
  if (!router.ok()) {
    ADD_FAILURE() << router.error().message();
    return {};
  }
  std::vector<GlobalExpert> ids(static_cast<std::size_t>(program.top_k));
  Routed routed;
  routed.weights.resize(ids.size());
  Router::Scratch scratch;
  router->route(logits.data(), ids.data(), routed.weights.data(), scratch);
  for (const GlobalExpert id : ids) routed.ids.push_back(index(id));
  return routed;
}

RoutingProgram softmax(std::int32_t experts, std::int32_t top_k, bool normalize) {
  RoutingProgram p;
  p.num_experts = experts;
  p.top_k = top_k;
  p.normalize = normalize;
  return p;
}

RoutingProgram sigmoid(std::int32_t experts, std::int32_t top_k, bool bias, float scale) {
  RoutingProgram p = softmax(experts, top_k, true);
  p.score = Score::kSigmoid;
  p.selection_bias = bias;
  p.norm_epsilon = 1e-20F;
  p.scale = scale;
  return p;
}

RoutingProgram grouped(RoutingProgram p, std::int32_t groups, std::int32_t used, GroupValue value) {
  p.num_groups = groups;
  p.groups_used = used;
  p.group_value = value;
  return p;
}

float ln(double x) { return static_cast<float>(std::log(x)); }
// The logit whose sigmoid is s.
float logit(double s) { return static_cast<float>(std::log(s / (1.0 - s))); }

void expect_weights(const Routed& routed, const std::vector<double>& want) {
  ASSERT_EQ(routed.weights.size(), want.size());
  for (std::size_t k = 0; k < want.size(); ++k) EXPECT_NEAR(routed.weights[k], want[k], 1e-6) << "slot " << k;
}

// Probabilities 1/10, 2/10, 3/10, 4/10.
const std::vector<float> kTenths = {ln(1), ln(2), ln(3), ln(4)};

TEST(Router, ProgramAKeepsTheProbabilities) {
  const Routed routed = route(softmax(4, 2, false), kTenths);
  EXPECT_EQ(routed.ids, (std::vector{3, 2}));
  expect_weights(routed, {0.4, 0.3});
}

TEST(Router, ProgramAWithScale) {
  RoutingProgram p = softmax(4, 2, false);
  p.scale = 16.0F;
  expect_weights(route(p, kTenths), {6.4, 4.8});
}

TEST(Router, ProgramBRenormalises) { expect_weights(route(softmax(4, 2, true), kTenths), {4.0 / 7.0, 3.0 / 7.0}); }

TEST(Router, ProgramAWithGroupsByTheirBest) {
  // DeepSeek-V2: groups {.1 .1} {.05 .3} {.2 .15} {.06 .04}; the best two groups are the second and the third.
  const RoutingProgram p = grouped(softmax(8, 3, false), 4, 2, GroupValue::kMax);
  const Routed routed = route(p, {ln(10), ln(10), ln(5), ln(30), ln(20), ln(15), ln(6), ln(4)});
  EXPECT_EQ(routed.ids, (std::vector{3, 4, 5}));
  expect_weights(routed, {0.30, 0.20, 0.15});
}

TEST(Router, ProgramCBiasOnlySelects) {
  const std::vector<float> bias = {0.0F, 0.5F, 0.0F, -0.5F};
  const Routed routed = route(sigmoid(4, 2, true, 2.0F), {logit(0.6), logit(0.3), logit(0.5), logit(0.8)}, bias.data());
  // Selection values .6 .8 .5 .3; weights from .6 and .3.
  EXPECT_EQ(routed.ids, (std::vector{0, 1}));
  expect_weights(routed, {2.0 * 0.6 / 0.9, 2.0 * 0.3 / 0.9});
}

TEST(Router, ProgramCWithoutNormalisation) {
  RoutingProgram p = sigmoid(3, 2, false, 1.5F);
  p.normalize = false;
  const Routed routed = route(p, {logit(0.2), logit(0.9), logit(0.6)});
  EXPECT_EQ(routed.ids, (std::vector{1, 2}));
  expect_weights(routed, {1.35, 0.9});
}

TEST(Router, ProgramDSumsTheTwoBestWithBias) {
  // Groups of three. The first holds the best expert, the second the best pair.
  RoutingProgram p = grouped(sigmoid(6, 2, true, 1.0F), 2, 1, GroupValue::kTopTwoSum);
  const std::vector<float> logits = {logit(0.9), logit(0.1), logit(0.2), logit(0.6), logit(0.7), logit(0.1)};
  std::vector<float> bias(6, 0.0F);
  Routed routed = route(p, logits, bias.data());
  EXPECT_EQ(routed.ids, (std::vector{4, 3}));
  expect_weights(routed, {0.7 / 1.3, 0.6 / 1.3});
  bias[2] = 0.5F;  // now .9 + .7 beats .7 + .6
  routed = route(p, logits, bias.data());
  EXPECT_EQ(routed.ids, (std::vector{0, 2}));
  expect_weights(routed, {0.9 / 1.1, 0.2 / 1.1});
}

TEST(Router, NegativeSelectionValuesBeatMaskedGroups) {
  // A mask of zero instead of minus infinity would choose experts of the dropped group here.
  const RoutingProgram p = grouped(sigmoid(4, 2, true, 1.0F), 2, 1, GroupValue::kTopTwoSum);
  const std::vector<float> bias = {-2.0F, -2.0F, -3.0F, -3.0F};
  EXPECT_EQ(route(p, {0.0F, 1.0F, 5.0F, 5.0F}, bias.data()).ids, (std::vector{1, 0}));
}

TEST(Router, NormGuards) {
  // exp underflows to nothing: only the guard is left to divide by.
  const std::vector<float> tiny(4, -200.0F);
  RoutingProgram p = sigmoid(4, 2, false, 1.0F);
  for (const RouterPrecision precision : {RouterPrecision::kFloat, RouterPrecision::kDouble}) {
    p.norm_guard = NormGuard::kAdd;
    p.norm_epsilon = 1e-6F;
    expect_weights(route(p, tiny, nullptr, precision), {0.0, 0.0});
    p.norm_guard = NormGuard::kClamp;
    expect_weights(route(p, tiny, nullptr, precision), {0.0, 0.0});
  }
  const std::vector<float> even(4, 0.0F);  // s = 1/2 each
  p.norm_guard = NormGuard::kAdd;
  p.norm_epsilon = 1.0F;
  expect_weights(route(p, even), {0.25, 0.25});
  p.norm_guard = NormGuard::kClamp;
  p.norm_epsilon = 4.0F;
  expect_weights(route(p, even), {0.125, 0.125});
  p.norm_epsilon = 0.5F;
  expect_weights(route(p, even), {0.5, 0.5});
}

TEST(Router, TiesGoToTheLowerId) {
  const std::vector<float> equal(40, 0.25F);
  for (const RouterPrecision precision : {RouterPrecision::kFloat, RouterPrecision::kDouble}) {
    EXPECT_EQ(route(softmax(40, 3, true), equal, nullptr, precision).ids, (std::vector{0, 1, 2}));
    EXPECT_EQ(route(grouped(sigmoid(40, 3, false, 1.0F), 8, 2, GroupValue::kTopTwoSum), equal, nullptr, precision).ids,
              (std::vector{0, 1, 2}));
    EXPECT_EQ(route(softmax(5, 2, true), {1.0F, 3.0F, 2.0F, 3.0F, 3.0F}, nullptr, precision).ids, (std::vector{1, 3}));
  }
  std::vector<std::int32_t> all(200);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int32_t>(i);
  std::vector<float> many(300, 1.0F);
  EXPECT_EQ(route(softmax(300, 200, true), many).ids, all) << "beyond the short list";
}

TEST(Router, EqualWeightsOfUnequalSelectionAreOrderedById) {
  const std::vector<float> bias = {0.0F, 0.1F, 0.2F, 0.3F};
  EXPECT_EQ(route(sigmoid(4, 3, true, 1.0F), {0.0F, 0.0F, 0.0F, 0.0F}, bias.data()).ids, (std::vector{1, 2, 3}));
}

TEST(Router, ExtremeLogitsKeepTheirOrder) {
  // Scores saturate, the logits that rank do not.
  EXPECT_EQ(route(sigmoid(4, 2, false, 1.0F), {100.0F, 300.0F, 200.0F, 0.0F}).ids, (std::vector{1, 2}));
  const Routed routed = route(softmax(4, 2, true), {-3e38F, 3e38F, 0.0F, -1.0F}, nullptr, RouterPrecision::kFloat);
  EXPECT_EQ(routed.ids, (std::vector{1, 2}));
  expect_weights(routed, {1.0, 0.0});
}

// One row of the table of architectures: what its router does.
struct Family {
  const char* name;
  RoutingProgram program;
};

RoutingProgram with_epsilon(RoutingProgram p, NormGuard guard, float epsilon) {
  p.norm_guard = guard;
  p.norm_epsilon = epsilon;
  return p;
}

RoutingProgram with_bias(RoutingProgram p) {
  p.selection_bias = true;
  return p;
}

RoutingProgram scaled(RoutingProgram p, float scale) {
  p.scale = scale;
  return p;
}

RoutingProgram with_logit_bias(RoutingProgram p) {
  p.logit_bias = true;
  return p;
}

std::vector<Family> families() {
  const auto d = [](std::int32_t experts, std::int32_t top_k, float scale) {
    return grouped(sigmoid(experts, top_k, true, scale), 8, 4, GroupValue::kTopTwoSum);
  };
  return {
      {"mixtral", softmax(8, 2, true)},
      {"qwen2moe_60", softmax(60, 4, false)},
      {"qwen2moe_64", softmax(64, 8, false)},
      {"qwen3moe_128", softmax(128, 8, true)},
      {"qwen3moe_160", softmax(160, 8, true)},
      {"qwen3next", softmax(512, 10, true)},
      {"qwen35moe", softmax(256, 8, true)},
      {"olmoe", softmax(64, 8, false)},
      {"phimoe", softmax(16, 2, true)},
      {"deepseek_v2_lite", softmax(64, 6, false)},
      {"deepseek_v2", scaled(grouped(softmax(160, 6, false), 8, 3, GroupValue::kMax), 16.0F)},
      {"deepseek_v3", d(256, 8, 2.5F)},
      {"kimi_k2", sigmoid(384, 8, true, 2.827F)},
      {"glm4moe_160", sigmoid(160, 8, true, 2.5F)},
      {"glm4moe_128", sigmoid(128, 8, true, 1.0F)},
      {"glm4moe_lite", sigmoid(64, 4, true, 1.8F)},
      {"glm5next", sigmoid(288, 8, true, 1.0F)},
      {"gpt_oss_32", with_logit_bias(softmax(32, 4, true))},
      {"gpt_oss_128", with_logit_bias(softmax(128, 4, true))},
      {"minimax_m2", sigmoid(256, 8, true, 1.0F)},
      {"kimi_linear", sigmoid(256, 8, true, 2.446F)},
      {"kimi_k3", sigmoid(896, 16, true, 1.0F)},
      {"gemma4", softmax(128, 8, true)},
      {"bailingmoe2", d(256, 8, 2.5F)},
      {"ernie4_5", with_epsilon(with_bias(softmax(64, 6, true)), NormGuard::kClamp, 1e-12F)},
      {"hunyuan", softmax(64, 8, true)},
      {"hy_v3", sigmoid(192, 8, true, 2.826F)},
      {"dots1", sigmoid(128, 6, true, 2.5F)},
      {"lfm2moe", with_epsilon(sigmoid(32, 4, true, 1.0F), NormGuard::kAdd, 1e-6F)},
      {"granite", softmax(64, 6, true)},
      {"step35", sigmoid(288, 8, true, 3.0F)},
      {"mimo2", sigmoid(256, 8, true, 1.0F)},
      {"nemotron_h", sigmoid(128, 6, true, 2.5F)},
      {"afmoe", sigmoid(128, 8, true, 2.826F)},
      {"smallthinker", sigmoid(32, 4, false, 1.0F)},
      {"llama_cpp_guard", with_epsilon(sigmoid(64, 6, true, 1.0F), NormGuard::kClamp, 6.1e-5F)},
      {"longcat", with_bias(scaled(softmax(768, 12, false), 6.0F))},
      {"dbrx", softmax(16, 4, true)},
      {"grok", softmax(8, 2, false)},
      {"one_expert", softmax(1, 1, true)},
      {"three_experts", sigmoid(3, 2, true, 1.0F)},
      {"all_experts", softmax(20, 20, false)},
      {"many_of_many", sigmoid(1000, 100, true, 1.0F)},
      {"groups_of_one", grouped(sigmoid(8, 3, true, 1.0F), 8, 4, GroupValue::kTopTwoSum)},
      {"beyond_16_bits", sigmoid(70000, 8, true, 1.0F)},
      {"groups_beyond_16_bits", grouped(sigmoid(80000, 16, true, 1.0F), 100, 7, GroupValue::kTopTwoSum)},
  };
}

class RouterFamilies : public testing::TestWithParam<Family> {};

TEST_P(RouterFamilies, EqualTheOracle) {
  const RoutingProgram& p = GetParam().program;
  std::mt19937 random(17);
  std::normal_distribution<float> normal(0.0F, 2.0F);
  std::uniform_real_distribution<float> small(-0.3F, 0.3F);
  const auto experts = static_cast<std::size_t>(p.num_experts);
  std::vector<float> bias(experts);
  for (float& b : bias) b = small(random);
  const float* selection_bias = p.selection_bias ? bias.data() : nullptr;
  const int trials = experts > 10000 ? 2 : 40;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<float> logits(experts);
    for (float& l : logits) l = normal(random);
    const std::vector<double> exact(logits.begin(), logits.end());
    const ReferenceRouting want = reference_route(p, exact, selection_bias);
    const Routed got = route(p, logits, selection_bias, RouterPrecision::kDouble);
    ASSERT_EQ(got.ids, want.ids);
    for (std::size_t k = 0; k < want.ids.size(); ++k) {
      ASSERT_NEAR(got.weights[k], want.weights[k], 2e-7 * std::max(1.0, want.weights[k]));
    }
    // In fp32 neighbours may change places where their values lie within rounding.
    const Routed fast = route(p, logits, selection_bias, RouterPrecision::kFloat);
    for (std::size_t k = 0; k < want.ids.size(); ++k) {
      ASSERT_NEAR(fast.weights[k], want.weights[k], 1e-5 * std::max(1.0, want.weights[k])) << "slot " << k;
    }
    EXPECT_TRUE(std::ranges::is_sorted(fast.weights, std::greater<>()));
  }
}

INSTANTIATE_TEST_SUITE_P(All, RouterFamilies, testing::ValuesIn(families()),
                         [](const auto& test) { return test.param.name; });

TEST_P(RouterFamilies, SurviveNanAndInfinity) {
  const RoutingProgram& p = GetParam().program;
  const auto experts = static_cast<std::size_t>(p.num_experts);
  const std::vector<float> bias(experts, 0.1F);
  const float* selection_bias = p.selection_bias ? bias.data() : nullptr;
  const auto with = [&](float value, std::size_t every) {
    std::vector<float> logits(experts, 0.5F);
    for (std::size_t i = 0; i < experts; i += every) logits[i] = value;
    return logits;
  };
  for (const RouterPrecision precision : {RouterPrecision::kFloat, RouterPrecision::kDouble}) {
    for (const float value : {kNan, kInf, -kInf, 3.4e38F, -3.4e38F}) {
      for (const std::size_t every : {std::size_t{1}, std::size_t{2}, experts}) {
        const Routed routed = route(p, with(value, every), selection_bias, precision);
        const std::set<std::int32_t> distinct(routed.ids.begin(), routed.ids.end());
        EXPECT_EQ(distinct.size(), routed.ids.size());
        EXPECT_GE(*distinct.begin(), 0);
        EXPECT_LT(*distinct.rbegin(), p.num_experts);
        if (std::isnan(value)) {
          for (const float w : routed.weights) EXPECT_TRUE(std::isnan(w)) << "a broken router must show";
        }
      }
    }
  }
}

TEST(Router, NeedsTheBiasThatTheProgramNames) {
  const auto router = Router::create(sigmoid(8, 2, true, 1.0F), nullptr, RouterPrecision::kFloat);
  ASSERT_FALSE(router.ok());
  EXPECT_EQ(router.error().code(), ErrorCode::kInvalidArgument);
}

TEST(Router, IgnoresABiasThatTheProgramDoesNotUse) {
  const std::vector<float> bias = {9.0F, 0.0F, 0.0F};
  EXPECT_EQ(route(sigmoid(3, 1, false, 1.0F), {0.0F, 1.0F, 0.0F}, bias.data()).ids, (std::vector{1}));
}

}  // namespace
}  // namespace sluice::moe
