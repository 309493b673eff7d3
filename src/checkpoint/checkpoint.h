// A checkpoint on disk (or embedded): metadata and a table of tensors, checked, but not yet understood as a model.
// Nothing in the files is trusted; every error names the file and the thing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/result.h"
#include "quant/dtype.h"

namespace sluice {

// A tensor of the file. shape is row-major, outermost dimension first: an expert stack is {E, N, K} in both file kinds
// (GGUF's own order, innermost first, is reversed on reading).
struct TensorInfo {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data;
  std::string file;  // the file it lies in, for messages

  std::int64_t elements() const;
};

// Values of GGUF metadata. Integers of every width are widened; arrays keep one element type. Large string arrays
// (tokens, merges) are views into the mapping.
using MetaArray = std::variant<std::vector<std::int64_t>, std::vector<std::uint64_t>, std::vector<double>,
                               std::vector<std::string_view>, std::vector<bool>>;
struct MetaValue {
  // nested arrays are refused on reading
  std::variant<std::int64_t, std::uint64_t, double, bool, std::string_view, MetaArray> value;
  std::string_view type_name() const;
};

enum class CheckpointKind { kGguf, kSafetensors };

// One opened checkpoint. Immutable after open; safe to share between threads. Owns the mappings that its tensors and
// string views point into.
class Checkpoint {
 public:
  virtual ~Checkpoint() = default;

  CheckpointKind kind() const { return kind_; }
  const std::string& path() const { return path_; }
  // Sum of the sizes of all files.
  std::uint64_t file_bytes() const { return file_bytes_; }

  const std::vector<TensorInfo>& tensors() const { return tensors_; }  // in file order
  const TensorInfo* find(std::string_view name) const;                 // nullptr if absent

  // GGUF: metadata by key ("llama.block_count"). Empty for safetensors.
  const std::map<std::string, MetaValue, std::less<>>& metadata() const { return metadata_; }
  // Typed look-ups; a key of another type is an Error that names file, key, wanted and found.
  // nullopt: the key is absent.
  Result<std::optional<std::uint64_t>> get_uint(std::string_view key) const;
  Result<std::optional<double>> get_float(std::string_view key) const;  // also accepts integers; NaN/Inf is an error
  Result<std::optional<bool>> get_bool(std::string_view key) const;
  Result<std::optional<std::string_view>> get_string(std::string_view key) const;
  const MetaValue* get(std::string_view key) const;

  // safetensors: config.json (null if absent), generation_config.json (null if absent). GGUF: null.
  const nlohmann::json& config() const { return config_; }
  const nlohmann::json& generation_config() const { return generation_config_; }
  // Files of the folder by name: tokenizer.json, tokenizer_config.json, chat_template.jinja ... Empty if absent.
  const std::map<std::string, std::shared_ptr<const Bytes>, std::less<>>& side_files() const { return side_files_; }

  // Things that do not stop loading but that the user should know (one line each).
  const std::vector<std::string>& warnings() const { return warnings_; }

 protected:
  CheckpointKind kind_ = CheckpointKind::kGguf;
  std::string path_;
  std::uint64_t file_bytes_ = 0;
  std::vector<TensorInfo> tensors_;
  std::map<std::string, std::size_t, std::less<>> index_;
  std::map<std::string, MetaValue, std::less<>> metadata_;
  nlohmann::json config_;
  nlohmann::json generation_config_;
  std::map<std::string, std::shared_ptr<const Bytes>, std::less<>> side_files_;
  std::vector<std::shared_ptr<const Bytes>> mappings_;
  std::vector<std::string> warnings_;
};

// Opens whatever `path` is: a .gguf file (or the first part of a split one), a .safetensors file, or a folder with
// config.json and *.safetensors (single or sharded by model.safetensors.index.json; a folder with exactly one .gguf
// or one split set opens that). The kind is told by content, not by the file's name.
Result<std::shared_ptr<const Checkpoint>> open_checkpoint(Env& env, const std::string& path);

// The same for a folder that lives in memory: file name -> bytes (the embedded model; fuzzers).
Result<std::shared_ptr<const Checkpoint>> open_checkpoint_memory(
    const std::map<std::string, std::shared_ptr<const Bytes>, std::less<>>& files, const std::string& label);

}  // namespace sluice
