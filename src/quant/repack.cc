#include "quant/repack.h"

#include <cstddef>
#include <cstring>

#include "quant/blocks.h"

namespace sluice {

void mxfp4_from_planes(const std::uint8_t* blocks, const std::uint8_t* scales, std::int64_t count, void* out) {
  auto* block = static_cast<BlockMXFP4*>(out);
  for (std::int64_t b = 0; b < count; ++b, ++block, blocks += kMxfp4PlaneBlockBytes) {
    block->e = scales[b];
    // Byte i of the first half holds values 2i and 2i + 1, its peer in the second half 16 + 2i and 17 + 2i.
    for (int i = 0; i < 8; ++i) {
      const std::uint8_t first = blocks[i];
      const std::uint8_t second = blocks[i + 8];
      block->qs[2 * i] = static_cast<std::uint8_t>((first & 0x0F) | (second & 0x0F) << 4);
      block->qs[2 * i + 1] = static_cast<std::uint8_t>(first >> 4 | (second & 0xF0));
    }
  }
}

void f32_to_bf16_row(const float* values, std::int64_t count, void* out) {
  auto* bytes = static_cast<std::byte*>(out);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint16_t bits = f32_to_bf16(values[i]);
    std::memcpy(bytes + 2 * i, &bits, sizeof(bits));
  }
}

void f32_to_f16_row(const float* values, std::int64_t count, void* out) {
  auto* bytes = static_cast<std::byte*>(out);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint16_t bits = f32_to_f16(values[i]);
    std::memcpy(bytes + 2 * i, &bits, sizeof(bits));
  }
}

}  // namespace sluice
