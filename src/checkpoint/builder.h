// CheckpointBuilder: a Checkpoint while it is being filled by the readers of the formats.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "checkpoint/checkpoint.h"

namespace sluice {

using MetadataMap = std::map<std::string, MetaValue, std::less<>>;

// Not thread-safe; becomes an immutable Checkpoint by finish().
class CheckpointBuilder final : public Checkpoint {
 public:
  CheckpointBuilder(CheckpointKind kind, std::string path) {
    kind_ = kind;
    path_ = std::move(path);
  }

  // Adds a file of weights and what it holds. The data of the tensors point into `bytes`, which is kept.
  // Error kResource: more tensors than kMaxTensors.
  Status add_file(std::shared_ptr<const Bytes> bytes, std::vector<TensorInfo> tensors);

  void set_metadata(MetadataMap metadata) { metadata_ = std::move(metadata); }
  void set_config(nlohmann::json config) { config_ = std::move(config); }
  void set_generation_config(nlohmann::json config) { generation_config_ = std::move(config); }
  void add_side_file(const std::string& name, std::shared_ptr<const Bytes> bytes) {
    side_files_[name] = std::move(bytes);
  }
  void warn(std::string line) { warnings_.push_back(std::move(line)); }

  // Indexes the tensors by name. Error kCorrupt: a name that appears twice.
  Status finish();
};

// Holds the tensors of one file to the rule that no byte belongs to two of them. O(n log n).
// Error kCorrupt: names both tensors.
Status check_no_overlap(const std::vector<TensorInfo>& tensors);

}  // namespace sluice
