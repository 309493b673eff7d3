#include "quant/weight_view.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "quant/repack.h"

namespace sluice {
namespace {

// A matrix of FP8 ones with a scale per 128 x 128 block that names the block: 10 * (row block) + (column block) + 1.
struct Fp8Matrix {
  Fp8Matrix(std::int64_t row_count, std::int64_t col_count)
      : bytes(static_cast<std::size_t>(row_count * col_count), std::byte{0x38}) {
    const std::int64_t scale_rows = (row_count + 127) / 128;
    const std::int64_t scale_cols = (col_count + 127) / 128;
    for (std::int64_t r = 0; r < scale_rows; ++r) {
      for (std::int64_t c = 0; c < scale_cols; ++c) scales.push_back(static_cast<float>(10 * r + c + 1));
    }
    view.dtype = DType::kF8_E4M3;
    view.data = bytes.data();
    view.rows = row_count;
    view.cols = col_count;
    view.row_bytes = static_cast<std::size_t>(col_count);
    view.scales = scales.data();
    view.scales_stride = scale_cols;
  }
  std::vector<std::byte> bytes;
  std::vector<float> scales;
  WeightView view;
};

std::vector<float> decoded(const WeightView& view, std::int64_t n) {
  std::vector<float> out(static_cast<std::size_t>(view.cols), -1.0F);
  decode_row(view, n, out.data());
  return out;
}

TEST(DecodeRow, Fp8BlocksWithSidesThatAreNotMultiplesOf128) {
  const Fp8Matrix matrix(300, 261);
  for (const std::int64_t n : {0, 127, 128, 255, 256, 299}) {
    const std::vector<float> row = decoded(matrix.view, n);
    for (std::int64_t k = 0; k < 261; ++k) {
      const std::int64_t scale = 10 * (n / 128) + k / 128 + 1;
      ASSERT_EQ(row[static_cast<std::size_t>(k)], static_cast<float>(scale)) << n << " " << k;
    }
  }
}

TEST(DecodeRow, SlicesKeepTheirPlaceAmongTheScales) {
  const Fp8Matrix matrix(300, 130);
  const WeightView slice = matrix.view.slice_rows(100, 200).slice_rows(20, 100);
  ASSERT_EQ(slice.scales_row_offset, 120);
  for (const std::int64_t n : {0, 7, 8, 99}) EXPECT_EQ(decoded(slice, n), decoded(matrix.view, 120 + n)) << n;
  EXPECT_NE(decoded(slice, 7), decoded(slice, 8));  // rows 127 and 128 of the whole
}

TEST(DecodeRow, Fp8WithoutScalesIsPlain) {
  Fp8Matrix matrix(2, 5);
  matrix.view.scales = nullptr;
  EXPECT_EQ(decoded(matrix.view, 1), std::vector<float>(5, 1.0F));
}

TEST(DecodeRow, TensorScaleMultipliesEveryFormat) {
  const std::vector<float> values = {1.0F, -2.0F, 0.5F, 3.0F, 4.0F, 5.0F};
  WeightView view;
  view.data = reinterpret_cast<const std::byte*>(values.data());
  view.rows = 2;
  view.cols = 3;
  view.row_bytes = 12;
  view.tensor_scale = 0.25F;
  EXPECT_EQ(decoded(view, 0), (std::vector<float>{0.25F, -0.5F, 0.125F}));
  EXPECT_EQ(decoded(view, 1), (std::vector<float>{0.75F, 1.0F, 1.25F}));

  Fp8Matrix matrix(1, 3);
  matrix.view.tensor_scale = 3.0F;
  EXPECT_EQ(decoded(matrix.view, 0), std::vector<float>(3, 3.0F));
}

TEST(DecodeRow, RowsMayLieApart) {
  std::vector<std::byte> bytes(3 * 10);
  const std::vector<float> values = {1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F};
  for (std::size_t n = 0; n < 3; ++n) f32_to_bf16_row(&values[2 * n], 2, bytes.data() + 10 * n);
  WeightView view;
  view.dtype = DType::kBF16;
  view.data = bytes.data();
  view.rows = 3;
  view.cols = 2;
  view.row_bytes = 10;
  EXPECT_EQ(decoded(view, 0), (std::vector<float>{1.0F, 2.0F}));
  EXPECT_EQ(decoded(view, 2), (std::vector<float>{5.0F, 6.0F}));
}

}  // namespace
}  // namespace sluice
