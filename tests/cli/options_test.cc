// Parsing of the command line.
#include "cli/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<Arguments> parse(std::string_view command, const std::vector<std::string>& args) {
  return parse_arguments(*find_command(command), args);
}

Arguments parsed(std::string_view command, const std::vector<std::string>& args) {
  auto result = parse(command, args);
  EXPECT_TRUE(result.ok()) << result.error().message();
  return result.ok() ? std::move(result).value() : Arguments();
}

std::string error_of(std::string_view command, const std::vector<std::string>& args) {
  const auto result = parse(command, args);
  if (result.ok()) return "no error";
  EXPECT_EQ(result.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(result.error().message().find('\n'), std::string::npos);
  return result.error().message();
}

TEST(Parse, ALineOfLlamaCpp) {
  const Arguments a =
      parsed("run", {"-m",  "model.gguf", "-p",   "Once upon", "-n",   "64",      "-c",     "4096", "-b",      "256",
                     "-ub", "128",        "-t",   "8",         "-tb",  "8",       "--temp", "0.7",  "--top-k", "20",
                     "-s",  "42",         "-sys", "Be brief.", "-cnv", "--jinja", "-r",     "User:"});
  EXPECT_EQ(a.text("model"), "model.gguf");
  EXPECT_EQ(a.text("prompt"), "Once upon");
  EXPECT_EQ(a.integer("predict", 0), 64);
  EXPECT_EQ(a.integer("ctx-size", 0), 4096);
  EXPECT_EQ(a.integer("batch-size", 0), 256);
  EXPECT_EQ(a.integer("ubatch-size", 0), 128);
  EXPECT_EQ(a.integer("threads", 0), 8);
  EXPECT_EQ(a.integer("threads-batch", 0), 8);
  EXPECT_DOUBLE_EQ(a.number("temp", 0.0), 0.7);
  EXPECT_EQ(a.integer("seed", 0), 42);
  EXPECT_EQ(a.text("system-prompt"), "Be brief.");
  EXPECT_TRUE(a.flag("interactive"));
  EXPECT_THAT(a.all("stop"), ElementsAre("User:"));
  EXPECT_TRUE(a.positionals.empty());
}

TEST(Parse, NamesOfOtherProgramsForTheSameThing) {
  const Arguments a = parsed("run", {"--max-model-len", "100", "--max-tokens", "5", "--repetition-penalty", "1.5"});
  EXPECT_EQ(a.integer("ctx-size", 0), 100);
  EXPECT_EQ(a.integer("predict", 0), 5);
  EXPECT_DOUBLE_EQ(a.number("repeat-penalty", 0.0), 1.5);
  EXPECT_EQ(parsed("run", {"--context-length", "7"}).integer("ctx-size", 0), 7);
}

TEST(Parse, ValuesMayBeginWithADash) {
  EXPECT_EQ(parsed("run", {"-n", "-1"}).integer("predict", 0), -1);
  EXPECT_DOUBLE_EQ(parsed("run", {"--presence-penalty", "-.5"}).number("presence-penalty", 0.0), -0.5);
  EXPECT_EQ(parsed("run", {"-p", "--help"}).text("prompt"), "--help");
  EXPECT_EQ(parsed("run", {"-p", "-"}).text("prompt"), "-");
  EXPECT_EQ(parsed("run", {"--stop", "--"}).text("stop"), "--");
}

TEST(Parse, ValuesBehindAnEqualsSign) {
  const Arguments a = parsed("run", {"--temp=0.25", "-n=7", "--stop=", "--prompt=a=b", "--raw=false", "--isa=scalar"});
  EXPECT_DOUBLE_EQ(a.number("temp", 0.0), 0.25);
  EXPECT_EQ(a.integer("predict", 0), 7);
  EXPECT_THAT(a.all("stop"), ElementsAre(""));
  EXPECT_EQ(a.text("prompt"), "a=b");
  EXPECT_FALSE(a.flag("raw"));
  EXPECT_TRUE(a.has("raw"));
  EXPECT_EQ(a.text("isa"), "scalar");
}

TEST(Parse, AFlagAndItsOpposite) {
  EXPECT_TRUE(parsed("run", {"--echo"}).flag("echo"));
  const Arguments off = parsed("run", {"--echo", "--no-echo"});
  EXPECT_FALSE(off.flag("echo"));
  EXPECT_TRUE(off.has("echo"));
  EXPECT_EQ(parsed("run", {"--no-progress"}).text("progress"), "false");
  EXPECT_THAT(error_of("run", {"--no-echo=1"}), HasSubstr("takes no value"));
  EXPECT_THAT(error_of("run", {"--no-temp"}), HasSubstr("unknown option --no-temp")) << "only flags have an opposite";
  EXPECT_THAT(error_of("run", {"--echo=maybe"}), HasSubstr("'maybe' is neither true nor false"));
}

TEST(Parse, TheLastValueCountsUnlessTheOptionCollects) {
  EXPECT_EQ(parsed("run", {"--top-k", "1", "--top-k", "2"}).integer("top-k", 0), 2);
  EXPECT_THAT(parsed("run", {"--stop", "a", "-r", "b"}).all("stop"), ElementsAre("a", "b"));
}

TEST(Parse, PositionalArguments) {
  EXPECT_THAT(parsed("run", {"m.gguf", "--raw", "Hello"}).positionals, ElementsAre("m.gguf", "Hello"));
  EXPECT_THAT(parsed("run", {"m.gguf", "-5 degrees"}).positionals, ElementsAre("m.gguf", "-5 degrees"));
  EXPECT_THAT(parsed("run", {"--raw", "--", "--odd-name", "-x"}).positionals, ElementsAre("--odd-name", "-x"));
  EXPECT_THAT(error_of("run", {"m.gguf", "Once", "upon"}), HasSubstr("one argument too many: 'upon'"));
  EXPECT_THAT(error_of("man", {"x"}), HasSubstr("one argument too many"));
}

TEST(Parse, WrongValues) {
  EXPECT_EQ(error_of("run", {"-n", "ten"}), "-n: 'ten' is not a whole number");
  EXPECT_EQ(error_of("run", {"-n", "1.5"}), "-n: '1.5' is not a whole number");
  EXPECT_EQ(error_of("run", {"-n", ""}), "-n: '' is not a whole number");
  EXPECT_EQ(error_of("run", {"--seed", "99999999999999999999"}),
            "--seed: '99999999999999999999' is not a whole number");
  EXPECT_EQ(error_of("run", {"--temp", "hot"}), "--temp: 'hot' is not a number");
  EXPECT_EQ(error_of("run", {"--temp", "nan"}), "--temp: 'nan' is not a number");
  EXPECT_EQ(error_of("run", {"--top-p", "1.5"}), "--top-p: 1.5 is out of range, wanted 0 to 1");
  EXPECT_EQ(error_of("run", {"--seed", "-3"}), "--seed: -3 is out of range, wanted -1 or more");
  EXPECT_EQ(error_of("run", {"--ctx-size", "-1"}), "--ctx-size: -1 is out of range, wanted 0 to 1073741824");
  EXPECT_THAT(error_of("run", {"--isa", "sse"}), HasSubstr("'sse' is none of auto, scalar, avx2"));
  EXPECT_THAT(error_of("run", {"-n"}), HasSubstr("-n needs a value"));
}

TEST(Parse, HelpWinsOverWhatFollows) {
  EXPECT_TRUE(parsed("run", {"--help", "--nonsense"}).help);
  EXPECT_TRUE(parsed("inspect", {"-h"}).help);
}

TEST(UnknownOption, TheNearestIsSuggested) {
  EXPECT_EQ(error_of("run", {"--tmep", "1"}), "unknown option --tmep; did you mean --temp?");
  EXPECT_EQ(error_of("run", {"--top_k", "1"}), "unknown option --top_k; did you mean --top-k?");
  EXPECT_EQ(error_of("run", {"--promt=x"}), "unknown option --promt; did you mean --prompt?");
  EXPECT_EQ(error_of("run", {"--hlep"}), "unknown option --hlep; did you mean --help?");
  EXPECT_EQ(error_of("run", {"--zzzzzzzzzz"}), "unknown option --zzzzzzzzzz; `sluice run --help` lists them");
}

TEST(UnknownOption, AnOptionOfAnotherCommand) {
  EXPECT_EQ(error_of("run", {"--json"}),
            "--json is an option of `sluice inspect`, `sluice doctor`, not of this command");
}

TEST(UnknownOption, WhatIsNotBuiltYetIsSaid) {
  for (const char* name :
       {"-np", "-ngl", "-ctk", "-ctv", "-cmoe", "-ot", "--rpc", "--numa", "-md", "--mlock", "--grammar"}) {
    EXPECT_THAT(error_of("run", {name, "1"}), HasSubstr(std::string(name) + " is not supported yet"));
  }
}

TEST(UnknownOption, ADownloadIsExplained) {
  for (const char* name : {"-hf", "--hf-repo", "-hff"}) {
    const std::string error = error_of("run", {name, "user/model"});
    EXPECT_THAT(error, HasSubstr("not supported yet"));
    EXPECT_THAT(error, HasSubstr("hf download"));
    EXPECT_THAT(error, HasSubstr("curl"));
  }
}

TEST(Nearest, EditsAndSwaps) {
  const std::vector<std::string> known = {"--temp", "--top-k", "--threads"};
  EXPECT_EQ(nearest("--tepm", known), "--temp");
  EXPECT_EQ(nearest("--thread", known), "--threads");
  EXPECT_EQ(nearest("--colour", known), std::nullopt);
  EXPECT_EQ(nearest("", known), std::nullopt);
  EXPECT_EQ(nearest(std::string(100000, 'x'), known), std::nullopt) << "and at no cost";
}

}  // namespace
}  // namespace sluice::cli
