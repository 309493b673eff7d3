#include "quant/float_convert.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "quant/dtype.h"

namespace sluice {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A small float from its fields, by the definition: independent of the bit tricks under test.
float small_float(int sign, int exponent, int mantissa, int mantissa_bits, int bias) {
  const float fraction = std::ldexp(static_cast<float>(mantissa), -mantissa_bits);
  const float magnitude = exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1.0F + fraction, exponent - bias);
  return sign != 0 ? -magnitude : magnitude;
}

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

TEST(FloatConvert, EveryHalf) {
  for (int h = 0; h < 65536; ++h) {
    const int exponent = h >> 10 & 31;
    const int mantissa = h & 1023;
    const auto half = static_cast<std::uint16_t>(h);
    const float value = f16_to_f32(half);
    if (exponent == 31 && mantissa != 0) {
      ASSERT_TRUE(std::isnan(value)) << h;
      ASSERT_EQ(f32_to_f16(value), half | 0x0200) << h;  // quiet, with sign and payload
      continue;
    }
    const float expected =
        exponent == 31 ? (h >> 15 != 0 ? -kInfinity : kInfinity) : small_float(h >> 15, exponent, mantissa, 10, 15);
    ASSERT_EQ(bits_of(value), bits_of(expected)) << h;
    ASSERT_EQ(f32_to_f16(value), half) << h;
  }
}

TEST(FloatConvert, HalvesBetweenRoundToEven) {
  for (int h = 0; h < 0x7C00; ++h) {
    const float low = f16_to_f32(static_cast<std::uint16_t>(h));
    // The step above the largest half leads to 65536, which is infinity.
    const float high = h == 0x7BFF ? 65536.0F : f16_to_f32(static_cast<std::uint16_t>(h + 1));
    const float middle = (low + high) / 2;  // exact: one bit more than a half has
    const auto even = static_cast<std::uint16_t>(h % 2 == 0 ? h : h + 1);
    ASSERT_EQ(f32_to_f16(middle), even) << h;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, 0.0F)), h) << h;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, kInfinity)), h + 1) << h;
    ASSERT_EQ(f32_to_f16(-middle), even | 0x8000) << h;
  }
  EXPECT_EQ(f32_to_f16(std::numeric_limits<float>::max()), 0x7C00);
  EXPECT_EQ(f32_to_f16(-kInfinity), 0xFC00);
  EXPECT_EQ(f32_to_f16(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(f32_to_f16(-0.0F), 0x8000);
  EXPECT_EQ(f32_to_f16(kNan), 0x7E00);
}

TEST(FloatConvert, Bfloat16RoundsToEven) {
  for (std::uint32_t b = 0; b < 65536; ++b) {
    const auto bits = static_cast<std::uint16_t>(b);
    const float value = bf16_to_f32(bits);
    ASSERT_EQ(bits_of(value), b << 16);
    if (std::isnan(value)) {
      ASSERT_EQ(f32_to_bf16(value), bits | 0x0040) << b;
      continue;
    }
    ASSERT_EQ(f32_to_bf16(value), bits) << b;
    if (std::isinf(value)) continue;
    const auto next = static_cast<std::uint16_t>(b + 1);
    const auto at = [&](std::uint32_t fraction) { return f32_to_bf16(std::bit_cast<float>(b << 16 | fraction)); };
    ASSERT_EQ(at(0x7FFF), bits) << b;
    ASSERT_EQ(at(0x8000), b % 2 == 0 ? bits : next) << b;
    ASSERT_EQ(at(0x8001), next) << b;
  }
  EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7F80);
  // A NaN whose payload lies in the lower half only must not become an infinity.
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::bit_cast<float>(0x7F800001U)))));
}

TEST(FloatConvert, EveryFp8) {
  const FormatInfo* format = find_format(DType::kF8_E4M3);
  ASSERT_NE(format, nullptr);
  std::vector<std::uint8_t> bytes(256);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  std::vector<float> values(256);
  format->decode(bytes.data(), values.data(), 256);
  for (int b = 0; b < 256; ++b) {
    const float value = values[static_cast<std::size_t>(b)];
    if ((b & 127) == 127) {
      EXPECT_TRUE(std::isnan(value)) << b;
    } else {
      EXPECT_EQ(bits_of(value), bits_of(small_float(b >> 7, b >> 3 & 15, b & 7, 3, 7))) << b;
    }
  }
  EXPECT_EQ(values[0x7E], 448.0F);
  EXPECT_EQ(values[0x01], 0x1p-9F);
}

TEST(FloatConvert, ScaleBytes) {
  for (int e = 0; e < 256; ++e) {
    EXPECT_EQ(e8m0_half_to_f32(static_cast<std::uint8_t>(e)), std::ldexp(1.0F, e - 128)) << e;
    const int magnitude = e & 127;
    const float expected = e == 0x7F ? 0.0F : small_float(0, magnitude >> 3, magnitude & 7, 3, 7) / 2;
    EXPECT_EQ(ue4m3_half_to_f32(static_cast<std::uint8_t>(e)), expected) << e;
  }
}

TEST(FloatConvert, DoublesAreRounded) {
  const double values[] = {0.1, -1e300, 1.0 + 0x1p-24, 0.0};
  float out[4];
  find_format(DType::kF64)->decode(values, out, 4);
  EXPECT_EQ(out[0], 0.1F);
  EXPECT_EQ(out[1], -kInfinity);
  EXPECT_EQ(out[2], 1.0F);
  EXPECT_EQ(out[3], 0.0F);
}

}  // namespace
}  // namespace sluice
