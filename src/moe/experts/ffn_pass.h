// The compute core of experts, shared experts and dense FFNs: many FFNs over many rows in two parallel regions.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "cpu/thread_pool.h"
#include "kernels/kernels.h"
#include "moe/activation_format.h"
#include "moe/packed_rows.h"
#include "moe/spec.h"
#include "moe/workspace.h"

namespace sluice::moe {

// down(act(gate(x)) * up(x)) for `rows` rows. The rows of all jobs are numbered through: "positions".
struct FfnJob {
  ExpertMatrices weights;
  std::int64_t intermediate_size = 0;
  std::int64_t first = 0;  // position of the first row
  std::int64_t rows = 0;
  const std::int32_t* tokens = nullptr;  // input row of each, or null: input rows first_token, first_token + 1, ...
  std::int64_t first_token = 0;
};

// What becomes of the results. positions [rows, slots]: which position belongs in a slot, -1 for none; null (with
// slots = 1): position = row.
struct FfnOutput {
  WeightAndReduce form = WeightAndReduce::kByExperts;
  std::int64_t rows = 0;
  std::int32_t slots = 1;
  const std::int32_t* positions = nullptr;
  const float* weights = nullptr;  // [rows, slots], or null: all ones; kByExperts only
  float* out = nullptr;            // kByExperts: [rows, H]; kByFinalize: [rows * slots, H]
  std::int64_t out_stride = 0;     // floats
  bool zero_unused = true;         // kByFinalize: zero the rows of unused slots
};

// Facts of a layer that do not change between passes.
struct FfnFacts {
  std::int64_t hidden_size = 0;
  Activation activation = Activation::kSilu;
  float swiglu_alpha = 0.0F;
  float swiglu_limit = 0.0F;
  bool exact = false;  // sums over slots in fp64
};

// Two parallel regions per run:
//   moe_gate_up  items (rows of one job, tile of I): both products, biases, activation; whoever finishes the last tile
//   of
//                some rows packs them for the down product.
//   moe_down     items (tile of H): the down products of all jobs for that tile, then the sum over slots. Every item
//                costs the same however uneven the experts' loads are, and no [positions, H] buffer is needed.
// Tiles start at multiples of 16 columns; results do not depend on their size.
class FfnPass {
 public:
  FfnPass(const FfnFacts& facts, const KernelTable& kernels, ThreadPool& pool, std::shared_ptr<Workspace> workspace)
      : facts_(facts), kernels_(kernels), pool_(pool), workspace_(std::move(workspace)) {}

  // Packings that the gate and up products of these matrices want.
  ActFormatSet input_formats(const ExpertMatrices& matrices) const;
  // For callers that cut their tokens into chunks: workspace bytes of one position, and of one packed input row.
  std::int64_t bytes_per_row(std::int64_t intermediate_size) const;
  std::int64_t bytes_per_input() const;

  // Jobs lie in rising order of `first`, without gaps; input holds the input rows in every wanted packing.
  Status run(std::span<const FfnJob> jobs, const PackedRows& input, const FfnOutput& output);

  // Packs rows x [rows, H] (row_stride floats apart) in the given formats into the workspace, in a region "moe_pack".
  // Rows r with used[r] < 0 are left alone; used may be null.
  Result<PackedRows> pack(const float* x, std::int64_t rows, std::int64_t row_stride, ActFormatSet formats,
                          const std::int32_t* used = nullptr);

  const KernelTable& kernels() const { return kernels_; }
  const FfnFacts& facts() const { return facts_; }
  ThreadPool& pool() { return pool_; }
  Workspace& workspace() { return *workspace_; }

 private:
  // Some rows of one job: what is gathered once and packed together.
  struct Block {
    std::size_t job;
    std::int64_t row;  // within the job
    std::int64_t rows;
    std::int64_t first_token;  // -1: tokens are not contiguous and must be gathered
  };
  struct Item {
    std::size_t block;
    std::int64_t begin, end;  // columns of I
  };
  class BlockRows;
  // Where a job's activations lie.
  struct JobBuffers {
    float* activation;          // [rows, I]
    std::byte* packed;          // [rows] packed for the down product
    std::size_t packed_stride;  // bytes
    ActFormat format;
  };

  Status allocate_activations(std::span<const FfnJob> jobs);
  void plan_gate_up(std::span<const FfnJob> jobs);
  Status run_gate_up(std::span<const FfnJob> jobs, const PackedRows& input);
  Status run_down(std::span<const FfnJob> jobs, const FfnOutput& output);
  void gate_up_item(const FfnJob& job, const Block& block, const Item& item, BlockRows& rows, float* gate,
                    float* up) const;
  void pack_activations(const FfnJob& job, const Block& block) const;
  void emit(const FfnOutput& output, const float* tile, std::int64_t begin, std::int64_t width) const;

  FfnFacts facts_;
  const KernelTable& kernels_;
  ThreadPool& pool_;
  std::shared_ptr<Workspace> workspace_;
  // Scratch of run(), kept for its capacity.
  std::vector<Block> blocks_;
  std::vector<Item> items_;
  std::vector<JobBuffers> buffers_;
  std::unique_ptr<std::atomic<std::int32_t>[]> tiles_left_;  // per block
  std::size_t tiles_left_size_ = 0;
  std::int64_t max_block_rows_ = 0;
};

}  // namespace sluice::moe
