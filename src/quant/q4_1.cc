#include "quant/blocks.h"
#include "quant/formats.h"

namespace sluice {

void decode_q4_1(const void* blocks, float* out, std::int64_t values) {
  for_each_block<BlockQ4_1>(blocks, out, values, [](const BlockQ4_1& block, float* y) {
    const float d = f16_to_f32(block.d);
    const float m = f16_to_f32(block.m);
    for (int i = 0; i < 16; ++i) {
      y[i] = d * static_cast<float>(block.qs[i] & 15) + m;
      y[i + 16] = d * static_cast<float>(block.qs[i] >> 4) + m;
    }
  });
}

}  // namespace sluice
