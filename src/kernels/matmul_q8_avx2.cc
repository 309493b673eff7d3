#include <immintrin.h>

#include "kernels/matmul_q8_impl.h"
#include "kernels/vec_avx2.h"

namespace sluice {
namespace {

// One group of 32 a register: vpmaddubsw, vpmaddwd by ones, convert, multiply-add by the product of the two scales.
struct DotAvx2 {
  static constexpr int kRows = 4;

  template <Q8Form kForm, int kChannels, int kRowCount>
  SLUICE_INLINE static void multiply(const Q8Weights* const* w, std::int64_t blocks, const Q8Block* const* x,
                                     float* out) {
    constexpr bool kPer16 = kForm == Q8Form::kUnsigned16;
    const __m256i ones = _mm256_set1_epi16(1);
    __m256 sums[kChannels][kRowCount][2];  // of even and odd groups: two chains of additions
    for (auto& channel : sums) {
      for (auto& sum : channel) sum[0] = sum[1] = _mm256_setzero_ps();
    }
    for (std::int64_t b = 0; b < blocks; ++b) {
      // The scales of a block in one multiplication; broadcasts from memory are free of the arithmetic ports.
      alignas(32) float scales[kChannels][kRowCount][2][Q8Block::kGroups];
      for (int c = 0; c < kChannels; ++c) {
        const Q8Weights& weights = w[c][b];
        for (int r = 0; r < kRowCount; ++r) {
          const Q8Block& in = x[r][b];
          auto& sum = sums[c][r];
          const __m256 scale = _mm256_loadu_ps(in.scale);
          _mm256_store_ps(scales[c][r][0], _mm256_mul_ps(_mm256_load_ps(weights.scale[0]), scale));
          if constexpr (kPer16) {
            _mm256_store_ps(scales[c][r][1], _mm256_mul_ps(_mm256_load_ps(weights.scale[1]), scale));
            sum[0] = _mm256_fmadd_ps(_mm256_load_ps(weights.offset[0]), _mm256_loadu_ps(in.sum16[0]), sum[0]);
            sum[1] = _mm256_fmadd_ps(_mm256_load_ps(weights.offset[1]), _mm256_loadu_ps(in.sum16[1]), sum[1]);
          } else if constexpr (kForm == Q8Form::kUnsigned) {
            sum[0] = _mm256_fmadd_ps(_mm256_load_ps(weights.offset[0]), _mm256_loadu_ps(in.sum32), sum[0]);
          }
        }
      }
      // Pairs, so that the compiler keeps both chains in registers without unrolling all of it.
      for (int pair = 0; pair < Q8Block::kGroups; pair += 2) {
        for (int parity = 0; parity < 2; ++parity) {
          const int g = pair + parity;
          for (int c = 0; c < kChannels; ++c) {
            const __m256i q = _mm256_load_si256(reinterpret_cast<const __m256i*>(w[c][b].q + 32 * g));
            const __m256i magnitude = kForm == Q8Form::kSigned ? _mm256_abs_epi8(q) : q;
            for (int r = 0; r < kRowCount; ++r) {
              __m256i in = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x[r][b].q + 32 * g));
              if constexpr (kForm == Q8Form::kSigned) in = _mm256_sign_epi8(in, q);
              const __m256i dot = _mm256_madd_epi16(_mm256_maddubs_epi16(magnitude, in), ones);
              __m256 scale = _mm256_broadcast_ss(&scales[c][r][0][g]);
              if constexpr (kPer16) scale = _mm256_blend_ps(scale, _mm256_broadcast_ss(&scales[c][r][1][g]), 0xF0);
              sums[c][r][parity] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), scale, sums[c][r][parity]);
            }
          }
        }
      }
    }
    for (int c = 0; c < kChannels; ++c) {
      for (int r = 0; r < kRowCount; ++r) {
        out[c * kRowCount + r] = Vec8::sum(_mm256_add_ps(sums[c][r][0], sums[c][r][1]));
      }
    }
  }
};

}  // namespace

MatmulFn matmul_q8_avx2() { return MatmulQ8<DotAvx2>::matmul; }

}  // namespace sluice
