#include "quant/blocks.h"
#include "quant/formats.h"
#include "quant/iq_decode.h"

namespace sluice {

void decode_iq2_s(const void* blocks, float* out, std::int64_t values) {
  for_each_block<BlockIQ2_S>(blocks, out, values, [](const BlockIQ2_S& block, float* y) {
    const float d = f16_to_f32(block.d);
    for (int l = 0; l < 32; ++l, y += 8) {
      const int id = block.qs[l] | (block.qh[l / 4] >> l % 4 * 2 & 3) << 8;
      const int nibble = block.scales[l / 4] >> l / 2 % 2 * 4 & 15;
      const float scale = d * (0.5F + static_cast<float>(nibble)) * 0.25F;
      write_signed<8>(kIq2SGrid[id], block.signs[l], scale, y);
    }
  });
}

}  // namespace sluice
