// The AVX-512 intrinsics: the compiler's, or with SLUICE_EMULATE_AVX512 those of SIMDe for tests on other processors.
#pragma once

// GCC 12 takes the undefined registers of its own AVX-512 header for mistakes (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#else
#include <immintrin.h>
#endif

#ifdef SLUICE_EMULATE_AVX512

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

#include "quant/float_convert.h"

// What SIMDe 0.7.4 lacks, by halves of 256 bits or lane by lane.
namespace sluice {
namespace {  // NOLINT(google-build-namespaces): see tables.h

template <typename Half>
struct EmulatedHalves {
  Half low, high;
};

template <typename Whole, typename Half>
SLUICE_INLINE Whole emulated_join(Half low, Half high) {
  const EmulatedHalves<Half> halves = {low, high};
  Whole whole;
  __builtin_memcpy(&whole, &halves, sizeof(whole));
  return whole;
}

template <typename Half, typename Whole>
SLUICE_INLINE EmulatedHalves<Half> emulated_split(Whole whole) {
  EmulatedHalves<Half> halves;
  __builtin_memcpy(&halves, &whole, sizeof(halves));
  return halves;
}

SLUICE_INLINE __m512 emulated_cvtph_ps(__m256i a) {
  return emulated_join<__m512>(_mm256_cvtph_ps(_mm256_castsi256_si128(a)),
                               _mm256_cvtph_ps(_mm256_extracti128_si256(a, 1)));
}
SLUICE_INLINE __m512i emulated_cvtepu16_epi32(__m256i a) {
  return emulated_join<__m512i>(_mm256_cvtepu16_epi32(_mm256_castsi256_si128(a)),
                                _mm256_cvtepu16_epi32(_mm256_extracti128_si256(a, 1)));
}
SLUICE_INLINE __m512 emulated_cvtepi32_ps(__m512i a) {
  const auto halves = emulated_split<__m256i>(a);
  return emulated_join<__m512>(_mm256_cvtepi32_ps(halves.low), _mm256_cvtepi32_ps(halves.high));
}
SLUICE_INLINE __m256 emulated_extractf32x8_ps(__m512 a, int half) {
  const auto halves = emulated_split<__m256>(a);
  return half == 0 ? halves.low : halves.high;
}
SLUICE_INLINE __m512 emulated_zextps256_ps512(__m256 a) { return emulated_join<__m512>(a, _mm256_setzero_ps()); }
SLUICE_INLINE __m512 emulated_maskz_loadu_ps(unsigned mask, const float* p) {
  float lanes[16];
  for (unsigned i = 0; i < 16; ++i) lanes[i] = (mask >> i & 1U) != 0 ? p[i] : 0.0F;
  return _mm512_loadu_ps(lanes);
}
SLUICE_INLINE void emulated_mask_storeu_ps(float* p, unsigned mask, __m512 a) {
  float lanes[16];
  _mm512_storeu_ps(lanes, a);
  for (unsigned i = 0; i < 16; ++i) {
    if ((mask >> i & 1U) != 0) p[i] = lanes[i];
  }
}

}  // namespace
}  // namespace sluice

// SIMDe gives the first name to the masked form; some of the others it has or clang's headers have.
#undef _mm512_madd_epi16
#define _mm512_madd_epi16(a, b) simde_mm512_madd_epi16(a, b)
#undef _mm512_cvtph_ps
#define _mm512_cvtph_ps(a) ::sluice::emulated_cvtph_ps(a)
#undef _mm512_cvtepu16_epi32
#define _mm512_cvtepu16_epi32(a) ::sluice::emulated_cvtepu16_epi32(a)
#undef _mm512_cvtepi32_ps
#define _mm512_cvtepi32_ps(a) ::sluice::emulated_cvtepi32_ps(a)
#undef _mm512_extractf32x8_ps
#define _mm512_extractf32x8_ps(a, half) ::sluice::emulated_extractf32x8_ps(a, half)
#undef _mm512_zextps256_ps512
#define _mm512_zextps256_ps512(a) ::sluice::emulated_zextps256_ps512(a)
#undef _mm512_maskz_loadu_ps
#define _mm512_maskz_loadu_ps(mask, p) ::sluice::emulated_maskz_loadu_ps(mask, p)
#undef _mm512_mask_storeu_ps
#define _mm512_mask_storeu_ps(p, mask, a) ::sluice::emulated_mask_storeu_ps(p, mask, a)

#endif  // SLUICE_EMULATE_AVX512
