// An operating system that refuses: every fault is an error that names the file, never a crash or a leak.
#include <set>

#include "checkpoint/checkpoint_testing.h"

namespace sluice::testing {
namespace {

// A file system in memory with faults: one file fails to map, or is shorter than it was.
class FaultyEnv final : public Env {
 public:
  explicit FaultyEnv(std::map<std::string, std::string> files) : files_(std::move(files)) {}

  std::string failing;  // path that cannot be mapped
  std::string shorter;  // path that maps to half of its bytes
  bool list_fails = false;
  int maps = 0;

  Result<std::shared_ptr<const Bytes>> map(const std::string& path) override {
    ++maps;
    if (path == failing) return Error(ErrorCode::kIo, path + ": cannot map: Input/output error");
    const auto it = files_.find(path);
    if (it == files_.end()) return Error(ErrorCode::kNotFound, path + ": cannot open: No such file or directory");
    return own_bytes(path == shorter ? it->second.substr(0, it->second.size() / 2) : it->second);
  }
  Result<std::string> read_text(const std::string& path, std::size_t /*max_bytes*/) override {
    return Error(ErrorCode::kIo, path + ": not used");
  }
  bool is_file(const std::string& path) override { return files_.contains(path); }
  bool is_directory(const std::string& path) override { return path == "d"; }
  Result<std::vector<std::string>> list(const std::string& path) override {
    if (list_fails) return Error(ErrorCode::kIo, path + ": cannot list: Input/output error");
    std::vector<std::string> names;
    for (const auto& [name, content] : files_) names.push_back(name.substr(2));
    return names;
  }
  std::optional<std::string> variable(const std::string& /*name*/) override { return std::nullopt; }
  std::chrono::steady_clock::time_point now() override { return {}; }

 private:
  std::map<std::string, std::string> files_;
};

std::map<std::string, std::string> sharded_folder() {
  return {{"d/config.json", "{\"a\":[1,2,3]}"},
          {"d/generation_config.json", "{\"b\":[1,2,3]}"},
          {"d/model-00001-of-00002.safetensors", one_tensor("a")},
          {"d/model-00002-of-00002.safetensors", one_tensor("b")},
          {"d/model.safetensors.index.json",
           R"({"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}})"},
          {"d/tokenizer.json", "{}"}};
}
std::map<std::string, std::string> split_folder() {
  return {{"d/m-00001-of-00002.gguf", GgufWriter().split(0, 2, 2).ones("a", 8).bytes()},
          {"d/m-00002-of-00002.gguf", GgufWriter().split(1, 2, 2).ones("b", 8).bytes()}};
}

TEST(Faults, EveryFileThatCannotBeMappedIsNamed) {
  for (const auto& files : {sharded_folder(), split_folder()}) {
    FaultyEnv good(files);
    const Opened opened = open_checkpoint(good, "d");
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    EXPECT_EQ(good.maps, static_cast<int>(files.size()));  // each file once
    for (const auto& [path, content] : files) {
      FaultyEnv env(files);
      env.failing = path;
      EXPECT_TRUE(fails(open_checkpoint(env, "d"), ErrorCode::kIo, {path, "Input/output error"}));
    }
  }
}

TEST(Faults, EveryFileThatGotShorterIsNamed) {
  for (const auto& files : {sharded_folder(), split_folder()}) {
    for (const auto& [path, content] : files) {
      if (path == "d/tokenizer.json") continue;  // read by another layer
      FaultyEnv env(files);
      env.shorter = path;
      EXPECT_TRUE(fails(open_checkpoint(env, "d"), ErrorCode::kCorrupt, {path})) << path;
    }
  }
}

TEST(Faults, AFolderThatCannotBeListedIsNamed) {
  FaultyEnv env(sharded_folder());
  env.list_fails = true;
  EXPECT_TRUE(fails(open_checkpoint(env, "d"), ErrorCode::kIo, {"d/", "cannot list"}));
}

TEST(Faults, WhatIsNotThereIsNotFound) {
  FaultyEnv env({});
  EXPECT_TRUE(fails(open_checkpoint(env, "d"), ErrorCode::kNotFound, {"d: "}));
  EXPECT_TRUE(fails(open_checkpoint(env, "x/y.gguf"), ErrorCode::kNotFound, {"x/y.gguf"}));
  EXPECT_TRUE(fails(open_checkpoint(env, "y.gguf"), ErrorCode::kNotFound, {"y.gguf"}));
  EXPECT_TRUE(
      fails(open_checkpoint(Env::system(), "/dev/null"), ErrorCode::kInvalidArgument, {"/dev/null", "regular"}));
}

TEST(Faults, ASingleFileBringsItsFoldersConfiguration) {
  FaultyEnv env(sharded_folder());
  const Opened opened = open_checkpoint(env, "d/model-00001-of-00002.safetensors");
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  EXPECT_EQ((*opened)->path(), "d/model-00001-of-00002.safetensors");
  EXPECT_EQ((*opened)->tensors().size(), 1U);
  EXPECT_EQ((*opened)->config().at("a").size(), 3U);
  ASSERT_EQ((*opened)->warnings().size(), 1U);
  EXPECT_TRUE(is_good_message((*opened)->warnings()[0], {"shard 1 of 2", "folder"}));
}

}  // namespace
}  // namespace sluice::testing
