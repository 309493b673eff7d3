// Checkpoints made with Hugging Face transformers (tools/make_fixtures.py): logits and routing of every family and
// trap.
#include <fstream>
#include <map>

#include <nlohmann/json.hpp>

#include "support/logits_case.h"
#include "support/shared_data.h"

namespace sluice::testing {
namespace {

std::vector<nlohmann::json> all_fixtures() {
  std::ifstream in(test_data("fixtures/manifest.json"));
  std::vector<nlohmann::json> fixtures;
  const nlohmann::json manifest = nlohmann::json::parse(in);
  for (const nlohmann::json& fixture : manifest.at("fixtures")) {
    if (fixture.contains("architecture")) fixtures.push_back(fixture);
  }
  return fixtures;
}

using Routing = std::map<std::int32_t, double>;  // expert -> weight

std::map<std::pair<std::int64_t, std::int64_t>, Routing> read_routing(const std::string& path) {
  std::map<std::pair<std::int64_t, std::int64_t>, Routing> out;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const nlohmann::json entry = nlohmann::json::parse(line);
    Routing& routing = out[{entry.at("layer").get<std::int64_t>(), entry.at("token").get<std::int64_t>()}];
    const auto experts = entry.at("experts").get<std::vector<std::int32_t>>();
    const auto weights = entry.at("weights").get<std::vector<double>>();
    for (std::size_t i = 0; i < experts.size(); ++i) routing[experts[i]] = weights[i];
  }
  return out;
}

bool has_blocks(const Checkpoint& checkpoint) {
  return std::ranges::any_of(checkpoint.tensors(), [](const TensorInfo& tensor) {
    return tensor.name.ends_with("_blocks") || find_format(tensor.dtype)->quantised;
  });
}

class Fixtures : public ::testing::TestWithParam<nlohmann::json> {};

TEST_P(Fixtures, LogitsAndRouting) {
  const std::string folder = test_data("fixtures/" + GetParam().at("name").get<std::string>());
  std::ifstream in(folder + "/tokens.json");
  const nlohmann::json sequences = nlohmann::json::parse(in);
  const std::vector<float> want = read_f32(folder + "/logits.f32");
  const double tolerance = GetParam().at("tolerance").at("logits").get<double>();
  const double weight_tolerance = GetParam().at("tolerance").at("weights").get<double>();

  for (const Isa isa : available_isas()) {
    SCOPED_TRACE(std::string(isa_name(isa)));
    const std::string checkpoint = test_data("fixtures/" + GetParam().at("checkpoint").get<std::string>());
    LoadedForTest loaded = LoadedForTest::load(checkpoint, isa);
    ASSERT_TRUE(loaded.model);
    EXPECT_TRUE(loaded.model->unused_tensors().empty()) << loaded.model->unused_tensors().front();
    // Block formats take quantised activations outside the exact mode (gpt-oss's planes become MXFP4 blocks).
    const bool exact = isa == Isa::kScalar || !has_blocks(loaded.model->checkpoint());
    std::size_t offset = 0;
    std::size_t longest = 0;
    for (const nlohmann::json& sequence : sequences) longest = std::max(longest, sequence.size());
    for (const nlohmann::json& sequence : sequences) {
      const auto tokens = sequence.get<std::vector<std::int32_t>>();
      std::vector<RoutingRecord> routing;
      const std::vector<float> got = loaded.logits(tokens, 7, &routing);
      ASSERT_LE(offset + got.size(), want.size());
      const Difference d = compare(got, std::span(want).subspan(offset, got.size()));
      offset += got.size();
      EXPECT_LE(exact ? d.max : d.median, exact ? tolerance : 0.2) << tokens.size() << " tokens, worst at " << d.worst;
      if (tokens.size() != longest || !std::ifstream(folder + "/routing.jsonl").good() || !exact) continue;
      const auto expected = read_routing(folder + "/routing.jsonl");
      ASSERT_EQ(routing.size(), expected.size());
      for (const RoutingRecord& record : routing) {
        const auto found = expected.find({record.layer, record.token});
        ASSERT_NE(found, expected.end()) << "layer " << record.layer << ", token " << record.token;
        ASSERT_EQ(record.experts.size(), found->second.size());
        for (std::size_t k = 0; k < record.experts.size(); ++k) {
          ASSERT_TRUE(found->second.contains(record.experts[k]))
              << "layer " << record.layer << ", token " << record.token << ", expert " << record.experts[k];
          const double want_weight = found->second.at(record.experts[k]);
          const double allowed = (isa == Isa::kScalar ? 1.0 : 10.0) * weight_tolerance * std::max(1.0, want_weight);
          EXPECT_NEAR(want_weight, static_cast<double>(record.weights[k]), allowed);
        }
      }
    }
    EXPECT_EQ(offset, want.size());
  }
}

INSTANTIATE_TEST_SUITE_P(All, Fixtures, ::testing::ValuesIn(all_fixtures()), [](const auto& test) {
  std::string text = test.param.at("name").template get<std::string>();
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return text;
});

}  // namespace
}  // namespace sluice::testing
