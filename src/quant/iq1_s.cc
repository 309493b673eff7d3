#include "quant/blocks.h"
#include "quant/formats.h"
#include "quant/iq_decode.h"

namespace sluice {

void decode_iq1_s(const void* blocks, float* out, std::int64_t values) {
  for_each_block<BlockIQ1_S>(blocks, out, values, [](const BlockIQ1_S& block, float* y) {
    const float d = f16_to_f32(block.d);
    for (int l = 0; l < 32; ++l, y += 8) {
      const int qh = block.qh[l / 4];
      const int id = block.qs[l] | (qh >> l % 4 * 3 & 7) << 8;
      const float scale = d * static_cast<float>(2 * (qh >> 12 & 7) + 1);
      write_ternary(kIq1Grid[id], (qh & 0x8000) != 0 ? -kIq1Delta : kIq1Delta, scale, y);
    }
  });
}

}  // namespace sluice
