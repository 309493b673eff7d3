// Codebooks of the IQ formats: constants of the file format, generated (tools/gen_iq_tables.py).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace sluice {

// Magnitudes of 8 (IQ2) or 4 (IQ3) consecutive values, one a byte, the first in the lowest byte; signs come apart.
extern const std::uint64_t kIq2XxsGrid[256];
extern const std::uint64_t kIq2XsGrid[512];
extern const std::uint64_t kIq2SGrid[1024];
extern const std::uint32_t kIq3XxsGrid[256];
extern const std::uint32_t kIq3SGrid[512];
// IQ1_S and IQ1_M: 8 consecutive values of -1, 0, 1 (two's complement), to which the delta is added.
extern const std::uint64_t kIq1Grid[2048];

inline constexpr float kIq1Delta = 0.125F;

// Sign bits of 8 consecutive values for a code of 7 bits: the eighth bit makes the number of minus signs even.
inline constexpr std::array<std::uint8_t, 128> kIqSigns = [] {
  std::array<std::uint8_t, 128> signs{};
  for (std::size_t code = 0; code < signs.size(); ++code) {
    signs[code] = static_cast<std::uint8_t>(code | static_cast<std::size_t>(std::popcount(code) % 2) << 7);
  }
  return signs;
}();

}  // namespace sluice
