// Published templates: rendered conversations byte for byte. All 852 of the shared folder where there is one, else the
// subset in tests/data/templates.
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/shared_data.h"
#include "tokenizer/chat_template.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Renders the cases of a file with the templates of a folder; the number of cases.
std::size_t check_cases(const std::string& cases_path, const std::string& template_folder) {
  std::map<std::string, std::shared_ptr<const ChatTemplate>> templates;
  std::ifstream file(cases_path);
  std::size_t cases = 0;
  for (std::string line; std::getline(file, line); ++cases) {
    const Json item = Json::parse(line);
    const auto id = item.at("id").get<std::string>();
    const auto name = item.at("template").get<std::string>();
    if (!templates.contains(name)) {
      const auto compiled = ChatTemplate::compile(read_file(template_folder + "/" + name + ".jinja"));
      if (!compiled.ok()) {
        ADD_FAILURE() << name << ": " << compiled.error().message();
        return cases;
      }
      templates[name] = compiled.value();
    }
    Json variables = item.at("kwargs");
    variables["messages"] = item.at("messages");
    std::optional<std::string> now;
    if (item.contains("now")) now = item.at("now").get<std::string>();
    const auto text = templates.at(name)->render(variables, now);
    if (item.contains("expected_error")) {
      EXPECT_FALSE(text.ok()) << id;
      if (!text.ok()) {
        EXPECT_EQ(text.error().message(), item.at("expected_error").get<std::string>()) << id;
      }
    } else {
      EXPECT_TRUE(text.ok()) << id << ": " << text.error().message();
      if (text.ok()) {
        EXPECT_EQ(text.value(), item.at("expected").get<std::string>()) << id;
      }
    }
  }
  return cases;
}

TEST(TemplateChat, CommittedConversations) {
  EXPECT_GE(check_cases(test_data("templates/chat_cases.jsonl"), test_data("templates")), 60U);
}

TEST(TemplateChat, SharedConversations) {
  const auto cases = shared_path("tokenizers/chat_cases.jsonl");
  if (!cases) GTEST_SKIP() << "needs tokenizers/chat_cases.jsonl of the shared folder";
  EXPECT_GE(check_cases(*cases, *shared_path("tokenizers/templates")), 852U);
}

}  // namespace
}  // namespace sluice
