#include "quant/blocks.h"
#include "quant/formats.h"
#include "quant/iq_decode.h"

namespace sluice {

void decode_iq2_xxs(const void* blocks, float* out, std::int64_t values) {
  for_each_block<BlockIQ2_XXS>(blocks, out, values, [](const BlockIQ2_XXS& block, float* y) {
    const float d = f16_to_f32(block.d);
    for (int g = 0; g < 8; ++g, y += 32) {
      const std::uint8_t* ids = block.qs + 8 * g;
      const std::uint32_t codes = load_u32(ids + 4);
      const float scale = d * (0.5F + static_cast<float>(codes >> 28)) * 0.25F;
      for (int l = 0; l < 4; ++l) {
        write_signed<8>(kIq2XxsGrid[ids[l]], kIqSigns[codes >> 7 * l & 127U], scale, y + 8 * l);
      }
    }
  });
}

}  // namespace sluice
