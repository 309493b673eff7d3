#include "quant/dtype.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

// Every id that GGUF has given out, those it has withdrawn, and ours.
std::vector<std::int32_t> ids() {
  std::vector<std::int32_t> all;
  for (std::int32_t id = -2; id < 1100; ++id) all.push_back(id);
  all.insert(all.end(), {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()});
  return all;
}

TEST(Registry, RowsAreFoundByIdAndByName) {
  int formats = 0;
  int decoders = 0;
  for (const std::int32_t id : ids()) {
    const auto dtype = static_cast<DType>(id);
    const FormatInfo* format = find_format(dtype);
    if (format == nullptr) {
      EXPECT_EQ(dtype_name(dtype), "?") << id;
      EXPECT_FALSE(row_bytes(dtype, 256).has_value()) << id;
      continue;
    }
    ++formats;
    decoders += format->decode != nullptr ? 1 : 0;
    EXPECT_EQ(format->dtype, dtype);
    EXPECT_EQ(find_format(format->name), format) << format->name;
    EXPECT_EQ(dtype_name(dtype), format->name);
    EXPECT_GT(format->block_values, 0) << format->name;
    EXPECT_GT(format->block_bytes, 0) << format->name;
  }
  EXPECT_EQ(formats, 39);
  EXPECT_EQ(decoders, 30);  // 27 types of the vectors, F32, F64 and FP8
}

TEST(Registry, UnknownIdsAndNames) {
  // Withdrawn by GGUF (4, 5 and the row-interleaved 31 to 33, 36 to 38), activations only (9, 15), never given out.
  for (const std::int32_t id : {-1, 4, 5, 9, 15, 31, 32, 33, 36, 37, 38, 43, 63, 64, 128, 999, 1006, 1063, 1064}) {
    EXPECT_EQ(find_format(static_cast<DType>(id)), nullptr) << id;
  }
  for (const char* name : {"", "Q4", "q4_0", "Q4_0 ", "Q8_K", "F8_E5M2"}) EXPECT_EQ(find_format(name), nullptr) << name;
}

TEST(Registry, OnlyWeightsHaveDecoders) {
  for (const char* name : {"I8", "I16", "I32", "I64", "U8", "U16", "U32", "U64", "BOOL"}) {
    const FormatInfo* format = find_format(name);
    ASSERT_NE(format, nullptr) << name;
    EXPECT_EQ(format->decode, nullptr) << name;
    EXPECT_FALSE(format->quantised) << name;
  }
  for (const char* name : {"F32", "F16", "BF16", "F64"}) EXPECT_FALSE(find_format(name)->quantised) << name;
  for (const char* name : {"Q4_K", "MXFP4", "IQ1_M", "F8_E4M3"}) EXPECT_TRUE(find_format(name)->quantised) << name;
}

TEST(RowBytes, WholeBlocks) {
  EXPECT_EQ(row_bytes(DType::kF32, 3), 12U);
  EXPECT_EQ(row_bytes(DType::kBF16, 0), 0U);
  EXPECT_EQ(row_bytes(DType::kQ4_0, 64), 36U);
  EXPECT_EQ(row_bytes(DType::kQ6_K, 4096), 16U * 210U);
  EXPECT_EQ(row_bytes(DType::kMXFP4, 2880), 90U * 17U);
  EXPECT_EQ(row_bytes(DType::kF8_E4M3, 130), 130U);
}

TEST(RowBytes, PartsOfBlocksAreRefused) {
  EXPECT_EQ(row_bytes(DType::kQ4_0, 16), std::nullopt);
  EXPECT_EQ(row_bytes(DType::kQ4_0, 33), std::nullopt);
  EXPECT_EQ(row_bytes(DType::kQ4_K, 32), std::nullopt);
  EXPECT_EQ(row_bytes(DType::kQ1_0, 64), std::nullopt);
}

TEST(RowBytes, SizesBeyond64BitsAreRefused) {
  EXPECT_EQ(row_bytes(DType::kI8, kMax), kMax);
  EXPECT_EQ(row_bytes(DType::kF16, kMax / 2), kMax - 1);
  EXPECT_EQ(row_bytes(DType::kF16, kMax / 2 + 1), std::nullopt);
  EXPECT_EQ(row_bytes(DType::kF32, kMax / 4), kMax - 3);
  EXPECT_EQ(row_bytes(DType::kF32, kMax / 4 + 1), std::nullopt);
  EXPECT_EQ(row_bytes(DType::kF64, kMax), std::nullopt);
  // More bytes than values: the largest row of whole blocks that still fits, and the next one.
  const std::uint64_t blocks = kMax / 34;
  EXPECT_EQ(row_bytes(DType::kQ8_0, blocks * 32), blocks * 34);
  EXPECT_EQ(row_bytes(DType::kQ8_0, (blocks + 1) * 32), std::nullopt);
  // Fewer bytes than values: every count of values fits.
  EXPECT_EQ(row_bytes(DType::kQ4_0, kMax - 31), (kMax - 31) / 32 * 18);
}

}  // namespace
}  // namespace sluice
