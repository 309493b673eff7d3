#include "kernels/decode_span.h"

#include <algorithm>

namespace sluice {

void decode_span(const WeightView& weight, std::int64_t n, std::int64_t first, std::int64_t count, float* out) {
  const FormatInfo& format = *find_format(weight.dtype);
  const std::byte* row = weight.data + static_cast<std::size_t>(n) * weight.row_bytes;
  format.decode(row + first / format.block_values * format.block_bytes, out, count);
  if (weight.scales != nullptr) {
    constexpr std::int64_t kSide = 128;
    const float* scales = weight.scales + (weight.scales_row_offset + n) / kSide * weight.scales_stride;
    for (std::int64_t k = 0; k < count; k += kSide) {
      const float scale = scales[(first + k) / kSide];
      const std::int64_t end = std::min(k + kSide, count);
      for (std::int64_t i = k; i < end; ++i) out[i] *= scale;
    }
  }
  if (weight.tensor_scale != 1.0F) {
    for (std::int64_t i = 0; i < count; ++i) out[i] *= weight.tensor_scale;
  }
}

}  // namespace sluice
