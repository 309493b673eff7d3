// Every corrupted file ends as its manifest says: the committed copy always, the shared set where it is there.
#include "support/bad_files.h"

#include <algorithm>
#include <cctype>
#include <ctime>

#include "checkpoint/allocation_probe.h"
#include "checkpoint/checkpoint_testing.h"

namespace sluice::testing {
namespace {

constexpr std::size_t kMaxAllocation = std::size_t{64} << 20U;

// Faults of shape can be seen only by who knows the model; all that concerns files is an error of opening.
bool is_found_on_opening(const BadCase& c) {
  if (c.outcome != "error") return false;
  return c.stage == "open" || (c.file.starts_with("split-") && c.file != "split-other-00001-of-00002.gguf");
}

class BadFiles : public ::testing::TestWithParam<BadCase> {};

TEST_P(BadFiles, EndAsTheManifestSays) {
  const BadCase& c = GetParam();
  SCOPED_TRACE(c.fault);
  const AllocationProbe probe;
  const std::clock_t begin = std::clock();
  const Opened opened = open_checkpoint(Env::system(), c.path());
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;

  EXPECT_LE(probe.largest(), kMaxAllocation);
  EXPECT_LT(seconds, 0.5);
  if (is_found_on_opening(c)) {
    ASSERT_FALSE(opened.ok());
    std::vector<std::string> words = c.words;
    words.push_back(c.file);
    EXPECT_TRUE(is_good_message(opened.error().message(), words));
  } else {
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    EXPECT_FALSE((*opened)->tensors().empty());
  }
}

std::string name_of(const ::testing::TestParamInfo<BadCase>& info) {
  std::string name = info.param.file;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

std::vector<BadCase> shared_cases() {
  const auto folder = shared_path("gguf/bad");
  return folder ? bad_cases(*folder) : std::vector<BadCase>();
}

INSTANTIATE_TEST_SUITE_P(Committed, BadFiles, ::testing::ValuesIn(bad_cases(bad_files_folder())), name_of);
INSTANTIATE_TEST_SUITE_P(Shared, BadFiles, ::testing::ValuesIn(shared_cases()), name_of);

TEST(BadFilesArchive, IsThere) { EXPECT_GE(bad_cases(bad_files_folder()).size(), 84U); }

// A part of another model shows only in its shapes: whoever refuses them can name the part.
TEST(BadFilesArchive, TensorsOfAForeignPartNameItsFile) {
  const std::string folder = bad_files_folder() + "/";
  const Opened opened = open_checkpoint(Env::system(), folder + "split-other-00001-of-00002.gguf");
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  const TensorInfo* own = (*opened)->find("token_embd.weight");
  const TensorInfo* foreign = (*opened)->find("blk.0.attn_output.weight");
  ASSERT_TRUE(own != nullptr && foreign != nullptr);
  EXPECT_EQ(own->file, folder + "split-other-00001-of-00002.gguf");
  EXPECT_EQ(foreign->file, folder + "split-other-00002-of-00002.gguf");
}

// Every shorter form of a good file is an error, and no changed byte in front of the data does harm.
class Damage : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const auto bytes = Env::system().map(bad_files_folder() + "/" + GetParam());
    ASSERT_TRUE(bytes.ok()) << bytes.error().message();
    const auto span = (*bytes)->span();
    content_.assign(reinterpret_cast<const char*>(span.data()), span.size());
  }
  Opened open(std::string_view content) {
    const Files files = {{GetParam(), borrow_bytes(std::as_bytes(std::span(content)))}};
    return open_checkpoint_memory(files, "mem");
  }
  // Bytes in front of the data.
  std::size_t head() {
    const Opened opened = open(content_);
    if (!opened.ok()) return 0;
    std::size_t data = 0;
    for (const TensorInfo& tensor : (*opened)->tensors()) data += tensor.data.size();
    return content_.size() - data;
  }
  std::string content_;
};

TEST_P(Damage, EveryTruncationIsAnError) {
  const std::size_t all = head();
  ASSERT_GT(all, 0U);
  for (std::size_t size = 0; size < content_.size(); size += size < all ? 1 : 97) {
    const Opened opened = open(std::string_view(content_).substr(0, size));
    ASSERT_FALSE(opened.ok()) << "at " << size << " bytes";
    ASSERT_TRUE(is_good_message(opened.error().message(), {GetParam()})) << "at " << size << " bytes";
  }
}

TEST_P(Damage, ChangedBytesAreReadOrRefused) {
  const std::size_t all = head();
  ASSERT_GT(all, 0U);
  const AllocationProbe probe;
  std::size_t refused = 0;
  // The inner bytes of a long vocabulary are all alike.
  for (std::size_t i = 0; i<all; i += i> 1500 && i < 6000 ? 7 : 1) {
    for (const unsigned flip : {0x01U, 0x80U, 0xFFU}) {
      std::string changed = content_;
      changed[i] = static_cast<char>(static_cast<unsigned char>(changed[i]) ^ flip);
      const Opened opened = open(changed);
      if (opened.ok()) continue;
      ++refused;
      ASSERT_TRUE(is_good_message(opened.error().message(), {GetParam()})) << "byte " << i << " ^ " << flip;
    }
  }
  EXPECT_GT(refused, 0U);
  EXPECT_LE(probe.largest(), kMaxAllocation);
}

INSTANTIATE_TEST_SUITE_P(Good, Damage, ::testing::Values("control-good.gguf", "st-control-good.safetensors"),
                         [](const auto& p) { return p.param.substr(0, 2) == "st" ? "Safetensors" : "Gguf"; });

}  // namespace
}  // namespace sluice::testing
