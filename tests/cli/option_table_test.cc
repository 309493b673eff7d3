// The option table itself, and the texts made from it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cli/commands.h"
#include "cpu/isa.h"

namespace sluice::cli {
namespace {

using ::testing::HasSubstr;

TEST(OptionTable, EveryRowIsAnOptionOfSomeCommand) {
  std::set<std::string_view> used;
  for (const CommandRow& command : command_table()) {
    for (const std::string_view key : command.options) {
      ASSERT_NE(find_option_key(key), nullptr) << command.name << " has no row for " << key;
      EXPECT_EQ(std::ranges::count(command.options, key), 1) << command.name << " " << key;
      used.insert(key);
    }
  }
  for (const OptionRow& row : option_table()) EXPECT_TRUE(used.contains(row.key())) << row.key();
}

TEST(OptionTable, EverySpellingMeansOneThing) {
  std::set<std::string_view> spellings = {"--help", "-h"};
  const auto add = [&](std::string_view names) {
    for (const std::string_view name : split(names, ' ')) {
      EXPECT_TRUE(name.starts_with("-")) << name;
      EXPECT_TRUE(spellings.insert(name).second) << name << " is spelled twice";
    }
  };
  for (const OptionRow& row : option_table()) add(row.names);
  for (const FutureOption& option : future_options()) add(option.names);
}

TEST(OptionTable, RowsAreWellFormed) {
  std::set<std::string_view> keys;
  for (const OptionRow& row : option_table()) {
    EXPECT_TRUE(row.names.starts_with("--")) << row.names;
    EXPECT_TRUE(keys.insert(row.key()).second) << row.key();
    EXPECT_EQ(row.value.empty(), row.kind == ValueKind::kFlag) << row.key();
    EXPECT_FALSE(row.help.empty()) << row.key();
    EXPECT_LT(row.low, row.high) << row.key();
  }
  EXPECT_EQ(find_option_key("predict")->spellings(),
            (std::vector<std::string_view>{"--predict", "-n", "--n-predict", "--max-tokens"}));
}

TEST(OptionTable, TheInstructionSetsAreThoseOfTheProgram) {
  std::vector<std::string_view> names = {"auto"};
  for (int i = 0; i < kIsaCount; ++i) names.push_back(isa_name(static_cast<Isa>(i)));
  EXPECT_EQ(find_option_key("isa")->choices(), names);
}

TEST(Help, ListsEveryOptionOfTheCommand) {
  for (const CommandRow& command : command_table()) {
    const std::string help = help_text(command);
    EXPECT_THAT(help, HasSubstr("usage: sluice " + std::string(command.name)));
    for (const std::string_view key : command.options) {
      const OptionRow& row = *find_option_key(key);
      for (const std::string_view name : row.spellings()) EXPECT_THAT(help, HasSubstr(std::string(name)));
    }
    for (const std::string_view line : split(help, '\n')) EXPECT_LE(line.size(), 120U) << line;
    EXPECT_THAT(overview_text(), HasSubstr(std::string(command.name)));
  }
}

TEST(Man, HoldsEveryCommandAndOption) {
  const std::string page = man_page();
  for (const CommandRow& command : command_table())
    EXPECT_THAT(page, HasSubstr(".SS sluice " + std::string(command.name)));
  for (const OptionRow& row : option_table()) {
    std::string key(row.key());
    for (std::size_t at = 0; (at = key.find('-', at)) != std::string::npos; at += 2) key.insert(at, "\\");
    EXPECT_THAT(page, HasSubstr("\\fB\\-\\-" + key + "\\fR"));
  }
}

TEST(Completion, EveryShellKnowsEveryOption) {
  for (const OptionRow& row : option_table()) {
    EXPECT_THAT(completion_script("bash"), HasSubstr(std::string(row.spellings().front())));
    EXPECT_THAT(completion_script("zsh"), HasSubstr(std::string(row.spellings().front()) + "["));
    EXPECT_THAT(completion_script("fish"), HasSubstr(" -l " + std::string(row.key()) + " "));
  }
}

TEST(Ranges, RunsAreShortened) {
  EXPECT_EQ(ranges({}), "none");
  EXPECT_EQ(ranges(std::vector<std::size_t>{0}), "0");
  EXPECT_EQ(ranges(std::vector<std::size_t>{0, 2, 3, 4, 9}), "0, 2-4, 9");
}

TEST(OneLine, NothingBreaksTheLineOrSteersTheTerminal) {
  EXPECT_EQ(one_line("a\nb\r\x1b[31mc\x7f"), "a\\x0Ab\\x0D\\x1B[31mc\\x7F");
  EXPECT_EQ(one_line("caf\xC3\xA9 \xE6\x97\xA5 \xFF"), "caf\xC3\xA9 \xE6\x97\xA5 \\xFF");
  EXPECT_LT(one_line(std::string(1U << 20, 'x')).size(), 3000U);
}

}  // namespace
}  // namespace sluice::cli
