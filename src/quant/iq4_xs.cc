#include "quant/blocks.h"
#include "quant/formats.h"

namespace sluice {

void decode_iq4_xs(const void* blocks, float* out, std::int64_t values) {
  for_each_block<BlockIQ4_XS>(blocks, out, values, [](const BlockIQ4_XS& block, float* y) {
    const float d = f16_to_f32(block.d);
    for (int g = 0; g < 8; ++g) {
      const std::uint8_t* qs = block.qs + 16 * g;
      const int low = block.scales_l[g / 2] >> g % 2 * 4 & 15;
      const int high = block.scales_h >> 2 * g & 3;
      const float scale = d * static_cast<float>((low | high << 4) - 32);
      for (int i = 0; i < 16; ++i) {
        y[32 * g + i] = scale * static_cast<float>(kIq4NlValues[qs[i] & 15]);
        y[32 * g + i + 16] = scale * static_cast<float>(kIq4NlValues[qs[i] >> 4]);
      }
    }
  });
}

}  // namespace sluice
