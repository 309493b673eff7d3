// Workspaces and the pieces of the forward pass; private to the model layer.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cpu/thread_pool.h"
#include "kernels/kernels.h"
#include "model/kv_cache.h"
#include "model/rope.h"
#include "model/spec.h"
#include "model/weights.h"

namespace sluice {

// A buffer that only grows: 64-byte aligned, contents undefined after resize().
template <typename T>
class Scratch {
 public:
  T* resize(std::int64_t count) {
    if (count > capacity_) {
      data_.reset(static_cast<T*>(::operator new[](static_cast<std::size_t>(count) * sizeof(T), std::align_val_t{64})));
      capacity_ = count;
    }
    return data_.get();
  }
  T* get() const { return data_.get(); }

 private:
  struct Free {
    void operator()(T* p) const { ::operator delete[](p, std::align_val_t{64}); }
  };
  std::unique_ptr<T[], Free> data_;
  std::int64_t capacity_ = 0;
};

// One matrix applied to the rows of an activation: out[T, W.rows] = x W^T + bias.
struct Projection {
  const WeightView* weight;
  const float* bias;  // may be null
  float* out;
};

// Products of one activation with several matrices, in one parallel region; x is packed once per format.
class Projector {
 public:
  Projector(const KernelTable& kernels, ThreadPool& pool) : kernels_(kernels), pool_(pool) {}
  // x [rows, cols], contiguous. All weights have `cols` columns. `region` is a string literal.
  void run(const char* region, const float* x, std::int64_t rows, std::int64_t cols,
           std::span<const Projection> projections);

 private:
  const KernelTable& kernels_;
  ThreadPool& pool_;
  Scratch<std::byte> packed_[2];  // by ActFormat
};

// A row of the batch: which cache, at which position.
struct BatchRow {
  KvCache* cache;
  std::int64_t position;
};

// Attention of one layer over a batch: x [T, H] (already normalised) -> out [T, H]; writes the rows' keys and values.
class Attention {
 public:
  Attention(const KernelTable& kernels, ThreadPool& pool, const Rope& rope, std::int64_t hidden, float eps)
      : kernels_(kernels), pool_(pool), rope_(rope), hidden_(hidden), eps_(eps), projector_(kernels, pool) {}

  // Once per batch: cos and sin of all rows.
  void prepare(std::span<const BatchRow> rows);
  void run(std::size_t layer, const AttentionSpec& spec, const AttentionWeights& weights, const float* x,
           std::span<const BatchRow> rows, float* out);

 private:
  void run_gqa(std::size_t layer, const AttentionSpec& spec, const AttentionWeights& weights, const float* x,
               std::span<const BatchRow> rows);
  void run_mla(std::size_t layer, const AttentionSpec& spec, const AttentionWeights& weights, const float* x,
               std::span<const BatchRow> rows);
  // Scores, softmax and weighted values of all rows and heads. q is [T, heads, key_dim]; out [T, heads, value_dim].
  // Keys of kv head g start at g * key_dim of a cache row, values at value_offset + g * value_dim.
  void attend(std::size_t layer, const AttentionSpec& spec, const float* sinks, const float* q, std::int64_t key_dim,
              std::int64_t kv_heads, std::int64_t value_offset, std::int64_t value_dim, std::span<const BatchRow> rows,
              float* out);

  const float* cos(std::size_t row) const { return angles_.get() + row * static_cast<std::size_t>(rope_.dim()); }
  const float* sin(std::size_t row) const { return cos(row) + rope_.dim() / 2; }

  const KernelTable& kernels_;
  ThreadPool& pool_;
  const Rope& rope_;
  std::int64_t hidden_;
  float eps_;
  Projector projector_;
  Scratch<float> angles_, q_, kv_, q_latent_, heads_out_, latent_out_, q_a_;
  std::vector<Scratch<float>> scores_;      // per thread
  std::vector<Scratch<std::byte>> packed_;  // per thread
};

}  // namespace sluice
