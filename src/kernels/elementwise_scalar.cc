// The exact forms of everything but the products of weights: sums and functions in fp64, rounded once to fp32.
#include <algorithm>
#include <cmath>

#include "kernels/tables.h"

namespace sluice {
namespace {

double dot_f64(const float* a, const float* b, std::int64_t n) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

void rms_norm(const float* x, const float* weight, std::int64_t n, float eps, float* out) {
  const double mean = n > 0 ? dot_f64(x, x, n) / static_cast<double>(n) : 0.0;
  const double inverse = 1.0 / std::sqrt(mean + static_cast<double>(eps));
  for (std::int64_t i = 0; i < n; ++i) {
    const double w = weight == nullptr ? 1.0 : static_cast<double>(weight[i]);
    out[i] = static_cast<float>(w * (static_cast<double>(x[i]) * inverse));
  }
}

float dot(const float* a, const float* b, std::int64_t n) { return static_cast<float>(dot_f64(a, b, n)); }

void axpy(float a, const float* x, std::int64_t n, float* y) {
  for (std::int64_t i = 0; i < n; ++i) {
    y[i] = static_cast<float>(static_cast<double>(y[i]) + static_cast<double>(a) * static_cast<double>(x[i]));
  }
}

void add(const float* x, std::int64_t n, float* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] += x[i];
}

void softmax(float* x, std::int64_t n, const float* sink) {
  if (n <= 0) return;
  float max = sink == nullptr ? x[0] : *sink;
  for (std::int64_t i = 0; i < n; ++i) max = std::max(max, x[i]);
  // Twice the same exp instead of a buffer of doubles: this table is for exactness.
  const auto term = [max](float value) { return std::exp(static_cast<double>(value) - static_cast<double>(max)); };
  double sum = sink == nullptr ? 0.0 : term(*sink);
  for (std::int64_t i = 0; i < n; ++i) sum += term(x[i]);
  for (std::int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(term(x[i]) / sum);
}

void silu_mul(const float* gate, const float* up, std::int64_t n, float* out) {
  for (std::int64_t i = 0; i < n; ++i) {
    const auto g = static_cast<double>(gate[i]);
    out[i] = static_cast<float>(g * sigmoid(g) * static_cast<double>(up[i]));
  }
}

void swiglu_oai(const float* gate, const float* up, std::int64_t n, float alpha, float limit, float* out) {
  for (std::int64_t i = 0; i < n; ++i) {
    // std::min and std::clamp return their first argument when it is NaN: it is not lost here.
    const auto g = static_cast<double>(std::min(gate[i], limit));
    const auto u = static_cast<double>(std::clamp(up[i], -limit, limit));
    out[i] = static_cast<float>(g * sigmoid(static_cast<double>(alpha) * g) * (u + 1.0));
  }
}

void attend_scores(const float* q, const float* k, std::int64_t stride, std::int64_t n, std::int64_t dim, float scale,
                   float* scores) {
  for (std::int64_t j = 0; j < n; ++j) {
    scores[j] = static_cast<float>(dot_f64(q, k + j * stride, dim) * static_cast<double>(scale));
  }
}

void attend_values(const float* p, const float* v, std::int64_t stride, std::int64_t n, std::int64_t dim, float* out) {
  constexpr std::int64_t kBlock = 64;
  for (std::int64_t first = 0; first < dim; first += kBlock) {
    const std::int64_t count = std::min(kBlock, dim - first);
    double sums[kBlock] = {};
    for (std::int64_t j = 0; j < n; ++j) {
      const float* row = v + j * stride + first;
      for (std::int64_t d = 0; d < count; ++d) sums[d] += static_cast<double>(p[j]) * static_cast<double>(row[d]);
    }
    for (std::int64_t d = 0; d < count; ++d) out[first + d] = static_cast<float>(sums[d]);
  }
}

}  // namespace

void fill_elementwise_scalar(KernelTable& table) {
  table.rms_norm = rms_norm;
  table.dot = dot;
  table.axpy = axpy;
  table.add = add;
  table.softmax = softmax;
  table.silu_mul = silu_mul;
  table.swiglu_oai = swiglu_oai;
  table.attend_scores = attend_scores;
  table.attend_values = attend_values;
}

}  // namespace sluice
