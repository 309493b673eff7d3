// The one weighting rule of the engine: out[t] = sum over slots k = 0 .. S-1 of weight[t, k] * y(t, k), weights applied
// exactly once, terms added in slot order whatever the thread count, the batch or the backend.
#pragma once

#include <cstdint>

namespace sluice::moe {

// out[0 .. n) = sum over slots with row(k) != null of weights[k] * row(k)[0 .. n). Sums are fp32, or fp64 if `exact`,
// with multiply and add kept separate. weights may be null: all ones.
template <typename RowOf>
void weighted_sum(std::int32_t slots, const float* weights, const RowOf& row, std::int64_t n, bool exact, float* out) {
  constexpr std::int64_t kStep = 64;
  for (std::int64_t begin = 0; begin < n; begin += kStep) {
    const std::int64_t count = n - begin < kStep ? n - begin : kStep;
    const auto sum = [&](auto zero) {
      decltype(zero) acc[kStep] = {};
      for (std::int32_t k = 0; k < slots; ++k) {
        const float* y = row(k);
        if (y == nullptr) continue;
        const auto w = static_cast<decltype(zero)>(weights == nullptr ? 1.0F : weights[k]);
        for (std::int64_t i = 0; i < count; ++i) acc[i] += w * static_cast<decltype(zero)>(y[begin + i]);
      }
      for (std::int64_t i = 0; i < count; ++i) out[begin + i] = static_cast<float>(acc[i]);
    };
    if (exact) {
      sum(double{0});
    } else {
      sum(float{0});
    }
  }
}

}  // namespace sluice::moe
