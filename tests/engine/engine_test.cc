// The engine on the embedded model: generation, stops, contexts, cancellation.
#include "engine/engine.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

class EngineTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    EngineOptions options;
    options.isa = detect_isa();
    options.threads = 2;
    options.context = 64;
    auto loaded = Engine::load(Env::system(), "", options);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message();
    engine_ = std::move(loaded).value().release();
  }
  static void TearDownTestSuite() { delete engine_; }

  static std::vector<std::int32_t> prompt(const std::string& text = "Once upon a time") {
    return engine_->tokenizer()->encode(text, true).value();
  }
  static SamplerParams greedy() {
    SamplerParams params;
    params.temperature = 0.0F;
    return params;
  }
  struct Answer {
    GenerationResult result;
    std::string text;
  };
  static Answer generate(const SamplerParams& sampling, const StopRules& stop) {
    const auto sequence = engine_->new_sequence();
    Answer answer;
    const auto collect = [&](std::string_view text) {
      answer.text += text;
      return true;
    };
    auto result = engine_->generate(*sequence, prompt(), sampling, stop, collect, {});
    EXPECT_TRUE(result.ok()) << result.error().message();
    if (result.ok()) answer.result = std::move(result).value();
    return answer;
  }

  static Engine* engine_;
};

Engine* EngineTest::engine_ = nullptr;

TEST_F(EngineTest, GreedyTextOfTheGoldenFile) {
  StopRules stop;
  stop.max_tokens = 12;
  const Answer answer = generate(greedy(), stop);
  EXPECT_EQ(answer.text, " there lived a man who had three sons, and had a");
  EXPECT_EQ(answer.result.reason, FinishReason::kLength);
  EXPECT_EQ(answer.result.stats.generated_tokens, 12);
}

TEST_F(EngineTest, StopStringEndsTheTextBeforeIt) {
  StopRules stop;
  stop.max_tokens = 40;
  stop.strings = {"sons"};
  const Answer answer = generate(greedy(), stop);
  EXPECT_EQ(answer.text, " there lived a man who had three ");
  EXPECT_EQ(answer.result.reason, FinishReason::kStop);
}

TEST_F(EngineTest, StopIdIsNotPrinted) {
  StopRules all;
  all.max_tokens = 6;
  const Answer first = generate(greedy(), all);
  StopRules stop = all;
  stop.ids = {first.result.tokens[3]};
  const Answer answer = generate(greedy(), stop);
  EXPECT_EQ(answer.result.tokens.size(), 3U);
  EXPECT_EQ(answer.result.reason, FinishReason::kStop);
}

TEST_F(EngineTest, AFullContextEndsTheAnswer) {
  StopRules stop;
  stop.ignore_eos = true;
  const Answer answer = generate(greedy(), stop);
  EXPECT_EQ(answer.result.reason, FinishReason::kContextFull);
  EXPECT_EQ(answer.result.tokens.size(), 64 - prompt().size() + 1) << "the last token needs no room of its own";
}

TEST_F(EngineTest, APromptLongerThanTheContextIsRefused) {
  const auto sequence = engine_->new_sequence();
  const std::vector<std::int32_t> tokens(65, 5);
  const auto result = engine_->generate(*sequence, tokens, greedy(), {}, {}, {});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), ErrorCode::kResource);
}

TEST_F(EngineTest, CancellingFromTheTextCallback) {
  const auto sequence = engine_->new_sequence();
  int pieces = 0;
  const auto result =
      engine_->generate(*sequence, prompt(), greedy(), {}, [&](std::string_view) { return ++pieces < 3; }, {});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->reason, FinishReason::kCancelled);
  EXPECT_EQ(pieces, 3);
}

TEST_F(EngineTest, TheSameSeedGivesTheSameText) {
  SamplerParams params;
  params.temperature = 1.0F;
  params.seed = 11;
  StopRules stop;
  stop.max_tokens = 20;
  const Answer first = generate(params, stop);
  EXPECT_EQ(first.text, generate(params, stop).text);
  params.seed = 12;
  EXPECT_NE(first.text, generate(params, stop).text);
}

TEST_F(EngineTest, DefaultsComeFromGenerationConfig) {
  EXPECT_FLOAT_EQ(engine_->default_sampling().temperature, 0.8F);
  EXPECT_EQ(engine_->default_sampling().top_k, 40);
  EXPECT_EQ(engine_->end_ids(), std::vector<std::int32_t>{2});
}

TEST_F(EngineTest, TokensOutOfRangeAreRefused) {
  const auto sequence = engine_->new_sequence();
  for (const std::int32_t bad : {-1, 4096}) {
    const auto result = engine_->generate(*sequence, std::vector<std::int32_t>{1, bad}, greedy(), {}, {}, {});
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(sequence->cache().length(), 0);
  }
}

TEST_F(EngineTest, AReusedPrefixGivesTheSameContinuation) {
  StopRules stop;
  stop.max_tokens = 8;
  const Answer fresh = generate(greedy(), stop);
  const auto sequence = engine_->new_sequence();
  const std::vector<std::int32_t> other = prompt("Once upon a hill");
  ASSERT_TRUE(engine_->generate(*sequence, other, greedy(), stop, {}, {}).ok());
  const std::vector<std::int32_t> wanted = prompt();
  const auto rest = Engine::reuse_prefix(*sequence, wanted);
  EXPECT_LT(rest.size(), wanted.size());
  EXPECT_EQ(sequence->cache().length() + static_cast<std::int64_t>(rest.size()),
            static_cast<std::int64_t>(wanted.size()));
  const auto result = engine_->generate(*sequence, rest, greedy(), stop, {}, {});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->tokens, fresh.result.tokens);
}

TEST(EngineLoad, AMissingFileIsNamed) {
  EngineOptions options;
  options.isa = Isa::kScalar;
  const auto loaded = Engine::load(Env::system(), "/no/such/model.gguf", options);
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.error().message().find("/no/such/model.gguf"), std::string::npos);
}

}  // namespace
}  // namespace sluice
