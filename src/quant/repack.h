// Conversions of weights at load.
#pragma once

#include <cstdint>

namespace sluice {

// Bytes of one block of 32 values in the planes of gpt-oss's safetensors: 16 in `_blocks`, one in `_scales`.
inline constexpr std::int64_t kMxfp4PlaneBlockBytes = 16;

// `count` blocks of 32 MXFP4 values from gpt-oss's safetensors form to GGUF's; lossless.
//   blocks: [count, 16] bytes of two CONSECUTIVE values each, low nibble first
//   scales: [count] E8M0 bytes
//   out:    [count] BlockMXFP4 (17 bytes: scale, then values 0..15 in the low and 16..31 in the high nibbles)
// out must not overlap the inputs; no alignment needed. Thread-safe for disjoint outputs.
void mxfp4_from_planes(const std::uint8_t* blocks, const std::uint8_t* scales, std::int64_t count, void* out);

// count floats to bfloat16 or IEEE half: ties to even, NaN stays a quiet NaN; too large becomes infinity.
// out: [count] little-endian 16-bit values, no alignment needed.
void f32_to_bf16_row(const float* values, std::int64_t count, void* out);
void f32_to_f16_row(const float* values, std::int64_t count, void* out);

}  // namespace sluice
