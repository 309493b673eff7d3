// The text of an answer is the whole text without the prompt's.
#include "engine/answer_text.h"

#include <gtest/gtest.h>

#include "engine/engine.h"

namespace sluice {
namespace {

class AnswerTextTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto loaded = Engine::load(Env::system(), "", {});
    ASSERT_TRUE(loaded.ok()) << loaded.error().message();
    engine_ = std::move(loaded).value().release();
  }
  static void TearDownTestSuite() { delete engine_; }

  static std::vector<std::int32_t> encode(const std::string& text) {
    return engine_->tokenizer()->encode(text, true).value();
  }
  // Splits the ids of `text` behind the first `count` and decodes the rest as their answer.
  static std::string answer(const std::vector<std::int32_t>& ids, std::size_t count) {
    AnswerText text(*engine_->tokenizer(), std::span(ids).first(count));
    std::string out;
    for (const std::int32_t id : std::span(ids).subspan(count)) out += text.push(id);
    return out + text.flush();
  }

  static Engine* engine_;
};

Engine* AnswerTextTest::engine_ = nullptr;

TEST_F(AnswerTextTest, WordsKeepTheirSpaces) {
  const auto ids = encode("Once upon a time there lived");
  for (std::size_t count = 2; count < ids.size(); ++count) {
    const std::string before = engine_->tokenizer()->decode(std::span(ids).first(count), true);
    EXPECT_EQ(before + answer(ids, count), "Once upon a time there lived");
  }
}

TEST_F(AnswerTextTest, AtTheBeginOfATextThereIsNone) {
  EXPECT_EQ(answer(encode("Once upon"), 1), "Once upon") << "behind the token that begins a text";
  EXPECT_EQ(answer(encode("Once upon"), 0), "Once upon");
}

TEST_F(AnswerTextTest, APromptThatEndsInBytesDoesNotAppearAgain) {
  // Characters that the vocabulary spells in bytes: the decoder holds them back until something else follows.
  const std::string text = "to \xE6\x97\xA5\xE6\x9C\xAC and";
  const auto ids = encode(text);
  ASSERT_GT(ids.size(), 7U) << "the vocabulary has these characters, choose others";
  std::size_t checked = 0;
  for (std::size_t count = 1; count < ids.size(); ++count) {
    const std::string before = engine_->tokenizer()->decode(std::span(ids).first(count), true);
    if (before.find("\xEF\xBF\xBD") != std::string::npos) continue;  // inside a character
    EXPECT_EQ(before + answer(ids, count), text) << "behind '" << before << "'";
    ++checked;
  }
  EXPECT_GE(checked, 4U);
}

TEST_F(AnswerTextTest, ACharacterThatThePromptBegan) {
  const auto ids = encode("to \xE6\x97\xA5 and");
  std::size_t first = 1;
  while (engine_->tokenizer()->decode(std::span(ids).first(first), true).find("\xEF\xBF\xBD") == std::string::npos) {
    ASSERT_LT(++first, ids.size());
  }
  EXPECT_EQ(answer(ids, first), "\xE6\x97\xA5 and") << "comes whole with its last byte";
}

TEST_F(AnswerTextTest, AnEmptyAnswer) {
  const auto ids = encode("to \xE6\x97\xA5");
  EXPECT_EQ(answer(ids, ids.size()), "");
}

}  // namespace
}  // namespace sluice
