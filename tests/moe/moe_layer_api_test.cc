// The public layer: what its users see, through the public header only.
#include "sluice/moe.h"

#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::HasSubstr;

std::vector<float> floats(std::size_t count, unsigned seed, float size = 0.2F) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, size);
  std::vector<float> values(count);
  for (float& v : values) v = normal(random);
  return values;
}

// A layer with everything: biases, groups, shared experts with a gate.
class MoeLayerApi : public testing::Test {
 protected:
  static constexpr std::int64_t kH = 24, kI = 10, kE = 8, kS = 20;

  MoeLayerApi() {
    d_.hidden_size = kH;
    d_.intermediate_size = kI;
    d_.routing.num_experts = kE;
    d_.routing.top_k = 2;
    d_.routing.normalize = true;
    d_.router = router_;
    d_.gate = std::as_bytes(std::span(gate_));
    d_.up = std::as_bytes(std::span(up_));
    d_.down = std::as_bytes(std::span(down_));
  }

  void add_shared() {
    d_.num_shared_experts = 2;
    d_.shared_intermediate_size = kS;
    d_.shared_gate = std::as_bytes(std::span(shared_gate_));
    d_.shared_up = std::as_bytes(std::span(shared_up_));
    d_.shared_down = std::as_bytes(std::span(shared_down_));
    d_.shared_output_gate = shared_output_gate_;
  }

  void expect_error(ErrorCode code, const char* text, const MoeOptions& options = {}) {
    const auto layer = MoeLayer::create(d_, options);
    ASSERT_FALSE(layer.ok());
    EXPECT_EQ(layer.error().code(), code) << layer.error().message();
    EXPECT_THAT(layer.error().message(), HasSubstr(text));
    EXPECT_EQ(layer.error().message().find('\n'), std::string::npos);
  }

  // The layer in plain loops: fp64, no code shared.
  std::vector<double> plain(std::span<const float> x, std::span<const std::int32_t> experts,
                            std::span<const float> weights) const {
    std::vector<double> out(kH, 0.0);
    const auto add = [&](double weight, const float* gate, const float* up, const float* down, std::int64_t width) {
      for (std::int64_t i = 0; i < width; ++i) {
        double g = 0.0;
        double u = 0.0;
        for (std::int64_t k = 0; k < kH; ++k) {
          g += static_cast<double>(gate[i * kH + k]) * static_cast<double>(x[static_cast<std::size_t>(k)]);
          u += static_cast<double>(up[i * kH + k]) * static_cast<double>(x[static_cast<std::size_t>(k)]);
        }
        const double h = g / (1.0 + std::exp(-g)) * u;
        for (std::int64_t n = 0; n < kH; ++n) {
          out[static_cast<std::size_t>(n)] += weight * static_cast<double>(down[n * width + i]) * h;
        }
      }
    };
    for (std::size_t k = 0; k < experts.size(); ++k) {
      const std::int64_t e = experts[k];
      add(static_cast<double>(weights[k]), gate_.data() + e * kI * kH, up_.data() + e * kI * kH,
          down_.data() + e * kH * kI, kI);
    }
    if (d_.num_shared_experts > 0) {
      double gate = 0.0;
      for (std::size_t k = 0; k < kH; ++k)
        gate += static_cast<double>(shared_output_gate_[k]) * static_cast<double>(x[k]);
      add(1.0 / (1.0 + std::exp(-gate)), shared_gate_.data(), shared_up_.data(), shared_down_.data(), kS);
    }
    return out;
  }

  std::vector<float> router_ = floats(kE * kH, 1);
  std::vector<float> gate_ = floats(kE * kI * kH, 2);
  std::vector<float> up_ = floats(kE * kI * kH, 3);
  std::vector<float> down_ = floats(kE * kH * kI, 4);
  std::vector<float> shared_gate_ = floats(kS * kH, 5);
  std::vector<float> shared_up_ = floats(kS * kH, 6);
  std::vector<float> shared_down_ = floats(kH * kS, 7);
  std::vector<float> shared_output_gate_ = floats(kH, 8);
  MoeDescription d_;
};

TEST_F(MoeLayerApi, EqualsPlainLoops) {
  add_shared();
  for (const char* shared : {"beside", "fused"}) {
    auto layer = MoeLayer::create(d_, {.isa = "scalar", .threads = 2, .shared_experts = shared});
    ASSERT_TRUE(layer.ok()) << layer.error().message();
    const std::vector<float> x = floats(5 * kH, 9, 1.0F);
    std::vector<float> out(x.size());
    MoeRouted routed;
    ASSERT_TRUE(layer->forward(x, out, &routed).ok());
    EXPECT_EQ(routed.top_k, 2);
    ASSERT_EQ(routed.experts.size(), 10U);
    ASSERT_EQ(routed.weights.size(), 10U);
    for (std::size_t t = 0; t < 5; ++t) {
      EXPECT_NEAR(routed.weights[2 * t] + routed.weights[2 * t + 1], 1.0F, 1e-6F);
      EXPECT_GE(routed.weights[2 * t], routed.weights[2 * t + 1]);
      const std::vector<double> want =
          plain(std::span(x).subspan(t * kH, kH), std::span(routed.experts).subspan(2 * t, 2),
                std::span(routed.weights).subspan(2 * t, 2));
      for (std::size_t n = 0; n < kH; ++n) EXPECT_NEAR(out[t * kH + n], want[n], 1e-5) << shared;
    }
  }
}

TEST_F(MoeLayerApi, DefaultsRunAndExplainThemselves) {
  auto layer = MoeLayer::create(d_);
  ASSERT_TRUE(layer.ok()) << layer.error().message();
  EXPECT_GE(layer->threads(), 1);
  EXPECT_THAT(layer->explain(), HasSubstr("B: softmax, 2 of 8 experts, normalised"));
  EXPECT_THAT(layer->explain(), HasSubstr(std::string(layer->isa())));
  MoeLayer moved = std::move(*layer);
  EXPECT_TRUE(moved.forward({}, {}).ok()) << "no tokens";
  const std::vector<float> x = floats(kH, 1);
  std::vector<float> out(kH);
  EXPECT_TRUE(moved.forward(x, out).ok());
}

TEST_F(MoeLayerApi, RowsMustBeWhole) {
  auto layer = MoeLayer::create(d_);
  ASSERT_TRUE(layer.ok());
  std::vector<float> x(kH + 1);
  std::vector<float> out(kH + 1);
  EXPECT_EQ(layer->forward(x, out).error().code(), ErrorCode::kInvalidArgument);
  x.resize(2 * kH);
  out.resize(kH);
  EXPECT_THAT(layer->forward(x, out).error().message(), HasSubstr("x holds 48 floats and out 24"));
}

TEST_F(MoeLayerApi, ArraysOfTheWrongLengthAreNamed) {
  const MoeDescription good = d_;
  d_.router = d_.router.first(7);
  expect_error(ErrorCode::kInvalidArgument, "router holds 7 floats, 192 are needed");
  d_ = good;
  d_.gate = d_.gate.first(100);
  expect_error(ErrorCode::kInvalidArgument, "gate holds 100 bytes, 7680 are needed for [80, 24] of F32");
  d_ = good;
  d_.down = {};
  expect_error(ErrorCode::kInvalidArgument, "down holds 0 bytes");
  d_ = good;
  d_.selection_bias = std::span(router_).first(3);
  expect_error(ErrorCode::kInvalidArgument, "selection_bias holds 3 floats, 8 are needed");
  d_ = good;
  d_.logit_bias = std::span(router_).first(9);
  expect_error(ErrorCode::kInvalidArgument, "logit_bias holds 9 floats, 8 are needed");
  d_ = good;
  d_.up_bias = std::span(router_).first(80);
  expect_error(ErrorCode::kInvalidArgument, "gate_bias holds 0 floats, 80 are needed");
  d_ = good;
  add_shared();
  d_.shared_up = d_.shared_up.first(4);
  expect_error(ErrorCode::kInvalidArgument, "shared_up holds 4 bytes");
  add_shared();
  d_.shared_output_gate = d_.shared_output_gate.first(4);
  expect_error(ErrorCode::kInvalidArgument, "shared_output_gate holds 4 floats, 24 are needed");
  add_shared();
  d_.num_shared_experts = 0;
  d_.shared_output_gate = {};
  expect_error(ErrorCode::kInvalidArgument, "num_shared_experts is 0");
}

TEST_F(MoeLayerApi, ImpossibleLayersAreNamed) {
  expect_error(ErrorCode::kInvalidArgument, "sse9", {.isa = "sse9"});
  expect_error(ErrorCode::kInvalidArgument, "unknown experts kernel 'triton'", {.experts = "triton"});
  const MoeDescription good = d_;
  d_.weight_type = "Q4_K";
  expect_error(ErrorCode::kInvalidArgument, "Q4_K blocks of 256");
  d_.weight_type = "FP3";
  expect_error(ErrorCode::kInvalidArgument, "unknown weight type 'FP3'; known: F32, F16, Q4_0");
  d_ = good;
  d_.routing.top_k = 9;
  expect_error(ErrorCode::kInvalidArgument, "top_k is 9");
  d_ = good;
  d_.hidden_size = std::int64_t{1} << 62;
  expect_error(ErrorCode::kInvalidArgument, "hidden_size");
  d_ = good;
  d_.intermediate_size = 0;
  expect_error(ErrorCode::kInvalidArgument, "intermediate_size is 0");
}

TEST(WeightBytes, CountsBlocks) {
  EXPECT_EQ(weight_bytes("F32", 3, 5).value(), 60U);
  EXPECT_EQ(weight_bytes("BF16", 3, 5).value(), 30U);
  EXPECT_EQ(weight_bytes("Q8_0", 2, 64).value(), 2U * 2U * 34U);
  EXPECT_EQ(weight_bytes("Q4_K", 1, 512).value(), 2U * 144U);
  EXPECT_FALSE(weight_bytes("Q8_0", 2, 65).ok());
  EXPECT_FALSE(weight_bytes("F32", 0, 5).ok());
  EXPECT_FALSE(weight_bytes("F32", 5, -1).ok());
  EXPECT_FALSE(weight_bytes("F32", std::int64_t{1} << 62, std::int64_t{1} << 40).ok());
  EXPECT_FALSE(weight_bytes("I32", 1, 1).ok());
}

}  // namespace
}  // namespace sluice
