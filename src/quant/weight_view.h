// A matrix of weights as the file stores it: not owning, cheap to copy.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/dtype.h"

namespace sluice {

// rows = output channels (N), cols = inputs (K); y[n] = sum_k W[n, k] x[k]. Rows lie row_bytes apart.
struct WeightView {
  DType dtype = DType::kF32;
  const std::byte* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::size_t row_bytes = 0;
  // F8_E4M3 only: multiplier of the 128 x 128 block (n / 128, k / 128) is scales[(n / 128) * scales_stride + k / 128].
  const float* scales = nullptr;
  std::int64_t scales_stride = 0;
  // Row offset of this view inside the matrix that `scales` describes (views of fused matrices).
  std::int64_t scales_row_offset = 0;
  // One factor for the whole matrix (NVFP4's second level); 1 otherwise.
  float tensor_scale = 1.0F;

  explicit operator bool() const { return data != nullptr; }
  // Rows [first, first + count) of the same matrix.
  WeightView slice_rows(std::int64_t first, std::int64_t count) const {
    WeightView view = *this;
    view.data = data + static_cast<std::size_t>(first) * row_bytes;
    view.rows = count;
    view.scales_row_offset = scales_row_offset + first;
    return view;
  }
};

// Decodes row n of the matrix to cols floats, all scales applied: the block's scale first, then tensor_scale.
// REQUIRES: a dtype with a decoder, cols a whole number of its blocks, 0 <= n < rows.
void decode_row(const WeightView& weight, std::int64_t n, float* out);

}  // namespace sluice
