// Flag, then SLUICE_*, then the settings file, then the default.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/commands.h"
#include "fake_env.h"

namespace sluice::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SettingsTest : public ::testing::Test {
 protected:
  SettingsTest() { env_.variables["HOME"] = "/users/me"; }

  void config(const std::string& text) { env_.files["/users/me/.config/sluice/config.toml"] = text; }

  Arguments apply(const std::vector<std::string>& args = {}, std::string_view command = "run") {
    auto arguments = parse_arguments(*find_command(command), args);
    EXPECT_TRUE(arguments.ok());
    const Status status = apply_settings(env_, *arguments);
    EXPECT_TRUE(status.ok()) << status.error().message();
    return std::move(arguments).value();
  }
  std::string error(std::string_view command = "run") {
    auto arguments = parse_arguments(*find_command(command), {});
    const Status status = apply_settings(env_, *arguments);
    return status.ok() ? "no error" : status.error().message();
  }

  FakeEnv env_;
};

TEST_F(SettingsTest, EachSourceYieldsToTheOneBefore) {
  EXPECT_EQ(apply().integer("top-k", -7), -7);
  config("top-k = 1\n[run]\ntop-k = 2\n[logits]\nthreads = 9\n");
  EXPECT_EQ(apply().integer("top-k", -7), 2) << "a command's table wins over the top level";
  EXPECT_FALSE(apply().has("threads")) << "another command's table is not for this one";
  EXPECT_EQ(apply({}, "logits").integer("threads", 0), 9);
  env_.variables["SLUICE_TOP_K"] = "3";
  EXPECT_EQ(apply().integer("top-k", -7), 3);
  const Arguments all = apply({"--top-k", "4"});
  EXPECT_EQ(all.integer("top-k", -7), 4);
  EXPECT_TRUE(all.has_flag("top-k"));
  EXPECT_FALSE(apply().has_flag("top-k"));
}

TEST_F(SettingsTest, ValuesOfEveryKind) {
  config("temp = 0.5\ntop-k = 3\nraw = true\nquiet = false\nisa = \"scalar\"\nstop = [\"a\", \"b\"]\nstop-id = 7\n");
  const Arguments a = apply();
  EXPECT_DOUBLE_EQ(a.number("temp", 0.0), 0.5);
  EXPECT_TRUE(a.flag("raw"));
  EXPECT_TRUE(a.has("quiet"));
  EXPECT_FALSE(a.flag("quiet"));
  EXPECT_EQ(a.text("isa"), "scalar");
  EXPECT_THAT(a.all("stop"), ElementsAre("a", "b"));
  EXPECT_THAT(a.all("stop-id"), ElementsAre("7"));
  EXPECT_THAT(apply({"--stop", "c"}).all("stop"), ElementsAre("c")) << "flags replace a list of the file";
}

TEST_F(SettingsTest, FlagsAsVariables) {
  env_.variables["SLUICE_RAW"] = "yes";
  env_.variables["SLUICE_ECHO"] = "0";
  env_.variables["SLUICE_IGNORE_EOS"] = "";
  const Arguments a = apply();
  EXPECT_TRUE(a.flag("raw"));
  EXPECT_TRUE(a.has("echo"));
  EXPECT_FALSE(a.flag("echo"));
  EXPECT_FALSE(a.has("ignore-eos")) << "an empty variable is none";
}

TEST_F(SettingsTest, WrongValuesNameTheirSource) {
  env_.variables["SLUICE_TEMP"] = "warm";
  EXPECT_EQ(error(), "SLUICE_TEMP: 'warm' is not a number");
  EXPECT_EQ(error("inspect"), "no error") << "inspect has no temperature";
  env_.variables.clear();
  env_.variables["HOME"] = "/users/me";
  const std::string path = "/users/me/.config/sluice/config.toml";
  config("top-p = 3\n");
  EXPECT_EQ(error(), path + ": top-p: 3 is out of range, wanted 0 to 1");
  config("isa = \"mmx\"\n");
  EXPECT_THAT(error(), HasSubstr(path + ": isa: 'mmx' is none of"));
  config("temp = [1]\n");
  EXPECT_THAT(error(), HasSubstr("temp: neither text, number nor true/false"));
  config("tepm = 1\n");
  EXPECT_EQ(error(), path + ": unknown setting 'tepm'; did you mean 'temp'?");
  EXPECT_EQ(error("inspect"), path + ": unknown setting 'tepm'; did you mean 'temp'?");
  config("prompt = \"hello\"\n");
  EXPECT_THAT(error(), HasSubstr("'prompt' belongs to one run"));
  config("temp = \n");
  EXPECT_THAT(error(), HasSubstr(path + ": "));
  config("temp = 0.1\ntemp = 0.2\n");
  EXPECT_THAT(error(), HasSubstr("line 2"));
}

TEST_F(SettingsTest, WhereTheFileIs) {
  config("top-k = 1\n");
  env_.files["/xdg/sluice/config.toml"] = "top-k = 2\n";
  env_.files["/tmp/mine.toml"] = "top-k = 3\n";
  EXPECT_EQ(apply().integer("top-k", 0), 1);
  env_.variables["XDG_CONFIG_HOME"] = "/xdg";
  EXPECT_EQ(apply().integer("top-k", 0), 2);
  env_.variables["SLUICE_CONFIG"] = "/tmp/mine.toml";
  EXPECT_EQ(apply().integer("top-k", 0), 3);
  env_.variables["SLUICE_CONFIG"] = "/tmp/none.toml";
  EXPECT_EQ(error(), "/tmp/none.toml: no such file (SLUICE_CONFIG names it)");
  env_.variables.clear();
  EXPECT_EQ(apply().integer("top-k", 0), 0) << "no home, no file";
}

TEST_F(SettingsTest, AModelOnTheCommandLineWinsOverTheVariable) {
  env_.variables["SLUICE_MODEL"] = "mine.gguf";
  EXPECT_EQ(model_path(apply()), "mine.gguf");
  EXPECT_EQ(model_path(apply({"other.gguf"})), "other.gguf");
  EXPECT_EQ(model_path(apply({"-m", "third.gguf", "a prompt"})), "third.gguf");
  EXPECT_TRUE(check_run(apply({"other.gguf", "a prompt"})).ok());
}

TEST(Check, TheModelOrThePromptGivenTwice) {
  const auto check = [](std::string_view command, const std::vector<std::string>& args) {
    const auto arguments = parse_arguments(*find_command(command), args);
    const Status status = command == "run" ? check_run(*arguments) : check_inspect(*arguments);
    return status.ok() ? "fine" : status.error().message();
  };
  EXPECT_EQ(check("run", {"-m", "a", "hello"}), "fine");
  EXPECT_THAT(check("run", {"-m", "a", "b", "hello"}), HasSubstr("'hello' (--model is given)"));
  EXPECT_THAT(check("inspect", {"-m", "a", "b"}), HasSubstr("'b' (--model is given)"));
  EXPECT_THAT(check("inspect", {}), HasSubstr("a FILE is needed"));
  EXPECT_THAT(check("run", {"-p", "x", "-f", "y"}), HasSubstr("the prompt is given twice"));
  EXPECT_THAT(check("run", {"a", "b", "-p", "x"}), HasSubstr("the prompt is given twice"));
  EXPECT_THAT(check("run", {"--top-p", "0"}), HasSubstr("top-p"));
  EXPECT_THAT(check("run", {"--repeat-penalty", "0"}), HasSubstr("repeat-penalty"));
  EXPECT_THAT(check("run", {"-t", "4", "-tb", "8"}), HasSubstr("--threads-batch"));
  EXPECT_THAT(check("run", {"--chat-template-kwargs", "[1]"}), HasSubstr("no JSON object"));
  EXPECT_THAT(check("run", {"--raw", "--system-prompt", "x"}), HasSubstr("--raw"));
}

}  // namespace
}  // namespace sluice::cli
