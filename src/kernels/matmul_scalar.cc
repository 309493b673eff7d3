// The exact product: decoded weights, fp32 activations, every sum in fp64.
#include <algorithm>

#include "kernels/decode_span.h"
#include "kernels/tables.h"

namespace sluice {
namespace {

// Weights decoded at a time (4 KiB) and rows that share them. Neither changes a result: a row's sum runs over the same
// pieces in the same order whatever the batch.
constexpr std::int64_t kSpan = 1024;
constexpr std::int64_t kRows = 64;

// Eight partial sums, so that the additions of one do not wait for another. A product of two floats is exact in fp64.
double dot_f64(const float* a, const float* b, std::int64_t n) {
  double sums[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int j = 0; j < 8; ++j) sums[j] += static_cast<double>(a[i + j]) * static_cast<double>(b[i + j]);
  }
  for (int j = 0; i < n; ++i, ++j) sums[j] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

const float* row_of(const void* x, std::size_t stride, std::int64_t r) {
  return reinterpret_cast<const float*>(static_cast<const std::byte*>(x) + static_cast<std::size_t>(r) * stride);
}

}  // namespace

void matmul_scalar(const WeightView& weight, const void* x, std::size_t x_stride, std::int64_t rows,
                   std::int64_t n_begin, std::int64_t n_end, float* y, std::int64_t y_stride) {
  alignas(64) float span[kSpan];
  double totals[kRows];
  for (std::int64_t first = 0; first < rows; first += kRows) {
    const std::int64_t count = std::min(kRows, rows - first);
    for (std::int64_t n = n_begin; n < n_end; ++n) {
      std::fill_n(totals, count, 0.0);
      for (std::int64_t k = 0; k < weight.cols; k += kSpan) {
        const std::int64_t length = std::min(kSpan, weight.cols - k);
        decode_span(weight, n, k, length, span);
        for (std::int64_t r = 0; r < count; ++r) totals[r] += dot_f64(span, row_of(x, x_stride, first + r) + k, length);
      }
      for (std::int64_t r = 0; r < count; ++r) y[(first + r) * y_stride + n] = static_cast<float>(totals[r]);
    }
  }
}

}  // namespace sluice
