// Eight floats: what the shared kernels (*_impl.h) need of AVX2 + FMA + F16C. Only for files compiled with these.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "quant/float_convert.h"

namespace sluice {
namespace {  // NOLINT(google-build-namespaces): see tables.h

struct Vec8 {
  using Reg = __m256;
  static constexpr std::int64_t kLanes = 8;
  // Rows of activations that a product keeps in registers, beside four rows of weights: 12 sums, 3 inputs, 1 weight.
  static constexpr int kRowBlock = 3;

  SLUICE_INLINE static Reg zero() { return _mm256_setzero_ps(); }
  SLUICE_INLINE static Reg set1(float value) { return _mm256_set1_ps(value); }
  SLUICE_INLINE static Reg load(const float* p) { return _mm256_loadu_ps(p); }
  SLUICE_INLINE static void store(float* p, Reg v) { _mm256_storeu_ps(p, v); }

  // The first `count` (1 to kLanes - 1) lanes; the others are zero, or are left alone.
  SLUICE_INLINE static Reg load_partial(const float* p, std::int64_t count) {
    return _mm256_maskload_ps(p, mask(count));
  }
  SLUICE_INLINE static void store_partial(float* p, Reg v, std::int64_t count) {
    _mm256_maskstore_ps(p, mask(count), v);
  }

  SLUICE_INLINE static Reg add(Reg a, Reg b) { return _mm256_add_ps(a, b); }
  SLUICE_INLINE static Reg sub(Reg a, Reg b) { return _mm256_sub_ps(a, b); }
  SLUICE_INLINE static Reg mul(Reg a, Reg b) { return _mm256_mul_ps(a, b); }
  SLUICE_INLINE static Reg div(Reg a, Reg b) { return _mm256_div_ps(a, b); }
  SLUICE_INLINE static Reg fma(Reg a, Reg b, Reg c) { return _mm256_fmadd_ps(a, b, c); }
  // b where either is NaN.
  SLUICE_INLINE static Reg min(Reg a, Reg b) { return _mm256_min_ps(a, b); }
  SLUICE_INLINE static Reg max(Reg a, Reg b) { return _mm256_max_ps(a, b); }
  SLUICE_INLINE static Reg round(Reg a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }

  // v * 2^n for integral n in [-252, 254]; in two factors, so that results may be denormal or infinite.
  SLUICE_INLINE static Reg scale_by_power_of_two(Reg v, Reg n) {
    const __m256i whole = _mm256_cvtps_epi32(n);
    const __m256i half = _mm256_srai_epi32(whole, 1);
    return _mm256_mul_ps(_mm256_mul_ps(v, power_of_two(half)), power_of_two(_mm256_sub_epi32(whole, half)));
  }

  SLUICE_INLINE static float sum(Reg v) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
  }
  SLUICE_INLINE static float max_lane(Reg v) {
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
  }

  // Weights as they lie in the file, at any address.
  SLUICE_INLINE static Reg load_f32(const std::byte* p) { return _mm256_loadu_ps(reinterpret_cast<const float*>(p)); }
  SLUICE_INLINE static Reg load_f16(const std::byte* p) { return _mm256_cvtph_ps(load_128(p)); }
  SLUICE_INLINE static Reg load_bf16(const std::byte* p) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_128(p)), 16));
  }
  // E4M3 without a scale: shifted into the fields of a half, whose exponent has a bit more, it is 2^8 too small,
  // denormals included; 0x7F, which is NaN and not 480, is made one of the half's. (Shifted into a float, denormals
  // would be denormal floats, which multiply slowly.)
  SLUICE_INLINE static Reg load_f8_e4m3(const std::byte* p) {
    const __m128i bits = _mm_unpacklo_epi8(_mm_setzero_si128(), _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
    const __m128i half = _mm_and_si128(_mm_srai_epi16(bits, 1), _mm_set1_epi16(static_cast<short>(0xBF80)));
    const __m128i most = _mm_set1_epi16(0x3F80);
    const __m128i is_nan = _mm_cmpeq_epi16(_mm_and_si128(half, most), most);
    const __m128i nan = _mm_and_si128(is_nan, _mm_set1_epi16(0x7E00));
    return _mm256_mul_ps(_mm256_cvtph_ps(_mm_or_si128(half, nan)), _mm256_set1_ps(256.0F));
  }

 private:
  SLUICE_INLINE static __m128i load_128(const std::byte* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  SLUICE_INLINE static __m256 power_of_two(__m256i n) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
  }
  SLUICE_INLINE static __m256i mask(std::int64_t count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
};

}  // namespace
}  // namespace sluice
