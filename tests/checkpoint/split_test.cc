// Split GGUF models.
#include <fmt/format.h>

#include "checkpoint/checkpoint_testing.h"
#include "checkpoint/part_name.h"

namespace sluice::testing {
namespace {

using FileList = std::vector<std::pair<std::string, std::string>>;

std::string part_name(int number, int count) { return fmt::format("m-{:05}-of-{:05}.gguf", number, count); }

// A model of three tensors in three parts.
FileList three_parts() {
  return {{part_name(1, 3), GgufWriter().text("general.architecture", "llama").split(0, 3, 3).ones("a", 8).bytes()},
          {part_name(2, 3), GgufWriter().split(1, 3, 3).ones("b", 8).bytes()},
          {part_name(3, 3), GgufWriter().split(2, 3, 3).ones("c", 8).bytes()}};
}
FileList with(FileList files, std::size_t index, std::string content) {
  files[index].second = std::move(content);
  return files;
}

TEST(Split, NamesOfPartsAreRead) {
  const auto part = parse_part_name("a-b-00002-of-00005.gguf", ".gguf");
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->stem, "a-b");
  EXPECT_EQ(part->number, 2U);
  EXPECT_EQ(part->count, 5U);
  EXPECT_EQ(part->part(1), "a-b-00001-of-00005.gguf");
  for (const char* name :
       {"a.gguf", "a-2-of-5.gguf", "a-00000-of-00005.gguf", "a-00006-of-00005.gguf", "", ".gguf",
        "a-0000x-of-00005.gguf", "a-00001-of-00005.bin", "a_00001-of-00005.gguf", "a--0001-of-00005.gguf"}) {
    EXPECT_FALSE(parse_part_name(name, ".gguf").has_value()) << name;
  }
}

TEST(Split, TheFirstPartOpensAll) {
  const Opened opened = open_files(three_parts());
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  const Checkpoint& c = **opened;
  EXPECT_EQ(c.path(), "mem/" + part_name(1, 3));
  ASSERT_EQ(c.tensors().size(), 3U);
  EXPECT_EQ(c.find("c")->file, "mem/" + part_name(3, 3));
  EXPECT_EQ(c.get_string("general.architecture").value(), "llama");
  std::uint64_t bytes = 0;
  for (const auto& [name, content] : three_parts()) bytes += content.size();
  EXPECT_EQ(c.file_bytes(), bytes);
}

TEST(Split, AMissingPartIsNamed) {
  FileList files = three_parts();
  files.erase(files.begin() + 1);
  EXPECT_TRUE(fails(open_files(files), ErrorCode::kNotFound, {part_name(1, 3), part_name(2, 3), "missing"}));
  files = three_parts();
  files.erase(files.begin());
  EXPECT_TRUE(fails(open_files(files), ErrorCode::kNotFound, {part_name(1, 3), "missing"}));
}

TEST(Split, PartsMustFitTogether) {
  const auto open_second = [](const GgufWriter& second) { return open_files(with(three_parts(), 1, second.bytes())); };
  const std::string name = part_name(2, 3);
  EXPECT_TRUE(
      fails(open_second(GgufWriter().split(0, 3, 3).ones("b", 8)), ErrorCode::kCorrupt, {name, "split.no is 0"}));
  EXPECT_TRUE(
      fails(open_second(GgufWriter().split(1, 4, 3).ones("b", 8)), ErrorCode::kCorrupt, {name, "split.count is 4"}));
  EXPECT_TRUE(fails(open_second(GgufWriter().split(1, 3, 4).ones("b", 8)), ErrorCode::kCorrupt,
                    {name, "split.tensors.count is 4", "another model"}));
  EXPECT_TRUE(fails(open_second(GgufWriter().ones("b", 8)), ErrorCode::kCorrupt, {name, "split.count is missing"}));
  EXPECT_TRUE(
      fails(open_second(GgufWriter().u16("split.count", 3).ones("b", 8)), ErrorCode::kCorrupt, {name, "split.no"}));
  EXPECT_TRUE(fails(open_second(GgufWriter().u16("split.count", 3).u16("split.no", 1)), ErrorCode::kCorrupt,
                    {name, "split.tensors.count"}));
  EXPECT_TRUE(
      fails(open_second(GgufWriter().text("split.count", "3")), ErrorCode::kCorrupt, {name, "split.count", "string"}));
  EXPECT_TRUE(fails(open_second(GgufWriter().u16("split.count", 3).u16("split.no", 1).i32("split.tensors.count", -3)),
                    ErrorCode::kCorrupt, {name, "split.tensors.count", "negative"}));
  EXPECT_TRUE(
      fails(open_second(GgufWriter().split(1, 3, 3)), ErrorCode::kCorrupt, {"2 tensors", "split.tensors.count is 3"}));
  EXPECT_TRUE(fails(open_second(GgufWriter().split(1, 3, 3).ones("a", 8)), ErrorCode::kCorrupt,
                    {"tensor a", part_name(1, 3), name}));
  GgufWriter old;
  old.version = 1;
  EXPECT_TRUE(fails(open_second(old), ErrorCode::kUnsupported, {name, "version 1"}));
}

TEST(Split, ALaterPartPointsToTheFirst) {
  const FileList files = {{part_name(1, 2), GgufWriter().split(0, 2, 2).ones("a", 8).bytes()}};
  const std::string folder = ::testing::TempDir();
  const std::string path = folder + "sluice-" + part_name(2, 2);
  std::FILE* file = std::fopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  const std::string bytes = GgufWriter().split(1, 2, 2).ones("b", 8).bytes();
  std::fwrite(bytes.data(), 1, bytes.size(), file);
  std::fclose(file);
  EXPECT_TRUE(fails(open_checkpoint(Env::system(), path), ErrorCode::kInvalidArgument,
                    {path, "part 2 of 2", folder + "sluice-" + part_name(1, 2)}));
  std::remove(path.c_str());
}

TEST(Split, RenamedPartsAreExplained) {
  const std::string first = GgufWriter().split(0, 3, 3).ones("a", 8).bytes();
  EXPECT_TRUE(fails(open_files({{"model.gguf", first}}), ErrorCode::kInvalidArgument,
                    {"mem/model.gguf", "part 1", "-00001-of-00003.gguf"}));
  EXPECT_TRUE(fails(open_files({{part_name(1, 2), first}}), ErrorCode::kCorrupt, {"split.count is 3", "2 parts"}));
}

TEST(Split, AWholeModelMayCarryTheKeysOrTheName) {
  EXPECT_TRUE(open_files({{"model.gguf", GgufWriter().split(0, 1, 1).ones("a", 8).bytes()}}).ok());
  const Opened named = open_files({{part_name(1, 2), GgufWriter().ones("a", 8).bytes()}});
  ASSERT_TRUE(named.ok()) << named.error().message();
  ASSERT_EQ((*named)->warnings().size(), 1U);
  EXPECT_TRUE(is_good_message((*named)->warnings()[0], {part_name(1, 2), "split.count"}));
}

}  // namespace
}  // namespace sluice::testing
