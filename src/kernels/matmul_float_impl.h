// Products of weights with fp32 activations, once for all vector widths: Vec is Vec8 (vec_avx2.h) or Vec16
// (vec_avx512.h). Only for files of one instruction set.
//
// Every output is the sum over pieces of kDepth inputs of: one vector of partial sums, added up in a fixed order. How
// outputs are grouped in registers changes nothing in that, so a row's result depends neither on the batch nor on the
// split. Weights that fit a vector load (F32, F16, BF16) are read in place for few rows; else a tile of rows is decoded
// to floats once for all rows of the batch.
#pragma once

#include <cstdint>

#include "kernels/decode_span.h"
#include "kernels/tables.h"
#include "quant/float_convert.h"

namespace sluice {
namespace {  // NOLINT(google-build-namespaces): see tables.h

template <typename Vec>
struct MatmulFloat {
  using Reg = typename Vec::Reg;
  static constexpr std::int64_t kLanes = Vec::kLanes;
  static constexpr std::int64_t kDepth = 1024;  // a multiple of 256 for decode_span()
  static constexpr int kChannels = 4;           // weight rows in registers
  static constexpr int kRows = Vec::kRowBlock;  // activation rows in registers
  static constexpr int kTile = 16;              // weight rows of a decoded tile: 64 KiB, which L2 holds
  // Rows of a tile 4 KiB apart would share the sets of L1: a line more.
  static constexpr std::int64_t kTileStride = kDepth + 16;

  // How the weights of a row lie: bytes a value, and whether kSquare inputs share a scale of their own.
  struct F32Row {
    static constexpr std::size_t kBytes = 4;
    static constexpr bool kScaled = false;
    SLUICE_INLINE static Reg load(const std::byte* p) { return Vec::load_f32(p); }
  };
  struct F16Row {
    static constexpr std::size_t kBytes = 2;
    static constexpr bool kScaled = false;
    SLUICE_INLINE static Reg load(const std::byte* p) { return Vec::load_f16(p); }
  };
  struct Bf16Row {
    static constexpr std::size_t kBytes = 2;
    static constexpr bool kScaled = false;
    SLUICE_INLINE static Reg load(const std::byte* p) { return Vec::load_bf16(p); }
  };
  struct F8Row {
    static constexpr std::size_t kBytes = 1;
    static constexpr bool kScaled = true;
    SLUICE_INLINE static Reg load(const std::byte* p) { return Vec::load_f8_e4m3(p); }
  };
  static constexpr std::int64_t kSquare = 128;

  // A row of weights from the input under work on.
  struct Source {
    const std::byte* data;
    const float* scales;  // kScaled rows: one per kSquare inputs
  };

  // The last, incomplete vector of a row: nothing behind the row is read.
  template <typename Row>
  SLUICE_INLINE static Reg load_partial(const std::byte* p, std::int64_t count) {
    alignas(64) std::byte padded[static_cast<std::size_t>(kLanes) * Row::kBytes] = {};
    __builtin_memcpy(padded, p, static_cast<std::size_t>(count) * Row::kBytes);
    return Row::load(padded);
  }

  SLUICE_INLINE static std::int64_t min_of(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

  // Activations and results of a call.
  struct Batch {
    const std::byte* x;
    std::size_t x_stride;
    std::int64_t rows;
    float* y;
    std::int64_t y_stride;

    SLUICE_INLINE const float* row(std::int64_t r) const {
      return reinterpret_cast<const float*>(x + static_cast<std::size_t>(r) * x_stride);
    }
  };

  // Adds (stores, for the first piece) the products of Channels weight rows, outputs n[0..], with Rows activation rows
  // from r on, over `depth` inputs from k on.
  template <typename Row, int Channels, int Rows>
  SLUICE_INLINE static void multiply(const Batch& batch, const Source* w, const std::int64_t* n, std::int64_t r,
                                     std::int64_t k, std::int64_t depth) {
    Reg sums[Channels][Rows];
    for (auto& channel : sums) {
      for (Reg& sum : channel) sum = Vec::zero();
    }
    const float* x[Rows];
    for (int m = 0; m < Rows; ++m) x[m] = batch.row(r + m) + k;
    std::int64_t i = 0;
    while (i + kLanes <= depth) {
      const std::int64_t square = i / kSquare;
      const std::int64_t end = Row::kScaled ? min_of(depth, (square + 1) * kSquare) : depth;
      for (; i + kLanes <= end; i += kLanes) {
        Reg inputs[Rows];
        for (int m = 0; m < Rows; ++m) inputs[m] = Vec::load(x[m] + i);
        for (int c = 0; c < Channels; ++c) {
          Reg weights = Row::load(w[c].data + static_cast<std::size_t>(i) * Row::kBytes);
          if constexpr (Row::kScaled) weights = Vec::mul(weights, Vec::set1(w[c].scales[square]));
          for (int m = 0; m < Rows; ++m) sums[c][m] = Vec::fma(weights, inputs[m], sums[c][m]);
        }
      }
    }
    if (const std::int64_t rest = depth - i; rest > 0) {
      for (int c = 0; c < Channels; ++c) {
        Reg weights = load_partial<Row>(w[c].data + static_cast<std::size_t>(i) * Row::kBytes, rest);
        if constexpr (Row::kScaled) weights = Vec::mul(weights, Vec::set1(w[c].scales[i / kSquare]));
        for (int m = 0; m < Rows; ++m) {
          sums[c][m] = Vec::fma(weights, Vec::load_partial(x[m] + i, rest), sums[c][m]);
        }
      }
    }
    for (int c = 0; c < Channels; ++c) {
      for (int m = 0; m < Rows; ++m) {
        float& out = batch.y[(r + m) * batch.y_stride + n[c]];
        const float sum = Vec::sum(sums[c][m]);
        out = k == 0 ? sum : out + sum;
      }
    }
  }

  template <typename Row, int Channels>
  static void multiply_rows(const Batch& batch, const Source* w, const std::int64_t* n, std::int64_t k,
                            std::int64_t depth) {
    std::int64_t r = 0;
    for (; r + kRows <= batch.rows; r += kRows) multiply<Row, Channels, kRows>(batch, w, n, r, k, depth);
    for (; r + 2 <= batch.rows; r += 2) multiply<Row, Channels, 2>(batch, w, n, r, k, depth);
    if (r < batch.rows) multiply<Row, Channels, 1>(batch, w, n, r, k, depth);
  }

  SLUICE_INLINE static const float* scales_of(const WeightView& weight, std::int64_t n) {
    return weight.scales + (weight.scales_row_offset + n) / kSquare * weight.scales_stride;
  }

  template <typename Row, int Channels>
  static void multiply_in_place(const WeightView& weight, const Batch& batch, const std::int64_t* n) {
    for (std::int64_t k = 0; k < weight.cols; k += kDepth) {
      Source w[Channels];
      for (int c = 0; c < Channels; ++c) {
        w[c].data =
            weight.data + static_cast<std::size_t>(n[c]) * weight.row_bytes + static_cast<std::size_t>(k) * Row::kBytes;
        w[c].scales = Row::kScaled ? scales_of(weight, n[c]) + k / kSquare : nullptr;
      }
      multiply_rows<Row, Channels>(batch, w, n, k, min_of(kDepth, weight.cols - k));
    }
  }

  // Few rows: weights are read where they lie. Each quarter of the range is one sequential stream, which suits the
  // memory better than four neighbouring rows side by side.
  template <typename Row>
  static void in_place(const WeightView& weight, const Batch& batch, std::int64_t n_begin, std::int64_t n_end) {
    const std::int64_t quarter = (n_end - n_begin) / kChannels;
    for (std::int64_t j = 0; j < quarter; ++j) {
      std::int64_t n[kChannels];
      for (int c = 0; c < kChannels; ++c) n[c] = n_begin + c * quarter + j;
      multiply_in_place<Row, kChannels>(weight, batch, n);
    }
    for (std::int64_t n = n_begin + kChannels * quarter; n < n_end; ++n) multiply_in_place<Row, 1>(weight, batch, &n);
  }

  // Decodes `count` inputs of an unscaled row (F16, BF16, F8).
  template <typename Row>
  SLUICE_INLINE static void convert(const std::byte* from, std::int64_t count, float* out) {
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      Vec::store(out + i, Row::load(from + static_cast<std::size_t>(i) * Row::kBytes));
    }
    if (const std::int64_t rest = count - i; rest > 0) {
      Vec::store_partial(out + i, load_partial<Row>(from + static_cast<std::size_t>(i) * Row::kBytes, rest), rest);
    }
  }

  SLUICE_INLINE static void multiply_by(float factor, std::int64_t count, float* out) {
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) Vec::store(out + i, Vec::mul(Vec::load(out + i), Vec::set1(factor)));
    for (; i < count; ++i) out[i] *= factor;
  }

  // The values of decode_span(), faster for the formats that have a vector load.
  static void decode(const WeightView& weight, std::int64_t n, std::int64_t k, std::int64_t count, float* out) {
    const std::byte* row = weight.data + static_cast<std::size_t>(n) * weight.row_bytes;
    const auto first = static_cast<std::size_t>(k);
    switch (weight.dtype) {
      case DType::kF32:
        convert<F32Row>(row + first * F32Row::kBytes, count, out);
        break;
      case DType::kF16:
        convert<F16Row>(row + first * F16Row::kBytes, count, out);
        break;
      case DType::kBF16:
        convert<Bf16Row>(row + first * Bf16Row::kBytes, count, out);
        break;
      case DType::kF8_E4M3:
        convert<F8Row>(row + first * F8Row::kBytes, count, out);
        if (weight.scales != nullptr) {
          const float* scales = scales_of(weight, n) + k / kSquare;
          for (std::int64_t i = 0; i < count; i += kSquare) {
            multiply_by(scales[i / kSquare], min_of(kSquare, count - i), out + i);
          }
        }
        break;
      default:
        decode_span(weight, n, k, count, out);
        return;
    }
    if (weight.tensor_scale != 1.0F) multiply_by(weight.tensor_scale, count, out);
  }

  // Many rows, or weights that a vector load cannot read.
  static void tiled(const WeightView& weight, const Batch& batch, std::int64_t n_begin, std::int64_t n_end) {
    alignas(64) float tile[kTile][kTileStride];
    for (std::int64_t first = n_begin; first < n_end; first += kTile) {
      const std::int64_t count = min_of(kTile, n_end - first);
      for (std::int64_t k = 0; k < weight.cols; k += kDepth) {
        const std::int64_t depth = min_of(kDepth, weight.cols - k);
        Source w[kTile];
        std::int64_t n[kTile];
        for (std::int64_t c = 0; c < count; ++c) {
          n[c] = first + c;
          decode(weight, n[c], k, depth, tile[c]);
          w[c] = {reinterpret_cast<const std::byte*>(tile[c]), nullptr};
        }
        // Rows outside: their inputs stay in L1 while the tile passes.
        for (std::int64_t r = 0; r < batch.rows; r += kRows) {
          Batch rows = batch;
          rows.rows = min_of(kRows, batch.rows - r);
          rows.x += static_cast<std::size_t>(r) * batch.x_stride;
          rows.y += r * batch.y_stride;
          std::int64_t c = 0;
          for (; c + kChannels <= count; c += kChannels) multiply_rows<F32Row, kChannels>(rows, w + c, n + c, k, depth);
          for (; c < count; ++c) multiply_rows<F32Row, 1>(rows, w + c, n + c, k, depth);
        }
      }
    }
  }

  static void matmul(const WeightView& weight, const void* x, std::size_t x_stride, std::int64_t rows,
                     std::int64_t n_begin, std::int64_t n_end, float* y, std::int64_t y_stride) {
    const Batch batch = {static_cast<const std::byte*>(x), x_stride, rows, y, y_stride};
    if (weight.cols == 0) {
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t n = n_begin; n < n_end; ++n) y[r * y_stride + n] = 0.0F;
      }
      return;
    }
    if (rows <= kRows && weight.tensor_scale == 1.0F) {
      if (weight.dtype == DType::kF8_E4M3 && weight.scales != nullptr) {
        return in_place<F8Row>(weight, batch, n_begin, n_end);
      }
      if (weight.scales == nullptr) {
        if (weight.dtype == DType::kF32) return in_place<F32Row>(weight, batch, n_begin, n_end);
        if (weight.dtype == DType::kF16) return in_place<F16Row>(weight, batch, n_begin, n_end);
        if (weight.dtype == DType::kBF16) return in_place<Bf16Row>(weight, batch, n_begin, n_end);
      }
    }
    tiled(weight, batch, n_begin, n_end);
  }
};

}  // namespace
}  // namespace sluice
