#include "quant/blocks.h"
#include "quant/formats.h"

namespace sluice {

void decode_q4_0(const void* blocks, float* out, std::int64_t values) {
  for_each_block<BlockQ4_0>(blocks, out, values, [](const BlockQ4_0& block, float* y) {
    const float d = f16_to_f32(block.d);
    for (int i = 0; i < 16; ++i) {
      y[i] = d * static_cast<float>((block.qs[i] & 15) - 8);
      y[i + 16] = d * static_cast<float>((block.qs[i] >> 4) - 8);
    }
  });
}

}  // namespace sluice
