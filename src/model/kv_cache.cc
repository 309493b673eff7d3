#include "model/kv_cache.h"

#include <new>

#include <fmt/format.h>

namespace sluice {

KvCache::KvCache(const ModelSpec& spec, std::int64_t max_positions) : max_positions_(max_positions) {
  for (const LayerSpec& layer : spec.layers) row_floats_.push_back(layer.attention.cache_row());
  blocks_.resize(spec.layers.size());
}

Status KvCache::check_room(std::int64_t count) const {
  const std::int64_t wanted = length_ + count;
  if (wanted > max_positions_) {
    return Error(
        ErrorCode::kResource,
        fmt::format("the context is full: {} tokens wanted, room for {}; raise --ctx-size", wanted, max_positions_));
  }
  return Status::success();
}

Status KvCache::reserve(std::int64_t count) {
  SLUICE_TRY(check_room(count));
  const std::int64_t wanted = length_ + count;
  const auto needed = static_cast<std::size_t>((wanted + kBlock - 1) / kBlock);
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
    while (blocks_[layer].size() < needed) {
      auto* block = new (std::nothrow) float[static_cast<std::size_t>(kBlock * row_floats_[layer])];
      if (block == nullptr) {
        return Error(ErrorCode::kResource, fmt::format("out of memory for the KV cache at {} tokens", wanted));
      }
      blocks_[layer].emplace_back(block);
    }
  }
  return Status::success();
}

void KvCache::truncate(std::int64_t length) {
  if (length >= length_) return;
  length_ = length;
  const auto needed = static_cast<std::size_t>((length + kBlock - 1) / kBlock);
  for (auto& blocks : blocks_) {
    if (blocks.size() > needed) blocks.resize(needed);
  }
}

std::int64_t KvCache::bytes_per_position(const ModelSpec& spec) {
  std::int64_t floats = 0;
  for (const LayerSpec& layer : spec.layers) floats += layer.attention.cache_row();
  return floats * static_cast<std::int64_t>(sizeof(float));
}

std::int64_t KvCache::bytes() const {
  std::int64_t floats = 0;
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
    floats += static_cast<std::int64_t>(blocks_[layer].size()) * kBlock * row_floats_[layer];
  }
  return floats * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace sluice
