#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/kernels.h"
#include "kernels/tables_under_test.h"

namespace sluice {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr double kEpsilon = 0x1p-24;  // half a unit in the last place of 1.0F

std::vector<float> gaussian(std::int64_t count, std::uint32_t seed, float size = 1.0F) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, size);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

double wide(float value) { return static_cast<double>(value); }
double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

constexpr std::int64_t kSizes[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 100, 127, 576, 1023, 1024, 1025, 5000};

class ElementwiseTest : public KernelTest {
 protected:
  // Errors in units of kEpsilon that a result of a few fp32 operations may have; the scalar table rounds once.
  double units(double vector_units) const { return (exact() ? 1.01 : vector_units) * kEpsilon; }

  // A vector with room behind its end, to see that nothing is written there.
  class Guarded {
   public:
    explicit Guarded(std::vector<float> values) : size_(values.size()), values_(std::move(values)) {
      values_.resize(size_ + 32, kGuard);
    }
    ~Guarded() {
      for (std::size_t i = size_; i < values_.size(); ++i) EXPECT_EQ(values_[i], kGuard) << "written behind the end";
    }
    Guarded(const Guarded&) = delete;
    Guarded& operator=(const Guarded&) = delete;
    float* data() { return values_.data(); }
    float operator[](std::size_t i) const { return values_[i]; }
    std::size_t size() const { return size_; }

   private:
    static constexpr float kGuard = 777.0F;
    std::size_t size_;
    std::vector<float> values_;
  };
};

TEST_P(ElementwiseTest, RmsNorm) {
  for (const std::int64_t n : kSizes) {
    for (const bool weighted : {true, false}) {
      for (const bool in_place : {true, false}) {
        const std::vector<float> x = gaussian(n, 1, 3.0F);
        const std::vector<float> weight = gaussian(n, 2);
        Guarded out(in_place ? x : std::vector<float>(x.size()));
        table().rms_norm(in_place ? out.data() : x.data(), weighted ? weight.data() : nullptr, n, 1e-5F, out.data());
        double squares = 0.0;
        for (const float value : x) squares += wide(value) * wide(value);
        const double inverse = 1.0 / std::sqrt(squares / static_cast<double>(n) + wide(1e-5F));
        for (std::size_t i = 0; i < x.size(); ++i) {
          const double expected = wide(x[i]) * inverse * (weighted ? wide(weight[i]) : 1.0);
          ASSERT_NEAR(wide(out[i]), expected, units(6) * std::abs(expected)) << n << " " << i;
        }
      }
    }
  }
}

TEST_P(ElementwiseTest, RmsNormOfZerosAndNan) {
  std::vector<float> x(40, 0.0F), out(40);
  table().rms_norm(x.data(), nullptr, 40, 1e-6F, out.data());
  EXPECT_EQ(out, std::vector<float>(40, 0.0F));
  x[33] = kNan;
  table().rms_norm(x.data(), nullptr, 40, 1e-6F, out.data());
  for (const float value : out) EXPECT_TRUE(std::isnan(value));
}

TEST_P(ElementwiseTest, DotAxpyAdd) {
  for (const std::int64_t n : kSizes) {
    const std::vector<float> a = gaussian(n, 3);
    const std::vector<float> b = gaussian(n, 4);
    double expected = 0.0, size = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      expected += wide(a[i]) * wide(b[i]);
      size += std::abs(wide(a[i]) * wide(b[i]));
    }
    EXPECT_NEAR(wide(table().dot(a.data(), b.data(), n)), expected, units(8) * size) << n;

    Guarded axpy(b);
    table().axpy(0.37F, a.data(), n, axpy.data());
    Guarded add(b);
    table().add(a.data(), n, add.data());
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double sum = wide(b[i]) + wide(0.37F) * wide(a[i]);
      ASSERT_NEAR(wide(axpy[i]), sum, 1.01 * kEpsilon * std::abs(sum)) << n << " " << i;
      ASSERT_EQ(add[i], b[i] + a[i]) << n << " " << i;
    }
  }
  EXPECT_EQ(table().dot(nullptr, nullptr, 0), 0.0F);
}

TEST_P(ElementwiseTest, Softmax) {
  constexpr static float kSmallSink = 2.5F, kLargeSink = 500.0F;
  for (const std::int64_t n : kSizes) {
    for (const float size : {0.1F, 4.0F, 60.0F}) {
      for (const float* sink : {static_cast<const float*>(nullptr), &kSmallSink, &kLargeSink}) {
        const std::vector<float> logits = gaussian(n, 5, size);
        Guarded x(logits);
        table().softmax(x.data(), n, sink);
        double max = sink == nullptr ? -1e30 : wide(*sink);
        for (const float value : logits) max = std::max(max, wide(value));
        double total = sink == nullptr ? 0.0 : std::exp(wide(*sink) - max);
        for (const float value : logits) total += std::exp(wide(value) - max);
        for (std::size_t i = 0; i < logits.size(); ++i) {
          const double expected = std::exp(wide(logits[i]) - max) / total;
          // The difference to the largest is rounded to fp32 before exp(); below the normal floats bits are lost.
          const double spread = exact() ? 0.0 : max - wide(logits[i]);
          ASSERT_NEAR(wide(x[i]), expected, (units(8) + spread * kEpsilon) * expected + 0x1p-148) << n << " " << i;
        }
      }
    }
  }
}

TEST_P(ElementwiseTest, SoftmaxCorners) {
  std::vector<float> x(21, -3e38F);
  x[20] = 3e38F;
  table().softmax(x.data(), 21, nullptr);
  EXPECT_EQ(x[20], 1.0F);
  EXPECT_EQ(x[0], 0.0F);
  x.assign(21, 1.0F);
  x[4] = -kInfinity;  // a masked position
  table().softmax(x.data(), 21, nullptr);
  EXPECT_EQ(x[4], 0.0F);
  EXPECT_NEAR(x[5], 0.05F, 1e-8F);
  for (const std::size_t at : {0U, 3U, 20U}) {
    x.assign(21, 1.0F);
    x[at] = kNan;
    table().softmax(x.data(), 21, nullptr);
    for (const float value : x) EXPECT_TRUE(std::isnan(value)) << at;
  }
  table().softmax(nullptr, 0, nullptr);
}

// Every magnitude of gate, so exp() is met over its whole range.
TEST_P(ElementwiseTest, SiluMul) {
  for (const std::int64_t n : kSizes) {
    std::vector<float> gate = gaussian(n, 6, 4.0F);
    for (std::size_t i = 0; i < gate.size(); ++i) gate[i] *= std::ldexp(1.0F, static_cast<int>(i % 24) - 18);
    const std::vector<float> up = gaussian(n, 7);
    Guarded out(gate);  // in place
    table().silu_mul(out.data(), up.data(), n, out.data());
    for (std::size_t i = 0; i < gate.size(); ++i) {
      const double expected = wide(gate[i]) * sigmoid(wide(gate[i])) * wide(up[i]);
      // exp(-x) is inaccurate where it overflows or is lost beside 1; the product is then tiny or x.
      ASSERT_NEAR(wide(out[i]), expected, units(8) * std::abs(expected) + 1e-36) << gate[i] << " " << up[i];
    }
  }
}

TEST_P(ElementwiseTest, SiluCorners) {
  const std::vector<float> gate = {0.0F, -0.0F, 100.0F, -100.0F, 3e38F, -3e38F, kNan, kInfinity, 1e-40F};
  const std::vector<float> up(gate.size(), 2.0F);
  std::vector<float> out(gate.size());
  table().silu_mul(gate.data(), up.data(), static_cast<std::int64_t>(gate.size()), out.data());
  EXPECT_EQ(out[0], 0.0F);
  EXPECT_EQ(out[1], 0.0F);
  EXPECT_EQ(out[2], 200.0F);
  EXPECT_NEAR(out[3], 0.0F, 1e-36F);
  EXPECT_EQ(out[4], kInfinity);
  EXPECT_EQ(out[5], 0.0F);
  EXPECT_TRUE(std::isnan(out[6]));
  EXPECT_EQ(out[7], kInfinity);
  EXPECT_NEAR(out[8], 1e-40F, 2e-45F);
}

TEST_P(ElementwiseTest, SwigluOai) {
  for (const std::int64_t n : kSizes) {
    const std::vector<float> gate = gaussian(n, 8, 6.0F);
    const std::vector<float> up = gaussian(n, 9, 6.0F);
    constexpr float kAlpha = 1.702F, kLimit = 7.0F;
    Guarded out(gate);
    table().swiglu_oai(out.data(), up.data(), n, kAlpha, kLimit, out.data());
    for (std::size_t i = 0; i < gate.size(); ++i) {
      const double g = std::min(wide(gate[i]), wide(kLimit));
      const double u = std::clamp(wide(up[i]), -wide(kLimit), wide(kLimit));
      const double expected = g * sigmoid(wide(kAlpha) * g) * (u + 1.0);
      // alpha * g is rounded before exp(), which multiplies that error by its size; u + 1 may cancel.
      const double size = std::abs(g * sigmoid(wide(kAlpha) * g)) * (std::abs(u) + 1.0);
      ASSERT_NEAR(wide(out[i]), expected, (units(8) + (exact() ? 0.0 : 2.0 * std::abs(g) * kEpsilon)) * size) << i;
    }
  }
  const float inputs[4] = {kNan, 1.0F, kInfinity, -kInfinity};
  const float ones[4] = {1.0F, kNan, 1.0F, 1.0F};
  float out[4];
  table().swiglu_oai(inputs, ones, 3, 1.702F, 7.0F, out);
  EXPECT_TRUE(std::isnan(out[0]));
  EXPECT_TRUE(std::isnan(out[1]));
  EXPECT_NEAR(out[2], 14.0F, 1e-3F);
}

TEST_P(ElementwiseTest, Attention) {
  for (const std::int64_t dim : {1, 5, 8, 16, 40, 64, 80, 96, 128, 192, 257, 576}) {
    for (const std::int64_t n : {1, 2, 3, 4, 5, 8, 61, 256}) {
      const std::int64_t stride = dim + 5;
      const std::vector<float> q = gaussian(dim, 10);
      const std::vector<float> rows = gaussian(n * stride - 5, 11);  // nothing behind the last row's last value
      const std::vector<float> p = gaussian(n, 12);
      Guarded scores(std::vector<float>(static_cast<std::size_t>(n)));
      table().attend_scores(q.data(), rows.data(), stride, n, dim, 0.125F, scores.data());
      for (std::int64_t j = 0; j < n; ++j) {
        double expected = 0.0, size = 0.0;
        for (std::int64_t d = 0; d < dim; ++d) {
          const double term =
              wide(q[static_cast<std::size_t>(d)]) * wide(rows[static_cast<std::size_t>(j * stride + d)]);
          expected += term;
          size += std::abs(term);
        }
        ASSERT_NEAR(wide(scores[static_cast<std::size_t>(j)]), expected * 0.125, units(6) * size * 0.125)
            << dim << " " << n;
      }
      Guarded out(std::vector<float>(static_cast<std::size_t>(dim), kNan));
      table().attend_values(p.data(), rows.data(), stride, n, dim, out.data());
      for (std::int64_t d = 0; d < dim; ++d) {
        double expected = 0.0, size = 0.0;
        for (std::int64_t j = 0; j < n; ++j) {
          const double term =
              wide(p[static_cast<std::size_t>(j)]) * wide(rows[static_cast<std::size_t>(j * stride + d)]);
          expected += term;
          size += std::abs(term);
        }
        ASSERT_NEAR(wide(out[static_cast<std::size_t>(d)]), expected, units(20) * size) << dim << " " << n;
      }
    }
  }
}

// A score is the same bits whether its key is read alone or among others.
TEST_P(ElementwiseTest, ScoresDoNotDependOnTheirNeighbours) {
  constexpr std::int64_t kDim = 100, kCount = 23;
  const std::vector<float> q = gaussian(kDim, 13);
  const std::vector<float> k = gaussian(kCount * kDim, 14);
  std::vector<float> together(kCount), alone(kCount);
  table().attend_scores(q.data(), k.data(), kDim, kCount, kDim, 0.1F, together.data());
  for (std::int64_t j = 0; j < kCount; ++j) {
    table().attend_scores(q.data(), k.data() + j * kDim, kDim, 1, kDim, 0.1F, alone.data() + j);
  }
  EXPECT_EQ(together, alone);
}

INSTANTIATE_TEST_SUITE_P(Kernels, ElementwiseTest, ::testing::ValuesIn(tables_under_test()), table_name);

TEST(Kernels, TablesNameTheirLevelOrALowerOne) {
  EXPECT_EQ(kernels_for(Isa::kScalar).isa, Isa::kScalar);
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Vnni, Isa::kAvx512Bf16}) {
    if (!isa_available(isa)) continue;
    const KernelTable& table = kernels_for(isa);
    EXPECT_LE(static_cast<int>(table.isa), static_cast<int>(isa));
    EXPECT_GE(static_cast<int>(table.isa), static_cast<int>(Isa::kAvx2));
  }
}

}  // namespace
}  // namespace sluice
