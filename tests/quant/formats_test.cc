// Every format of the registry against vectors that independent implementations wrote: raw blocks in <TYPE>.bin, the
// floats they decode to in <TYPE>.f32, listed in index.json.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "quant/dtype.h"
#include "support/shared_data.h"

namespace sluice {
namespace {

std::vector<char> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// Bits of a float with one zero and one NaN: what "the same value" means for decoders.
std::uint32_t canonical(float value) {
  if (std::isnan(value)) return 0x7FC00000U;
  return value == 0.0F ? 0U : std::bit_cast<std::uint32_t>(value);
}

struct Vectors {
  std::vector<char> raw;
  std::vector<float> expected;
  std::int64_t blocks = 0;
};

Vectors read_vectors(const std::string& folder, const nlohmann::json& entry) {
  Vectors vectors;
  vectors.raw = read_file(folder + "/" + entry.at("raw").get<std::string>());
  const std::vector<char> expected = read_file(folder + "/" + entry.at("expected").get<std::string>());
  vectors.expected.resize(expected.size() / sizeof(float));
  std::memcpy(vectors.expected.data(), expected.data(), vectors.expected.size() * sizeof(float));
  vectors.blocks = entry.at("blocks").get<std::int64_t>();
  return vectors;
}

// Decodes the vectors of one entry from an address `shift` bytes off any alignment, in one call and block by block.
void check_entry(const std::string& folder, const nlohmann::json& entry) {
  const auto name = entry.at("type").get<std::string>();
  SCOPED_TRACE(name);
  const FormatInfo* format = find_format(name);
  ASSERT_NE(format, nullptr);
  EXPECT_EQ(format, find_format(static_cast<DType>(entry.at("ggml_type").get<std::int32_t>())));
  EXPECT_EQ(format->block_values, entry.at("values_per_block").get<std::int32_t>());
  EXPECT_EQ(format->block_bytes, entry.at("bytes_per_block").get<std::int32_t>());
  ASSERT_NE(format->decode, nullptr);

  const Vectors vectors = read_vectors(folder, entry);
  const auto values = vectors.blocks * format->block_values;
  ASSERT_EQ(static_cast<std::int64_t>(vectors.raw.size()), vectors.blocks * format->block_bytes);
  ASSERT_EQ(static_cast<std::int64_t>(vectors.expected.size()), values);
  ASSERT_GT(vectors.blocks, 0);

  std::vector<char> shifted(vectors.raw.size() + 1);
  std::memcpy(shifted.data() + 1, vectors.raw.data(), vectors.raw.size());
  std::vector<float> together(vectors.expected.size());
  std::vector<float> apart(vectors.expected.size());
  format->decode(shifted.data() + 1, together.data(), values);
  for (std::int64_t b = 0; b < vectors.blocks; ++b) {
    format->decode(vectors.raw.data() + b * format->block_bytes, apart.data() + b * format->block_values,
                   format->block_values);
  }
  for (std::size_t i = 0; i < together.size(); ++i) {
    const auto where = [&] {
      return "block " + std::to_string(i / static_cast<std::size_t>(format->block_values)) + " value " +
             std::to_string(i % static_cast<std::size_t>(format->block_values));
    };
    ASSERT_EQ(canonical(together[i]), canonical(vectors.expected[i]))
        << where() << ": " << together[i] << ", wanted " << vectors.expected[i];
    ASSERT_EQ(canonical(apart[i]), canonical(together[i])) << where();
  }
}

// Checks every entry of the folder's index and returns the names it lists.
std::set<std::string> check_folder(const std::string& folder) {
  const std::vector<char> text = read_file(folder + "/index.json");
  const auto index = nlohmann::json::parse(text.begin(), text.end());
  std::set<std::string> names;
  for (const auto& entry : index.at("types")) {
    check_entry(folder, entry);
    names.insert(entry.at("type").get<std::string>());
  }
  return names;
}

const std::set<std::string> kNames = {"BF16",  "F16",     "IQ1_M",  "IQ1_S",  "IQ2_S", "IQ2_XS", "IQ2_XXS",
                                      "IQ3_S", "IQ3_XXS", "IQ4_NL", "IQ4_XS", "MXFP4", "NVFP4",  "Q1_0",
                                      "Q2_0",  "Q2_K",    "Q3_K",   "Q4_0",   "Q4_1",  "Q4_K",   "Q5_0",
                                      "Q5_1",  "Q5_K",    "Q6_K",   "Q8_0",   "TQ1_0", "TQ2_0"};

TEST(Formats, CommittedVectorsAreBitExact) { EXPECT_EQ(check_folder(test_data("quants")), kNames); }

// The same and many more blocks where this machine has them; the committed ones again where it has not.
TEST(Formats, AllVectorsAreBitExact) {
  const std::set<std::string> names = check_folder(shared_path("gguf/quants").value_or(test_data("quants")));
  EXPECT_THAT(names, testing::IsSupersetOf(kNames));
}

}  // namespace
}  // namespace sluice
