#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/kernels.h"
#include "kernels/q8.h"
#include "kernels/random_matrix.h"
#include "kernels/tables_under_test.h"

namespace sluice {
namespace {

std::vector<float> gaussian(std::int64_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

// Rows of activations as a table wants them, at the alignment that callers give them.
class Activations {
 public:
  Activations(const KernelTable& table, DType weight, const std::vector<float>& x, std::int64_t rows, std::int64_t cols)
      : format(table.act_format(weight)), stride(table.packed_row_bytes(format, cols)), cols_(cols), x_(x) {
    EXPECT_EQ(stride % 64, 0U);
    // Fresh memory holds anything: what pack_row leaves unset must not matter.
    bytes_.assign(static_cast<std::size_t>(rows) * stride + 64, std::byte{0xFF});
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
    data_ = bytes_.data() + (64 - address % 64) % 64;
    for (std::int64_t r = 0; r < rows; ++r) table.pack_row(format, x.data() + r * cols, cols, row(r));
  }
  std::byte* row(std::int64_t r) { return data_ + static_cast<std::size_t>(r) * stride; }

  // What the packed row stands for.
  std::vector<double> values(std::int64_t r) {
    std::vector<double> out(static_cast<std::size_t>(cols_));
    for (std::size_t k = 0; k < out.size(); ++k) {
      out[k] = static_cast<double>(x_[static_cast<std::size_t>(r * cols_) + k]);
      if (format == ActFormat::kQ8) {
        const auto& block = reinterpret_cast<const Q8Block*>(row(r))[k / Q8Block::kValues];
        const std::size_t i = k % Q8Block::kValues;
        out[k] = static_cast<double>(block.scale[i / 32]) * block.q[i];
      }
    }
    return out;
  }

  ActFormat format;
  std::size_t stride;

 private:
  std::int64_t cols_;
  const std::vector<float>& x_;
  std::vector<std::byte> bytes_;
  std::byte* data_;
};

double norm(const std::vector<double>& v) {
  double sum = 0.0;
  for (const double value : v) sum += value * value;
  return std::sqrt(sum);
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

std::vector<double> weights_of(const WeightView& view, std::int64_t n) {
  std::vector<float> row(static_cast<std::size_t>(view.cols));
  decode_row(view, n, row.data());
  return {row.begin(), row.end()};
}

// Lengths of rows that meet every tail: of a vector, a block, a group of blocks, a piece.
std::vector<std::int64_t> column_counts(DType dtype) {
  const std::int64_t block = find_format(dtype)->block_values;
  if (block == 1) return {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 100, 127, 129, 261, 1023, 1024, 1025, 2500};
  if (block <= 128) return {block, 2 * block, 3 * block, 256, 256 + block, 2048, 2048 + block, 2880 / block * block};
  return {256, 512, 2048, 2304, 4352};
}

class MatmulTest : public KernelTest {};

// Against an fp64 product of the decoded weights and of what the packed activations stand for. Errors are relative to
// |w| |x|, the size of a sum of random terms.
TEST_P(MatmulTest, MatchesReference) {
  for (const DType dtype : weight_types()) {
    SCOPED_TRACE(std::string(dtype_name(dtype)));
    double worst = 0.0;
    std::string where;
    for (const std::int64_t cols : column_counts(dtype)) {
      for (const std::int64_t rows : {1, 2, 3, 7, 8, 16, 33}) {
        const std::int64_t channels = rows == 1 ? 37 : 2 + rows % 5;
        const RandomMatrix matrix(dtype, channels, cols, static_cast<std::uint32_t>(31 * cols + rows));
        const std::vector<float> x = gaussian(rows * cols, static_cast<std::uint32_t>(cols + rows));
        Activations act(table(), dtype, x, rows, cols);
        const std::int64_t y_stride = channels + 3;
        constexpr float kUntouched = 12345.0F;
        std::vector<float> y(static_cast<std::size_t>(rows * y_stride), kUntouched);
        table().matmul(matrix.view, act.row(0), act.stride, rows, 0, channels, y.data(), y_stride);
        for (std::int64_t r = 0; r < rows; ++r) {
          const std::vector<double> in = act.values(r);
          for (std::int64_t n = 0; n < channels; ++n) {
            const std::vector<double> w = weights_of(matrix.view, n);
            const double expected = dot(w, in);
            const double found = static_cast<double>(y[static_cast<std::size_t>(r * y_stride + n)]);
            // One rounding of the result to fp32 is no error.
            const double rounding = std::abs(expected) * 0x1p-24;
            const double error = std::max(0.0, std::abs(found - expected) - rounding) / (norm(w) * norm(in) + 1e-30);
            ASSERT_TRUE(std::isfinite(found)) << rows << " x " << cols << ", row " << r << ", channel " << n;
            if (error <= worst) continue;
            worst = error;
            where = std::to_string(rows) + " x " + std::to_string(cols) + ", row " + std::to_string(r) + ", channel " +
                    std::to_string(n) + ": expected " + std::to_string(expected) + ", found " + std::to_string(found);
          }
          for (std::int64_t i = channels; i < y_stride; ++i) {
            ASSERT_EQ(y[static_cast<std::size_t>(r * y_stride + i)], kUntouched) << "written behind the last channel";
          }
        }
      }
    }
    // fp64 sums of at most 4352 terms; else fp32 sums, of up to 128 terms a lane, whose errors of 2^-24 a term come
    // to 1e-7 at worst (an offset makes terms larger than their sum).
    const double tolerance = exact() ? 1e-13 : 3e-7;
    EXPECT_LT(worst, tolerance) << where;
    // Into the report (--gtest_output), in units of 1e-9.
    RecordProperty(std::string(dtype_name(dtype)), std::to_string(worst * 1e9));
  }
}

// What the packing itself costs: nothing for floats, below 1.2 % of a product's size for int8 and Gaussian inputs.
TEST_P(MatmulTest, PackingErrorIsSmall) {
  constexpr std::int64_t kCols = 2048, kRows = 8, kChannels = 64;
  for (const DType dtype : weight_types()) {
    SCOPED_TRACE(std::string(dtype_name(dtype)));
    const RandomMatrix matrix(dtype, kChannels, kCols, 7);
    const std::vector<float> x = gaussian(kRows * kCols, 8);
    Activations act(table(), dtype, x, kRows, kCols);
    std::vector<float> y(static_cast<std::size_t>(kRows * kChannels));
    table().matmul(matrix.view, act.row(0), act.stride, kRows, 0, kChannels, y.data(), kChannels);
    double error = 0.0, size = 0.0;
    for (std::int64_t n = 0; n < kChannels; ++n) {
      const std::vector<double> w = weights_of(matrix.view, n);
      for (std::int64_t r = 0; r < kRows; ++r) {
        const std::vector<double> in(x.begin() + r * kCols, x.begin() + (r + 1) * kCols);
        const double expected = dot(w, in);
        error += std::pow(static_cast<double>(y[static_cast<std::size_t>(r * kChannels + n)]) - expected, 2);
        size += expected * expected;
      }
    }
    const double relative = std::sqrt(error / size);
    EXPECT_LT(relative, act.format == ActFormat::kQ8 ? 0.012 : 1e-6);
    EXPECT_EQ(act.format == ActFormat::kF32, exact() || find_q8_unpacker(dtype) == nullptr);
  }
}

// A row's result is the same bits whatever else is in the batch and however the channels are split.
TEST_P(MatmulTest, RowsDoNotDependOnBatchOrSplit) {
  for (const DType dtype : weight_types()) {
    SCOPED_TRACE(std::string(dtype_name(dtype)));
    const std::int64_t cols = is_float_type(dtype) ? 1500 : 2304;
    constexpr std::int64_t kRows = 35, kChannels = 45;
    const RandomMatrix matrix(dtype, kChannels, cols, 11);
    const std::vector<float> x = gaussian(kRows * cols, 12);
    Activations act(table(), dtype, x, kRows, cols);
    std::vector<float> whole(static_cast<std::size_t>(kRows * kChannels));
    table().matmul(matrix.view, act.row(0), act.stride, kRows, 0, kChannels, whole.data(), kChannels);
    for (const std::int64_t batch : {1, 2, 3, 4, 7, 13}) {
      for (const std::int64_t split : {1, 5, 16, 45}) {
        std::vector<float> parts(whole.size(), -1.0F);
        for (std::int64_t r = 0; r < kRows; r += batch) {
          for (std::int64_t n = 0; n < kChannels; n += split) {
            table().matmul(matrix.view, act.row(r), act.stride, std::min(batch, kRows - r), n,
                           std::min(n + split, kChannels), parts.data() + r * kChannels, kChannels);
          }
        }
        ASSERT_EQ(std::memcmp(whole.data(), parts.data(), whole.size() * sizeof(float)), 0)
            << "batches of " << batch << ", channels by " << split;
      }
    }
    // A view of some rows is the same rows.
    const WeightView slice = matrix.view.slice_rows(29, 10);
    std::vector<float> sliced(10);
    table().matmul(slice, act.row(3), act.stride, 1, 0, 10, sliced.data(), 10);
    ASSERT_EQ(std::memcmp(sliced.data(), whole.data() + 3 * kChannels + 29, sizeof(float) * 10), 0);
  }
}

// The second-level scale of a matrix, for every format.
TEST_P(MatmulTest, TensorScale) {
  for (const DType dtype : weight_types()) {
    SCOPED_TRACE(std::string(dtype_name(dtype)));
    constexpr std::int64_t kCols = 4352, kRows = 5, kChannels = 6;
    RandomMatrix matrix(dtype, kChannels, kCols, 17);
    matrix.view.tensor_scale = -3.25F;
    const std::vector<float> x = gaussian(kRows * kCols, 18);
    for (const std::int64_t rows : {std::int64_t{1}, kRows}) {
      Activations act(table(), dtype, x, rows, kCols);
      std::vector<float> y(static_cast<std::size_t>(rows * kChannels));
      table().matmul(matrix.view, act.row(0), act.stride, rows, 0, kChannels, y.data(), kChannels);
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::vector<double> in = act.values(r);
        for (std::int64_t n = 0; n < kChannels; ++n) {
          const std::vector<double> w = weights_of(matrix.view, n);
          EXPECT_NEAR(static_cast<double>(y[static_cast<std::size_t>(r * kChannels + n)]), dot(w, in),
                      5e-6 * norm(w) * norm(in));
        }
      }
    }
  }
}

TEST_P(MatmulTest, NoColumnsGiveZero) {
  for (const DType dtype : weight_types()) {
    WeightView view;
    view.dtype = dtype;
    view.rows = 3;
    std::vector<float> y(6, 5.0F);
    table().matmul(view, nullptr, 0, 2, 0, 3, y.data(), 3);
    EXPECT_EQ(y, std::vector<float>(6, 0.0F)) << dtype_name(dtype);
  }
}

// Puts a NaN where the format keeps a scale (or a value); false for formats that cannot hold one.
bool poison(RandomMatrix& matrix, std::int64_t n, std::int64_t b) {
  constexpr std::uint16_t kNan16 = 0x7E00;
  std::byte* block = matrix.block(n, b);
  const auto put16 = [&](std::size_t offset) { std::memcpy(block + offset, &kNan16, sizeof(kNan16)); };
  switch (matrix.view.dtype) {
    case DType::kF32: {
      const float nan = std::numeric_limits<float>::quiet_NaN();
      std::memcpy(block, &nan, sizeof(nan));
      return true;
    }
    case DType::kF64: {
      const double nan = std::numeric_limits<double>::quiet_NaN();
      std::memcpy(block, &nan, sizeof(nan));
      return true;
    }
    case DType::kBF16: {
      const std::uint16_t nan = 0x7FC0;
      std::memcpy(block, &nan, sizeof(nan));
      return true;
    }
    case DType::kF8_E4M3:
      *block = std::byte{0xFF};
      return true;
    case DType::kQ2_K:
      put16(offsetof(BlockQ2_K, d));
      return true;
    case DType::kQ3_K:
      put16(offsetof(BlockQ3_K, d));
      return true;
    case DType::kQ6_K:
      put16(offsetof(BlockQ6_K, d));
      return true;
    case DType::kTQ1_0:
      put16(offsetof(BlockTQ1_0, d));
      return true;
    case DType::kTQ2_0:
      put16(offsetof(BlockTQ2_0, d));
      return true;
    case DType::kIQ1_M:
      for (std::size_t i = 0; i < 4; ++i) {
        std::byte* high = block + offsetof(BlockIQ1_M, scales) + 2 * i + 1;
        *high = (*high & std::byte{0x0F}) | static_cast<std::byte>((kNan16 >> (4 * i) & 15) << 4);
      }
      return true;
    case DType::kMXFP4:  // an exponent of 255 is one more exponent, a UE4M3 of 0x7F is zero
    case DType::kNVFP4:
      return false;
    default:
      put16(0);
      return true;
  }
}

// A NaN in one weight row makes that channel NaN for every activation row, and no other channel.
TEST_P(MatmulTest, NanWeightsAreNotLost) {
  for (const DType dtype : weight_types()) {
    SCOPED_TRACE(std::string(dtype_name(dtype)));
    const std::int64_t blocks = is_float_type(dtype) ? 259 : 9;
    const std::int64_t cols = blocks * find_format(dtype)->block_values;
    constexpr std::int64_t kRows = 6, kChannels = 9;
    for (const std::int64_t at : {std::int64_t{0}, blocks / 2, blocks - 1}) {
      for (const std::int64_t channel : {0, 5, 8}) {
        RandomMatrix matrix(dtype, kChannels, cols, 21);
        if (!poison(matrix, channel, at)) continue;
        const std::vector<float> x = gaussian(kRows * cols, 22);
        Activations act(table(), dtype, x, kRows, cols);
        std::vector<float> y(static_cast<std::size_t>(kRows * kChannels));
        table().matmul(matrix.view, act.row(0), act.stride, kRows, 0, kChannels, y.data(), kChannels);
        for (std::int64_t i = 0; i < kRows * kChannels; ++i) {
          EXPECT_EQ(std::isnan(y[static_cast<std::size_t>(i)]), i % kChannels == channel) << "block " << at;
        }
      }
    }
  }
}

// An activation that is no number spoils its own row, wherever it stands, and no other row.
TEST_P(MatmulTest, NanAndInfiniteActivationsAreNotLost) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const DType dtype : weight_types()) {
    SCOPED_TRACE(std::string(dtype_name(dtype)));
    const std::int64_t cols = is_float_type(dtype) ? 259 : 2304;
    constexpr std::int64_t kRows = 6, kChannels = 9;
    const RandomMatrix matrix(dtype, kChannels, cols, 23);
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity}) {
      for (const std::int64_t at : {std::int64_t{0}, cols / 2, cols - 1}) {
        std::vector<float> x = gaussian(kRows * cols, 24);
        constexpr std::int64_t kBadRow = 4;
        x[static_cast<std::size_t>(kBadRow * cols + at)] = bad;
        Activations act(table(), dtype, x, kRows, cols);
        std::vector<float> y(static_cast<std::size_t>(kRows * kChannels));
        table().matmul(matrix.view, act.row(0), act.stride, kRows, 0, kChannels, y.data(), kChannels);
        for (std::int64_t i = 0; i < kRows * kChannels; ++i) {
          EXPECT_EQ(std::isfinite(y[static_cast<std::size_t>(i)]), i / kChannels != kBadRow) << bad << " at " << at;
        }
      }
    }
  }
}

// Inputs of any size that fp32 has: denormal ones are not flushed to garbage, huge ones do not overflow in between.
TEST_P(MatmulTest, ExtremeActivations) {
  constexpr std::int64_t kCols = 512, kChannels = 4;
  for (const DType dtype : weight_types()) {
    SCOPED_TRACE(std::string(dtype_name(dtype)));
    const RandomMatrix matrix(dtype, kChannels, kCols, 25);
    for (const float size : {0.0F, 0x1p-149F, 0x1p-126F, 1e-30F, 1e30F}) {
      std::vector<float> x = gaussian(kCols, 26);
      for (float& value : x) value = std::clamp(value, -3.0F, 3.0F) * size;
      Activations act(table(), dtype, x, 1, kCols);
      std::vector<float> y(kChannels);
      table().matmul(matrix.view, act.row(0), act.stride, 1, 0, kChannels, y.data(), kChannels);
      const std::vector<double> in(x.begin(), x.end());
      for (std::int64_t n = 0; n < kChannels; ++n) {
        const std::vector<double> w = weights_of(matrix.view, n);
        // 0x1p-127 an input: what an activation below the smallest normal scale may lose.
        EXPECT_NEAR(static_cast<double>(y[static_cast<std::size_t>(n)]), dot(w, in),
                    0.02 * norm(w) * norm(in) + 0x1p-127 * norm(w) * std::sqrt(kCols))
            << size;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, MatmulTest, ::testing::ValuesIn(tables_under_test()), table_name);

}  // namespace
}  // namespace sluice
