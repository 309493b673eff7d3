// The scalar decoders behind the registry (dtype.cc), one per format: FormatInfo::decode. Internal to src/quant.
#pragma once

#include <cstdint>

namespace sluice {

#define SLUICE_DECODER(name) void decode_##name(const void* blocks, float* out, std::int64_t values)
SLUICE_DECODER(f32);
SLUICE_DECODER(f64);  // rounded to float
SLUICE_DECODER(f16);
SLUICE_DECODER(bf16);
SLUICE_DECODER(f8_e4m3);  // without the scales of WeightView
SLUICE_DECODER(q8_0);
SLUICE_DECODER(q4_0);
SLUICE_DECODER(q4_1);
SLUICE_DECODER(q5_0);
SLUICE_DECODER(q5_1);
SLUICE_DECODER(q2_k);
SLUICE_DECODER(q3_k);
SLUICE_DECODER(q4_k);
SLUICE_DECODER(q5_k);
SLUICE_DECODER(q6_k);
SLUICE_DECODER(iq4_nl);
SLUICE_DECODER(iq4_xs);
SLUICE_DECODER(mxfp4);
SLUICE_DECODER(nvfp4);
SLUICE_DECODER(q1_0);
SLUICE_DECODER(q2_0);
SLUICE_DECODER(tq1_0);
SLUICE_DECODER(tq2_0);
SLUICE_DECODER(iq1_s);
SLUICE_DECODER(iq1_m);
SLUICE_DECODER(iq2_xxs);
SLUICE_DECODER(iq2_xs);
SLUICE_DECODER(iq2_s);
SLUICE_DECODER(iq3_xxs);
SLUICE_DECODER(iq3_s);
#undef SLUICE_DECODER

// Calls decode_block(block, out) for each block of `values` values, out advancing by Block::kValues.
template <typename Block, typename DecodeBlock>
void for_each_block(const void* blocks, float* out, std::int64_t values, DecodeBlock decode_block) {
  const auto* block = static_cast<const Block*>(blocks);
  for (const float* const end = out + values; out != end; out += Block::kValues, ++block) decode_block(*block, out);
}

}  // namespace sluice
