// GGUF, versions 2 and 3, little-endian. Layout: the GGUF specification (github.com/ggml-org/ggml, docs/gguf.md):
// magic, version, counts, metadata pairs, tensor descriptions, padding, data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "checkpoint/builder.h"
#include "checkpoint/byte_reader.h"
#include "checkpoint/folder.h"

namespace sluice {

// One file as read; strings of the metadata and data of the tensors are views into its bytes.
struct GgufFile {
  std::uint32_t version = 0;
  MetadataMap metadata;
  std::vector<TensorInfo> tensors;  // as in the file; names are not yet known to be unique
};

// Whether the bytes begin with GGUF's magic.
bool is_gguf(std::span<const std::byte> bytes);

// Reads and checks everything in front of the data, and where the data lie. `file` is the path for messages.
// Errors: kCorrupt; kUnsupported for versions, byte orders and types of tensors that this build does not read;
// kResource where a bound of limits.h would be passed.
Result<GgufFile> parse_gguf(std::span<const std::byte> bytes, const std::string& file);

// The metadata pairs (gguf_metadata.cc). The reader stands behind the header; afterwards at the tensor descriptions.
Result<MetadataMap> read_gguf_metadata(ByteReader& reader, std::uint64_t count, const std::string& file);

// The tensor descriptions (gguf_tensors.cc). The reader stands behind the metadata; data begins at the next multiple of
// `alignment` (a power of two).
Result<std::vector<TensorInfo>> read_gguf_tensors(ByteReader& reader, std::uint64_t count, std::uint64_t alignment,
                                                  std::span<const std::byte> bytes, const std::string& file);

// Opens `name`, whose bytes are given, and the other parts of the model if it is the first of several.
Result<std::shared_ptr<const Checkpoint>> open_gguf(Folder& folder, const std::string& name,
                                                    std::shared_ptr<const Bytes> bytes);

}  // namespace sluice
