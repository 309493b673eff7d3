// The template language against Jinja2: tests/data/templates/language.jsonl, written by make_cases.py beside it.
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/shared_data.h"
#include "tokenizer/chat_template.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

// The text a template gives, or "error: " and what it says.
std::string outcome(const std::string& source, const Json& variables, const std::string& now) {
  const auto compiled = ChatTemplate::compile(source);
  if (!compiled.ok()) return "error: " + compiled.error().message();
  const auto text = compiled.value()->render(variables, now);
  return text.ok() ? text.value() : "error: " + text.error().message();
}

TEST(TemplateLanguage, AgreesWithJinja2) {
  std::ifstream file(test_data("templates/language.jsonl"));
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  const Json head = Json::parse(line);
  std::size_t cases = 0;
  while (std::getline(file, line)) {
    const Json item = Json::parse(line);
    const auto source = item.at("source").get<std::string>();
    Json variables = head.at("vars");
    if (item.contains("vars")) variables.update(item.at("vars"));
    const std::string result = outcome(source, variables, head.at("now").get<std::string>());
    ++cases;
    if (item.contains("raised")) {
      EXPECT_EQ(result, "error: " + item.at("raised").get<std::string>()) << source;
    } else if (item.contains("error")) {
      EXPECT_TRUE(result.starts_with("error: chat template, line ")) << source << "\ngave " << result;
    } else {
      EXPECT_EQ(result, item.at("text").get<std::string>()) << source;
    }
  }
  EXPECT_GE(cases, 300U);
}

TEST(TemplateLanguage, PartsThatAreLeftOutAreNamed) {
  const std::pair<const char*, const char*> kParts[] = {
      {"{% include 'x' %}", "the tag 'include' is not supported here"},
      {"{% extends 'x' %}", "the tag 'extends' is not supported here"},
      {"{% block b %}{% endblock %}", "the tag 'block' is not supported here"},
      {"{% import 'x' as y %}", "the tag 'import' is not supported here"},
      {"{% for x in y recursive %}{% endfor %}", "recursive loops are not supported"},
      {"{{ x | random }}", "the filter 'random' is not supported"},
      {"{{ '\\N{DASH}' }}", "names of characters"},
  };
  for (const auto& [source, message] : kParts) {
    const auto compiled = ChatTemplate::compile(source);
    ASSERT_FALSE(compiled.ok()) << source;
    EXPECT_NE(compiled.error().message().find(message), std::string::npos) << compiled.error().message();
    EXPECT_TRUE(compiled.error().message().starts_with("chat template, line 1: "));
  }
  EXPECT_EQ(outcome("{{ lipsum() }}", Json::object(), "2024-01-01"),
            "error: chat template, line 1: 'lipsum' is not supported: its result would differ from run to run");
}

// What Jinja2 does not have but published templates expect of their engine.
TEST(TemplateLanguage, FromJson) {
  const Json variables = {{"text", R"({"b": [1, 2.0, null], "a": "é"})"}};
  EXPECT_EQ(outcome("{{ (text | from_json).b }}", variables, "2024-01-01"), "[1, 2.0, None]");
  EXPECT_EQ(outcome("{% for k in text | from_json %}{{ k }}{% endfor %}", variables, "2024-01-01"), "ba");
  EXPECT_EQ(outcome("{{ '{' | from_json }}", variables, "2024-01-01"),
            "error: chat template, line 1: from_json was given text that is no JSON");
}

TEST(TemplateLanguage, ErrorsNameTheLine) {
  const auto message = [](const std::string& source) { return outcome(source, {{"x", Json::object()}}, "2024-01-01"); };
  EXPECT_EQ(message("a\n\n{{ x + 1 }}"),
            "error: chat template, line 3: unsupported operand type(s) for +: 'dict' and 'int'");
  EXPECT_EQ(message("a\n{% for i in x.y %}\n{{ i }}{% endfor %}\n{{\n x.y.z }}"),
            "error: chat template, line 5: 'dict object' has no attribute 'y'");
  EXPECT_EQ(message("{% macro m() %}\n\n{{ 1 / 0 }}\n{% endmacro %}\n\n{{ m() }}"),
            "error: chat template, line 3: division by zero");
  EXPECT_EQ(message("{% macro m() %}\n\n{% endmacro %}\n\n{{ m() + 1 }}"),
            "error: chat template, line 5: can only concatenate str (not \"int\") to str");
  EXPECT_EQ(message("{% if x %}\n{% for i in x %}\n{% endif %}"),
            "error: chat template, line 3: unknown tag 'endif'; a block that is open expects 'endfor' or 'else'");
  EXPECT_EQ(message("a\n{{ 'x\ny' }}\n{{ 1 2 }}"), "error: chat template, line 4: expected '}}', found '2'");
  EXPECT_EQ(message("{#\n\n#}{{ ' }}"),
            "error: chat template, line 3: expected the end of the string that begins with '");
}

TEST(TemplateLanguage, ErrorCodes) {
  EXPECT_EQ(ChatTemplate::compile("{{").error().code(), ErrorCode::kCorrupt);
  EXPECT_EQ(ChatTemplate::compile("{% block x %}{% endblock %}").error().code(), ErrorCode::kUnsupported);
  const auto raises = ChatTemplate::compile("{{ raise_exception('No: ' ~ x) }}").value();
  const auto result = raises->render({{"x", 1}});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(result.error().message(), "No: 1");
  EXPECT_EQ(raises->render(Json::array()).error().code(), ErrorCode::kInvalidArgument);
}

TEST(TemplateLanguage, TheTimeIsCheckedAndNormalised) {
  const auto compiled = ChatTemplate::compile("{{ strftime_now('%A %d %B %Y %H:%M:%S') }}").value();
  const Json none = Json::object();
  EXPECT_EQ(compiled->render(none, "2024-02-29 23:59:58").value(), "Thursday 29 February 2024 23:59:58");
  EXPECT_EQ(compiled->render(none, "2024-02-29T23:59:58.25").value(), "Thursday 29 February 2024 23:59:58");
  EXPECT_EQ(compiled->render(none, "2023-12-31").value(), "Sunday 31 December 2023 00:00:00");
  for (const char* wrong : {"", "now", "2023-02-29", "2024-13-01", "2024-01-01 25:00:00", "2024-01-01x10:00:00"}) {
    EXPECT_EQ(compiled->render(none, wrong).error().code(), ErrorCode::kInvalidArgument) << wrong;
  }
  EXPECT_TRUE(compiled->render(none).ok()) << "without a time the clock's is shown";
}

// One compiled template serves many renders, none of which leaves a trace.
TEST(TemplateLanguage, RendersAreIndependent) {
  const auto compiled =
      ChatTemplate::compile("{% set l = [] %}{% set _ = l.append(x) %}{% set y = y | default(0) + 1 %}{{ l }}{{ y }}")
          .value();
  EXPECT_EQ(compiled->render({{"x", 1}}).value(), "[1]1");
  EXPECT_EQ(compiled->render({{"x", 2}}).value(), "[2]1");
  EXPECT_EQ(compiled->render({{"x", 3}, {"y", 5}}).value(), "[3]6");
}

}  // namespace
}  // namespace sluice
