#include "cli/json_lines.h"

#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

TEST(ParseObject, ObjectsOnly) {
  EXPECT_EQ(parse_object(R"({"b": 1, "a": [2]})")->dump(), R"({"b":1,"a":[2]})") << "in the order of the text";
  for (const char* text : {"", "[1]", "3", "{", "{\"a\": 1} x", "{\"a\": \"\xFF\"}", "nul"}) {
    EXPECT_FALSE(parse_object(text).has_value()) << text;
  }
}

TEST(ParseObject, DepthIsBounded) {
  const auto nested = [](int n) { return "{\"a\":" + std::string(n, '[') + std::string(n, ']') + "}"; };
  EXPECT_TRUE(parse_object(nested(kMaxDepth - 1)).has_value());
  EXPECT_FALSE(parse_object(nested(kMaxDepth)).has_value());
  EXPECT_FALSE(parse_object(nested(1000000)).has_value());
  EXPECT_TRUE(parse_object("{\"a\": \"" + std::string(100000, '[') + "\\\"[[\"}").has_value())
      << "brackets in a string";
}

TEST(JsonText, BrokenTextIsReplaced) { EXPECT_EQ(json_text({{"text", "a\xFF"}}), "{\"text\":\"a\xEF\xBF\xBD\"}"); }

}  // namespace
}  // namespace sluice::cli
