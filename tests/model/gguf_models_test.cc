// Logits of tiny GGUF models of every family against llama.cpp's and against an exact fp64 pass. The committed subset
// always runs; with the shared folder all models do.
#include <fstream>
#include <map>

#include <nlohmann/json.hpp>

#include "support/logits_case.h"
#include "support/shared_data.h"

namespace sluice::testing {
namespace {

struct Case {
  std::string folder;  // holds models/ and expected/
  nlohmann::json model;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.model.at("model").get<std::string>(); }

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  const std::string folder = shared_path("gguf/expected.json") ? *shared_path("gguf") : test_data("gguf");
  std::ifstream in(folder + "/expected.json");
  for (const nlohmann::json& model : nlohmann::json::parse(in)) cases.push_back({folder, model});
  return cases;
}

bool is_exact_type(const std::string& model) {
  return model.find("-256-") == std::string::npos;  // F32 (and bf16) weights: no quantised activations
}

class GgufModels : public ::testing::TestWithParam<Case> {
 protected:
  std::string name() const { return GetParam().model.at("model").get<std::string>(); }
  std::string path() const { return GetParam().folder + "/models/" + name(); }
  std::string file(const nlohmann::json& sequence, const char* key) const {
    return GetParam().folder + "/" + sequence.at(key).get<std::string>();
  }
};

TEST_P(GgufModels, ScalarModeIsExact) {
  LoadedForTest loaded = LoadedForTest::load(path(), Isa::kScalar);
  ASSERT_TRUE(loaded.model);
  for (const nlohmann::json& sequence : GetParam().model.at("sequences")) {
    const auto tokens = sequence.at("tokens").get<std::vector<std::int32_t>>();
    const std::vector<float> exact = read_f32(file(sequence, "exact_logits"));
    const std::vector<float> got = loaded.logits(tokens, static_cast<std::int64_t>(tokens.size()));
    ASSERT_EQ(got.size(), exact.size());
    const Difference d = compare(got, exact);
    EXPECT_LE(d.max, 1e-4) << tokens.size() << " tokens, worst at " << d.worst << ": " << got[d.worst] << " for "
                           << exact[d.worst];
  }
}

TEST_P(GgufModels, ScalarModeGivesTheSameBitsForEveryBatching) {
  LoadedForTest loaded = LoadedForTest::load(path(), Isa::kScalar);
  LoadedForTest one_thread = LoadedForTest::load(path(), Isa::kScalar, 1);
  ASSERT_TRUE(loaded.model && one_thread.model);
  const nlohmann::json& sequence = GetParam().model.at("sequences").back();
  const auto tokens = sequence.at("tokens").get<std::vector<std::int32_t>>();
  const std::vector<float> whole = loaded.logits(tokens, static_cast<std::int64_t>(tokens.size()));
  EXPECT_EQ(whole, loaded.logits(tokens, 1)) << "token by token";
  EXPECT_EQ(whole, loaded.logits(tokens, 7)) << "in batches of 7";
  EXPECT_EQ(whole, one_thread.logits(tokens, 7)) << "with one thread";
}

// Tokens for which some layer chose other experts than the exact mode does: with 8-bit activations a selection that
// hangs on the fourth digit may fall either way, and then single logits move by whole units.
std::vector<bool> flipped(const std::vector<RoutingRecord>& exact, const std::vector<RoutingRecord>& got,
                          std::size_t tokens) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::int32_t>> chosen;
  for (const RoutingRecord& record : exact) {
    auto& experts = chosen[{record.layer, record.token}] = record.experts;
    std::ranges::sort(experts);
  }
  std::vector<bool> out(tokens, false);
  for (const RoutingRecord& record : got) {
    std::vector<std::int32_t> experts = record.experts;
    std::ranges::sort(experts);
    if (experts != chosen.at({record.layer, record.token})) out[static_cast<std::size_t>(record.token)] = true;
  }
  return out;
}

TEST_P(GgufModels, EveryInstructionSetStaysWithinTheReferencesError) {
  LoadedForTest scalar = LoadedForTest::load(path(), Isa::kScalar);
  ASSERT_TRUE(scalar.model);
  for (const Isa isa : available_isas()) {
    if (isa == Isa::kScalar) continue;
    SCOPED_TRACE(std::string(isa_name(isa)));
    LoadedForTest loaded = LoadedForTest::load(path(), isa);
    ASSERT_TRUE(loaded.model);
    const auto vocab = static_cast<std::size_t>(loaded.model->spec().vocab_size);
    for (const nlohmann::json& sequence : GetParam().model.at("sequences")) {
      const auto tokens = sequence.at("tokens").get<std::vector<std::int32_t>>();
      const std::vector<float> exact = read_f32(file(sequence, "exact_logits"));
      std::vector<RoutingRecord> exact_routing;
      (void)scalar.logits(tokens, static_cast<std::int64_t>(tokens.size()), &exact_routing);
      for (const std::int64_t batch : {static_cast<std::int64_t>(tokens.size()), std::int64_t{1}, std::int64_t{7}}) {
        std::vector<RoutingRecord> routing;
        const std::vector<float> got = loaded.logits(tokens, batch, &routing);
        ASSERT_EQ(got.size(), exact.size());
        const std::vector<bool> flips = flipped(exact_routing, routing, tokens.size());
        EXPECT_LE(std::ranges::count(flips, true),
                  is_exact_type(name()) ? 0 : 1 + static_cast<std::int64_t>(tokens.size()) / 16);
        const Difference d = compare(got, exact);
        double tolerance = 1e-4;  // of a single logit
        if (!is_exact_type(name())) {
          // Quantised activations: single logits move by tenths where an expert flips, so the median is judged: no
          // further from exact than the reference.
          const double reference = sequence.at("reference_median").get<double>();
          EXPECT_LE(d.median, 1.1 * reference + 1e-4) << tokens.size() << " tokens in batches of " << batch;
          tolerance = sequence.at("reference_max").get<double>();
        } else {
          EXPECT_LE(d.max, tolerance) << tokens.size() << " tokens in batches of " << batch << ", worst at " << d.worst;
        }
        for (std::size_t t = 0; t < tokens.size(); ++t) {
          const std::span<const float> want_row(exact.data() + t * vocab, vocab);
          const auto [want, margin] = top1(want_row);
          if (margin <= 2.0 * tolerance || flips[t]) continue;
          EXPECT_EQ(top1({got.data() + t * vocab, vocab}).first, want) << "token " << t;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, GgufModels, ::testing::ValuesIn(all_cases()), [](const auto& test) {
  std::string text = test.param.model.at("model").template get<std::string>();
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return text;
});

}  // namespace
}  // namespace sluice::testing
