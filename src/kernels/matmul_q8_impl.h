// The walk of a product with 8-bit activations, once for all instruction sets: Dot has the dot kernel (q8.h). Only for
// files of one instruction set.
//
// An output is the sum, in the order of the inputs, of the dots of pieces of kQ8Blocks blocks. A dot's value does not
// depend on the rows that it is computed beside, so a row's result depends neither on the batch nor on the split.
#pragma once

#include <cstdint>

#include "kernels/q8.h"
#include "kernels/tables.h"
#include "quant/float_convert.h"

namespace sluice {
namespace {  // NOLINT(google-build-namespaces): see tables.h

// Dot::kRows: rows of activations per call. Dot::multiply<form, channels, rows>(w, blocks, x, out) sets
// out[c * rows + r] to the dot of `blocks` blocks of the weights w[c] with those of the activation row x[r].
template <typename Dot>
struct MatmulQ8 {
  static constexpr std::int64_t kStreams = 4;  // weight rows unpacked side by side: 12 KiB
  static constexpr std::int64_t kPiece = kQ8Blocks * Q8Block::kValues;

  struct Call {
    const WeightView* weight;
    const Q8Unpacker* unpacker;
    const std::byte* x;
    std::size_t x_stride;
    std::int64_t rows;
    float* y;
    std::int64_t y_stride;
  };

  SLUICE_INLINE static std::int64_t min_of(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

  // Rows r .. r + kRows of the piece at input k, against `count` unpacked weight rows n[0..].
  template <Q8Form kForm, int kRows>
  SLUICE_INLINE static void multiply_rows(const Call& call, const Q8Weights (*w)[kQ8Blocks], const std::int64_t* n,
                                          std::int64_t count, std::int64_t r, std::int64_t k, std::int64_t blocks) {
    const Q8Block* x[kRows];
    for (int m = 0; m < kRows; ++m) {
      x[m] = reinterpret_cast<const Q8Block*>(call.x + static_cast<std::size_t>(r + m) * call.x_stride) +
             k / Q8Block::kValues;
    }
    // One row alone has too few chains of additions to fill the pipes: two channels side by side.
    constexpr int kChannels = kRows == 1 ? 2 : 1;
    std::int64_t c = 0;
    for (; c + kChannels <= count; c += kChannels)
      multiply<kForm, kChannels, kRows>(call, w + c, n + c, x, r, k, blocks);
    for (; c < count; ++c) multiply<kForm, 1, kRows>(call, w + c, n + c, x, r, k, blocks);
  }

  template <Q8Form kForm, int kChannels, int kRows>
  SLUICE_INLINE static void multiply(const Call& call, const Q8Weights (*w)[kQ8Blocks], const std::int64_t* n,
                                     const Q8Block* const* x, std::int64_t r, std::int64_t k, std::int64_t blocks) {
    const Q8Weights* weights[kChannels];
    for (int c = 0; c < kChannels; ++c) weights[c] = w[c];
    float sums[kChannels * kRows];
    Dot::template multiply<kForm, kChannels, kRows>(weights, blocks, x, sums);
    const bool first = k == 0;
    const bool last = k + kPiece >= call.weight->cols;
    for (int c = 0; c < kChannels; ++c) {
      for (int m = 0; m < kRows; ++m) {
        float& out = call.y[(r + m) * call.y_stride + n[c]];
        const float sum = first ? sums[c * kRows + m] : out + sums[c * kRows + m];
        out = last ? sum * call.weight->tensor_scale : sum;
      }
    }
  }

  // All rows against the weight rows n[0 .. count).
  template <Q8Form kForm>
  static void multiply_channels(const Call& call, const std::int64_t* n, std::int64_t count) {
    Q8Weights w[kStreams][kQ8Blocks];
    const Q8Unpacker& unpacker = *call.unpacker;
    for (std::int64_t k = 0; k < call.weight->cols; k += kPiece) {
      const std::int64_t values = min_of(kPiece, call.weight->cols - k);
      const std::int64_t bytes = values / unpacker.block_values * unpacker.block_bytes;
      for (std::int64_t c = 0; c < count; ++c) {
        const std::byte* piece = call.weight->data + static_cast<std::size_t>(n[c]) * call.weight->row_bytes +
                                 k / unpacker.block_values * unpacker.block_bytes;
        // The piece after this one, of this row or the next, while this one is worked on. Harmless at the end.
        for (std::int64_t line = 0; line < bytes; line += 64) {
          __builtin_prefetch(piece + bytes + line);
        }
        unpacker.unpack(piece, values, w[c]);
      }
      const std::int64_t blocks = (values + Q8Block::kValues - 1) / Q8Block::kValues;
      std::int64_t r = 0;
      for (; r + Dot::kRows <= call.rows; r += Dot::kRows) {
        multiply_rows<kForm, Dot::kRows>(call, w, n, count, r, k, blocks);
      }
      static_assert(Dot::kRows == 4);
      switch (call.rows - r) {
        case 3:
          multiply_rows<kForm, 3>(call, w, n, count, r, k, blocks);
          break;
        case 2:
          multiply_rows<kForm, 2>(call, w, n, count, r, k, blocks);
          break;
        case 1:
          multiply_rows<kForm, 1>(call, w, n, count, r, k, blocks);
          break;
        default:
          break;
      }
    }
  }

  // The weight rows side by side are those of kStreams far parts of the range: for the memory a few sequential streams,
  // which was faster than one stream, and three times as fast as neighbouring rows (Zen 3).
  template <Q8Form kForm>
  static void run(const Call& call, std::int64_t n_begin, std::int64_t n_end) {
    const std::int64_t part = (n_end - n_begin) / kStreams;
    for (std::int64_t j = 0; j < part; ++j) {
      std::int64_t n[kStreams];
      for (std::int64_t c = 0; c < kStreams; ++c) n[c] = n_begin + c * part + j;
      multiply_channels<kForm>(call, n, kStreams);
    }
    std::int64_t rest[kStreams];
    const std::int64_t first = n_begin + kStreams * part;
    for (std::int64_t c = 0; c < n_end - first; ++c) rest[c] = first + c;
    if (first < n_end) multiply_channels<kForm>(call, rest, n_end - first);
  }

  static void matmul(const WeightView& weight, const void* x, std::size_t x_stride, std::int64_t rows,
                     std::int64_t n_begin, std::int64_t n_end, float* y, std::int64_t y_stride) {
    if (weight.cols == 0) {
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t n = n_begin; n < n_end; ++n) y[r * y_stride + n] = 0.0F;
      }
      return;
    }
    const Q8Unpacker* unpacker = find_q8_unpacker(weight.dtype);
    const Call call = {&weight, unpacker, static_cast<const std::byte*>(x), x_stride, rows, y, y_stride};
    switch (unpacker->form) {
      case Q8Form::kSigned:
        return run<Q8Form::kSigned>(call, n_begin, n_end);
      case Q8Form::kUnsigned:
        return run<Q8Form::kUnsigned>(call, n_begin, n_end);
      case Q8Form::kUnsigned16:
        return run<Q8Form::kUnsigned16>(call, n_begin, n_end);
    }
  }
};

}  // namespace
}  // namespace sluice
