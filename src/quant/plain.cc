// F32, F64, F16, BF16 and F8_E4M3: one value an element, nothing shared between values.
#include <array>
#include <cstddef>
#include <cstring>

#include "quant/blocks.h"
#include "quant/formats.h"

namespace sluice {
namespace {

constexpr std::array<float, 256> kF8E4m3 = [] {
  std::array<float, 256> table{};
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = f8_e4m3_to_f32(static_cast<std::uint8_t>(i));
  return table;
}();

}  // namespace

void decode_f32(const void* blocks, float* out, std::int64_t values) {
  // An empty tensor may have no address at all.
  if (values > 0) std::memcpy(out, blocks, static_cast<std::size_t>(values) * sizeof(float));
}

void decode_f64(const void* blocks, float* out, std::int64_t values) {
  const auto* bytes = static_cast<const std::byte*>(blocks);
  for (std::int64_t i = 0; i < values; ++i) {
    double value = 0.0;
    std::memcpy(&value, bytes + static_cast<std::size_t>(i) * sizeof(value), sizeof(value));
    out[i] = static_cast<float>(value);
  }
}

void decode_f16(const void* blocks, float* out, std::int64_t values) {
  const auto* halves = static_cast<const PackedU16*>(blocks);
  for (std::int64_t i = 0; i < values; ++i) out[i] = f16_to_f32(halves[i]);
}

void decode_bf16(const void* blocks, float* out, std::int64_t values) {
  const auto* halves = static_cast<const PackedU16*>(blocks);
  for (std::int64_t i = 0; i < values; ++i) out[i] = bf16_to_f32(halves[i]);
}

void decode_f8_e4m3(const void* blocks, float* out, std::int64_t values) {
  const auto* bytes = static_cast<const std::uint8_t*>(blocks);
  for (std::int64_t i = 0; i < values; ++i) out[i] = kF8E4m3[bytes[i]];
}

}  // namespace sluice
