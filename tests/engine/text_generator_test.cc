// The public API for text, on the embedded model.
#include "sluice/text_generator.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

GenerateOptions greedy(std::int64_t tokens) {
  GenerateOptions options;
  options.max_tokens = tokens;
  options.temperature = 0.0F;
  return options;
}

TEST(TextGenerator, CompletesWithTheBuiltInModel) {
  auto model = TextGenerator::load("", {.threads = 1});
  ASSERT_TRUE(model.ok()) << model.error().message();
  EXPECT_FALSE(model->architecture().empty());

  std::string pieces;
  const auto answer = model->complete("Once upon a time", greedy(12), [&](std::string_view piece) {
    pieces += piece;
    return true;
  });
  ASSERT_TRUE(answer.ok()) << answer.error().message();
  EXPECT_EQ(pieces, answer->text);
  EXPECT_EQ(answer->text.substr(0, 18), " there lived a man");  // models/tales-moe/golden.json
  EXPECT_EQ(answer->generated_tokens, 12);
  EXPECT_EQ(answer->prompt_tokens, 5);

  // A second call starts afresh.
  const auto again = model->complete("Once upon a time", greedy(12));
  ASSERT_TRUE(again.ok()) << again.error().message();
  EXPECT_EQ(again->text, answer->text);
}

TEST(TextGenerator, TheSeedDecides) {
  auto model = TextGenerator::load("", {.threads = 1});
  ASSERT_TRUE(model.ok()) << model.error().message();
  GenerateOptions options;
  options.max_tokens = 16;
  options.temperature = 1.0F;
  options.seed = 1;
  const auto one = model->complete("The fox", options);
  const auto same = model->complete("The fox", options);
  options.seed = 2;
  const auto other = model->complete("The fox", options);
  ASSERT_TRUE(one.ok() && same.ok() && other.ok());
  EXPECT_EQ(one->text, same->text);
  EXPECT_NE(one->text, other->text);
}

TEST(TextGenerator, StopsAtAStringAndWhenTheCallerHasEnough) {
  auto model = TextGenerator::load("", {.threads = 1});
  ASSERT_TRUE(model.ok()) << model.error().message();
  GenerateOptions options = greedy(40);
  options.stop = {"man"};
  const auto stopped = model->complete("Once upon a time", options);
  ASSERT_TRUE(stopped.ok()) << stopped.error().message();
  EXPECT_EQ(stopped->text, " there lived a ");

  const auto ended = model->complete("Once upon a time", greedy(40), [](std::string_view) { return false; });
  ASSERT_TRUE(ended.ok()) << ended.error().message();
  EXPECT_LT(ended->generated_tokens, 40);
}

TEST(TextGenerator, FaultsAreValues) {
  const auto missing = TextGenerator::load("/nonexistent/model.gguf");
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message().find("/nonexistent/model.gguf"), std::string::npos);
  const auto isa = TextGenerator::load("", {.isa = "neon"});
  ASSERT_FALSE(isa.ok());
  EXPECT_EQ(isa.error().code(), ErrorCode::kInvalidArgument);

  auto model = TextGenerator::load("", {.threads = 1});
  ASSERT_TRUE(model.ok()) << model.error().message();
  GenerateOptions options = greedy(1);
  options.top_p = -1.0F;
  EXPECT_FALSE(model->complete("a", options).ok());
}

}  // namespace
}  // namespace sluice
