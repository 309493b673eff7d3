#include "quant/blocks.h"
#include "quant/formats.h"

namespace sluice {

void decode_iq4_nl(const void* blocks, float* out, std::int64_t values) {
  for_each_block<BlockIQ4_NL>(blocks, out, values, [](const BlockIQ4_NL& block, float* y) {
    const float d = f16_to_f32(block.d);
    for (int i = 0; i < 16; ++i) {
      y[i] = d * static_cast<float>(kIq4NlValues[block.qs[i] & 15]);
      y[i + 16] = d * static_cast<float>(kIq4NlValues[block.qs[i] >> 4]);
    }
  });
}

}  // namespace sluice
