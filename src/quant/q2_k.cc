#include "quant/blocks.h"
#include "quant/formats.h"

namespace sluice {

void decode_q2_k(const void* blocks, float* out, std::int64_t values) {
  for_each_block<BlockQ2_K>(blocks, out, values, [](const BlockQ2_K& block, float* y) {
    const float d = f16_to_f32(block.d);
    const float dmin = f16_to_f32(block.dmin);
    for (int g = 0; g < 16; ++g) {
      const std::uint8_t* qs = block.qs + g / 8 * 32 + g % 2 * 16;
      const int shift = g / 2 % 4 * 2;
      const float scale = d * static_cast<float>(block.scales[g] & 15);
      const float min = dmin * static_cast<float>(block.scales[g] >> 4);
      for (int i = 0; i < 16; ++i) y[16 * g + i] = scale * static_cast<float>(qs[i] >> shift & 3) - min;
    }
  });
}

}  // namespace sluice
