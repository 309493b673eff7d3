#include "engine/sampler.h"

#include <cmath>
#include <map>

#include <gtest/gtest.h>

namespace sluice {
namespace {

SamplerParams plain(float temperature) {
  SamplerParams params;
  params.temperature = temperature;
  params.top_k = 0;
  params.top_p = 1.0F;
  params.min_p = 0.0F;
  params.seed = 7;
  return params;
}

std::map<std::int32_t, int> draw(const SamplerParams& params, const std::vector<float>& logits, int times) {
  Sampler sampler(params);
  std::map<std::int32_t, int> counts;
  for (int i = 0; i < times; ++i) ++counts[sampler.sample(logits)];
  return counts;
}

TEST(Sampler, GreedyTakesTheFirstOfEqualLogits) {
  EXPECT_EQ(Sampler(plain(0.0F)).sample(std::vector<float>{1, 5, 5, 2}), 1);
}

TEST(Sampler, FrequenciesFollowTheSoftmax) {
  const std::vector<float> logits = {std::log(0.5F), std::log(0.3F), std::log(0.2F)};
  auto counts = draw(plain(1.0F), logits, 20000);
  EXPECT_NEAR(counts[0], 10000, 300);
  EXPECT_NEAR(counts[1], 6000, 300);
  EXPECT_NEAR(counts[2], 4000, 300);
}

TEST(Sampler, TemperatureSharpens) {
  // At temperature 0.5 probabilities are squared: 0.64 / 0.68 for the first.
  auto counts = draw(plain(0.5F), {std::log(0.8F), std::log(0.2F)}, 20000);
  EXPECT_NEAR(counts[0], 20000 * 0.64 / 0.68, 300);
}

TEST(Sampler, TopKKeepsK) {
  SamplerParams params = plain(1.0F);
  params.top_k = 2;
  EXPECT_EQ(draw(params, {1.0F, 1.1F, 0.9F, 1.05F}, 500).size(), 2U);
}

TEST(Sampler, TopPKeepsTheSmallestSetThatReachesIt) {
  SamplerParams params = plain(1.0F);
  params.top_p = 0.75F;  // 0.5 is not enough, 0.5 + 0.3 is
  const auto counts = draw(params, {std::log(0.2F), std::log(0.5F), std::log(0.3F)}, 500);
  EXPECT_EQ(counts.size(), 2U);
  EXPECT_FALSE(counts.contains(0));
}

TEST(Sampler, MinPDropsWhatIsTooUnlikely) {
  SamplerParams params = plain(1.0F);
  params.min_p = 0.5F;
  const auto counts = draw(params, {std::log(0.5F), std::log(0.3F), std::log(0.2F)}, 500);
  EXPECT_EQ(counts.size(), 2U);
}

TEST(Sampler, PenaltiesCountOnlyTheWindow) {
  SamplerParams params = plain(0.0F);
  params.repeat_penalty = 2.0F;
  params.penalty_last_n = 1;
  Sampler sampler(params);
  sampler.accept(0);
  EXPECT_EQ(sampler.sample(std::vector<float>{3, 2}), 1) << "3 / 2 is less than 2";
  sampler.accept(1);
  EXPECT_EQ(sampler.sample(std::vector<float>{3, 2}), 0) << "token 0 has left the window";
}

TEST(Sampler, NegativeLogitsArePenalisedDownwards) {
  SamplerParams params = plain(0.0F);
  params.repeat_penalty = 2.0F;
  Sampler sampler(params);
  sampler.accept(0);
  EXPECT_EQ(sampler.sample(std::vector<float>{-1.0F, -1.5F}), 1);
}

TEST(Sampler, FrequencyPenaltyGrowsPresencePenaltyDoesNot) {
  SamplerParams frequency = plain(0.0F);
  frequency.frequency_penalty = 0.4F;
  SamplerParams presence = plain(0.0F);
  presence.presence_penalty = 0.4F;
  for (const auto& [params, expected] : {std::pair{frequency, 1}, std::pair{presence, 0}}) {
    Sampler sampler(params);
    for (int i = 0; i < 3; ++i) sampler.accept(0);
    EXPECT_EQ(sampler.sample(std::vector<float>{2.0F, 1.0F}), expected);
  }
}

TEST(Sampler, TheSeedDecides) {
  const std::vector<float> logits(50, 0.0F);
  SamplerParams params = plain(1.0F);
  const auto run = [&](std::uint64_t seed) {
    params.seed = seed;
    Sampler sampler(params);
    std::vector<std::int32_t> ids;
    for (int i = 0; i < 20; ++i) ids.push_back(sampler.sample(logits));
    return ids;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST(Sampler, MaskedLogitsAreNeverDrawn) {
  const auto counts = draw(plain(1.0F), {-INFINITY, 0.0F, -INFINITY, 0.0F}, 500);
  EXPECT_EQ(counts.size(), 2U);
  EXPECT_FALSE(counts.contains(0));
}

TEST(SamplerParams, ValidateNamesTheParameter) {
  SamplerParams params;
  EXPECT_TRUE(params.validate().ok());
  params.top_p = 0.0F;
  ASSERT_FALSE(params.validate().ok());
  EXPECT_NE(params.validate().error().message().find("top-p"), std::string::npos);
  params = {};
  params.repeat_penalty = -1.0F;
  EXPECT_FALSE(params.validate().ok());
  params = {};
  params.temperature = NAN;
  EXPECT_FALSE(params.validate().ok());
}

}  // namespace
}  // namespace sluice
