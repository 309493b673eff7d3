#include "quant/blocks.h"
#include "quant/formats.h"

namespace sluice {

void decode_q6_k(const void* blocks, float* out, std::int64_t values) {
  for_each_block<BlockQ6_K>(blocks, out, values, [](const BlockQ6_K& block, float* y) {
    const float d = f16_to_f32(block.d);
    for (int g = 0; g < 16; ++g) {
      const int half = g / 8;
      const int quarter = g / 2 % 4;
      const std::uint8_t* ql = block.ql + half * 64 + quarter % 2 * 32 + g % 2 * 16;
      const std::uint8_t* qh = block.qh + half * 32 + g % 2 * 16;
      const float scale = d * static_cast<float>(block.scales[g]);
      for (int i = 0; i < 16; ++i) {
        const int q = (ql[i] >> quarter / 2 * 4 & 15) | (qh[i] >> quarter * 2 & 3) << 4;
        y[16 * g + i] = scale * static_cast<float>(q - 32);
      }
    }
  });
}

}  // namespace sluice
