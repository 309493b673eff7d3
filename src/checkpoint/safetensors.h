// safetensors: one file, and models sharded over several by an index. Layout: github.com/huggingface/safetensors: the
// length of the header (8 bytes, little-endian), the header (JSON), data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "checkpoint/builder.h"
#include "checkpoint/folder.h"

namespace sluice {

struct SafetensorsFile {
  std::vector<TensorInfo> tensors;  // in the order of the header; data are views into the file's bytes
  std::uint64_t unused_bytes = 0;   // of the data: gaps, and what follows the last tensor
};

// Whether the bytes look like a safetensors file: a header that fits and begins with a brace.
bool is_safetensors(std::span<const std::byte> bytes);

// Reads and checks the header and where the data lie. `file` is the path for messages.
// Errors: kCorrupt; kUnsupported for known element types that this build does not read; kResource for a header or a
// number of tensors past the bounds of limits.h.
Result<SafetensorsFile> parse_safetensors(std::span<const std::byte> bytes, const std::string& file);

// Which file each tensor of a sharded model is in.
struct SafetensorsIndex {
  std::vector<std::string> files;                              // sorted, each once
  std::vector<std::pair<std::string, std::uint32_t>> tensors;  // name and index into files, sorted by name
};
// Reads model.safetensors.index.json. Errors: kCorrupt; kInvalidArgument for file names that leave the folder.
Result<SafetensorsIndex> parse_safetensors_index(std::string_view text, const std::string& file);

// Opens `names` (the shards of one model; bytes[i] may be given for those that are open already, else null) with the
// folder's configuration and side files. `path` is what the user asked for; `index` may be null.
Result<std::shared_ptr<const Checkpoint>> open_safetensors(Folder& folder, const std::string& path,
                                                           const std::vector<std::string>& names,
                                                           const SafetensorsIndex* index,
                                                           std::shared_ptr<const Bytes> first = nullptr);

}  // namespace sluice
