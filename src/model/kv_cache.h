// The KV cache of one sequence: fp32 rows in blocks of positions, grown as the sequence grows.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "model/spec.h"

namespace sluice {

// Not thread-safe, but different layers' rows may be written from different threads after reserve().
class KvCache {
 public:
  // Positions per block. Attention sums block by block, so this also fixes the order of its sums.
  static constexpr std::int64_t kBlock = 256;

  KvCache(const ModelSpec& spec, std::int64_t max_positions);

  std::int64_t length() const { return length_; }
  std::int64_t max_positions() const { return max_positions_; }
  // kResource if `count` more positions do not fit into the context.
  Status check_room(std::int64_t count) const;
  // Makes rows [length, length + count) writable. kResource if the context is full or memory runs out.
  Status reserve(std::int64_t count);
  // The rows written since become part of the sequence.
  void commit(std::int64_t count) { length_ += count; }
  // Forgets all positions from `length` on.
  void truncate(std::int64_t length);

  // Row of a position: keys then values (GQA) or latent then rotated key (MLA); see AttentionSpec::cache_row().
  float* row(std::size_t layer, std::int64_t position) {
    return blocks_[layer][static_cast<std::size_t>(position / kBlock)].get() + position % kBlock * row_floats_[layer];
  }
  const float* row(std::size_t layer, std::int64_t position) const {
    return blocks_[layer][static_cast<std::size_t>(position / kBlock)].get() + position % kBlock * row_floats_[layer];
  }
  std::int64_t row_floats(std::size_t layer) const { return row_floats_[layer]; }

  // Bytes per position of all layers together.
  static std::int64_t bytes_per_position(const ModelSpec& spec);
  std::int64_t bytes() const;

 private:
  std::int64_t max_positions_;
  std::int64_t length_ = 0;
  std::vector<std::int64_t> row_floats_;
  std::vector<std::vector<std::unique_ptr<float[]>>> blocks_;  // [layer][block]
};

}  // namespace sluice
