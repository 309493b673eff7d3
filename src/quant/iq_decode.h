// What the scalar IQ decoders share. Internal to src/quant.
#pragma once

#include <cstdint>
#include <cstring>

#include "quant/iq_tables.h"

namespace sluice {

// Writes the `count` magnitudes in the bytes of `grid`, times scale, negative where the bit of `signs` is set.
template <int count>
void write_signed(std::uint64_t grid, unsigned signs, float scale, float* y) {
  for (int i = 0; i < count; ++i) {
    const auto magnitude = static_cast<std::int32_t>(grid >> 8 * i & 0xFFU);
    const std::int32_t minus = -static_cast<std::int32_t>(signs >> i & 1U);  // all ones for a negative value
    y[i] = scale * static_cast<float>((magnitude ^ minus) - minus);
  }
}

// Writes 8 values of the ternary codebook, shifted by delta, times scale.
inline void write_ternary(std::uint64_t grid, float delta, float scale, float* y) {
  for (int i = 0; i < 8; ++i) {
    y[i] = scale * (static_cast<float>(static_cast<std::int8_t>(grid >> 8 * i & 0xFFU)) + delta);
  }
}

// A 32-bit word without alignment.
inline std::uint32_t load_u32(const std::uint8_t* bytes) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

}  // namespace sluice
