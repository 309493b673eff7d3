// Folders: shards, index, configuration, side files, and which of several files is the model.
#include <fmt/format.h>

#include "checkpoint/checkpoint_testing.h"

namespace sluice::testing {
namespace {

constexpr const char* kIndexName = "model.safetensors.index.json";
constexpr const char* kFirst = "model-00001-of-00002.safetensors";
constexpr const char* kSecond = "model-00002-of-00002.safetensors";

std::string two_shard_index() {
  return fmt::format(R"({{"metadata":{{"total_size":32}},"weight_map":{{"a":"{}","b":"{}"}}}})", kFirst, kSecond);
}
using FileList = std::vector<std::pair<std::string, std::string>>;
FileList two_shards() {
  return {{kFirst, one_tensor("a")}, {kSecond, one_tensor("b")}, {kIndexName, two_shard_index()}};
}

// The list with the content of one file replaced (or the file added).
FileList with(FileList files, const std::string& name, std::string content) {
  std::erase_if(files, [&](const auto& file) { return file.first == name; });
  files.emplace_back(name, std::move(content));
  return files;
}
FileList without(FileList files, const std::string& name) {
  std::erase_if(files, [&](const auto& file) { return file.first == name; });
  return files;
}

TEST(Folder, ConfigurationAndSideFilesComeAlong) {
  const Opened opened = open_files({{"model.safetensors", one_tensor("a")},
                                    {"config.json", R"({"model_type":"mixtral","n":[1,2]})"},
                                    {"generation_config.json", R"({"eos_token_id":2})"},
                                    {"tokenizer.json", "{}"},
                                    {"tokenizer.json.gz", "\x1F\x8B"},
                                    {"tokenizer_config.json", "{\"a\":1}"},
                                    {"chat_template.jinja", "{{ x }}"},
                                    {"special_tokens_map.json", "{}"},
                                    {"README.md", "# x"}});
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  const Checkpoint& c = **opened;
  EXPECT_EQ(c.config().at("model_type"), "mixtral");
  EXPECT_EQ(c.generation_config().at("eos_token_id"), 2);
  std::vector<std::string> names;
  for (const auto& [name, bytes] : c.side_files()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"chat_template.jinja", "special_tokens_map.json", "tokenizer.json",
                                             "tokenizer.json.gz", "tokenizer_config.json"}));
  const auto text = c.side_files().at("tokenizer_config.json")->span();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(text.data()), text.size()), "{\"a\":1}");
  EXPECT_EQ(c.file_bytes(), one_tensor("a").size());
}

TEST(Folder, WithoutConfigurationItIsNull) {
  const Opened opened = open_files({{"anything.safetensors", one_tensor("a")}});
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  EXPECT_TRUE((*opened)->config().is_null());
  EXPECT_TRUE((*opened)->generation_config().is_null());
}

TEST(Folder, DamagedConfigurationIsNamed) {
  const auto open_config = [](const char* name, std::string text) {
    return open_files({{"model.safetensors", one_tensor("a")}, {name, std::move(text)}});
  };
  EXPECT_TRUE(fails(open_config("config.json", "{\"a\":"), ErrorCode::kCorrupt, {"mem/config.json", "JSON", "byte"}));
  EXPECT_TRUE(fails(open_config("config.json", ""), ErrorCode::kCorrupt, {"mem/config.json", "JSON"}));
  EXPECT_TRUE(fails(open_config("config.json", "[]"), ErrorCode::kCorrupt, {"mem/config.json", "array", "object"}));
  EXPECT_TRUE(fails(open_config("config.json", "{\"a\":1e999}"), ErrorCode::kCorrupt, {"mem/config.json", "JSON"}));
  EXPECT_TRUE(fails(open_config("generation_config.json", "{\"\xFF\":1}"), ErrorCode::kCorrupt,
                    {"mem/generation_config.json", "UTF-8"}));
  EXPECT_TRUE(fails(open_config("config.json", "{\"a\":" + std::string(1000, '[') + std::string(1000, ']') + "}"),
                    ErrorCode::kResource, {"mem/config.json", "nested"}));
  EXPECT_TRUE(fails(open_config("config.json", "{}" + std::string(std::size_t{5} << 20U, ' ')), ErrorCode::kResource,
                    {"mem/config.json", "limit"}));
  // Brackets inside of strings do not nest.
  EXPECT_TRUE(open_config("config.json", "{\"a\":\"\\\"" + std::string(1000, '[') + "\"}").ok());
}

TEST(Folder, ShardsAreOneCheckpoint) {
  const Opened opened = open_files(two_shards());
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  const Checkpoint& c = **opened;
  ASSERT_EQ(c.tensors().size(), 2U);
  EXPECT_EQ(c.find("a")->file, std::string("mem/") + kFirst);
  EXPECT_EQ(c.find("b")->file, std::string("mem/") + kSecond);
  EXPECT_EQ(c.file_bytes(), 2 * one_tensor("a").size());
  EXPECT_TRUE(c.warnings().empty());
}

TEST(Folder, ShardsWithoutAnIndexGoByTheirNames) {
  const FileList files = without(two_shards(), kIndexName);
  const Opened opened = open_files(files);
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  EXPECT_EQ((*opened)->tensors().size(), 2U);
  EXPECT_TRUE(fails(open_files(without(files, kFirst)), ErrorCode::kNotFound, {"mem", "1 of 2 shards"}));
  EXPECT_TRUE(fails(open_files(with(files, "other.safetensors", one_tensor("c"))), ErrorCode::kInvalidArgument,
                    {"mem", "other.safetensors", "index"}));
  EXPECT_TRUE(
      fails(open_files(with(files, kSecond, one_tensor("a"))), ErrorCode::kCorrupt, {"tensor a", kFirst, kSecond}));
}

TEST(Folder, IndexAndShardsMustAgree) {
  EXPECT_TRUE(fails(open_files(without(two_shards(), kSecond)), ErrorCode::kNotFound, {kSecond, "missing"}));
  EXPECT_TRUE(
      fails(open_files(with(two_shards(), kSecond, one_tensor("c"))), ErrorCode::kCorrupt, {kSecond, "tensor b"}));
  const std::string bad_shard = one_tensor("b").substr(0, 20);
  EXPECT_TRUE(fails(open_files(with(two_shards(), kSecond, bad_shard)), ErrorCode::kCorrupt, {kSecond, "truncated"}));
}

TEST(Folder, TheIndexDecidesBetweenTwoCopies) {
  const std::string both = safetensors(
      R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
      8);
  const Opened opened = open_files(with(two_shards(), kSecond, both));
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  EXPECT_EQ((*opened)->find("a")->file, std::string("mem/") + kFirst);
  EXPECT_EQ((*opened)->find("b")->dtype, DType::kU8);
}

TEST(Folder, TensorsThatTheIndexForgotAreKeptAndReported) {
  const std::string extra = safetensors(
      R"({"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"c":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
      8);
  const Opened opened = open_files(with(two_shards(), kSecond, extra));
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  EXPECT_NE((*opened)->find("c"), nullptr);
  ASSERT_EQ((*opened)->warnings().size(), 1U);
  EXPECT_TRUE(is_good_message((*opened)->warnings()[0], {"mem", "1 tensor", "index"}));
}

TEST(Folder, DamagedIndicesAreNamed) {
  const auto open_index = [](std::string text) { return open_files(with(two_shards(), kIndexName, std::move(text))); };
  for (const char* text : {"", "{", "nonsense", "{\"weight_map\":{\"a\":\"x\""}) {
    EXPECT_TRUE(fails(open_index(text), ErrorCode::kCorrupt, {kIndexName, "JSON"})) << text;
  }
  for (const char* text : {"{}", R"({"weight_map":{}})", R"({"metadata":{"weight_map":{"a":"x"}}})", "7", "null"}) {
    EXPECT_TRUE(fails(open_index(text), ErrorCode::kCorrupt, {kIndexName, "weight_map"})) << text;
  }
  for (const char* text :
       {"[]", R"({"weight_map":[]})", R"({"weight_map":"x"})", R"({"weight_map":{"a":1}})",
        R"({"weight_map":{"a":{"b":"x"}}})", R"({"weight_map":{"a":["x"]}})", R"({"weight_map":{"a":null}})"}) {
    EXPECT_TRUE(fails(open_index(text), ErrorCode::kCorrupt, {kIndexName, "wanted"})) << text;
  }
  EXPECT_TRUE(
      fails(open_index(R"({"weight_map":{"a":"x","a":"y"}})"), ErrorCode::kCorrupt, {kIndexName, "tensor a", "twice"}));
  EXPECT_TRUE(fails(open_index(R"({"weight_map":{"a":"x"},"weight_map":{"a":"x"}})"), ErrorCode::kCorrupt,
                    {"weight_map", "twice"}));
  EXPECT_TRUE(fails(open_index("{\"x\":" + std::string(100000, '[')), ErrorCode::kResource, {kIndexName, "nested"}));
}

TEST(Folder, AnIndexCannotReachOutOfItsFolder) {
  for (const char* file : {"../secret.safetensors", "/etc/passwd", "sub/x.safetensors", "", "x\\ny"}) {
    const std::string index = fmt::format(R"({{"weight_map":{{"a":"{}"}}}})", file);
    EXPECT_TRUE(fails(open_files(with(two_shards(), kIndexName, index)), ErrorCode::kInvalidArgument,
                      {kIndexName, "tensor a", "same folder"}))
        << file;
  }
}

TEST(Folder, TheSingleFileComesBeforeTheIndex) {
  const Opened opened = open_files(with(two_shards(), "model.safetensors", one_tensor("whole")));
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  EXPECT_EQ((*opened)->tensors().size(), 1U);
  EXPECT_NE((*opened)->find("whole"), nullptr);
}

TEST(Folder, AnIndexOfAnotherNameCountsWhereItIsTheOnlyOne) {
  FileList files = without(two_shards(), kIndexName);
  files.emplace_back("consolidated.safetensors", one_tensor("copy"));
  files.emplace_back("weights.safetensors.index.json", two_shard_index());
  const Opened opened = open_files(files);
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  EXPECT_EQ((*opened)->tensors().size(), 2U);
}

TEST(Folder, FoldersWithGgufOpenIt) {
  const std::string bytes = GgufWriter().ones("a", 8).bytes();
  const Opened one = open_files({{"x.gguf", bytes}, {"README.md", ""}});
  ASSERT_TRUE(one.ok()) << one.error().message();
  EXPECT_EQ((*one)->path(), "mem/x.gguf");
  EXPECT_TRUE(fails(open_files({{"x.gguf", bytes}, {"y.gguf", bytes}}), ErrorCode::kInvalidArgument,
                    {"mem", "x.gguf, y.gguf", "path"}));
}

TEST(Folder, ContentTellsTheKindNotTheName) {
  const Opened gguf = open_files({{"model.safetensors", GgufWriter().ones("a", 8).bytes()}});
  ASSERT_TRUE(gguf.ok()) << gguf.error().message();
  EXPECT_EQ((*gguf)->kind(), CheckpointKind::kGguf);
  const Opened tensors = open_files({{"x.gguf", one_tensor("a")}});
  ASSERT_TRUE(tensors.ok()) << tensors.error().message();
  EXPECT_EQ((*tensors)->kind(), CheckpointKind::kSafetensors);
}

TEST(Folder, FoldersWithoutAModelSayWhatIsMissing) {
  EXPECT_TRUE(fails(open_files({}), ErrorCode::kNotFound, {"mem", "safetensors", "gguf"}));
  EXPECT_TRUE(fails(open_files({{"pytorch_model.bin", "PK"}}), ErrorCode::kNotFound, {"mem", "PyTorch", "convert"}));
}

TEST(Folder, StandInsForModelsAreRecognised) {
  const auto open_content = [](std::string content) { return open_files({{"model.safetensors", std::move(content)}}); };
  EXPECT_TRUE(fails(open_content("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"),
                    ErrorCode::kUnsupported, {"mem/model.safetensors", "git lfs pull"}));
  EXPECT_TRUE(fails(open_content("<!DOCTYPE html><html>"), ErrorCode::kUnsupported, {"web page"}));
  EXPECT_TRUE(fails(open_content("PK\x03\x04zip"), ErrorCode::kUnsupported, {"PyTorch"}));
  EXPECT_TRUE(fails(open_content("\x1F\x8Bgzip"), ErrorCode::kUnsupported, {"gzip"}));
}

}  // namespace
}  // namespace sluice::testing
