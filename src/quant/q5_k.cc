#include "quant/blocks.h"
#include "quant/formats.h"
#include "quant/k_scales.h"

namespace sluice {

void decode_q5_k(const void* blocks, float* out, std::int64_t values) {
  for_each_block<BlockQ5_K>(blocks, out, values, [](const BlockQ5_K& block, float* y) {
    const float d = f16_to_f32(block.d);
    const float dmin = f16_to_f32(block.dmin);
    for (int g = 0; g < 8; ++g) {
      const std::uint8_t* qs = block.qs + g / 2 * 32;
      const int shift = g % 2 * 4;
      const float scale = d * static_cast<float>(k_scale(block.scales, g));
      const float min = dmin * static_cast<float>(k_min(block.scales, g));
      for (int i = 0; i < 32; ++i) {
        const int q = (qs[i] >> shift & 15) | (block.qh[i] >> g & 1) << 4;
        y[32 * g + i] = scale * static_cast<float>(q) - min;
      }
    }
  });
}

}  // namespace sluice
