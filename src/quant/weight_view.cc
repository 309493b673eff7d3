#include "quant/weight_view.h"

#include <algorithm>

namespace sluice {
namespace {

constexpr std::int64_t kScaleBlock = 128;  // side of the square that one entry of WeightView::scales covers

void scale_by(float factor, float* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) values[i] *= factor;
}

}  // namespace

void decode_row(const WeightView& weight, std::int64_t n, float* out) {
  const FormatInfo* format = find_format(weight.dtype);
  format->decode(weight.data + static_cast<std::size_t>(n) * weight.row_bytes, out, weight.cols);
  if (weight.scales != nullptr) {
    const float* scales = weight.scales + (weight.scales_row_offset + n) / kScaleBlock * weight.scales_stride;
    for (std::int64_t k = 0; k < weight.cols; k += kScaleBlock) {
      scale_by(scales[k / kScaleBlock], out + k, std::min(kScaleBlock, weight.cols - k));
    }
  }
  if (weight.tensor_scale != 1.0F) scale_by(weight.tensor_scale, out, weight.cols);
}

}  // namespace sluice
