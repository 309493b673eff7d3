#include "quant/blocks.h"
#include "quant/formats.h"

namespace sluice {

void decode_q5_0(const void* blocks, float* out, std::int64_t values) {
  for_each_block<BlockQ5_0>(blocks, out, values, [](const BlockQ5_0& block, float* y) {
    const float d = f16_to_f32(block.d);
    for (int i = 0; i < 16; ++i) {
      const int low = (block.qs[i] & 15) | (block.qh[i / 8] >> i % 8 & 1) << 4;
      const int high = block.qs[i] >> 4 | (block.qh[2 + i / 8] >> i % 8 & 1) << 4;
      y[i] = d * static_cast<float>(low - 16);
      y[i + 16] = d * static_cast<float>(high - 16);
    }
  });
}

}  // namespace sluice
