// The unpackers of weight formats for products with 8-bit activations (q8.h). AVX-512 tables use them too.
#include <immintrin.h>

#include "kernels/q8.h"
#include "quant/blocks.h"
#include "quant/k_scales.h"

namespace sluice {
namespace {

SLUICE_INLINE __m128i load_128(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
SLUICE_INLINE __m256i load_256(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
SLUICE_INLINE void store_group(Q8Weights& out, int group, __m256i q) {
  _mm256_store_si256(reinterpret_cast<__m256i*>(out.q + 32 * group), q);
}
SLUICE_INLINE void store_8(float* out, __m256 v) { _mm256_store_ps(out, v); }

// The two nibbles of 16 bytes: low ones are the first 16 values, high ones the last.
SLUICE_INLINE __m256i nibbles(const std::uint8_t* qs) {
  const __m128i bytes = load_128(qs);
  return _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(bytes, 4), bytes), _mm256_set1_epi8(15));
}

// Byte i is `value` where bit i of the word is set, else 0.
SLUICE_INLINE __m256i spread_bits(const std::uint8_t* word, char value) {
  std::int32_t bits = 0;
  __builtin_memcpy(&bits, word, sizeof(bits));
  const __m256i source =
      _mm256_setr_epi64x(0x0000000000000000, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
  const __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(bits), source);
  const __m256i bit = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201ULL));
  return _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit), _mm256_set1_epi8(value));
}

// Sixteen levels looked up by nibble.
SLUICE_INLINE __m256i look_up(const std::int8_t* levels, __m256i nibble) {
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(load_128(levels)), nibble);
}

// --- 32 values and a scale: eight blocks of the file are one of Q8Weights ---

// Each format: its block, its form, the integers of a block, and the scales and offsets of eight.

// The f16 field at `offset` of each of eight blocks, as floats.
template <typename Block>
SLUICE_INLINE __m256 f16_of_eight(const Block* block, std::size_t offset) {
  std::int16_t halves[8];
  for (int g = 0; g < 8; ++g) {
    __builtin_memcpy(&halves[g], reinterpret_cast<const std::byte*>(block + g) + offset, sizeof(halves[g]));
  }
  return _mm256_cvtph_ps(
      _mm_setr_epi16(halves[0], halves[1], halves[2], halves[3], halves[4], halves[5], halves[6], halves[7]));
}

// What most formats have: d at the start of the block, and no offset (kSigned) or one that moves integers from
// unsigned to signed.
template <typename BlockType, Q8Form form, int center>
struct ScaledFormat {
  using Block = BlockType;
  static constexpr Q8Form kForm = form;
  SLUICE_INLINE static __m256 scales(const Block* block) { return f16_of_eight(block, 0); }
  SLUICE_INLINE static __m256 offsets(const Block* /*block*/, __m256 scales) {
    return _mm256_mul_ps(scales, _mm256_set1_ps(static_cast<float>(-center)));
  }
};

// d, then m: value = d * q + m.
template <typename BlockType>
struct AffineFormat {
  using Block = BlockType;
  static constexpr Q8Form kForm = Q8Form::kUnsigned;
  SLUICE_INLINE static __m256 scales(const Block* block) { return f16_of_eight(block, 0); }
  SLUICE_INLINE static __m256 offsets(const Block* block, __m256 /*scales*/) { return f16_of_eight(block, 2); }
};

struct FormatQ8_0 : ScaledFormat<BlockQ8_0, Q8Form::kSigned, 0> {
  SLUICE_INLINE static __m256i integers(const Block& block) { return load_256(block.qs); }
};
struct FormatQ4_0 : ScaledFormat<BlockQ4_0, Q8Form::kUnsigned, 8> {
  SLUICE_INLINE static __m256i integers(const Block& block) { return nibbles(block.qs); }
};
struct FormatQ4_1 : AffineFormat<BlockQ4_1> {
  SLUICE_INLINE static __m256i integers(const Block& block) { return nibbles(block.qs); }
};
struct FormatQ5_0 : ScaledFormat<BlockQ5_0, Q8Form::kUnsigned, 16> {
  SLUICE_INLINE static __m256i integers(const Block& block) {
    return _mm256_or_si256(nibbles(block.qs), spread_bits(block.qh, 16));
  }
};
struct FormatQ5_1 : AffineFormat<BlockQ5_1> {
  SLUICE_INLINE static __m256i integers(const Block& block) {
    return _mm256_or_si256(nibbles(block.qs), spread_bits(block.qh, 16));
  }
};
struct FormatIQ4_NL : ScaledFormat<BlockIQ4_NL, Q8Form::kSigned, 0> {
  SLUICE_INLINE static __m256i integers(const Block& block) { return look_up(kIq4NlValues, nibbles(block.qs)); }
};

struct FormatMXFP4 {
  using Block = BlockMXFP4;
  static constexpr Q8Form kForm = Q8Form::kSigned;
  SLUICE_INLINE static __m256i integers(const Block& block) { return look_up(kE2m1Doubled, nibbles(block.qs)); }
  // e8m0_half_to_f32 of eight.
  SLUICE_INLINE static __m256 scales(const Block* block) {
    const __m256i e = _mm256_setr_epi32(block[0].e, block[1].e, block[2].e, block[3].e, block[4].e, block[5].e,
                                        block[6].e, block[7].e);
    const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(e, _mm256_set1_epi32(1)), 23);
    const __m256i denormal = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), e);
    const __m256i is_normal = _mm256_cmpgt_epi32(e, _mm256_set1_epi32(1));
    return _mm256_castsi256_ps(_mm256_blendv_epi8(denormal, normal, is_normal));
  }
};

template <typename Format>
SLUICE_INLINE void unpack_eight(const typename Format::Block* block, Q8Weights& out) {
  for (int g = 0; g < 8; ++g) store_group(out, g, Format::integers(block[g]));
  const __m256 scales = Format::scales(block);
  store_8(out.scale[0], scales);
  if constexpr (Format::kForm != Q8Form::kSigned) store_8(out.offset[0], Format::offsets(block, scales));
}

template <typename Format>
void unpack_groups(const std::byte* blocks, std::int64_t values, Q8Weights* out) {
  using Block = typename Format::Block;
  const auto* block = reinterpret_cast<const Block*>(blocks);
  std::int64_t left = values / 32;
  for (; left >= 8; left -= 8, block += 8, ++out) unpack_eight<Format>(block, *out);
  if (left > 0) {
    // Blocks of zeros behind the end of a row: their products with the zeros of the packed activations are zero.
    Block padded[8] = {};
    __builtin_memcpy(padded, block, static_cast<std::size_t>(left) * sizeof(Block));
    unpack_eight<Format>(padded, *out);
  }
}

// --- 256 values: one block of the file is one of Q8Weights ---

// An f16 field in all lanes.
SLUICE_INLINE __m256 f16_broadcast(const PackedU16& field) {
  std::uint16_t half = 0;
  __builtin_memcpy(&half, &field, sizeof(half));
  return _mm256_broadcastss_ps(_mm_cvtph_ps(_mm_cvtsi32_si128(half)));
}

// Eight scales and eight mins of 6 bits (k_scales.h) as bytes 0..7 and 8..15. Reads the four bytes behind the twelve,
// which are the block's own.
SLUICE_INLINE __m128i unpack_k_scales(const std::uint8_t* packed) {
  const __m128i words = load_128(packed);
  const __m128i low6 = _mm_and_si128(words, _mm_set1_epi8(0x3F));                     // scales, mins 0..3
  const __m128i top2 = _mm_and_si128(_mm_srli_epi16(words, 2), _mm_set1_epi8(0x30));  // of scales, mins 4..7
  const __m128i low4 =
      _mm_and_si128(_mm_srlv_epi32(_mm_shuffle_epi32(words, 0xAA), _mm_setr_epi32(0, 4, 0, 0)), _mm_set1_epi8(0x0F));
  return _mm_unpacklo_epi32(low6, _mm_or_si128(top2, low4));
}

SLUICE_INLINE void store_k_scales(const PackedU16& d, const PackedU16& dmin, const std::uint8_t* packed,
                                  Q8Weights& out) {
  const __m128i bytes = unpack_k_scales(packed);
  const __m256 scales = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
  const __m256i mins = _mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8));
  const __m256 offsets = _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_setzero_si256(), mins));
  store_8(out.scale[0], _mm256_mul_ps(f16_broadcast(d), scales));
  store_8(out.offset[0], _mm256_mul_ps(f16_broadcast(dmin), offsets));
}

// Sixteen 16-value scales lie as first half, second half, first half, ...: even ones to [0], odd ones to [1].
SLUICE_INLINE __m128i even_odd(__m128i bytes) {
  return _mm_shuffle_epi8(bytes, _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15));
}

struct FormatQ4_K {
  using Block = BlockQ4_K;
  static constexpr Q8Form kForm = Q8Form::kUnsigned;
  SLUICE_INLINE static void unpack(const Block& block, Q8Weights& out) {
    const __m256i low = _mm256_set1_epi8(15);
    for (int j = 0; j < 4; ++j) {
      const __m256i bytes = load_256(block.qs + 32 * j);
      store_group(out, 2 * j, _mm256_and_si256(bytes, low));
      store_group(out, 2 * j + 1, _mm256_and_si256(_mm256_srli_epi16(bytes, 4), low));
    }
    store_k_scales(block.d, block.dmin, block.scales, out);
  }
};

struct FormatQ5_K {
  using Block = BlockQ5_K;
  static constexpr Q8Form kForm = Q8Form::kUnsigned;
  SLUICE_INLINE static void unpack(const Block& block, Q8Weights& out) {
    const __m256i low = _mm256_set1_epi8(15);
    const __m256i high = _mm256_set1_epi8(16);
    const __m256i qh = load_256(block.qh);
    for (int j = 0; j < 4; ++j) {
      const __m256i bytes = load_256(block.qs + 32 * j);
      // Bit 2j and then bit 2j + 1 of each byte of qh, moved to bit 4. The counts are constants once unrolled.
      const __m256i fifth = j < 2 ? _mm256_slli_epi16(qh, 4 - 2 * j) : _mm256_srli_epi16(qh, 2 * j - 4);
      const __m256i next = j < 2 ? _mm256_slli_epi16(qh, 3 - 2 * j) : _mm256_srli_epi16(qh, 2 * j - 3);
      store_group(out, 2 * j, _mm256_or_si256(_mm256_and_si256(bytes, low), _mm256_and_si256(fifth, high)));
      store_group(out, 2 * j + 1,
                  _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(bytes, 4), low), _mm256_and_si256(next, high)));
    }
    store_k_scales(block.d, block.dmin, block.scales, out);
  }
};

struct FormatQ2_K {
  using Block = BlockQ2_K;
  static constexpr Q8Form kForm = Q8Form::kUnsigned16;
  SLUICE_INLINE static void unpack(const Block& block, Q8Weights& out) {
    const __m256i two = _mm256_set1_epi8(3);
    for (int half = 0; half < 2; ++half) {
      const __m256i bytes = load_256(block.qs + 32 * half);
      for (int j = 0; j < 4; ++j) {
        store_group(out, 4 * half + j, _mm256_and_si256(_mm256_srli_epi16(bytes, 2 * j), two));
      }
    }
    const __m128i packed = even_odd(load_128(block.scales));
    const __m128i scales = _mm_and_si128(packed, _mm_set1_epi8(15));
    const __m128i mins = _mm_and_si128(_mm_srli_epi16(packed, 4), _mm_set1_epi8(15));
    const __m256 d = f16_broadcast(block.d);
    const __m256 minus_dmin = _mm256_xor_ps(f16_broadcast(block.dmin), _mm256_set1_ps(-0.0F));
    store_8(out.scale[0], _mm256_mul_ps(d, _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(scales))));
    store_8(out.scale[1], _mm256_mul_ps(d, _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(scales, 8)))));
    store_8(out.offset[0], _mm256_mul_ps(minus_dmin, _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(mins))));
    store_8(out.offset[1],
            _mm256_mul_ps(minus_dmin, _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(mins, 8)))));
  }
};

// Sixteen signed scales (in order) times d, and the offset that moves unsigned integers down by `center`.
SLUICE_INLINE void store_centered(__m256 d, __m128i scales, float center, Q8Weights& out) {
  const __m128i ordered = even_odd(scales);
  const __m256 first = _mm256_mul_ps(d, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(ordered)));
  const __m256 second = _mm256_mul_ps(d, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(ordered, 8))));
  store_8(out.scale[0], first);
  store_8(out.scale[1], second);
  store_8(out.offset[0], _mm256_mul_ps(first, _mm256_set1_ps(-center)));
  store_8(out.offset[1], _mm256_mul_ps(second, _mm256_set1_ps(-center)));
}

struct FormatQ3_K {
  using Block = BlockQ3_K;
  static constexpr Q8Form kForm = Q8Form::kUnsigned16;
  SLUICE_INLINE static void unpack(const Block& block, Q8Weights& out) {
    const __m256i two = _mm256_set1_epi8(3);
    const __m256i four = _mm256_set1_epi8(4);
    const __m256i hmask = load_256(block.hmask);
    for (int half = 0; half < 2; ++half) {
      const __m256i bytes = load_256(block.qs + 32 * half);
      for (int j = 0; j < 4; ++j) {
        const int bit = 4 * half + j;
        const __m256i third = bit < 2 ? _mm256_slli_epi16(hmask, 2 - bit) : _mm256_srli_epi16(hmask, bit - 2);
        const __m256i low = _mm256_and_si256(_mm256_srli_epi16(bytes, 2 * j), two);
        store_group(out, bit, _mm256_or_si256(low, _mm256_and_si256(third, four)));
      }
    }
    // Scale i: nibble i / 8 of byte i % 8, and above it bits 2 (i / 4) of byte 8 + i % 4.
    std::uint32_t words[3];
    __builtin_memcpy(words, block.scales, sizeof(words));
    const std::uint32_t low4 = 0x0F0F0F0FU;
    const std::uint32_t low2 = 0x03030303U;
    const __m128i scales = _mm_setr_epi32(static_cast<int>((words[0] & low4) | (words[2] & low2) << 4),
                                          static_cast<int>((words[1] & low4) | (words[2] >> 2 & low2) << 4),
                                          static_cast<int>((words[0] >> 4 & low4) | (words[2] >> 4 & low2) << 4),
                                          static_cast<int>((words[1] >> 4 & low4) | (words[2] >> 6 & low2) << 4));
    store_centered(f16_broadcast(block.d), _mm_sub_epi8(scales, _mm_set1_epi8(32)), 4.0F, out);
  }
};

struct FormatQ6_K {
  using Block = BlockQ6_K;
  static constexpr Q8Form kForm = Q8Form::kUnsigned16;
  SLUICE_INLINE static void unpack(const Block& block, Q8Weights& out) {
    const __m256i low = _mm256_set1_epi8(15);
    const __m256i high = _mm256_set1_epi8(48);
    for (int half = 0; half < 2; ++half) {
      const __m256i a = load_256(block.ql + 64 * half);
      const __m256i b = load_256(block.ql + 64 * half + 32);
      const __m256i qh = load_256(block.qh + 32 * half);
      const auto group = [&](int j, __m256i nibble, __m256i top) {
        store_group(out, 4 * half + j, _mm256_or_si256(_mm256_and_si256(nibble, low), _mm256_and_si256(top, high)));
      };
      group(0, a, _mm256_slli_epi16(qh, 4));
      group(1, b, _mm256_slli_epi16(qh, 2));
      group(2, _mm256_srli_epi16(a, 4), qh);
      group(3, _mm256_srli_epi16(b, 4), _mm256_srli_epi16(qh, 2));
    }
    store_centered(f16_broadcast(block.d), load_128(block.scales), 32.0F, out);
  }
};

struct FormatIQ4_XS {
  using Block = BlockIQ4_XS;
  static constexpr Q8Form kForm = Q8Form::kSigned;
  SLUICE_INLINE static void unpack(const Block& block, Q8Weights& out) {
    for (int g = 0; g < 8; ++g) store_group(out, g, look_up(kIq4NlValues, nibbles(block.qs + 16 * g)));
    std::int32_t low_word = 0;
    __builtin_memcpy(&low_word, block.scales_l, sizeof(low_word));
    const __m256i low =
        _mm256_and_si256(_mm256_srlv_epi32(_mm256_set1_epi32(low_word), _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28)),
                         _mm256_set1_epi32(15));
    const __m256i high = _mm256_and_si256(
        _mm256_srlv_epi32(_mm256_set1_epi32(block.scales_h), _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14)),
        _mm256_set1_epi32(3));
    const __m256i scales = _mm256_sub_epi32(_mm256_or_si256(low, _mm256_slli_epi32(high, 4)), _mm256_set1_epi32(32));
    store_8(out.scale[0], _mm256_mul_ps(f16_broadcast(block.d), _mm256_cvtepi32_ps(scales)));
  }
};

template <typename Format>
void unpack_blocks(const std::byte* blocks, std::int64_t values, Q8Weights* out) {
  const auto* block = reinterpret_cast<const typename Format::Block*>(blocks);
  for (std::int64_t i = 0; i < values / Q8Block::kValues; ++i) Format::unpack(block[i], out[i]);
}

// --- the table ---

template <typename Format>
constexpr Q8Unpacker unpacker(decltype(Q8Unpacker::unpack) unpack) {
  return {Format::kForm, Format::Block::kValues, sizeof(typename Format::Block), unpack};
}

template <typename Format>
constexpr Q8Unpacker kOfGroups = unpacker<Format>(unpack_groups<Format>);
template <typename Format>
constexpr Q8Unpacker kOfBlocks = unpacker<Format>(unpack_blocks<Format>);

}  // namespace

const Q8Unpacker* find_q8_unpacker(DType dtype) {
  switch (dtype) {
    case DType::kQ8_0:
      return &kOfGroups<FormatQ8_0>;
    case DType::kQ4_0:
      return &kOfGroups<FormatQ4_0>;
    case DType::kQ4_1:
      return &kOfGroups<FormatQ4_1>;
    case DType::kQ5_0:
      return &kOfGroups<FormatQ5_0>;
    case DType::kQ5_1:
      return &kOfGroups<FormatQ5_1>;
    case DType::kIQ4_NL:
      return &kOfGroups<FormatIQ4_NL>;
    case DType::kMXFP4:
      return &kOfGroups<FormatMXFP4>;
    case DType::kQ2_K:
      return &kOfBlocks<FormatQ2_K>;
    case DType::kQ3_K:
      return &kOfBlocks<FormatQ3_K>;
    case DType::kQ4_K:
      return &kOfBlocks<FormatQ4_K>;
    case DType::kQ5_K:
      return &kOfBlocks<FormatQ5_K>;
    case DType::kQ6_K:
      return &kOfBlocks<FormatQ6_K>;
    case DType::kIQ4_XS:
      return &kOfBlocks<FormatIQ4_XS>;
    default:
      return nullptr;
  }
}

}  // namespace sluice
