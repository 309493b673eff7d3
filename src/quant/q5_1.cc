#include "quant/blocks.h"
#include "quant/formats.h"

namespace sluice {

void decode_q5_1(const void* blocks, float* out, std::int64_t values) {
  for_each_block<BlockQ5_1>(blocks, out, values, [](const BlockQ5_1& block, float* y) {
    const float d = f16_to_f32(block.d);
    const float m = f16_to_f32(block.m);
    for (int i = 0; i < 16; ++i) {
      const int low = (block.qs[i] & 15) | (block.qh[i / 8] >> i % 8 & 1) << 4;
      const int high = block.qs[i] >> 4 | (block.qh[2 + i / 8] >> i % 8 & 1) << 4;
      y[i] = d * static_cast<float>(low) + m;
      y[i + 16] = d * static_cast<float>(high) + m;
    }
  });
}

}  // namespace sluice
