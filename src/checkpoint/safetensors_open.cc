// A safetensors model: its shards, its configuration and the files beside them.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "checkpoint/json_text.h"
#include "checkpoint/part_name.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/text.h"

namespace sluice {
namespace {

// What other layers read, under the names that Hugging Face gives them.
constexpr std::array kSideFiles = {
    "tokenizer.json",      "tokenizer.json.gz",  "tokenizer_config.json",
    "chat_template.jinja", "chat_template.json", "special_tokens_map.json",
    "added_tokens.json",   "tokenizer.model",    "tiktoken.model",
    "vocab.json",          "merges.txt",
};

Result<nlohmann::json> read_config(Folder& folder, const std::string& name) {
  if (!folder.has(name)) return nlohmann::json();
  SLUICE_ASSIGN(const std::shared_ptr<const Bytes> bytes, folder.open(name));
  return parse_json_object(bytes->span(), folder.path(name));
}

// The file that the index puts a tensor in; nullopt if it does not mention it.
std::optional<std::uint32_t> indexed_file(const SafetensorsIndex& index, const std::string& name) {
  const auto it = std::lower_bound(index.tensors.begin(), index.tensors.end(), name,
                                   [](const auto& entry, const std::string& wanted) { return entry.first < wanted; });
  if (it == index.tensors.end() || it->first != name) return std::nullopt;
  return it->second;
}

// Every tensor that the index names must be there.
Status check_index(Folder& folder, const SafetensorsIndex& index, const Checkpoint& checkpoint) {
  for (const auto& [name, file] : index.tensors) {
    if (checkpoint.find(name) == nullptr) {
      return Error(ErrorCode::kCorrupt,
                   fmt::format("{}: tensor {} is missing, but the index says that it is in this file",
                               folder.path(index.files[file]), printable(name)));
    }
  }
  return Status::success();
}

}  // namespace

Result<std::shared_ptr<const Checkpoint>> open_safetensors(Folder& folder, const std::string& path,
                                                           const std::vector<std::string>& names,
                                                           const SafetensorsIndex* index,
                                                           std::shared_ptr<const Bytes> first) {
  auto builder = std::make_shared<CheckpointBuilder>(CheckpointKind::kSafetensors, path);
  if (const auto shard = parse_part_name(names.front(), ".safetensors");
      index == nullptr && shard && names.size() < shard->count) {
    builder->warn(fmt::format("{}: shard {} of {}, opened alone; give the folder to open all",
                              folder.path(names.front()), shard->number, shard->count));
  }
  std::size_t not_indexed = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string file = folder.path(names[i]);
    std::shared_ptr<const Bytes> bytes = i == 0 ? std::move(first) : nullptr;
    if (bytes == nullptr) {
      if (names.size() > 1 && !folder.has(names[i])) {
        return Error(ErrorCode::kNotFound,
                     fmt::format("{}: this shard ({} of {}) is missing; all shards must lie in one "
                                 "folder",
                                 file, i + 1, names.size()));
      }
      SLUICE_ASSIGN(bytes, folder.open(names[i]));
    }
    SLUICE_ASSIGN(SafetensorsFile parsed, parse_safetensors(bytes->span(), file));
    if (parsed.unused_bytes != 0) {
      builder->warn(fmt::format("{}: {} bytes of data belong to no tensor", file, parsed.unused_bytes));
    }
    if (index != nullptr) {
      // Where two shards hold a tensor of one name, the index says which counts.
      std::erase_if(parsed.tensors, [&](const TensorInfo& tensor) {
        const std::optional<std::uint32_t> wanted = indexed_file(*index, tensor.name);
        if (!wanted) ++not_indexed;
        return wanted && index->files[*wanted] != names[i];
      });
    }
    SLUICE_TRY(builder->add_file(std::move(bytes), std::move(parsed.tensors)));
  }
  SLUICE_TRY(builder->finish());
  if (index != nullptr) SLUICE_TRY(check_index(folder, *index, *builder));
  if (not_indexed != 0) builder->warn(fmt::format("{}: {} tensor(s) that the index does not name", path, not_indexed));

  SLUICE_ASSIGN(nlohmann::json config, read_config(folder, "config.json"));
  SLUICE_ASSIGN(nlohmann::json generation_config, read_config(folder, "generation_config.json"));
  builder->set_config(std::move(config));
  builder->set_generation_config(std::move(generation_config));
  for (const char* name : kSideFiles) {
    if (!folder.has(name)) continue;
    SLUICE_ASSIGN(std::shared_ptr<const Bytes> bytes, folder.open(name));
    builder->add_side_file(name, std::move(bytes));
  }
  return std::shared_ptr<const Checkpoint>(std::move(builder));
}

}  // namespace sluice
