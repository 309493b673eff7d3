#include "quant/blocks.h"
#include "quant/formats.h"

namespace sluice {

void decode_tq2_0(const void* blocks, float* out, std::int64_t values) {
  for_each_block<BlockTQ2_0>(blocks, out, values, [](const BlockTQ2_0& block, float* y) {
    const float d = f16_to_f32(block.d);
    for (int g = 0; g < 8; ++g) {
      const std::uint8_t* qs = block.qs + g / 4 * 32;
      for (int i = 0; i < 32; ++i) y[32 * g + i] = d * static_cast<float>((qs[i] >> g % 4 * 2 & 3) - 1);
    }
  });
}

}  // namespace sluice
