// Sixteen floats: what the shared kernels (*_impl.h) need of AVX-512 F, BW, DQ and VL. Only for files compiled with
// these (or with the emulation).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/simd_avx512.h"
#include "quant/float_convert.h"

namespace sluice {
namespace {  // NOLINT(google-build-namespaces): see tables.h

struct Vec16 {
  using Reg = __m512;
  static constexpr std::int64_t kLanes = 16;
  static constexpr int kRowBlock = 6;  // 24 sums, 6 inputs, 1 weight

  SLUICE_INLINE static Reg zero() { return _mm512_setzero_ps(); }
  SLUICE_INLINE static Reg set1(float value) { return _mm512_set1_ps(value); }
  SLUICE_INLINE static Reg load(const float* p) { return _mm512_loadu_ps(p); }
  SLUICE_INLINE static void store(float* p, Reg v) { _mm512_storeu_ps(p, v); }

  // The first `count` (1 to kLanes - 1) lanes; the others are zero, or are left alone.
  SLUICE_INLINE static Reg load_partial(const float* p, std::int64_t count) {
    return _mm512_maskz_loadu_ps(mask(count), p);
  }
  SLUICE_INLINE static void store_partial(float* p, Reg v, std::int64_t count) {
    _mm512_mask_storeu_ps(p, mask(count), v);
  }

  SLUICE_INLINE static Reg add(Reg a, Reg b) { return _mm512_add_ps(a, b); }
  SLUICE_INLINE static Reg sub(Reg a, Reg b) { return _mm512_sub_ps(a, b); }
  SLUICE_INLINE static Reg mul(Reg a, Reg b) { return _mm512_mul_ps(a, b); }
  SLUICE_INLINE static Reg div(Reg a, Reg b) { return _mm512_div_ps(a, b); }
  SLUICE_INLINE static Reg fma(Reg a, Reg b, Reg c) { return _mm512_fmadd_ps(a, b, c); }
  // b where either is NaN.
  SLUICE_INLINE static Reg min(Reg a, Reg b) { return _mm512_min_ps(a, b); }
  SLUICE_INLINE static Reg max(Reg a, Reg b) { return _mm512_max_ps(a, b); }
  SLUICE_INLINE static Reg round(Reg a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  // v * 2^n for integral n; results may be denormal or infinite.
  SLUICE_INLINE static Reg scale_by_power_of_two(Reg v, Reg n) { return _mm512_scalef_ps(v, n); }

  SLUICE_INLINE static float sum(Reg v) {
    const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
  }
  SLUICE_INLINE static float max_lane(Reg v) {
    const __m256 half = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
  }

  // Weights as they lie in the file, at any address.
  SLUICE_INLINE static Reg load_f32(const std::byte* p) { return _mm512_loadu_ps(reinterpret_cast<const float*>(p)); }
  SLUICE_INLINE static Reg load_f16(const std::byte* p) { return _mm512_cvtph_ps(load_256(p)); }
  SLUICE_INLINE static Reg load_bf16(const std::byte* p) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(load_256(p)), 16));
  }
  // E4M3 without a scale, as in Vec8.
  SLUICE_INLINE static Reg load_f8_e4m3(const std::byte* p) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m256i bits = _mm256_slli_epi16(_mm256_cvtepu8_epi16(bytes), 8);
    const __m256i half = _mm256_and_si256(_mm256_srai_epi16(bits, 1), _mm256_set1_epi16(static_cast<short>(0xBF80)));
    const __m256i most = _mm256_set1_epi16(0x3F80);
    const __m256i is_nan = _mm256_cmpeq_epi16(_mm256_and_si256(half, most), most);
    const __m256i nan = _mm256_and_si256(is_nan, _mm256_set1_epi16(0x7E00));
    return _mm512_mul_ps(_mm512_cvtph_ps(_mm256_or_si256(half, nan)), _mm512_set1_ps(256.0F));
  }

 private:
  SLUICE_INLINE static __m256i load_256(const std::byte* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  SLUICE_INLINE static __mmask16 mask(std::int64_t count) { return static_cast<__mmask16>((1U << count) - 1U); }
};

}  // namespace
}  // namespace sluice
