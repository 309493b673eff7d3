// Block layouts of the quantised formats as files store them (little endian).
//
// All members are bytes: a block may lie at any address, so a mapped file is read in place. kValues is the number of
// weights of a block along the input dimension. Source: ggml-common.h of llama.cpp for all but the OCP types; the
// layouts are frozen by the files that exist.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "quant/float_convert.h"

namespace sluice {

static_assert(std::endian::native == std::endian::little);

// A 16-bit field without alignment.
struct PackedU16 {
  std::uint8_t bytes[2];
  SLUICE_INLINE operator std::uint16_t() const {  // NOLINT(google-explicit-constructor)
    std::uint16_t value = 0;
    std::memcpy(&value, bytes, sizeof(value));
    return value;
  }
};

// --- 32 values and one scale (and one minimum) ---

// value = d * q
struct BlockQ8_0 {
  static constexpr int kValues = 32;
  PackedU16 d;  // f16
  std::int8_t qs[32];
};
static_assert(sizeof(BlockQ8_0) == 34);

// value = d * (q - 8); low nibbles are values 0..15, high nibbles 16..31 (so in all 32-value formats with nibbles)
struct BlockQ4_0 {
  static constexpr int kValues = 32;
  PackedU16 d;  // f16
  std::uint8_t qs[16];
};
static_assert(sizeof(BlockQ4_0) == 18);

// value = d * q + m
struct BlockQ4_1 {
  static constexpr int kValues = 32;
  PackedU16 d;  // f16
  PackedU16 m;  // f16
  std::uint8_t qs[16];
};
static_assert(sizeof(BlockQ4_1) == 20);

// value = d * (q - 16); bit 4 of value i is bit i of qh
struct BlockQ5_0 {
  static constexpr int kValues = 32;
  PackedU16 d;  // f16
  std::uint8_t qh[4];
  std::uint8_t qs[16];
};
static_assert(sizeof(BlockQ5_0) == 22);

// value = d * q + m; bit 4 of value i is bit i of qh
struct BlockQ5_1 {
  static constexpr int kValues = 32;
  PackedU16 d;  // f16
  PackedU16 m;  // f16
  std::uint8_t qh[4];
  std::uint8_t qs[16];
};
static_assert(sizeof(BlockQ5_1) == 24);

// --- K-quants: 256 values, groups of 16 or 32 with quantised scales ---

// 16 groups of 16: value = d * (scales[g] & 15) * q - dmin * (scales[g] >> 4). Group 8n + 2j + h (n, h in 0..1, j in
// 0..3) is bits 2j and 2j + 1 of qs[32n + 16h ...].
struct BlockQ2_K {
  static constexpr int kValues = 256;
  std::uint8_t scales[16];
  std::uint8_t qs[64];
  PackedU16 d;     // f16
  PackedU16 dmin;  // f16
};
static_assert(sizeof(BlockQ2_K) == 84);

// value = d * (scale - 32) * q; low two bits of q in the order of Q2_K, and q is 4 less where bit 4n + j of
// hmask[16h ...] is clear. The sixteen 6-bit scales: low nibbles in scales[0..7], top pairs in scales[8..11].
struct BlockQ3_K {
  static constexpr int kValues = 256;
  std::uint8_t hmask[32];
  std::uint8_t qs[64];
  std::uint8_t scales[12];
  PackedU16 d;  // f16
};
static_assert(sizeof(BlockQ3_K) == 110);

// 8 groups of 32: value = d * scale * q - dmin * min (k_scales.h). qs[32j ...] holds group 2j low, 2j + 1 high.
struct BlockQ4_K {
  static constexpr int kValues = 256;
  PackedU16 d;     // f16
  PackedU16 dmin;  // f16
  std::uint8_t scales[12];
  std::uint8_t qs[128];
};
static_assert(sizeof(BlockQ4_K) == 144);

// As Q4_K; bit 4 of value i of group g is bit g of qh[i].
struct BlockQ5_K {
  static constexpr int kValues = 256;
  PackedU16 d;     // f16
  PackedU16 dmin;  // f16
  std::uint8_t scales[12];
  std::uint8_t qh[32];
  std::uint8_t qs[128];
};
static_assert(sizeof(BlockQ5_K) == 176);

// 16 groups of 16: value = d * scales[g] * (q - 32). Half n (128 values) uses ql[64n ...] and qh[32n ...]; its value
// 32j + i has its low nibble in ql[64n + 32 (j & 1) + i] (low for j < 2, else high), bits 4 and 5 at bit 2j of qh[32n +
// i].
struct BlockQ6_K {
  static constexpr int kValues = 256;
  std::uint8_t ql[128];
  std::uint8_t qh[64];
  std::int8_t scales[16];
  PackedU16 d;  // f16
};
static_assert(sizeof(BlockQ6_K) == 210);

// --- a table of 16 levels (kIq4NlValues) ---

// value = d * table[nibble]
struct BlockIQ4_NL {
  static constexpr int kValues = 32;
  PackedU16 d;  // f16
  std::uint8_t qs[16];
};
static_assert(sizeof(BlockIQ4_NL) == 18);

// 8 groups of 32 with 6-bit scales: low nibble g of scales_l, bits 2g of scales_h; value = d * (scale - 32) *
// table[nibble].
struct BlockIQ4_XS {
  static constexpr int kValues = 256;
  PackedU16 d;  // f16
  PackedU16 scales_h;
  std::uint8_t scales_l[4];
  std::uint8_t qs[128];
};
static_assert(sizeof(BlockIQ4_XS) == 136);

inline constexpr std::int8_t kIq4NlValues[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                 1,    13,   25,  38,  53,  69,  89,  113};

// --- microscaling: E2M1 values ---

// value = 2^(e - 127) * E2M1[nibble] (OCP MX); low nibbles are values 0..15
struct BlockMXFP4 {
  static constexpr int kValues = 32;
  std::uint8_t e;  // E8M0
  std::uint8_t qs[16];
};
static_assert(sizeof(BlockMXFP4) == 17);

// 4 groups of 16 with one UE4M3 scale each; in a group low nibbles are the first 8 values. The second-level scale of
// the matrix is a tensor of its own (WeightView::tensor_scale).
struct BlockNVFP4 {
  static constexpr int kValues = 64;
  std::uint8_t d[4];  // UE4M3: E4M3 without its sign
  std::uint8_t qs[32];
};
static_assert(sizeof(BlockNVFP4) == 36);

// E2M1 doubled, so that all are integers: 0 .5 1 1.5 2 3 4 6, then the negatives.
inline constexpr std::int8_t kE2m1Doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// --- one to two bits ---

// bit i of the stream, lowest first: set is d, clear is -d
struct BlockQ1_0 {
  static constexpr int kValues = 128;
  PackedU16 d;  // f16
  std::uint8_t qs[16];
};
static_assert(sizeof(BlockQ1_0) == 18);

// two bits a value, lowest first: (q - 1) * d
struct BlockQ2_0 {
  static constexpr int kValues = 64;
  PackedU16 d;  // f16
  std::uint8_t qs[16];
};
static_assert(sizeof(BlockQ2_0) == 18);

// Ternary, base 3: a byte holds five digits (qs) or four (qh), as the fraction digits / 3^5 rounded up to 256ths.
struct BlockTQ1_0 {
  static constexpr int kValues = 256;
  std::uint8_t qs[48];
  std::uint8_t qh[4];
  PackedU16 d;  // f16
};
static_assert(sizeof(BlockTQ1_0) == 54);

// Ternary in two bits: for each 32 bytes of qs and shift 0, 2, 4, 6 in turn 32 values (q - 1) * d
struct BlockTQ2_0 {
  static constexpr int kValues = 256;
  std::uint8_t qs[64];
  PackedU16 d;  // f16
};
static_assert(sizeof(BlockTQ2_0) == 66);

// --- codebooks (grids and signs in iq_tables.h): 8 groups of 32 ---

// Per group of 32, four words of qs: 4 grid ids of 8 bits, then 4 sign codes of 7 bits and a 4-bit scale on top.
struct BlockIQ2_XXS {
  static constexpr int kValues = 256;
  PackedU16 d;  // f16
  std::uint8_t qs[64];
};
static_assert(sizeof(BlockIQ2_XXS) == 66);

// Each word of qs: grid id (9 bits), sign code (7 bits); two 4-bit scales per group of 32, for 16 values each.
struct BlockIQ2_XS {
  static constexpr int kValues = 256;
  PackedU16 d;  // f16
  PackedU16 qs[32];
  std::uint8_t scales[8];
};
static_assert(sizeof(BlockIQ2_XS) == 74);

// qs: 32 low bytes of grid ids (bits 8 and 9 in qh), then 32 bytes of plain signs; scales as IQ2_XS.
struct BlockIQ2_S {
  static constexpr int kValues = 256;
  PackedU16 d;  // f16
  std::uint8_t qs[32];
  std::uint8_t signs[32];
  std::uint8_t qh[8];
  std::uint8_t scales[8];
};
static_assert(sizeof(BlockIQ2_S) == 82);

// qs: 64 grid ids (4 values each); per group of 32 a word: 4 sign codes of 7 bits and a 4-bit scale on top.
struct BlockIQ3_XXS {
  static constexpr int kValues = 256;
  PackedU16 d;  // f16
  std::uint8_t qs[64];
  std::uint8_t scales_and_signs[32];
};
static_assert(sizeof(BlockIQ3_XXS) == 98);

// qs: low bytes of 64 grid ids (bit 8 in qh), plain signs, one 4-bit scale per group of 32.
struct BlockIQ3_S {
  static constexpr int kValues = 256;
  PackedU16 d;  // f16
  std::uint8_t qs[64];
  std::uint8_t qh[8];
  std::uint8_t signs[32];
  std::uint8_t scales[4];
};
static_assert(sizeof(BlockIQ3_S) == 110);

// Per group of 32: 4 grid ids of 11 bits (low bytes in qs, 3 bits each in the word of qh), 3-bit scale, sign of the
// delta.
struct BlockIQ1_S {
  static constexpr int kValues = 256;
  PackedU16 d;  // f16
  std::uint8_t qs[32];
  PackedU16 qh[8];
};
static_assert(sizeof(BlockIQ1_S) == 50);

// As IQ1_S with a delta sign per 8 values and a 3-bit scale per 16; d is scattered over the top nibbles of the four
// words of scales.
struct BlockIQ1_M {
  static constexpr int kValues = 256;
  std::uint8_t qs[32];
  std::uint8_t qh[16];
  PackedU16 scales[4];
};
static_assert(sizeof(BlockIQ1_M) == 56);

// The f16 bits of d: its nibble i is the top nibble of word i of scales.
SLUICE_INLINE std::uint16_t iq1_m_d(const BlockIQ1_M& block) {
  return static_cast<std::uint16_t>(block.scales[0] >> 12 | (block.scales[1] >> 12) << 4 |
                                    (block.scales[2] >> 12) << 8 | (block.scales[3] >> 12) << 12);
}

}  // namespace sluice
