#include "quant/blocks.h"
#include "quant/formats.h"
#include "quant/iq_decode.h"

namespace sluice {

void decode_iq3_s(const void* blocks, float* out, std::int64_t values) {
  for_each_block<BlockIQ3_S>(blocks, out, values, [](const BlockIQ3_S& block, float* y) {
    const float d = f16_to_f32(block.d);
    for (int l = 0; l < 64; ++l, y += 4) {
      const int id = block.qs[l] | (block.qh[l / 8] >> l % 8 & 1) << 8;
      const int nibble = block.scales[l / 16] >> l / 8 % 2 * 4 & 15;
      const float scale = d * static_cast<float>(2 * nibble + 1);
      write_signed<4>(kIq3SGrid[id], block.signs[l / 2] >> l % 2 * 4, scale, y);
    }
  });
}

}  // namespace sluice
