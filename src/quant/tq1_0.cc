#include "quant/blocks.h"
#include "quant/formats.h"

namespace sluice {
namespace {

// Writes digit 0 of all `count` bytes, then digit 1 of all, and so on; returns the end of what it wrote. A byte is a
// fraction of 256: multiplying it by 3^n drops the digits before the n-th, and the integer part of three times what is
// left is the digit.
float* decode_digits(const std::uint8_t* bytes, int count, int digits, float d, float* y) {
  int power = 1;
  for (int n = 0; n < digits; ++n, power *= 3) {
    for (int i = 0; i < count; ++i) *y++ = d * static_cast<float>(((bytes[i] * power & 255) * 3 >> 8) - 1);
  }
  return y;
}

}  // namespace

void decode_tq1_0(const void* blocks, float* out, std::int64_t values) {
  for_each_block<BlockTQ1_0>(blocks, out, values, [](const BlockTQ1_0& block, float* y) {
    const float d = f16_to_f32(block.d);
    y = decode_digits(block.qs, 32, 5, d, y);
    y = decode_digits(block.qs + 32, 16, 5, d, y);
    decode_digits(block.qh, 4, 4, d, y);
  });
}

}  // namespace sluice
