// The packed 6-bit scales of the K-quants.
#pragma once

#include <cstdint>

#include "quant/float_convert.h"

namespace sluice {

// Q4_K and Q5_K: the 12 bytes hold eight scales and eight mins of 6 bits. Bytes 0..3 (4..7) carry scale (min) 0..3 in
// their low six bits and the top two bits of scale (min) 4..7 above; bytes 8..11 the low nibbles: scale low, min high.
SLUICE_INLINE int k_scale(const std::uint8_t* packed, int group) {
  return group < 4 ? packed[group] & 63 : (packed[group + 4] & 15) | (packed[group - 4] >> 6) << 4;
}
SLUICE_INLINE int k_min(const std::uint8_t* packed, int group) {
  return group < 4 ? packed[group + 4] & 63 : packed[group + 4] >> 4 | (packed[group] >> 6) << 4;
}

// Q3_K: scale `group` of 0..15, already less 32.
SLUICE_INLINE int q3_k_scale(const std::uint8_t* packed, int group) {
  const int low = packed[group % 8] >> (group / 8 * 4) & 15;
  const int high = packed[8 + group % 4] >> (group / 4 * 2) & 3;
  return (low | high << 4) - 32;
}

}  // namespace sluice
