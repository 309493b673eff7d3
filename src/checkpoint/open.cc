// open_checkpoint(): what a path or a folder is, told by content, and the reader of that kind.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "checkpoint/folder.h"
#include "checkpoint/gguf.h"
#include "checkpoint/part_name.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/text.h"

namespace sluice {
namespace {

constexpr std::string_view kSafetensors = ".safetensors";
constexpr std::string_view kGguf = ".gguf";
constexpr std::string_view kIndex = ".safetensors.index.json";

using Opened = Result<std::shared_ptr<const Checkpoint>>;

bool begins_with(std::span<const std::byte> bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

// Things that are found under the names of models every day, and that deserve a better word than "bad magic".
Status check_not_a_stand_in(std::span<const std::byte> bytes, const std::string& file) {
  const auto refuse = [&](std::string_view what) {
    return Error(ErrorCode::kUnsupported, fmt::format("{}: this is {}", file, what));
  };
  if (begins_with(bytes, "version https://git-lfs")) {
    return refuse("a Git LFS pointer, not the weights: fetch them with git lfs pull");
  }
  if (begins_with(bytes, "<!DOCTYPE html") || begins_with(bytes, "<html")) {
    return refuse("a web page, not a model: the download failed or needs a login");
  }
  if (begins_with(bytes, "PK\x03\x04") || begins_with(bytes, "\x80\x02")) {
    return refuse("a PyTorch (pickle) file; get or convert to safetensors or GGUF");
  }
  if (begins_with(bytes, "\x1F\x8B")) return refuse("compressed with gzip; decompress it first");
  return Status::success();
}

// One file of weights, whatever it is. `path` is what the checkpoint is called.
Opened open_file(Folder& folder, const std::string& name, const std::string& path) {
  SLUICE_ASSIGN(std::shared_ptr<const Bytes> bytes, folder.open(name));
  const std::span<const std::byte> data = bytes->span();
  if (is_gguf(data)) return open_gguf(folder, name, std::move(bytes));
  SLUICE_TRY(check_not_a_stand_in(data, folder.path(name)));
  // A damaged file is called by what its name promises.
  if (name.ends_with(kSafetensors) || is_safetensors(data)) {
    return open_safetensors(folder, path, {name}, nullptr, std::move(bytes));
  }
  return open_gguf(folder, name, std::move(bytes));
}

Opened open_sharded(Folder& folder, const std::string& index_name, const std::string& path) {
  SLUICE_ASSIGN(const std::shared_ptr<const Bytes> bytes, folder.open(index_name));
  const std::span<const std::byte> data = bytes->span();
  const std::string file = folder.path(index_name);
  SLUICE_TRY(check_not_a_stand_in(data, file));
  SLUICE_ASSIGN(const SafetensorsIndex index,
                parse_safetensors_index({reinterpret_cast<const char*>(data.data()), data.size()}, file));
  return open_safetensors(folder, path, index.files, &index);
}

// Several *.safetensors without an index: shards by their names, or a choice that is the user's.
Opened open_unindexed(Folder& folder, const std::vector<std::string>& names, const std::string& path) {
  std::uint32_t count = 0;
  for (const std::string& name : names) {
    const std::optional<PartName> shard = parse_part_name(name, kSafetensors);
    const std::uint32_t own = shard ? shard->count : 0;
    if (own == 0 || (count != 0 && own != count)) {
      return Error(ErrorCode::kInvalidArgument,
                   fmt::format("{}: {} files *.safetensors and no model.safetensors.index.json that says what belongs "
                               "together: {}; give one file's path",
                               path, names.size(), printable(fmt::format("{}", fmt::join(names, ", ")), 200)));
    }
    count = own;
  }
  if (names.size() == count) return open_safetensors(folder, path, names, nullptr);
  return Error(ErrorCode::kNotFound,
               fmt::format("{}: {} of {} shards *.safetensors are there; fetch the others", path, names.size(), count));
}

Opened open_gguf_folder(Folder& folder, const std::vector<std::string>& names, const std::string& path) {
  const std::optional<PartName> part = parse_part_name(names.front(), kGguf);
  if (names.size() > 1) {
    const bool one_set = part && std::all_of(names.begin(), names.end(), [&](const std::string& name) {
                           const std::optional<PartName> other = parse_part_name(name, kGguf);
                           return other && other->stem == part->stem && other->count == part->count;
                         });
    if (!one_set) {
      return Error(ErrorCode::kInvalidArgument,
                   fmt::format("{}: {} GGUF models: {}; give one file's path", path, names.size(),
                               printable(fmt::format("{}", fmt::join(names, ", ")), 200)));
    }
  }
  if (part && part->number != 1) {
    return Error(ErrorCode::kNotFound,
                 fmt::format("{}: part 1 of {} is missing", folder.path(part->part(1)), part->count));
  }
  return open_file(folder, names.front(), folder.path(names.front()));
}

Opened open_folder(Folder& folder, const std::string& path) {
  SLUICE_ASSIGN(const std::vector<std::string> names, folder.names());
  const auto ending = [&](std::string_view end) {
    std::vector<std::string> found;
    std::copy_if(names.begin(), names.end(), std::back_inserter(found), [&](const std::string& name) {
      return name.ends_with(end) && name.front() != '.' && folder.has(name);
    });
    return found;
  };
  // The order of transformers: the single file, then the index.
  const std::vector<std::string> tensors = ending(kSafetensors);
  if (std::binary_search(tensors.begin(), tensors.end(), "model.safetensors")) {
    return open_file(folder, "model.safetensors", path);
  }
  const std::vector<std::string> indices = ending(kIndex);
  if (std::binary_search(indices.begin(), indices.end(), "model.safetensors.index.json")) {
    return open_sharded(folder, "model.safetensors.index.json", path);
  }
  if (indices.size() == 1) return open_sharded(folder, indices.front(), path);
  if (tensors.size() == 1 && !parse_part_name(tensors.front(), kSafetensors))
    return open_file(folder, tensors.front(), path);
  if (!tensors.empty()) return open_unindexed(folder, tensors, path);

  const std::vector<std::string> models = ending(kGguf);
  if (!models.empty()) return open_gguf_folder(folder, models, path);
  const bool pickles = !ending(".bin").empty() || !ending(".pt").empty() || !ending(".pth").empty();
  return Error(ErrorCode::kNotFound,
               fmt::format("{}: no *.safetensors and no *.gguf in this folder{}", path,
                           pickles ? "; PyTorch (pickle) files are not supported: convert them" : ""));
}

}  // namespace

Result<std::shared_ptr<const Checkpoint>> open_checkpoint(Env& env, const std::string& path) {
  if (env.is_directory(path)) return open_folder(*folder_of_env(env, path), path);
  const std::size_t slash = path.rfind('/');
  const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
  const std::unique_ptr<Folder> folder = folder_of_env(env, path.substr(0, name));
  SLUICE_ASSIGN(std::shared_ptr<const Checkpoint> checkpoint, open_file(*folder, path.substr(name), path));
  return checkpoint;
}

Result<std::shared_ptr<const Checkpoint>> open_checkpoint_memory(
    const std::map<std::string, std::shared_ptr<const Bytes>, std::less<>>& files, const std::string& label) {
  return open_folder(*folder_in_memory(files, label), label);
}

}  // namespace sluice
