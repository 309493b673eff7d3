#include "quant/blocks.h"
#include "quant/formats.h"
#include "quant/iq_decode.h"

namespace sluice {

void decode_iq3_xxs(const void* blocks, float* out, std::int64_t values) {
  for_each_block<BlockIQ3_XXS>(blocks, out, values, [](const BlockIQ3_XXS& block, float* y) {
    const float d = f16_to_f32(block.d);
    for (int g = 0; g < 8; ++g, y += 32) {
      const std::uint8_t* ids = block.qs + 8 * g;
      const std::uint32_t codes = load_u32(block.scales_and_signs + 4 * g);
      const float scale = d * (0.5F + static_cast<float>(codes >> 28)) * 0.5F;
      for (int l = 0; l < 4; ++l) {
        const unsigned signs = kIqSigns[codes >> 7 * l & 127U];
        write_signed<4>(kIq3XxsGrid[ids[2 * l]], signs, scale, y + 8 * l);
        write_signed<4>(kIq3XxsGrid[ids[2 * l + 1]], signs >> 4, scale, y + 8 * l + 4);
      }
    }
  });
}

}  // namespace sluice
