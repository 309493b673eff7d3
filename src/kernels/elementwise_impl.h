// Everything but the products of weights, once for all vector widths: Vec is Vec8 (vec_avx2.h) or Vec16
// (vec_avx512.h). Only for files of one instruction set.
//
// Sums run in fp32 lanes over at most kSumBlock elements and are collected in fp64, so that their error does not grow
// with the length of a row or of the context.
#pragma once

#include <cstdint>

#include "kernels/tables.h"
#include "quant/float_convert.h"

namespace sluice {
namespace {  // NOLINT(google-build-namespaces): see tables.h

template <typename Vec>
struct Elementwise {
  using Reg = typename Vec::Reg;
  static constexpr std::int64_t kLanes = Vec::kLanes;
  static constexpr std::int64_t kSumBlock = 1024;

  SLUICE_INLINE static std::int64_t min_of(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

  // Calls step(i, load, store) for whole vectors, then once for what remains: element-wise loops without their tails.
  // `load(p)` reads from p + i and `store(p, v)` writes there.
  template <typename Step>
  SLUICE_INLINE static void for_each_vector(std::int64_t n, const Step& step) {
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      step([i](const float* p) { return Vec::load(p + i); }, [i](float* p, Reg v) { Vec::store(p + i, v); });
    }
    if (const std::int64_t rest = n - i; rest > 0) {
      step([i, rest](const float* p) { return Vec::load_partial(p + i, rest); },
           [i, rest](float* p, Reg v) { Vec::store_partial(p + i, v, rest); });
    }
  }

  // exp(x) to about one unit in the last place: x = n ln 2 + r, Taylor's polynomial of degree 7 on |r| <= ln 2 / 2 (its
  // error there is below 6e-9). Beyond the clamp the result is 0 or infinity; NaN stays NaN.
  SLUICE_INLINE static Reg exp(Reg x) {
    x = Vec::min(Vec::set1(90.0F), x);
    x = Vec::max(Vec::set1(-106.0F), x);
    const Reg n = Vec::round(Vec::mul(x, Vec::set1(1.44269504F)));
    // ln 2 in two parts; the first has few enough bits that n times it is exact.
    Reg r = Vec::fma(n, Vec::set1(-0x1.62e4p-1F), x);
    r = Vec::fma(n, Vec::set1(-0x1.7f7d1cp-20F), r);
    Reg p = Vec::set1(1.0F / 5040.0F);
    p = Vec::fma(p, r, Vec::set1(1.0F / 720.0F));
    p = Vec::fma(p, r, Vec::set1(1.0F / 120.0F));
    p = Vec::fma(p, r, Vec::set1(1.0F / 24.0F));
    p = Vec::fma(p, r, Vec::set1(1.0F / 6.0F));
    p = Vec::fma(p, r, Vec::set1(0.5F));
    p = Vec::fma(p, r, Vec::set1(1.0F));
    p = Vec::fma(p, r, Vec::set1(1.0F));
    return Vec::scale_by_power_of_two(p, n);
  }

  // x / (1 + exp(-alpha x))
  SLUICE_INLINE static Reg swish(Reg x, Reg minus_alpha) {
    return Vec::div(x, Vec::add(Vec::set1(1.0F), exp(Vec::mul(minus_alpha, x))));
  }

  // One sum per key; the four of attend_scores run side by side, each exactly as alone.
  template <int Rows>
  SLUICE_INLINE static void dot_rows(const float* a, const float* b, std::int64_t b_stride, std::int64_t n,
                                     float* out) {
    Reg sums[Rows][2];
    for (auto& sum : sums) sum[0] = sum[1] = Vec::zero();
    std::int64_t i = 0;
    for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
      const Reg a0 = Vec::load(a + i);
      const Reg a1 = Vec::load(a + i + kLanes);
      for (int r = 0; r < Rows; ++r) {
        sums[r][0] = Vec::fma(a0, Vec::load(b + r * b_stride + i), sums[r][0]);
        sums[r][1] = Vec::fma(a1, Vec::load(b + r * b_stride + i + kLanes), sums[r][1]);
      }
    }
    if (i + kLanes <= n) {
      const Reg a0 = Vec::load(a + i);
      for (int r = 0; r < Rows; ++r) sums[r][0] = Vec::fma(a0, Vec::load(b + r * b_stride + i), sums[r][0]);
      i += kLanes;
    }
    if (const std::int64_t rest = n - i; rest > 0) {
      const Reg a1 = Vec::load_partial(a + i, rest);
      for (int r = 0; r < Rows; ++r) {
        sums[r][1] = Vec::fma(a1, Vec::load_partial(b + r * b_stride + i, rest), sums[r][1]);
      }
    }
    for (int r = 0; r < Rows; ++r) out[r] = Vec::sum(Vec::add(sums[r][0], sums[r][1]));
  }

  static double dot_f64(const float* a, const float* b, std::int64_t n) {
    double total = 0.0;
    for (std::int64_t i = 0; i < n; i += kSumBlock) {
      float sum = 0.0F;
      dot_rows<1>(a + i, b + i, 0, min_of(kSumBlock, n - i), &sum);
      total += static_cast<double>(sum);
    }
    return total;
  }

  static float dot(const float* a, const float* b, std::int64_t n) { return static_cast<float>(dot_f64(a, b, n)); }

  static void rms_norm(const float* x, const float* weight, std::int64_t n, float eps, float* out) {
    if (n <= 0) return;
    const double mean = dot_f64(x, x, n) / static_cast<double>(n);
    const Reg inverse = Vec::set1(static_cast<float>(1.0 / __builtin_sqrt(mean + static_cast<double>(eps))));
    if (weight == nullptr) {
      for_each_vector(n, [&](auto load, auto store) { store(out, Vec::mul(load(x), inverse)); });
      return;
    }
    for_each_vector(n, [&](auto load, auto store) { store(out, Vec::mul(load(weight), Vec::mul(load(x), inverse))); });
  }

  static void axpy(float a, const float* x, std::int64_t n, float* y) {
    const Reg factor = Vec::set1(a);
    for_each_vector(n, [&](auto load, auto store) { store(y, Vec::fma(factor, load(x), load(y))); });
  }

  static void add(const float* x, std::int64_t n, float* y) {
    for_each_vector(n, [&](auto load, auto store) { store(y, Vec::add(load(y), load(x))); });
  }

  static void softmax(float* x, std::int64_t n, const float* sink) {
    if (n <= 0) return;
    // A NaN is skipped here and comes back through exp() and the sum.
    Reg maxima = Vec::set1(sink == nullptr ? x[0] : *sink);
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) maxima = Vec::max(Vec::load(x + i), maxima);
    float max = Vec::max_lane(maxima);
    for (; i < n; ++i) max = x[i] > max ? x[i] : max;

    const Reg shift = Vec::set1(max);
    double total = 0.0;
    if (sink != nullptr) {
      float term[kLanes];
      Vec::store(term, exp(Vec::sub(Vec::set1(*sink), shift)));
      total = static_cast<double>(term[0]);
    }
    for (std::int64_t first = 0; first < n; first += kSumBlock) {
      float* block = x + first;
      const std::int64_t count = min_of(kSumBlock, n - first);
      Reg sum = Vec::zero();
      for (i = 0; i + kLanes <= count; i += kLanes) {
        const Reg term = exp(Vec::sub(Vec::load(block + i), shift));
        Vec::store(block + i, term);
        sum = Vec::add(sum, term);
      }
      total += static_cast<double>(Vec::sum(sum));
      if (const std::int64_t rest = count - i; rest > 0) {
        Vec::store_partial(block + i, exp(Vec::sub(Vec::load_partial(block + i, rest), shift)), rest);
        for (; i < count; ++i) total += static_cast<double>(block[i]);
      }
    }
    const Reg inverse = Vec::set1(static_cast<float>(1.0 / total));
    for_each_vector(n, [&](auto load, auto store) { store(x, Vec::mul(load(x), inverse)); });
  }

  static void silu_mul(const float* gate, const float* up, std::int64_t n, float* out) {
    const Reg minus_one = Vec::set1(-1.0F);
    for_each_vector(n, [&](auto load, auto store) { store(out, Vec::mul(swish(load(gate), minus_one), load(up))); });
  }

  static void swiglu_oai(const float* gate, const float* up, std::int64_t n, float alpha, float limit, float* out) {
    const Reg high = Vec::set1(limit);
    const Reg low = Vec::set1(-limit);
    const Reg minus_alpha = Vec::set1(-alpha);
    for_each_vector(n, [&](auto load, auto store) {
      const Reg g = Vec::min(high, load(gate));
      const Reg u = Vec::max(low, Vec::min(high, load(up)));
      store(out, Vec::mul(swish(g, minus_alpha), Vec::add(u, Vec::set1(1.0F))));
    });
  }

  static void attend_scores(const float* q, const float* k, std::int64_t stride, std::int64_t n, std::int64_t dim,
                            float scale, float* scores) {
    std::int64_t j = 0;
    for (; j + 4 <= n; j += 4) dot_rows<4>(q, k + j * stride, stride, dim, scores + j);
    for (; j < n; ++j) dot_rows<1>(q, k + j * stride, 0, dim, scores + j);
    for (j = 0; j < n; ++j) scores[j] *= scale;
  }

  // `Count` vectors of out at a time stay in registers while all rows pass.
  template <int Count>
  SLUICE_INLINE static void weighted_sum(const float* p, const float* v, std::int64_t stride, std::int64_t n,
                                         float* out) {
    Reg sums[Count];
    for (Reg& sum : sums) sum = Vec::zero();
    for (std::int64_t j = 0; j < n; ++j) {
      const Reg weight = Vec::set1(p[j]);
      for (int i = 0; i < Count; ++i) sums[i] = Vec::fma(weight, Vec::load(v + j * stride + i * kLanes), sums[i]);
    }
    for (int i = 0; i < Count; ++i) Vec::store(out + i * kLanes, sums[i]);
  }

  static void attend_values(const float* p, const float* v, std::int64_t stride, std::int64_t n, std::int64_t dim,
                            float* out) {
    constexpr std::int64_t kWide = 8;
    std::int64_t d = 0;
    for (; d + kWide * kLanes <= dim; d += kWide * kLanes) weighted_sum<kWide>(p, v + d, stride, n, out + d);
    for (; d + kLanes <= dim; d += kLanes) weighted_sum<1>(p, v + d, stride, n, out + d);
    if (const std::int64_t rest = dim - d; rest > 0) {
      Reg sum = Vec::zero();
      for (std::int64_t j = 0; j < n; ++j) {
        sum = Vec::fma(Vec::set1(p[j]), Vec::load_partial(v + j * stride + d, rest), sum);
      }
      Vec::store_partial(out + d, sum, rest);
    }
  }

  static void fill(KernelTable& table) {
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
};

}  // namespace
}  // namespace sluice
