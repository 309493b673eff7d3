#include "quant/blocks.h"
#include "quant/formats.h"

namespace sluice {

void decode_mxfp4(const void* blocks, float* out, std::int64_t values) {
  for_each_block<BlockMXFP4>(blocks, out, values, [](const BlockMXFP4& block, float* y) {
    const float d = e8m0_half_to_f32(block.e);
    for (int i = 0; i < 16; ++i) {
      y[i] = d * static_cast<float>(kE2m1Doubled[block.qs[i] & 15]);
      y[i + 16] = d * static_cast<float>(kE2m1Doubled[block.qs[i] >> 4]);
    }
  });
}

}  // namespace sluice
