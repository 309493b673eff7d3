// Engine::step: several sequences in one forward pass.
#include <fstream>
#include <random>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "engine/engine.h"
#include "support/shared_data.h"

namespace sluice::testing {
namespace {

using Logits = std::vector<std::vector<float>>;  // [token][vocab]

std::unique_ptr<Engine> load(const std::string& path, Isa isa, std::int64_t context) {
  EngineOptions options;
  options.isa = isa;
  options.threads = 2;
  options.context = context;
  options.need_tokenizer = false;
  auto engine = Engine::load(Env::system(), path, options);
  if (!engine.ok()) ADD_FAILURE() << engine.error().message();
  return engine.ok() ? std::move(engine).value() : nullptr;
}

std::int64_t below(std::mt19937& random, std::int64_t limit) { return static_cast<std::int64_t>(random()) % limit; }

std::vector<std::vector<std::int32_t>> random_prompts(const Engine& engine, std::mt19937& random, std::size_t count) {
  std::vector<std::vector<std::int32_t>> prompts(count);
  for (auto& prompt : prompts) {
    prompt.resize(static_cast<std::size_t>(1 + below(random, 13)));
    for (std::int32_t& token : prompt) token = static_cast<std::int32_t>(below(random, engine.spec().vocab_size));
  }
  return prompts;
}

Logits alone(Engine& engine, std::span<const std::int32_t> tokens) {
  Logits logits;
  const auto sequence = engine.new_sequence();
  const auto keep = [&](std::int64_t, std::span<const float> row) { logits.emplace_back(row.begin(), row.end()); };
  const Status status = engine.evaluate(*sequence, tokens, 0, true, keep, {}, {});
  EXPECT_TRUE(status.ok()) << status.error().message();
  return logits;
}

// All sequences to their ends, a random number of tokens (also none) of each per step.
std::vector<Logits> together(Engine& engine, const std::vector<std::vector<std::int32_t>>& prompts,
                             std::mt19937& random) {
  std::vector<std::unique_ptr<Sequence>> sequences;
  for (std::size_t i = 0; i < prompts.size(); ++i) sequences.push_back(engine.new_sequence());
  std::vector<Logits> logits(prompts.size());
  for (bool left = true; left;) {
    left = false;
    std::vector<Chunk> chunks;
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      const std::span<const std::int32_t> rest = std::span(prompts[i]).subspan(sequences[i]->tokens().size());
      const auto most = static_cast<std::int64_t>(std::min<std::size_t>(rest.size(), 5));
      chunks.push_back(
          {sequences[i].get(), rest.first(static_cast<std::size_t>(below(random, most + 1))), WantLogits::kAll});
      left = left || !rest.empty();
    }
    const Status status = engine.step(chunks, [&](std::size_t chunk, std::int64_t token, std::span<const float> row) {
      EXPECT_EQ(logits[chunk].size(), sequences[chunk]->tokens().size() + static_cast<std::size_t>(token));
      logits[chunk].emplace_back(row.begin(), row.end());
    });
    EXPECT_TRUE(status.ok()) << status.error().message();
    if (!status.ok()) return logits;
  }
  for (std::size_t i = 0; i < prompts.size(); ++i) EXPECT_EQ(sequences[i]->tokens(), prompts[i]);
  return logits;
}

void expect_same_bits(Engine& engine) {
  std::mt19937 random(7);
  for (const std::size_t count : {1U, 2U, 3U, 5U, 8U}) {
    const auto prompts = random_prompts(engine, random, count);
    const std::vector<Logits> got = together(engine, prompts, random);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(got[i], alone(engine, prompts[i])) << "sequence " << i << " of " << count;
    }
  }
}

std::vector<std::string> fixture_checkpoints() {
  std::ifstream in(test_data("fixtures/manifest.json"));
  std::vector<std::string> names;
  const nlohmann::json manifest = nlohmann::json::parse(in);
  for (const nlohmann::json& fixture : manifest.at("fixtures")) {
    if (fixture.contains("architecture")) names.push_back(fixture.at("checkpoint").get<std::string>());
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

class StepOfFixture : public ::testing::TestWithParam<std::string> {};

TEST_P(StepOfFixture, SameBitsAsAloneInScalarMode) {
  const auto engine = load(test_data("fixtures/" + GetParam()), Isa::kScalar, 64);
  ASSERT_NE(engine, nullptr);
  expect_same_bits(*engine);
}

INSTANTIATE_TEST_SUITE_P(All, StepOfFixture, ::testing::ValuesIn(fixture_checkpoints()), [](const auto& instance) {
  std::string name = instance.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
});

TEST(Step, EmbeddedModelSameBitsAsAloneInScalarMode) {
  const auto engine = load("", Isa::kScalar, 64);
  ASSERT_NE(engine, nullptr);
  expect_same_bits(*engine);
}

class StepErrors : public ::testing::Test {
 protected:
  void SetUp() override {
    engine_ = load("", detect_isa(), 8);
    ASSERT_NE(engine_, nullptr);
    first_ = engine_->new_sequence();
    second_ = engine_->new_sequence();
  }
  // The step fails, naming `part`, and neither sequence has changed.
  void expect_error(std::span<const Chunk> chunks, ErrorCode code, const std::string& part) {
    const auto before = std::pair(first_->tokens(), second_->tokens());
    const Status status = engine_->step(chunks, [](std::size_t, std::int64_t, std::span<const float>) { FAIL(); });
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code(), code);
    EXPECT_NE(status.error().message().find(part), std::string::npos) << status.error().message();
    EXPECT_EQ(std::pair(first_->tokens(), second_->tokens()), before);
    EXPECT_EQ(first_->cache().length(), static_cast<std::int64_t>(before.first.size()));
    EXPECT_EQ(second_->cache().length(), static_cast<std::int64_t>(before.second.size()));
  }
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Sequence> first_, second_;
};

TEST_F(StepErrors, NoSequenceHasChangedAfterAnError) {
  const std::vector<std::int32_t> good = {1, 2, 3};
  const std::vector<std::int32_t> bad = {1, 4096};
  const std::vector<std::int32_t> negative = {-1};
  const std::vector<std::int32_t> six(6, 4);
  const Chunk fine = {first_.get(), good};
  ASSERT_TRUE(engine_->step({&fine, 1}, {}).ok());
  using Chunks = std::vector<Chunk>;
  expect_error(Chunks{fine, {second_.get(), bad}}, ErrorCode::kInvalidArgument, "chunk 1: token id 4096");
  expect_error(Chunks{{second_.get(), negative}, fine}, ErrorCode::kInvalidArgument, "chunk 0: token id -1");
  expect_error(Chunks{{second_.get(), good}, {first_.get(), six}}, ErrorCode::kResource,
               "chunk 1: the context is full");
  expect_error(Chunks{fine, fine}, ErrorCode::kInvalidArgument, "twice");
  expect_error(Chunks{fine, {}}, ErrorCode::kInvalidArgument, "no sequence");
  EXPECT_TRUE(engine_->step(Chunks{fine, {second_.get(), good}}, {}).ok()) << "and the engine goes on";
  EXPECT_EQ(first_->cache().length(), 6);
}

TEST_F(StepErrors, OnlyWantedLogitsAreGiven) {
  const std::vector<std::int32_t> tokens = {1, 2, 3};
  const auto third = engine_->new_sequence();
  std::vector<std::pair<std::size_t, std::int64_t>> seen;
  const std::vector<Chunk> chunks = {{first_.get(), tokens, WantLogits::kNone},
                                     {second_.get(), tokens, WantLogits::kAll},
                                     {third.get(), tokens, WantLogits::kLast}};
  ASSERT_TRUE(
      engine_->step(chunks, [&](std::size_t c, std::int64_t t, std::span<const float>) { seen.emplace_back(c, t); })
          .ok());
  EXPECT_EQ(seen, (std::vector<std::pair<std::size_t, std::int64_t>>{{1, 0}, {1, 1}, {1, 2}, {2, 2}}));
  EXPECT_TRUE(engine_->step({}, {}).ok()) << "nothing to do is no error";
}

}  // namespace
}  // namespace sluice::testing
