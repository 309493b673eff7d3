// Published tokenizers against golden vectors, encode and decode: the subset in tests/data/tokenizers always, the full
// set of the shared folder where there is one.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "support/shared_data.h"
#include "tokenizer/gzip.h"
#include "tokenizer/tokenizer.h"

namespace sluice {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<std::int32_t>;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void for_each_line(const std::string& path, const std::function<void(const Json&)>& visit) {
  std::ifstream file(path);
  ASSERT_TRUE(file.is_open()) << path;
  for (std::string line; std::getline(file, line);) visit(Json::parse(line));
}

std::shared_ptr<const Tokenizer> load(const std::string& path) {
  auto tokenizer = Tokenizer::from_path(Env::system(), path);
  if (!tokenizer.ok()) {
    ADD_FAILURE() << path << ": " << tokenizer.error().message();
    return nullptr;
  }
  return std::move(tokenizer).value();
}

void expect_ids(const Tokenizer& tokenizer, const std::string& text, bool special, const Ids& expected,
                const std::string& id) {
  const auto ids = tokenizer.encode(text, special);
  ASSERT_TRUE(ids.ok()) << id << ": " << ids.error().message();
  EXPECT_EQ(*ids, expected) << id;
}

// A piece may be shown at once: it neither begins nor ends inside a character.
bool whole_characters(const std::string& piece) {
  try {
    (void)Json(piece).dump();  // throws on what is not UTF-8
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

// Decodes in one call and as a stream.
void expect_text(const Tokenizer& tokenizer, const Ids& ids, bool skip_special, const std::string& expected,
                 const std::string& id) {
  EXPECT_EQ(tokenizer.decode(ids, skip_special), expected) << id << ", skip_special " << skip_special;
  const auto stream = tokenizer.stream(skip_special);
  std::string text;
  for (const std::int32_t token : ids) {
    const std::string piece = stream->push(token);
    EXPECT_TRUE(whole_characters(piece)) << id << ", token " << token;
    text += piece;
  }
  text += stream->flush();
  EXPECT_EQ(text, expected) << id << ", as a stream, skip_special " << skip_special;
}

class TokenizerVectors : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Published, TokenizerVectors,
                         ::testing::Values("deepseek_v3", "qwen3", "gptoss", "mistral", "mistral_v3"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(TokenizerVectors, CommittedSubset) {
  const auto tokenizer = load(test_data("tokenizers/" + std::string(GetParam())));
  ASSERT_NE(tokenizer, nullptr);
  std::size_t encoded = 0;
  std::size_t decoded = 0;
  for_each_line(test_data("tokenizers/" + std::string(GetParam()) + ".jsonl"), [&](const Json& item) {
    const auto id = item.at("id").get<std::string>();
    const auto ids = item.at("ids").get<Ids>();
    if (item.contains("text")) {
      ++encoded;
      const auto text = item.at("text").get<std::string>();
      expect_ids(*tokenizer, text, false, ids, id);
      expect_ids(*tokenizer, text, true, item.at("special").get<Ids>(), id);
    }
    ++decoded;
    expect_text(*tokenizer, ids, false, item.at("decoded").get<std::string>(), id);
    expect_text(*tokenizer, ids, true, item.at("skipped").get<std::string>(), id);
  });
  EXPECT_GE(encoded, 150U);
  EXPECT_GE(decoded, encoded + 30);
}

TEST_P(TokenizerVectors, SharedSet) {
  const auto root = shared_path("tokenizers");
  if (!root) GTEST_SKIP() << "needs the tokenizers of the shared folder";
  const std::string name = GetParam();
  const auto tokenizer = load(*root + "/" + name);
  ASSERT_NE(tokenizer, nullptr);
  std::map<std::string, std::string> texts;
  for_each_line(*root + "/cases.jsonl",
                [&](const Json& item) { texts[item.at("id")] = item.at("text").get<std::string>(); });
  ASSERT_GE(texts.size(), 1359U);
  std::map<std::string, Ids> plain;
  for (const bool special : {false, true}) {
    std::size_t cases = 0;
    for_each_line(*root + (special ? "/expected_special/" : "/expected/") + name + ".jsonl", [&](const Json& item) {
      ++cases;
      const auto id = item.at("id").get<std::string>();
      const auto ids = item.at("ids").get<Ids>();
      expect_ids(*tokenizer, texts.at(id), special, ids, id);
      if (!special) plain[id] = ids;
    });
    EXPECT_GE(cases, 1300U);
  }
  std::size_t decoded = 0;
  const auto check_decode = [&](const Json& item, const Ids& ids) {
    ++decoded;
    const auto id = item.at("id").get<std::string>();
    expect_text(*tokenizer, ids, false, item.at("text").get<std::string>(), id);
    expect_text(*tokenizer, ids, true, item.at("text_skip_special").get<std::string>(), id);
  };
  for_each_line(*root + "/expected_decode/" + name + ".jsonl",
                [&](const Json& item) { check_decode(item, plain.at(item.at("id"))); });
  for_each_line(*root + "/decode_cases/" + name + ".jsonl",
                [&](const Json& item) { check_decode(item, item.at("ids").get<Ids>()); });
  EXPECT_GE(decoded, 1400U);
}

// The 47 texts of llama.cpp's vocabulary tests, through the vocabulary in GGUF metadata.
class GgufVocabularies : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Published, GgufVocabularies, ::testing::Values("gpt-2", "mpt", "falcon", "qwen2"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST_P(GgufVocabularies, SharedTexts) {
  const auto root = shared_path("tokenizers");
  if (!root) GTEST_SKIP() << "needs the vocabularies of the shared folder";
  const std::string name = GetParam();
  const std::string base = *root + "/ggml_vocab/ggml-vocab-" + name + ".gguf";
  std::shared_ptr<const Tokenizer> tokenizer;
  if (name == "qwen2") {
    tokenizer = load(*root + "/qwen3");
  } else {
    const auto data = gunzip(read_file(base + ".gz"), 64U << 20, base);
    ASSERT_TRUE(data.ok()) << data.error().message();
    const auto path = std::filesystem::path(::testing::TempDir()) / ("sluice-vocabulary-" + name + ".gguf");
    std::ofstream(path, std::ios::binary) << *data;
    tokenizer = load(path.string());
    std::filesystem::remove(path);
  }
  ASSERT_NE(tokenizer, nullptr);
  const std::string separator = "\n__ggml_vocab_test__\n";
  const std::string texts = read_file(base + ".inp");
  std::istringstream expected(read_file(base + ".out"));
  std::size_t cases = 0;
  for (std::size_t begin = 0; begin <= texts.size();) {
    const std::size_t end = std::min(texts.find(separator, begin), texts.size());
    std::string line;
    std::getline(expected, line);  // the last text is empty, and its line is not there
    std::istringstream numbers(line);
    const Ids ids{std::istream_iterator<std::int32_t>(numbers), {}};
    expect_ids(*tokenizer, texts.substr(begin, end - begin), false, ids, "text " + std::to_string(cases));
    ++cases;
    begin = end + separator.size();
  }
  EXPECT_EQ(cases, 47U);
}

}  // namespace
}  // namespace sluice
