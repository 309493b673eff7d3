#include "quant/blocks.h"
#include "quant/formats.h"
#include "quant/iq_decode.h"

namespace sluice {

void decode_iq2_xs(const void* blocks, float* out, std::int64_t values) {
  for_each_block<BlockIQ2_XS>(blocks, out, values, [](const BlockIQ2_XS& block, float* y) {
    const float d = f16_to_f32(block.d);
    for (int l = 0; l < 32; ++l, y += 8) {
      const unsigned code = block.qs[l];
      const int nibble = block.scales[l / 4] >> l / 2 % 2 * 4 & 15;
      const float scale = d * (0.5F + static_cast<float>(nibble)) * 0.25F;
      write_signed<8>(kIq2XsGrid[code & 511U], kIqSigns[code >> 9], scale, y);
    }
  });
}

}  // namespace sluice
