#include "quant/blocks.h"
#include "quant/formats.h"
#include "quant/k_scales.h"

namespace sluice {

void decode_q3_k(const void* blocks, float* out, std::int64_t values) {
  for_each_block<BlockQ3_K>(blocks, out, values, [](const BlockQ3_K& block, float* y) {
    const float d = f16_to_f32(block.d);
    for (int g = 0; g < 16; ++g) {
      const std::uint8_t* qs = block.qs + g / 8 * 32 + g % 2 * 16;
      const std::uint8_t* high = block.hmask + g % 2 * 16;
      const int shift = g / 2 % 4 * 2;
      const float scale = d * static_cast<float>(q3_k_scale(block.scales, g));
      for (int i = 0; i < 16; ++i) {
        const int q = (qs[i] >> shift & 3) | (high[i] >> g / 2 & 1) << 2;
        y[16 * g + i] = scale * static_cast<float>(q - 4);
      }
    }
  });
}

}  // namespace sluice
