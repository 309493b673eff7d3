#include "quant/blocks.h"
#include "quant/formats.h"

namespace sluice {

void decode_q8_0(const void* blocks, float* out, std::int64_t values) {
  for_each_block<BlockQ8_0>(blocks, out, values, [](const BlockQ8_0& block, float* y) {
    const float d = f16_to_f32(block.d);
    for (int i = 0; i < 32; ++i) y[i] = d * static_cast<float>(block.qs[i]);
  });
}

}  // namespace sluice
