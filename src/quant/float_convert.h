// Conversions between float and the small floating-point types of checkpoints, all exact or round-to-nearest-even.
//
// Every function here is forced inline: kernels compiled for AVX include this header, and an out-of-line copy made
// there could be the one the linker keeps for the scalar code as well. For the same reason __builtin_bit_cast:
// std::bit_cast is a function of its own in builds without optimisation.
#pragma once

#include <cstdint>

#define SLUICE_INLINE [[gnu::always_inline]] inline

namespace sluice {

// IEEE binary16 to float; exact, denormals and NaN payloads included. No denormal float is touched on the way, so the
// result does not depend on the processor's DAZ bit.
SLUICE_INLINE float f16_to_f32(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
  const std::uint32_t magnitude = half & 0x7FFFU;
  const std::uint32_t rebias = magnitude >= 0x7C00U ? 224U << 23 : 112U << 23;  // infinity and NaN keep a full exponent
  const std::uint32_t normal = (magnitude << 13) + rebias;
  // Signed, because SSE2 and AVX2 convert nothing else; a mask, because with a choice here loops are not vectorised.
  const float scaled = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24F;
  const std::uint32_t is_denormal = 0U - static_cast<std::uint32_t>(magnitude < 0x0400U);
  return __builtin_bit_cast(float,
                            sign | (__builtin_bit_cast(std::uint32_t, scaled) & is_denormal) | (normal & ~is_denormal));
}

// bfloat16 (the upper half of a float) to float; exact.
SLUICE_INLINE float bf16_to_f32(std::uint16_t bits) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
}

// float to IEEE binary16: ties to even, too large becomes infinity, NaN stays a quiet NaN of the same sign.
SLUICE_INLINE std::uint16_t f32_to_f16(float value) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  std::uint32_t half = 0;
  if (magnitude > 0x7F800000U) {
    half = 0x7E00U | ((magnitude >> 13) & 0x01FFU);
  } else if (magnitude >= 0x477FF000U) {  // 65520, halfway from the largest half to the next power of two
    half = 0x7C00U;
  } else if (magnitude >= 0x38800000U) {  // 2^-14, the smallest normal half
    half = (magnitude - (112U << 23) + 0x0FFFU + ((magnitude >> 13) & 1U)) >> 13;
  } else {
    // One unit in the last place of 0.5 is 2^-24, the step of the denormal halves: the addition does the rounding.
    half = __builtin_bit_cast(std::uint32_t, __builtin_bit_cast(float, magnitude) + 0.5F) - 0x3F000000U;
  }
  return static_cast<std::uint16_t>(sign | half);
}

// float to bfloat16: ties to even, NaN stays a quiet NaN of the same sign.
SLUICE_INLINE std::uint16_t f32_to_bf16(float value) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>((bits >> 16) | 0x0040U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

// OCP FP8 E4M3 "FN": bias 7, no infinities, NaN at 0x7F and 0xFF, largest 448, denormals in steps of 2^-9. Exact.
SLUICE_INLINE constexpr float f8_e4m3_to_f32(std::uint8_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x80U) << 24;
  const std::uint32_t magnitude = bits & 0x7FU;
  if (magnitude == 0x7FU) return __builtin_bit_cast(float, sign | 0x7FC00000U);
  const std::uint32_t normal = (magnitude << 20) + (120U << 23);
  const std::uint32_t denormal = __builtin_bit_cast(std::uint32_t, static_cast<float>(magnitude) * 0x1p-9F);
  return __builtin_bit_cast(float, sign | (magnitude < 8U ? denormal : normal));
}

// Half of the E8M0 scale 2^(e - 127): what multiplies the doubled E2M1 values of kMxfp4Values. e < 2 gives a denormal
// float; 255, a NaN in the OCP text, counts as one more exponent, as the writers of GGUF files read it.
SLUICE_INLINE float e8m0_half_to_f32(std::uint8_t e) {
  return __builtin_bit_cast(float, e < 2 ? 0x00200000U << e : static_cast<std::uint32_t>(e - 1) << 23);
}

// Half of NVFP4's UE4M3 scale: E4M3 without a sign (bit 7 is ignored), and 0x7F means 0, as the writers of GGUF files
// read it. Half, because it multiplies doubled E2M1 values.
SLUICE_INLINE float ue4m3_half_to_f32(std::uint8_t bits) {
  if (bits == 0x7FU) return 0.0F;
  const std::uint32_t magnitude = bits & 0x7FU;
  if (magnitude < 8U) return static_cast<float>(magnitude) * 0x1p-10F;
  return __builtin_bit_cast(float, (magnitude << 20) + (119U << 23));
}

}  // namespace sluice
