#include "quant/blocks.h"
#include "quant/formats.h"

namespace sluice {

void decode_q2_0(const void* blocks, float* out, std::int64_t values) {
  for_each_block<BlockQ2_0>(blocks, out, values, [](const BlockQ2_0& block, float* y) {
    const float d = f16_to_f32(block.d);
    for (const std::uint8_t byte : block.qs) {
      for (int i = 0; i < 4; ++i) y[i] = d * static_cast<float>((byte >> 2 * i & 3) - 1);
      y += 4;
    }
  });
}

}  // namespace sluice
