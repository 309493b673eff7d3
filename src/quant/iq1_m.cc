#include "quant/blocks.h"
#include "quant/formats.h"
#include "quant/iq_decode.h"

namespace sluice {

void decode_iq1_m(const void* blocks, float* out, std::int64_t values) {
  for_each_block<BlockIQ1_M>(blocks, out, values, [](const BlockIQ1_M& block, float* y) {
    const float d = f16_to_f32(iq1_m_d(block));
    for (int l = 0; l < 32; ++l, y += 8) {
      const int qh = block.qh[l / 2] >> l % 2 * 4;
      const int id = block.qs[l] | (qh & 7) << 8;
      const int code = block.scales[l / 8] >> l / 2 % 4 * 3 & 7;
      const float scale = d * static_cast<float>(2 * code + 1);
      write_ternary(kIq1Grid[id], (qh & 8) != 0 ? -kIq1Delta : kIq1Delta, scale, y);
    }
  });
}

}  // namespace sluice
