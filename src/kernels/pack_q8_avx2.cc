// Quantisation of activations to Q8Block. Every vector table uses this one: it is a small part of the work.
#include <immintrin.h>

#include "kernels/q8.h"
#include "kernels/tables.h"
#include "quant/float_convert.h"

namespace sluice {
namespace {

SLUICE_INLINE __m256i abs_bits(__m256 v) {
  return _mm256_and_si256(_mm256_castps_si256(v), _mm256_set1_epi32(0x7FFFFFFF));
}

// Largest of eight non-negative ints.
SLUICE_INLINE std::int32_t max_lane(__m256i v) {
  __m128i m = _mm_max_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4E));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xB1));
  return _mm_cvtsi128_si32(m);
}

SLUICE_INLINE float sum_lanes(__m128i v) {
  v = _mm_add_epi32(v, _mm_shuffle_epi32(v, 0x4E));
  v = _mm_add_epi32(v, _mm_shuffle_epi32(v, 0xB1));
  return static_cast<float>(_mm_cvtsi128_si32(v));
}

void pack_group(const float* x, int group, Q8Block& out) {
  __m256 v[4];
  for (int i = 0; i < 4; ++i) v[i] = _mm256_loadu_ps(x + 8 * i);
  // Magnitudes compare as integers, and NaN and infinity, unlike with vmaxps, come out on top.
  const std::int32_t largest = max_lane(_mm256_max_epi32(_mm256_max_epi32(abs_bits(v[0]), abs_bits(v[1])),
                                                         _mm256_max_epi32(abs_bits(v[2]), abs_bits(v[3]))));
  float magnitude = 0.0F;
  __builtin_memcpy(&magnitude, &largest, sizeof(magnitude));
  // The smallest normal float at least: its inverse is finite.
  const float wanted = magnitude / 127.0F;
  float scale = wanted < 0x1p-126F ? 0x1p-126F : wanted;
  float inverse = 1.0F / scale;
  if (largest >= 0x7F800000) {
    scale = __builtin_nanf("");
    inverse = 0.0F;
  }
  __m256i q[4];
  for (int i = 0; i < 4; ++i) q[i] = _mm256_cvtps_epi32(_mm256_mul_ps(v[i], _mm256_set1_ps(inverse)));
  // The packs work within 128-bit halves; the permutation puts the dwords back in order.
  const __m256i low = _mm256_packs_epi32(q[0], q[1]);
  const __m256i high = _mm256_packs_epi32(q[2], q[3]);
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  // NaN and infinity convert to INT_MIN: their group's scale is NaN, but -128 would overflow the products' int16 sums.
  const __m256i packed =
      _mm256_max_epi8(_mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order), _mm256_set1_epi8(-127));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.q + 32 * group), packed);

  const __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), packed);
  const __m256i quads = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
  const float first = sum_lanes(_mm256_castsi256_si128(quads));
  const float second = sum_lanes(_mm256_extracti128_si256(quads, 1));
  out.scale[group] = scale;
  out.sum32[group] = scale * (first + second);
  out.sum16[0][group] = scale * first;
  out.sum16[1][group] = scale * second;
}

void pack_q8(const float* x, std::int64_t cols, void* out) {
  auto* blocks = static_cast<Q8Block*>(out);
  const std::int64_t groups = (cols + Q8Block::kValues - 1) / Q8Block::kValues * Q8Block::kGroups;
  for (std::int64_t g = 0; g < groups; ++g) {
    Q8Block& block = blocks[g / Q8Block::kGroups];
    const int group = static_cast<int>(g % Q8Block::kGroups);
    const std::int64_t left = cols - 32 * g;
    if (left >= 32) {
      pack_group(x + 32 * g, group, block);
      continue;
    }
    float tail[32] = {};
    if (left > 0) __builtin_memcpy(tail, x + 32 * g, static_cast<std::size_t>(left) * sizeof(float));
    pack_group(tail, group, block);
  }
}

}  // namespace

PackFn pack_q8_avx2() { return pack_q8; }

}  // namespace sluice
