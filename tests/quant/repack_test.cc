#include "quant/repack.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "quant/blocks.h"
#include "quant/dtype.h"

namespace sluice {
namespace {

TEST(Mxfp4FromPlanes, ValuesMoveToTheirNibbles) {
  // One block that counts: value i is code i % 16.
  std::uint8_t plane[16];
  for (int i = 0; i < 16; ++i) plane[i] = static_cast<std::uint8_t>(2 * i % 16 | (2 * i + 1) % 16 << 4);
  const std::uint8_t scale = 127;
  std::uint8_t out[18] = {};
  out[17] = 0xAB;
  mxfp4_from_planes(plane, &scale, 1, out);
  EXPECT_EQ(out[0], 127);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(out[1 + i], i | i << 4) << i;
  EXPECT_EQ(out[17], 0xAB) << "wrote past the block";
}

TEST(Mxfp4FromPlanes, DecodesToTheValuesOfThePlanes) {
  constexpr float kE2m1[16] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6, -0.0F, -0.5F, -1, -1.5F, -2, -3, -4, -6};
  constexpr std::int64_t kBlocks = 252;
  std::mt19937 random(20261130);
  std::vector<std::uint8_t> planes(kBlocks * 16);
  for (auto& byte : planes) byte = static_cast<std::uint8_t>(random());
  std::vector<std::uint8_t> scales(kBlocks);
  for (std::size_t b = 0; b < scales.size(); ++b)
    scales[b] = static_cast<std::uint8_t>(b);  // every one without overflow
  std::vector<std::uint8_t> out(kBlocks * sizeof(BlockMXFP4) + 1);
  mxfp4_from_planes(planes.data(), scales.data(), kBlocks, out.data() + 1);  // odd address: no alignment is promised

  std::vector<float> values(kBlocks * 32);
  find_format(DType::kMXFP4)->decode(out.data() + 1, values.data(), kBlocks * 32);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int nibble = planes[i / 2] >> i % 2 * 4 & 15;
    ASSERT_EQ(values[i], std::ldexp(kE2m1[nibble], scales[i / 32] - 127)) << i;
  }
}

TEST(Rows, FloatsToHalfFormats) {
  const std::vector<float> values = {0.0F, -1.0F, 65504.0F, 1e-7F, 3.14159265F, std::numeric_limits<float>::infinity()};
  const auto count = static_cast<std::int64_t>(values.size());
  std::vector<std::uint8_t> bytes(values.size() * 2 + 1);
  std::vector<float> back(values.size());

  f32_to_f16_row(values.data(), count, bytes.data() + 1);
  find_format(DType::kF16)->decode(bytes.data() + 1, back.data(), count);
  EXPECT_EQ(back, (std::vector<float>{0.0F, -1.0F, 65504.0F, 0x1p-23F, 3.140625F, values[5]}));

  f32_to_bf16_row(values.data(), count, bytes.data() + 1);
  find_format(DType::kBF16)->decode(bytes.data() + 1, back.data(), count);
  EXPECT_EQ(back, (std::vector<float>{0.0F, -1.0F, 65536.0F, bf16_to_f32(f32_to_bf16(1e-7F)), 3.140625F, values[5]}));
}

}  // namespace
}  // namespace sluice
