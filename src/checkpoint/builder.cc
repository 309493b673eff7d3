#include "checkpoint/builder.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>

#include <fmt/format.h>

#include "checkpoint/limits.h"

namespace sluice {

Status CheckpointBuilder::add_file(std::shared_ptr<const Bytes> bytes, std::vector<TensorInfo> tensors) {
  if (tensors.size() > kMaxTensors - tensors_.size()) {
    return Error(ErrorCode::kResource, fmt::format("{}: more than {} tensors", path_, kMaxTensors));
  }
  file_bytes_ += bytes->span().size();
  mappings_.push_back(std::move(bytes));
  if (tensors_.empty()) {
    tensors_ = std::move(tensors);
  } else {
    // Doubling as vectors do, but not past the bound.
    const std::size_t needed = tensors_.size() + tensors.size();
    if (needed > tensors_.capacity()) tensors_.reserve(std::min(std::max(needed, 2 * tensors_.size()), kMaxTensors));
    tensors_.insert(tensors_.end(), std::make_move_iterator(tensors.begin()), std::make_move_iterator(tensors.end()));
  }
  return Status::success();
}

Status CheckpointBuilder::finish() {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const TensorInfo& tensor = tensors_[i];
    const auto [it, inserted] = index_.emplace(tensor.name, i);
    if (inserted) continue;
    const TensorInfo& first = tensors_[it->second];
    if (first.file == tensor.file) {
      return Error(ErrorCode::kCorrupt, fmt::format("{}: tensor {} appears twice", tensor.file, tensor.name));
    }
    return Error(ErrorCode::kCorrupt, fmt::format("{}: tensor {} is also in {}; the files do not belong together",
                                                  tensor.file, tensor.name, first.file));
  }
  return Status::success();
}

Status check_no_overlap(const std::vector<TensorInfo>& tensors) {
  std::vector<const TensorInfo*> by_address;
  by_address.reserve(tensors.size());
  for (const TensorInfo& tensor : tensors) {
    if (!tensor.data.empty()) by_address.push_back(&tensor);
  }
  const auto begins_before = [](const TensorInfo* a, const TensorInfo* b) { return a->data.data() < b->data.data(); };
  std::stable_sort(by_address.begin(), by_address.end(), begins_before);
  for (std::size_t i = 1; i < by_address.size(); ++i) {
    const TensorInfo& before = *by_address[i - 1];
    const TensorInfo& tensor = *by_address[i];
    if (before.data.data() + before.data.size() > tensor.data.data()) {
      return Error(ErrorCode::kCorrupt,
                   fmt::format("{}: the data of tensors {} and {} overlap", tensor.file, before.name, tensor.name));
    }
  }
  return Status::success();
}

}  // namespace sluice
