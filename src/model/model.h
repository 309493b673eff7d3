// A loaded model: spec, weights, one MoE layer object per layer, and the forward pass over a batch of sequences.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "cpu/isa.h"
#include "cpu/thread_pool.h"
#include "model/kv_cache.h"
#include "model/spec.h"
#include "moe/plan.h"

namespace sluice {

struct ModelOptions {
  moe::PlanWishes wishes;                // wishes.isa is the instruction set of everything
  std::function<void(double)> progress;  // 0 .. 1 while weights are bound; may be empty
};

enum class WantLogits { kNone, kLast, kAll };  // of a sequence's new tokens

// New tokens of one sequence; they go behind what its cache holds.
struct SequenceTokens {
  KvCache* cache = nullptr;
  std::span<const std::int32_t> tokens;
  WantLogits want = WantLogits::kLast;
};

// Final routing of one layer for the tokens of a batch, in batch order; arrays are [tokens, top_k], by falling weight.
using LayerRoutingObserver = std::function<void(std::int64_t layer, std::int64_t tokens, std::int32_t top_k,
                                                const moe::GlobalExpert* ids, const float* weights)>;

// Logits of batch row `row` (rows of all sequences one after the other), [vocab]; valid during the call only.
using LogitsSink = std::function<void(std::int64_t row, std::span<const float> logits)>;

// Weights are immutable and shared; the object owns workspaces, so one forward at a time.
class Model {
 public:
  static Result<std::unique_ptr<Model>> load(std::shared_ptr<const Checkpoint> checkpoint, const ModelOptions& options,
                                             ThreadPool& pool);
  virtual ~Model() = default;

  virtual const ModelSpec& spec() const = 0;
  virtual const Checkpoint& checkpoint() const = 0;
  // The plan of a layer with experts; nullptr for dense layers.
  virtual const moe::Plan* plan(std::size_t layer) const = 0;
  virtual const std::vector<std::string>& unused_tensors() const = 0;
  // Bytes of weights that were converted at load (not views into the mapping).
  virtual std::size_t converted_bytes() const = 0;

  // Runs the tokens of all sequences as one batch and commits them to their caches: matrix products and experts over
  // all rows together, attention per sequence. On an error nothing is committed. Errors: kInvalidArgument (token id out
  // of range, one cache twice), kResource (context full), kCorrupt (the weights gave NaN or infinity; names the
  // tensor). In scalar mode the bits depend neither on the split of a sequence into batches nor on the other sequences.
  virtual Status forward(std::span<const SequenceTokens> batch, const LogitsSink& sink,
                         const LayerRoutingObserver& routing) = 0;
};

}  // namespace sluice
