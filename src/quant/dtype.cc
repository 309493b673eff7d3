// The registry of weight formats: the one list that the loader, the kernels and `inspect` read.
#include "quant/dtype.h"

#include <array>
#include <cstddef>
#include <limits>

#include "quant/blocks.h"
#include "quant/formats.h"

namespace sluice {
namespace {

using Decode = decltype(FormatInfo::decode);

constexpr FormatInfo plain(DType dtype, std::string_view name, std::int32_t bytes, Decode decode = nullptr) {
  return {dtype, name, 1, bytes, false, decode};
}

template <typename Block>
constexpr FormatInfo blocked(DType dtype, std::string_view name, Decode decode) {
  return {dtype, name, Block::kValues, sizeof(Block), true, decode};
}

constexpr std::array kFormats = {
    plain(DType::kF32, "F32", 4, decode_f32),
    plain(DType::kF16, "F16", 2, decode_f16),
    blocked<BlockQ4_0>(DType::kQ4_0, "Q4_0", decode_q4_0),
    blocked<BlockQ4_1>(DType::kQ4_1, "Q4_1", decode_q4_1),
    blocked<BlockQ5_0>(DType::kQ5_0, "Q5_0", decode_q5_0),
    blocked<BlockQ5_1>(DType::kQ5_1, "Q5_1", decode_q5_1),
    blocked<BlockQ8_0>(DType::kQ8_0, "Q8_0", decode_q8_0),
    blocked<BlockQ2_K>(DType::kQ2_K, "Q2_K", decode_q2_k),
    blocked<BlockQ3_K>(DType::kQ3_K, "Q3_K", decode_q3_k),
    blocked<BlockQ4_K>(DType::kQ4_K, "Q4_K", decode_q4_k),
    blocked<BlockQ5_K>(DType::kQ5_K, "Q5_K", decode_q5_k),
    blocked<BlockQ6_K>(DType::kQ6_K, "Q6_K", decode_q6_k),
    blocked<BlockIQ2_XXS>(DType::kIQ2_XXS, "IQ2_XXS", decode_iq2_xxs),
    blocked<BlockIQ2_XS>(DType::kIQ2_XS, "IQ2_XS", decode_iq2_xs),
    blocked<BlockIQ3_XXS>(DType::kIQ3_XXS, "IQ3_XXS", decode_iq3_xxs),
    blocked<BlockIQ1_S>(DType::kIQ1_S, "IQ1_S", decode_iq1_s),
    blocked<BlockIQ4_NL>(DType::kIQ4_NL, "IQ4_NL", decode_iq4_nl),
    blocked<BlockIQ3_S>(DType::kIQ3_S, "IQ3_S", decode_iq3_s),
    blocked<BlockIQ2_S>(DType::kIQ2_S, "IQ2_S", decode_iq2_s),
    blocked<BlockIQ4_XS>(DType::kIQ4_XS, "IQ4_XS", decode_iq4_xs),
    plain(DType::kI8, "I8", 1),
    plain(DType::kI16, "I16", 2),
    plain(DType::kI32, "I32", 4),
    plain(DType::kI64, "I64", 8),
    plain(DType::kF64, "F64", 8, decode_f64),
    blocked<BlockIQ1_M>(DType::kIQ1_M, "IQ1_M", decode_iq1_m),
    plain(DType::kBF16, "BF16", 2, decode_bf16),
    blocked<BlockTQ1_0>(DType::kTQ1_0, "TQ1_0", decode_tq1_0),
    blocked<BlockTQ2_0>(DType::kTQ2_0, "TQ2_0", decode_tq2_0),
    blocked<BlockMXFP4>(DType::kMXFP4, "MXFP4", decode_mxfp4),
    blocked<BlockNVFP4>(DType::kNVFP4, "NVFP4", decode_nvfp4),
    blocked<BlockQ1_0>(DType::kQ1_0, "Q1_0", decode_q1_0),
    blocked<BlockQ2_0>(DType::kQ2_0, "Q2_0", decode_q2_0),
    FormatInfo{DType::kF8_E4M3, "F8_E4M3", 1, 1, true, decode_f8_e4m3},
    plain(DType::kU8, "U8", 1),
    plain(DType::kBool, "BOOL", 1),
    plain(DType::kU16, "U16", 2),
    plain(DType::kU32, "U32", 4),
    plain(DType::kU64, "U64", 8),
};

// Two dense ranges of ids, GGUF's and ours, so that a look-up is an index and no search.
constexpr std::int32_t kOwnIds = static_cast<std::int32_t>(DType::kF8_E4M3);
constexpr std::size_t kRange = 64;

constexpr std::size_t slot_of(DType dtype) {
  const auto id = static_cast<std::int32_t>(dtype);
  if (id >= 0 && id < static_cast<std::int32_t>(kRange)) return static_cast<std::size_t>(id);
  if (id >= kOwnIds && id < kOwnIds + static_cast<std::int32_t>(kRange)) {
    return kRange + static_cast<std::size_t>(id - kOwnIds);
  }
  return 2 * kRange;
}

constexpr std::array<const FormatInfo*, 2 * kRange + 1> kBySlot = [] {
  std::array<const FormatInfo*, 2 * kRange + 1> table{};
  for (const FormatInfo& format : kFormats) table[slot_of(format.dtype)] = &format;
  return table;
}();

consteval bool registry_is_sound() {
  for (const FormatInfo& format : kFormats) {
    if (slot_of(format.dtype) == 2 * kRange || kBySlot[slot_of(format.dtype)] != &format) return false;
  }
  return true;
}
static_assert(registry_is_sound(), "an id lies outside the two ranges or is listed twice");

}  // namespace

const FormatInfo* find_format(DType dtype) { return kBySlot[slot_of(dtype)]; }

const FormatInfo* find_format(std::string_view name) {
  for (const FormatInfo& format : kFormats) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

std::string_view dtype_name(DType dtype) {
  const FormatInfo* format = find_format(dtype);
  return format == nullptr ? "?" : format->name;
}

std::optional<std::uint64_t> row_bytes(DType dtype, std::uint64_t values) {
  const FormatInfo* format = find_format(dtype);
  if (format == nullptr) return std::nullopt;
  const auto block_values = static_cast<std::uint64_t>(format->block_values);
  const auto block_bytes = static_cast<std::uint64_t>(format->block_bytes);
  if (values % block_values != 0) return std::nullopt;
  const std::uint64_t blocks = values / block_values;
  if (blocks > std::numeric_limits<std::uint64_t>::max() / block_bytes) return std::nullopt;
  return blocks * block_bytes;
}

}  // namespace sluice
