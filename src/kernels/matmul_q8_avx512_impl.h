// The dot kernel of 8-bit activations (q8.h) in 512-bit registers. Int8Dot::dot(a, b) gives sixteen sums of four
// products of unsigned with signed bytes. Only for files of one instruction set.
#pragma once

#include "kernels/matmul_q8_impl.h"
#include "kernels/vec_avx512.h"

namespace sluice {
namespace {  // NOLINT(google-build-namespaces): see tables.h

// Two groups of 32 a register. The products of the scales are spread over the lanes of their groups by a permutation.
template <typename Int8Dot>
struct DotAvx512 {
  static constexpr int kRows = 4;
  static constexpr int kPairs = Q8Block::kGroups / 2;

  // Lane i of pair v takes the scale with this index among the scales of a block ([2][8], halves of groups).
  template <bool kPer16>
  SLUICE_INLINE static __m512i lanes_of_pair(int v) {
    const int second_half = kPer16 ? Q8Block::kGroups : 0;
    const int a = 2 * v, b = 2 * v + 1;
    const int a2 = a + second_half, b2 = b + second_half;
    return _mm512_setr_epi32(a, a, a, a, a2, a2, a2, a2, b, b, b, b, b2, b2, b2, b2);
  }

  template <Q8Form kForm, int kChannels, int kRowCount>
  SLUICE_INLINE static void multiply(const Q8Weights* const* w, std::int64_t blocks, const Q8Block* const* x,
                                     float* out) {
    constexpr bool kPer16 = kForm == Q8Form::kUnsigned16;
    __m512i lanes[kPairs];
    for (int v = 0; v < kPairs; ++v) lanes[v] = lanes_of_pair<kPer16>(v);
    __m512 sums[kChannels][kRowCount][2];  // of even and odd pairs: two chains of additions
    for (auto& channel : sums) {
      for (auto& sum : channel) sum[0] = sum[1] = _mm512_setzero_ps();
    }
    for (std::int64_t b = 0; b < blocks; ++b) {
      __m512 scales[kChannels][kRowCount];
      for (int c = 0; c < kChannels; ++c) {
        const Q8Weights& weights = w[c][b];
        for (int r = 0; r < kRowCount; ++r) {
          const Q8Block& in = x[r][b];
          __m512& sum = sums[c][r][0];
          const __m256 scale = _mm256_loadu_ps(in.scale);
          if constexpr (kPer16) {
            scales[c][r] = _mm512_mul_ps(_mm512_load_ps(weights.scale[0]), _mm512_broadcast_f32x8(scale));
            sum = _mm512_fmadd_ps(_mm512_load_ps(weights.offset[0]), _mm512_loadu_ps(in.sum16[0]), sum);
          } else {
            scales[c][r] = _mm512_zextps256_ps512(_mm256_mul_ps(_mm256_load_ps(weights.scale[0]), scale));
          }
          if constexpr (kForm == Q8Form::kUnsigned) {
            sum = _mm512_fmadd_ps(_mm512_zextps256_ps512(_mm256_load_ps(weights.offset[0])),
                                  _mm512_zextps256_ps512(_mm256_loadu_ps(in.sum32)), sum);
          }
        }
      }
      for (int first = 0; first < kPairs; first += 2) {
        for (int parity = 0; parity < 2; ++parity) {
          const int v = first + parity;
          for (int c = 0; c < kChannels; ++c) {
            const __m512i q = _mm512_load_si512(w[c][b].q + 64 * v);
            const __m512i magnitude = kForm == Q8Form::kSigned ? _mm512_abs_epi8(q) : q;
            for (int r = 0; r < kRowCount; ++r) {
              __m512i in = _mm512_loadu_si512(x[r][b].q + 64 * v);
              if constexpr (kForm == Q8Form::kSigned) {
                in = _mm512_mask_sub_epi8(in, _mm512_movepi8_mask(q), _mm512_setzero_si512(), in);
              }
              const __m512 dot = _mm512_cvtepi32_ps(Int8Dot::dot(magnitude, in));
              const __m512 scale = _mm512_permutexvar_ps(lanes[v], scales[c][r]);
              sums[c][r][parity] = _mm512_fmadd_ps(dot, scale, sums[c][r][parity]);
            }
          }
        }
      }
    }
    for (int c = 0; c < kChannels; ++c) {
      for (int r = 0; r < kRowCount; ++r) {
        out[c * kRowCount + r] = Vec16::sum(_mm512_add_ps(sums[c][r][0], sums[c][r][1]));
      }
    }
  }
};

}  // namespace
}  // namespace sluice
