#include "quant/blocks.h"
#include "quant/formats.h"

namespace sluice {

void decode_q1_0(const void* blocks, float* out, std::int64_t values) {
  for_each_block<BlockQ1_0>(blocks, out, values, [](const BlockQ1_0& block, float* y) {
    const float d = f16_to_f32(block.d);
    for (int i = 0; i < 128; ++i) y[i] = (block.qs[i / 8] >> i % 8 & 1) != 0 ? d : -d;
  });
}

}  // namespace sluice
