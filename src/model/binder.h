// Binder: finds a checkpoint's tensors by name, checks type and shape, and hands out views; small vectors become fp32.
// It remembers what was asked for, so that tensors nobody used are reported instead of dropped in silence.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "quant/weight_view.h"

namespace sluice {

// Memory that weights converted at load live in: 64-byte aligned blocks, freed with the model.
class WeightArena {
 public:
  std::byte* allocate(std::size_t bytes);
  float* floats(std::size_t count) { return reinterpret_cast<float*>(allocate(count * sizeof(float))); }
  std::size_t allocated() const { return allocated_; }

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::vector<std::unique_ptr<std::byte[], Free>> blocks_;
  std::size_t allocated_ = 0;
};

// Not thread-safe; used while loading.
class Binder {
 public:
  Binder(const Checkpoint& checkpoint, WeightArena& arena);

  bool has(std::string_view name) const { return checkpoint_.find(name) != nullptr; }
  const Checkpoint& checkpoint() const { return checkpoint_; }
  WeightArena& arena() { return arena_; }

  // The tensor by its full name, marked as used. Error kCorrupt naming file and tensor if absent.
  Result<const TensorInfo*> tensor(const std::string& name);
  // A matrix [rows, cols] by full name ("blk.0.attn_q.weight"), with its FP8 or NVFP4 scales.
  Result<WeightView> matrix(const std::string& name, std::int64_t rows, std::int64_t cols);
  // `count` matrices in one tensor [count, rows, cols].
  Result<std::vector<WeightView>> stack(const std::string& name, std::int64_t count, std::int64_t rows,
                                        std::int64_t cols);
  // A vector of n values as fp32 (in place where the file has aligned F32).
  Result<const float*> vector(const std::string& name, std::int64_t n);
  // A [count, n] tensor as fp32.
  Result<const float*> table(const std::string& name, std::int64_t count, std::int64_t n);

  // Names of tensors that nothing asked for, without those below `skip_prefixes`.
  std::vector<std::string> unused(const std::vector<std::string>& skip_prefixes) const;

  Error shape_error(const TensorInfo& tensor, const std::string& wanted) const;

 private:
  Result<WeightView> view(const TensorInfo& tensor, std::int64_t rows, std::int64_t cols, std::size_t offset);
  Status attach_scales(const TensorInfo& tensor, std::int64_t count, std::vector<WeightView>& views);
  Result<const float*> floats(const TensorInfo& tensor);

  const Checkpoint& checkpoint_;
  WeightArena& arena_;
  std::set<std::string, std::less<>> used_;
};

}  // namespace sluice
