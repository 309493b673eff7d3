// Products with 8-bit activations: the packed form of an activation row and the unpacked form of a weight row, which
// all vector tables share. Internal to src/kernels.
//
// A product runs in two steps. An unpacker, one per weight format, turns a piece of a weight row into 8-bit integers
// with an fp32 scale (and offset) per group, kept in L1. A dot kernel, one per instruction set, multiplies that with
// one or more rows of activations: integer products within a group are exact, groups are added in fp32. So a format is
// written once for all instruction sets, and an instruction set once for all formats; a weight is unpacked once for all
// rows of a batch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/dtype.h"
#include "quant/float_convert.h"

namespace sluice {

// Activations have one scale per 32 inputs, the finest group of the weight formats with a cheap integer product: it
// costs no more than one per 256 and halves the error on the inputs of a down projection, which have heavy tails.
struct Q8Block {
  static constexpr int kValues = 256;
  static constexpr int kGroups = 8;  // of 32 inputs

  std::int8_t q[kValues];   // in [-127, 127]: |q| * 128 * 2 fits the int16 sums of vpmaddubsw
  float scale[kGroups];     // input = scale * q; NaN if the group holds a NaN or an infinity
  float sum32[kGroups];     // scale * sum of q over the group
  float sum16[2][kGroups];  // the same over the first and the second half of each group
};
static_assert(sizeof(Q8Block) == 384);

SLUICE_INLINE std::size_t packed_q8_bytes(std::int64_t cols) {
  return static_cast<std::size_t>((cols + Q8Block::kValues - 1) / Q8Block::kValues) * sizeof(Q8Block);
}

// What the integers of an unpacked weight row are.
enum class Q8Form : std::uint8_t {
  kSigned,      // weight = scale[0][g] * q, q in [-128, 127]; no offset
  kUnsigned,    // weight = scale[0][g] * q + offset[0][g], q in [0, 127]
  kUnsigned16,  // as kUnsigned with scales per 16: [0][g] for the first half of group g, [1][g] for the second
};

// 256 unpacked weights. Groups behind the end of a row have all fields zero.
struct alignas(64) Q8Weights {
  std::uint8_t q[Q8Block::kValues];  // the bit patterns of int8 for kSigned
  float scale[2][Q8Block::kGroups];
  float offset[2][Q8Block::kGroups];
};

// A piece of a weight row is at most this many blocks (2048 weights, 3 KiB unpacked).
inline constexpr std::int64_t kQ8Blocks = 8;

struct Q8Unpacker {
  Q8Form form;
  std::int32_t block_values;  // weights and bytes of a block of the file's format
  std::int32_t block_bytes;
  // Unpacks `values` weights (at most 256 * kQ8Blocks, a multiple of block_values) from the file's blocks.
  void (*unpack)(const std::byte* blocks, std::int64_t values, Q8Weights* out);
};

// The unpacker of a format, or nullptr if products with it take fp32 activations. Needs AVX2.
const Q8Unpacker* find_q8_unpacker(DType dtype);

}  // namespace sluice
