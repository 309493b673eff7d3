// Models split over several GGUF files, as llama.cpp's gguf-split writes them: every part has the keys split.no (from
// 0), split.count and split.tensors.count; all other metadata are in the first.
#include <utility>

#include <fmt/format.h>

#include "checkpoint/gguf.h"
#include "checkpoint/part_name.h"

namespace sluice {
namespace {

constexpr std::string_view kEnding = ".gguf";

// What a part says of itself.
struct SplitKeys {
  std::uint64_t number;  // from 0
  std::uint64_t count;
  std::uint64_t tensors;  // of all parts
};

Result<std::optional<std::uint64_t>> find_uint(const MetadataMap& metadata, std::string_view key,
                                               const std::string& file) {
  const auto it = metadata.find(key);
  if (it == metadata.end()) return std::optional<std::uint64_t>();
  if (const auto* value = std::get_if<std::uint64_t>(&it->second.value)) return std::optional(*value);
  if (const auto* value = std::get_if<std::int64_t>(&it->second.value); value != nullptr && *value >= 0) {
    return std::optional(static_cast<std::uint64_t>(*value));
  }
  return Error(ErrorCode::kCorrupt, fmt::format("{}: metadata key {} is {}, wanted an integer that is not negative",
                                                file, key, it->second.type_name()));
}

Result<std::uint64_t> need_uint(const MetadataMap& metadata, std::string_view key, const std::string& file) {
  SLUICE_ASSIGN(const std::optional<std::uint64_t> value, find_uint(metadata, key, file));
  if (!value) {
    return Error(ErrorCode::kCorrupt,
                 fmt::format("{}: metadata key {} is missing in this part of a split model", file, key));
  }
  return *value;
}

// nullopt: the file is a whole model.
Result<std::optional<SplitKeys>> read_split_keys(const MetadataMap& metadata, const std::string& file) {
  SLUICE_ASSIGN(const std::optional<std::uint64_t> count, find_uint(metadata, "split.count", file));
  if (!count || *count <= 1) return std::optional<SplitKeys>();
  SplitKeys keys = {0, *count, 0};
  SLUICE_ASSIGN(keys.number, need_uint(metadata, "split.no", file));
  SLUICE_ASSIGN(keys.tensors, need_uint(metadata, "split.tensors.count", file));
  return std::optional(keys);
}

// Holds the keys of a part to the name of its file.
Status check_part(const SplitKeys& keys, const PartName& name, const std::string& file) {
  if (keys.count != name.count) {
    return Error(ErrorCode::kCorrupt,
                 fmt::format("{}: split.count is {}, but the file's name says {} parts", file, keys.count, name.count));
  }
  if (keys.number != name.number - 1) {
    return Error(ErrorCode::kCorrupt,
                 fmt::format("{}: split.no is {}, wanted {}: the file's name says part {} of {}; get the part again",
                             file, keys.number, name.number - 1, name.number, name.count));
  }
  return Status::success();
}

// Reads part n (from 2) and adds its tensors. The caller adds the first part's path to errors.
Status add_part(Folder& folder, const PartName& first, std::uint32_t n, const SplitKeys& keys,
                CheckpointBuilder& builder) {
  const std::string name = first.part(n);
  const std::string file = folder.path(name);
  if (!folder.has(name)) {
    return Error(ErrorCode::kNotFound,
                 fmt::format("part {} of {}, {}, is missing; all parts must lie in one folder", n, first.count, file));
  }
  SLUICE_ASSIGN(std::shared_ptr<const Bytes> bytes, folder.open(name));
  SLUICE_ASSIGN(GgufFile part, parse_gguf(bytes->span(), file));
  SLUICE_ASSIGN(const std::optional<SplitKeys> own, read_split_keys(part.metadata, file));
  if (!own) {
    return Error(ErrorCode::kCorrupt,
                 fmt::format("{}: metadata key split.count is missing: not part {} of a split model", file, n));
  }
  SLUICE_TRY(check_part(*own, {first.stem, n, first.count, first.ending}, file));
  if (own->tensors != keys.tensors) {
    return Error(ErrorCode::kCorrupt,
                 fmt::format("{}: split.tensors.count is {}, but {} in the first part; it belongs to another model",
                             file, own->tensors, keys.tensors));
  }
  return builder.add_file(std::move(bytes), std::move(part.tensors));
}

Status add_other_parts(Folder& folder, const PartName& first, const SplitKeys& keys, CheckpointBuilder& builder) {
  for (std::uint32_t n = 2; n <= first.count; ++n) {
    const Status added = add_part(folder, first, n, keys, builder);
    if (!added.ok()) return added.error().with_context(builder.path());
  }
  if (builder.tensors().size() == keys.tensors) return Status::success();
  return Error(ErrorCode::kCorrupt,
               fmt::format("{}: the {} parts hold {} tensors, but split.tensors.count is {}; a part belongs to another "
                           "model",
                           builder.path(), first.count, builder.tensors().size(), keys.tensors));
}

}  // namespace

Result<std::shared_ptr<const Checkpoint>> open_gguf(Folder& folder, const std::string& name,
                                                    std::shared_ptr<const Bytes> bytes) {
  const std::string file = folder.path(name);
  SLUICE_ASSIGN(GgufFile parsed, parse_gguf(bytes->span(), file));
  SLUICE_ASSIGN(const std::optional<SplitKeys> keys, read_split_keys(parsed.metadata, file));
  const std::optional<PartName> part = parse_part_name(name, kEnding);

  auto builder = std::make_shared<CheckpointBuilder>(CheckpointKind::kGguf, file);
  if (keys) {
    if (!part) {
      return Error(
          ErrorCode::kInvalidArgument,
          fmt::format("{}: part {} of a model split in {}, but its name does not end in -{:05}-of-{:05}.gguf, so "
                      "the other parts cannot be found; give the parts their names back",
                      file, keys->number + 1, keys->count, keys->number + 1, keys->count));
    }
    SLUICE_TRY(check_part(*keys, *part, file));
    if (part->number != 1) {
      return Error(ErrorCode::kInvalidArgument,
                   fmt::format("{}: part {} of {} of a split model; open the first part, {}", file, part->number,
                               part->count, folder.path(part->part(1))));
    }
  } else if (part && part->count > 1) {
    builder->warn(fmt::format("{}: named as part {} of {}, but without split.count: taken for a whole model", file,
                              part->number, part->count));
  }
  SLUICE_TRY(builder->add_file(std::move(bytes), std::move(parsed.tensors)));
  builder->set_metadata(std::move(parsed.metadata));
  if (keys) SLUICE_TRY(add_other_parts(folder, *part, *keys, *builder));
  SLUICE_TRY(builder->finish());
  return std::shared_ptr<const Checkpoint>(std::move(builder));
}

}  // namespace sluice
