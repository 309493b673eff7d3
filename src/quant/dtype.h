// Element types of weights. Values are those of the GGUF tensor-type ids (ggml-common), frozen by the file format;
// ids from 1000 on are Sluice's own for what only safetensors has.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice {

enum class DType : std::int32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ2_K = 10,
  kQ3_K = 11,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kIQ2_XXS = 16,
  kIQ2_XS = 17,
  kIQ3_XXS = 18,
  kIQ1_S = 19,
  kIQ4_NL = 20,
  kIQ3_S = 21,
  kIQ2_S = 22,
  kIQ4_XS = 23,
  kI8 = 24,
  kI16 = 25,
  kI32 = 26,
  kI64 = 27,
  kF64 = 28,
  kIQ1_M = 29,
  kBF16 = 30,
  kTQ1_0 = 34,
  kTQ2_0 = 35,
  kMXFP4 = 39,
  kNVFP4 = 40,
  kQ1_0 = 41,
  kQ2_0 = 42,
  // safetensors only
  kF8_E4M3 = 1000,  // with WeightView::scales per 128 x 128 block when it is a block-quantised matrix
  kU8 = 1001,
  kBool = 1002,
  kU16 = 1003,
  kU32 = 1004,
  kU64 = 1005,
};

// One row of the registry of formats: layout facts plus the scalar decoder, the oracle of every kernel.
struct FormatInfo {
  DType dtype;
  std::string_view name;      // as GGUF tools spell it: "Q4_K"
  std::int32_t block_values;  // values per block along the input dimension
  std::int32_t block_bytes;   // bytes per block
  bool quantised;             // true for block formats and FP8 (not F32/F16/BF16/F64/integers)
  // Decodes `values` (a multiple of block_values, 0 included) values; bit-exact: multiply and add are kept separate.
  // blocks need no alignment and must not overlap out. Thread-safe. Null for types that never hold weights (I8, U8,
  // ...).
  void (*decode)(const void* blocks, float* out, std::int64_t values);
};

// The registry's row of a type, or nullptr for an unknown id or name. Names are exact: "Q4_K", "F8_E4M3", "BOOL". Any
// integer read from a file may be cast to DType and asked for.
const FormatInfo* find_format(DType dtype);
const FormatInfo* find_format(std::string_view name);
std::string_view dtype_name(DType dtype);  // "?" for an unknown id

// Bytes of a row of `values` elements, or nullopt if values is not a whole number of blocks or the size overflows.
std::optional<std::uint64_t> row_bytes(DType dtype, std::uint64_t values);

}  // namespace sluice
