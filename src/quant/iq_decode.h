// What the scalar IQ decoders share. Internal to src/quant.
#pragma once

#include <cstdint>

#include "quant/iq_tables.h"

namespace sluice {

// Writes the `count` magnitudes in the bytes of `grid`, times scale, negative where the bit of `signs` is set.
template <int count>
void write_signed(std::uint64_t grid, unsigned signs, float scale, float* y) {
  for (int i = 0; i < count; ++i) {
    const auto magnitude = static_cast<float>(grid >> 8 * i & 0xFFU);
    y[i] = scale * ((signs >> i & 1U) != 0 ? -magnitude : magnitude);
  }
}

// Writes 8 values of the ternary codebook, shifted by delta, times scale.
inline void write_ternary(std::uint64_t grid, float delta, float scale, float* y) {
  for (int i = 0; i < 8; ++i) {
    y[i] = scale * (static_cast<float>(static_cast<std::int8_t>(grid >> 8 * i & 0xFFU)) + delta);
  }
}

// A 32-bit little-endian word without alignment.
inline std::uint32_t load_u32(const std::uint8_t* bytes) {
  return bytes[0] | static_cast<std::uint32_t>(bytes[1]) << 8 | static_cast<std::uint32_t>(bytes[2]) << 16 |
         static_cast<std::uint32_t>(bytes[3]) << 24;
}

}  // namespace sluice
