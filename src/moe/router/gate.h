// The gate: the router's matrix product over a batch, then the routing of each token, in one parallel region.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "cpu/thread_pool.h"
#include "kernels/kernels.h"
#include "moe/packed_rows.h"
#include "moe/router/router.h"
#include "moe/workspace.h"
#include "quant/weight_view.h"

namespace sluice::moe {

// The region "moe_router" also does what else must happen once per token before the experts start: packing their input
// rows and the shared expert's gate. So routing costs a single barrier, for one token as for a thousand: the experts'
// dimension is cut where tokens are few, and whoever finishes the last piece of some tokens' logits routes them.
class Gate {
 public:
  struct Weights {
    WeightView router;                  // [E, H]
    const float* logit_bias = nullptr;  // [E] or null
    WeightView shared_gate;             // [1, H] or empty
  };
  // Where results go. packed: rows to fill for the experts, in `formats`; may be empty.
  struct Output {
    GlobalExpert* ids = nullptr;      // [tokens, top_k]
    float* weights = nullptr;         // [tokens, top_k]
    float* shared_weights = nullptr;  // [tokens], sigmoid of the shared gate; null without one
    ActFormatSet formats;
    PackedRows packed;
  };

  Gate(const Router& router, const Weights& weights, std::int64_t hidden_size, bool exact, const KernelTable& kernels,
       ThreadPool& pool, std::shared_ptr<Workspace> workspace);

  // x [tokens, hidden_size], contiguous. The caller holds the workspace.
  Status run(const float* x, std::int64_t tokens, const Output& output);

  const Router& router() const { return router_; }

 private:
  struct Chunk;
  Status run_chunk(const float* x, std::int64_t tokens, const Output& output);
  void gate_item(const Chunk& chunk, std::int64_t block, std::int64_t piece, int thread);

  Router router_;
  Weights weights_;
  std::int64_t hidden_size_;
  bool exact_;
  const KernelTable& kernels_;
  ThreadPool& pool_;
  std::shared_ptr<Workspace> workspace_;
  ActFormatSet own_formats_;                                  // packings of the router's and the shared gate's products
  std::vector<Router::Scratch> scratch_;                      // per thread
  std::unique_ptr<std::atomic<std::int32_t>[]> pieces_left_;  // per block of tokens
  std::int64_t pieces_left_size_ = 0;
};

}  // namespace sluice::moe
