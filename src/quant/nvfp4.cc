#include "quant/blocks.h"
#include "quant/formats.h"

namespace sluice {

void decode_nvfp4(const void* blocks, float* out, std::int64_t values) {
  for_each_block<BlockNVFP4>(blocks, out, values, [](const BlockNVFP4& block, float* y) {
    for (int g = 0; g < 4; ++g) {
      const std::uint8_t* qs = block.qs + 8 * g;
      const float d = ue4m3_half_to_f32(block.d[g]);
      for (int i = 0; i < 8; ++i) {
        y[16 * g + i] = d * static_cast<float>(kE2m1Doubled[qs[i] & 15]);
        y[16 * g + i + 8] = d * static_cast<float>(kE2m1Doubled[qs[i] >> 4]);
      }
    }
  });
}

}  // namespace sluice
