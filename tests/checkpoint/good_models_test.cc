// Real files: the shared models where they are, the committed fixtures always.
#include <algorithm>
#include <filesystem>
#include <set>

#include "checkpoint/checkpoint_testing.h"
#include "support/shared_data.h"

namespace sluice::testing {
namespace {

// Every byte of data can be touched, and the sizes agree with the types.
void check_tensors(const Checkpoint& checkpoint) {
  ASSERT_FALSE(checkpoint.tensors().empty());
  std::uint64_t bytes = 0;
  unsigned sum = 0;
  for (const TensorInfo& tensor : checkpoint.tensors()) {
    EXPECT_EQ(checkpoint.find(tensor.name), &tensor);
    const FormatInfo* format = find_format(tensor.dtype);
    ASSERT_NE(format, nullptr) << tensor.name;
    EXPECT_EQ(tensor.data.size(),
              static_cast<std::uint64_t>(tensor.elements() / format->block_values * format->block_bytes))
        << tensor.name;
    if (!tensor.data.empty())
      sum += std::to_integer<unsigned>(tensor.data.front()) + std::to_integer<unsigned>(tensor.data.back());
    bytes += tensor.data.size();
  }
  EXPECT_LE(bytes, checkpoint.file_bytes());
  EXPECT_GT(bytes, checkpoint.file_bytes() / 4);
  EXPECT_GT(sum, 0U);
}

// Paths of the GGUF models of a folder, without the later parts of split ones.
std::vector<std::string> gguf_models(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool later_part = name.find("-of-") != std::string::npos && name.find("-00001-of-") == std::string::npos;
    if (name.ends_with(".gguf") && !later_part) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST(GoodModels, GgufModelsOpen) {
  const std::optional<std::string> shared = shared_path("gguf/models");
  const std::vector<std::string> models = gguf_models(shared ? *shared : test_data("gguf/models"));
  EXPECT_GE(models.size(), shared ? 23U : 1U);
  for (const std::string& path : models) {
    SCOPED_TRACE(path);
    const Opened opened = open_checkpoint(Env::system(), path);
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    const Checkpoint& c = **opened;
    EXPECT_EQ(c.kind(), CheckpointKind::kGguf);
    check_tensors(c);
    const auto architecture = c.get_string("general.architecture");
    ASSERT_TRUE(architecture.ok() && architecture.value());
    const std::string prefix(**architecture);
    const auto vocabulary = c.get_uint(prefix + ".vocab_size");
    ASSERT_TRUE(vocabulary.ok() && vocabulary.value());
    // GGUF has {width, vocabulary}; here the outermost comes first.
    EXPECT_EQ(static_cast<std::uint64_t>(c.find("token_embd.weight")->shape.at(0)), **vocabulary);
    const auto& tokens = std::get<MetaArray>(c.get("tokenizer.ggml.tokens")->value);
    EXPECT_EQ(std::get<std::vector<std::string_view>>(tokens).size(), **vocabulary);
    EXPECT_TRUE(c.warnings().empty());
  }
}

TEST(GoodModels, FixturesOpen) {
  std::size_t folders = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test_data("fixtures"))) {
    if (!std::filesystem::exists(entry.path() / "config.json")) continue;
    SCOPED_TRACE(entry.path());
    const Opened opened = open_checkpoint(Env::system(), entry.path().string());
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    EXPECT_EQ((*opened)->kind(), CheckpointKind::kSafetensors);
    EXPECT_TRUE((*opened)->config().is_object());
    check_tensors(**opened);
    ++folders;
  }
  EXPECT_GE(folders, 20U);
}

TEST(GoodModels, ShardedFixtureIsOneCheckpoint) {
  const Opened opened = open_checkpoint(Env::system(), test_data("fixtures/mixtral-bf16-shards"));
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  std::set<std::string> files;
  for (const TensorInfo& tensor : (*opened)->tensors()) files.insert(tensor.file);
  EXPECT_EQ(files.size(), 2U);
}

// The model in models/ is the embedded one; the shared copy is the same.
TEST(GoodModels, TalesMoe) {
  std::vector<std::string> folders = {std::string(SLUICE_SOURCE_DIR) + "/models/tales-moe"};
  if (const auto shared = shared_path("models/tales-moe")) folders.push_back(*shared);
  for (const std::string& folder : folders) {
    SCOPED_TRACE(folder);
    for (const std::string& path : {folder, folder + "/", folder + "/model.safetensors"}) {
      const Opened opened = open_checkpoint(Env::system(), path);
      ASSERT_TRUE(opened.ok()) << opened.error().message();
      const Checkpoint& c = **opened;
      EXPECT_EQ(c.path(), path);
      EXPECT_EQ(c.tensors().size(), 313U);
      check_tensors(c);
      EXPECT_TRUE(c.config().contains("architectures"));
      EXPECT_TRUE(c.generation_config().is_object());
      EXPECT_TRUE(c.side_files().contains("tokenizer.json"));
      EXPECT_TRUE(c.side_files().contains("tokenizer_config.json"));
      EXPECT_TRUE(c.warnings().empty());
      EXPECT_EQ(c.tensors().front().file, folder + "/model.safetensors");
    }
  }
}

}  // namespace
}  // namespace sluice::testing
