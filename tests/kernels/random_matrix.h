// Random weight matrices of every format: random bytes, with scale fields that keep the weights near one.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "quant/blocks.h"
#include "quant/weight_view.h"

namespace sluice {

// All types that matmul() takes.
inline std::vector<DType> weight_types() {
  std::vector<DType> types;
  for (int id = 0; id < 2000; ++id) {
    const FormatInfo* format = find_format(static_cast<DType>(id));
    if (format != nullptr && format->decode != nullptr) types.push_back(format->dtype);
  }
  return types;
}

inline bool is_float_type(DType dtype) { return find_format(dtype)->block_values == 1; }

class RandomMatrix {
 public:
  RandomMatrix(DType dtype, std::int64_t rows, std::int64_t cols, std::uint32_t seed) : random_(seed) {
    const FormatInfo& format = *find_format(dtype);
    const std::size_t blocks_a_row = static_cast<std::size_t>(cols / format.block_values);
    const auto block_bytes = static_cast<std::size_t>(format.block_bytes);
    view.dtype = dtype;
    view.rows = rows;
    view.cols = cols;
    view.row_bytes = blocks_a_row * block_bytes;
    // No byte more than the matrix, for the address sanitizer; and as in files, at no particular address.
    bytes_.resize(1 + static_cast<std::size_t>(rows) * view.row_bytes);
    view.data = bytes_.data() + 1;
    for (std::size_t b = 0; b < static_cast<std::size_t>(rows) * blocks_a_row; ++b) {
      fill_block(dtype, bytes_.data() + 1 + b * block_bytes, block_bytes);
    }
    if (dtype == DType::kF8_E4M3) {
      view.scales_stride = (cols + 127) / 128;
      view.scales_row_offset = 100;  // as if 100 rows of the same tensor came before: blocks end within these rows
      scales_.resize(static_cast<std::size_t>((rows + 100 + 127) / 128 * view.scales_stride));
      for (float& scale : scales_) scale = uniform(0.01F, 0.02F);
      view.scales = scales_.data();
    }
    if (dtype == DType::kNVFP4) view.tensor_scale = 0.37F;
  }

  // The bytes of block b of row n.
  std::byte* block(std::int64_t n, std::int64_t b) {
    const FormatInfo& format = *find_format(view.dtype);
    return bytes_.data() + 1 + static_cast<std::size_t>(n) * view.row_bytes +
           static_cast<std::size_t>(b * format.block_bytes);
  }

  WeightView view;

 private:
  float uniform(float low, float high) { return std::uniform_real_distribution<float>(low, high)(random_); }
  float normal() { return std::normal_distribution<float>()(random_); }

  template <typename T>
  static void put(std::byte* at, T value) {
    std::memcpy(at, &value, sizeof(value));
  }
  static void put_f16(std::byte* at, float value) { put(at, f32_to_f16(value)); }

  // A scale that takes integers of about `size` to about one.
  float scale_for(float size) { return uniform(0.5F, 1.5F) * (normal() < 0.0F ? -1.0F : 1.0F) / size; }

  void fill_block(DType dtype, std::byte* block, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) block[i] = static_cast<std::byte>(random_());
    switch (dtype) {
      case DType::kF32:
        return put(block, normal());
      case DType::kF64:
        return put(block, static_cast<double>(normal()));
      case DType::kF16:
        return put_f16(block, normal());
      case DType::kBF16:
        return put(block, f32_to_bf16(normal()));
      case DType::kF8_E4M3:  // any but NaN
        if ((block[0] & std::byte{0x7F}) == std::byte{0x7F}) block[0] ^= std::byte{1};
        return;
      case DType::kQ8_0:
        return put_f16(block, scale_for(70));
      case DType::kQ4_0:
        return put_f16(block, scale_for(5));
      case DType::kQ5_0:
        return put_f16(block, scale_for(9));
      case DType::kQ4_1:
        put_f16(block, scale_for(5));
        return put_f16(block + 2, uniform(-1.5F, 1.5F));
      case DType::kQ5_1:
        put_f16(block, scale_for(9));
        return put_f16(block + 2, uniform(-1.5F, 1.5F));
      case DType::kQ2_K:
        put_f16(block + offsetof(BlockQ2_K, d), scale_for(11));
        return put_f16(block + offsetof(BlockQ2_K, dmin), scale_for(8));
      case DType::kQ3_K:
        return put_f16(block + offsetof(BlockQ3_K, d), scale_for(40));
      case DType::kQ4_K:
        put_f16(block + offsetof(BlockQ4_K, d), scale_for(200));
        return put_f16(block + offsetof(BlockQ4_K, dmin), scale_for(40));
      case DType::kQ5_K:
        put_f16(block + offsetof(BlockQ5_K, d), scale_for(400));
        return put_f16(block + offsetof(BlockQ5_K, dmin), scale_for(40));
      case DType::kQ6_K:
        return put_f16(block + offsetof(BlockQ6_K, d), scale_for(1200));
      case DType::kIQ4_NL:
        return put_f16(block, scale_for(70));
      case DType::kIQ4_XS:
        return put_f16(block, scale_for(1200));
      case DType::kMXFP4:
        return put(block, static_cast<std::uint8_t>(124 + random_() % 4));
      case DType::kNVFP4:
        for (int i = 0; i < 4; ++i) put(block + i, static_cast<std::uint8_t>(0x28 + random_() % 16));
        return;
      case DType::kQ1_0:
      case DType::kQ2_0:
        return put_f16(block, scale_for(1));
      case DType::kTQ1_0:
        return put_f16(block + offsetof(BlockTQ1_0, d), scale_for(1));
      case DType::kTQ2_0:
        return put_f16(block + offsetof(BlockTQ2_0, d), scale_for(1));
      case DType::kIQ1_M: {
        const std::uint16_t d = f32_to_f16(scale_for(8));
        for (std::size_t i = 0; i < 4; ++i) {
          std::byte* high = block + offsetof(BlockIQ1_M, scales) + 2 * i + 1;
          *high = (*high & std::byte{0x0F}) | static_cast<std::byte>((d >> (4 * i) & 15) << 4);
        }
        return;
      }
      default:  // IQ1_S, IQ2 and IQ3 begin with d
        return put_f16(block, scale_for(100));
    }
  }

  std::mt19937 random_;
  std::vector<std::byte> bytes_;
  std::vector<float> scales_;
};

}  // namespace sluice
