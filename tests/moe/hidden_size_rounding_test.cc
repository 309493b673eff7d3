// The rounding rules, line by line.
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/prepare_finalize/backends.h"
#include "moe/prepare_finalize/hidden_size_rounding.h"

namespace sluice::moe {
namespace {

using testing::HasSubstr;

struct RoundingCase {
  const char* backend;
  std::int64_t hidden, bytes, want;
};

class Rounding : public testing::TestWithParam<RoundingCase> {};

TEST_P(Rounding, Table) {
  const RoundingCase& c = GetParam();
  const auto rounded = round_hidden_size(c.backend, c.hidden, c.bytes);
  ASSERT_TRUE(rounded.ok()) << rounded.error().message();
  EXPECT_EQ(*rounded, c.want) << c.backend << " " << c.hidden << " x " << c.bytes;
}

INSTANTIATE_TEST_SUITE_P(
    RowBytes, Rounding,
    testing::Values(
        RoundingCase{"deepep_high_throughput", 2880, 2, 3072}, RoundingCase{"deepep_high_throughput", 2048, 2, 2048},
        RoundingCase{"deepep_high_throughput", 1, 2, 256}, RoundingCase{"deepep_high_throughput", 256, 2, 256},
        RoundingCase{"deepep_high_throughput", 257, 2, 512}, RoundingCase{"deepep_high_throughput", 2880, 1, 3072},
        RoundingCase{"deepep_high_throughput", 513, 1, 1024}, RoundingCase{"deepep_high_throughput", 2880, 4, 2944},
        RoundingCase{"deepep_high_throughput", 128, 4, 128}, RoundingCase{"deepep_high_throughput", 16384, 2, 16384},
        RoundingCase{"deepep_v2", 2880, 2, 3072}, RoundingCase{"deepep_v2", 7168, 2, 7168},
        RoundingCase{"deepep_v2", 7169, 2, 7424}, RoundingCase{"DeepEP-V2", 129, 4, 256}));

INSTANTIATE_TEST_SUITE_P(
    List, Rounding,
    testing::Values(
        RoundingCase{"deepep_low_latency", 1, 2, 2048}, RoundingCase{"deepep_low_latency", 2048, 2, 2048},
        RoundingCase{"deepep_low_latency", 2049, 2, 2560}, RoundingCase{"deepep_low_latency", 2560, 2, 2560},
        RoundingCase{"deepep_low_latency", 2880, 2, 3072}, RoundingCase{"deepep_low_latency", 3073, 2, 4096},
        RoundingCase{"deepep_low_latency", 4097, 2, 5120}, RoundingCase{"deepep_low_latency", 5121, 2, 6144},
        RoundingCase{"deepep_low_latency", 6145, 2, 7168}, RoundingCase{"deepep_low_latency", 7169, 1, 8192},
        RoundingCase{"deepep_low_latency", 8192, 4, 8192}, RoundingCase{"nixl_ep", 2880, 2, 3072},
        RoundingCase{"nixl_ep", 6144, 2, 6144}, RoundingCase{"nixl_ep", 8191, 2, 8192}));

TEST(Rounding, AllOthersAreUnchanged) {
  int others = 0;
  for (const BackendName& backend : backend_names()) {
    if (backend.rounding != HiddenRounding::kNone) continue;
    ++others;
    for (const std::int64_t hidden : {1, 37, 2048, 2880, 8193, 20000}) {
      for (const std::int64_t bytes : {1, 2, 4}) {
        const auto rounded = round_hidden_size(backend.name, hidden, bytes);
        ASSERT_TRUE(rounded.ok()) << rounded.error().message();
        EXPECT_EQ(*rounded, hidden) << backend.name;
      }
    }
  }
  EXPECT_EQ(others, static_cast<int>(backend_names().size()) - 4) << "only four backends of vLLM round";
}

TEST(Rounding, NeverLessThanTheSizeAndStable) {
  for (const BackendName& backend : backend_names()) {
    for (std::int64_t hidden = 1; hidden <= 8192; hidden += 37) {
      const auto once = round_hidden_size(backend.name, hidden, 2);
      ASSERT_TRUE(once.ok());
      EXPECT_GE(*once, hidden);
      EXPECT_EQ(round_hidden_size(backend.name, *once, 2).value(), *once) << backend.name << " " << hidden;
    }
  }
}

TEST(Rounding, TooLargeNamesTheMaximum) {
  for (const char* backend : {"deepep_low_latency", "nixl_ep"}) {
    const auto rounded = round_hidden_size(backend, 8193, 2);
    ASSERT_FALSE(rounded.ok());
    EXPECT_EQ(rounded.error().code(), ErrorCode::kUnsupported);
    EXPECT_THAT(rounded.error().message(), HasSubstr("8193"));
    EXPECT_THAT(rounded.error().message(), HasSubstr("8192"));
    EXPECT_THAT(rounded.error().message(), HasSubstr(backend));
  }
}

TEST(Rounding, ImpossibleValuesAreErrors) {
  EXPECT_EQ(round_hidden_size("no_ep", 0, 4).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(round_hidden_size("no_ep", -1, 4).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(round_hidden_size("no_ep", 64, 0).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(round_hidden_size("deepep_v2", 64, 3).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_FALSE(round_hidden_size("deepep_v2", std::numeric_limits<std::int64_t>::max(), 2).ok());
  const auto unknown = round_hidden_size("deepep_ultra", 64, 2);
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().message(), HasSubstr("deepep_ultra"));
  EXPECT_THAT(unknown.error().message(), HasSubstr("deepep_low_latency"));
}

TEST(Padding, PadsWithZerosAndTrims) {
  const std::vector<float> rows = {1, 2, 3, 4, 5, 6};  // [2, 3]
  std::vector<float> padded(2 * 5, std::numeric_limits<float>::quiet_NaN());
  pad_rows(rows.data(), 2, 3, 5, padded.data());
  EXPECT_EQ(padded, (std::vector<float>{1, 2, 3, 0, 0, 4, 5, 6, 0, 0}));
  for (const std::size_t i : {3U, 4U, 8U, 9U}) padded[i] = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> trimmed(6);
  trim_rows(padded.data(), 2, 5, 3, trimmed.data());
  EXPECT_EQ(trimmed, rows);
}

}  // namespace
}  // namespace sluice::moe
