#include "moe/experts/ffn_pass.h"

#include <algorithm>
#include <cstring>

#include "moe/weighted_sum.h"

namespace sluice::moe {
namespace {

// Tiles start at multiples of this: kernels that treat the tail of a vector differently see the same lanes whatever
// the tile size.
constexpr std::int64_t kTileStep = 16;
constexpr std::int64_t kMaxTile = 256;
// Floats of one gate (or up) tile: stays in the second-level cache beside the weights that stream through.
constexpr std::int64_t kGateTileFloats = 16384;
// Gathered rows of a block: about half of a second-level cache.
constexpr std::int64_t kGatherBytes = std::int64_t{512} << 10;
constexpr std::int64_t kMaxBlockRows = 128;
constexpr std::int64_t kMinBlockRows = 16;
// Floats of a thread's [positions, tile of H].
constexpr std::int64_t kDownTileFloats = std::int64_t{256} << 10;
// Items per thread: enough that an uneven end costs a few per cent.
constexpr std::int64_t kItemsPerThread = 8;
// A tile costs its rows plus the reading and decoding of its weights, which is worth about this many rows.
constexpr std::int64_t kWeightCostRows = 8;

std::int64_t round_up(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }

void add_bias(const float* bias, std::int64_t n, float* y) {
  if (bias == nullptr) return;
  for (std::int64_t i = 0; i < n; ++i) y[i] += bias[i];
}

const float* offset(const float* values, std::int64_t by) { return values == nullptr ? nullptr : values + by; }

}  // namespace

ActFormatSet FfnPass::input_formats(const ExpertMatrices& matrices) const {
  ActFormatSet formats;
  formats.add(kernels_.act_format(matrices.gate.dtype));
  formats.add(kernels_.act_format(matrices.up.dtype));
  return formats;
}

std::int64_t FfnPass::bytes_per_row(std::int64_t intermediate_size) const {
  const auto down_tiles = pool_.size() * kTileStep * static_cast<std::int64_t>(sizeof(float));
  return intermediate_size * static_cast<std::int64_t>(sizeof(float)) +
         static_cast<std::int64_t>(kernels_.packed_row_bytes(ActFormat::kF32, intermediate_size)) + down_tiles;
}

std::int64_t FfnPass::bytes_per_input() const {
  return static_cast<std::int64_t>(kActFormatCount * kernels_.packed_row_bytes(ActFormat::kF32, facts_.hidden_size));
}

Result<PackedRows> FfnPass::pack(const float* x, std::int64_t rows, std::int64_t row_stride, ActFormatSet formats,
                                 const std::int32_t* used) {
  SLUICE_ASSIGN(const PackedRows packed, packed_buffers(kernels_, *workspace_, rows, facts_.hidden_size, formats));
  pool_.parallel_for("moe_pack", rows, 4, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t r = begin; r < end; ++r) {
      if (used != nullptr && used[r] < 0) continue;
      pack_row(kernels_, x + r * row_stride, facts_.hidden_size, formats, packed, r);
    }
  });
  return packed;
}

Status FfnPass::run(std::span<const FfnJob> jobs, const PackedRows& input, const FfnOutput& output) {
  if (output.rows == 0) return Status::success();
  SLUICE_TRY(allocate_activations(jobs));
  plan_gate_up(jobs);
  SLUICE_TRY(run_gate_up(jobs, input));
  return run_down(jobs, output);
}

Status FfnPass::allocate_activations(std::span<const FfnJob> jobs) {
  std::int64_t floats = 0;
  std::size_t bytes = 0;
  buffers_.clear();
  for (const FfnJob& job : jobs) {
    const ActFormat format = kernels_.act_format(job.weights.down.dtype);
    const std::size_t stride = kernels_.packed_row_bytes(format, job.intermediate_size);
    buffers_.push_back({nullptr, nullptr, stride, format});
    floats += job.rows * job.intermediate_size;
    bytes += static_cast<std::size_t>(job.rows) * stride;
  }
  SLUICE_ASSIGN(float* activation, workspace_->get<float>(Workspace::Slot::kActivation, floats));
  SLUICE_ASSIGN(std::byte * packed, workspace_->get(Workspace::Slot::kPackedActivation, bytes));
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    buffers_[j].activation = activation;
    buffers_[j].packed = packed;
    activation += jobs[j].rows * jobs[j].intermediate_size;
    packed += static_cast<std::size_t>(jobs[j].rows) * buffers_[j].packed_stride;
  }
  return Status::success();
}

// Cuts the jobs into items of about equal cost, the largest blocks first so that the last ones to finish are small.
void FfnPass::plan_gate_up(std::span<const FfnJob> jobs) {
  const auto row_bytes = static_cast<std::int64_t>(kernels_.packed_row_bytes(ActFormat::kF32, facts_.hidden_size));
  const std::int64_t block_rows = std::clamp(kGatherBytes / row_bytes, kMinBlockRows, kMaxBlockRows);
  blocks_.clear();
  items_.clear();
  std::int64_t cost = 0;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const FfnJob& job = jobs[j];
    for (std::int64_t row = 0; row < job.rows; row += block_rows) {
      const std::int64_t rows = std::min(block_rows, job.rows - row);
      std::int64_t first_token = job.first_token + row;
      if (job.tokens != nullptr) {
        const std::int32_t* tokens = job.tokens + row;
        first_token = tokens[0];
        for (std::int64_t r = 1; r < rows; ++r) {
          if (tokens[r] != tokens[0] + r) first_token = -1;
        }
      }
      blocks_.push_back({j, row, rows, first_token});
      cost += (rows + kWeightCostRows) * job.intermediate_size;
    }
  }
  std::ranges::stable_sort(blocks_, [](const Block& a, const Block& b) { return a.rows > b.rows; });
  max_block_rows_ = blocks_.empty() ? 0 : blocks_.front().rows;

  if (tiles_left_size_ < blocks_.size()) {
    tiles_left_size_ = blocks_.size() * 2;
    tiles_left_ = std::make_unique<std::atomic<std::int32_t>[]>(tiles_left_size_);
  }
  const std::int64_t item_cost = std::max<std::int64_t>(1, cost / (pool_.size() * kItemsPerThread));
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const std::int64_t width = jobs[blocks_[b].job].intermediate_size;
    const std::int64_t limit = std::min(kMaxTile, kGateTileFloats / blocks_[b].rows);
    const std::int64_t tile = std::clamp(round_up(item_cost / (blocks_[b].rows + kWeightCostRows), kTileStep),
                                         kTileStep, limit / kTileStep * kTileStep);
    std::int32_t tiles = 0;
    for (std::int64_t begin = 0; begin < width; begin += tile, ++tiles) {
      items_.push_back({b, begin, std::min(width, begin + tile)});
    }
    tiles_left_[b].store(tiles, std::memory_order_relaxed);
  }
}

// A thread's rows of the block under work: in place where they are contiguous, else gathered once per packing.
class FfnPass::BlockRows {
 public:
  // scratch: max_block_rows rows in every packing of the input.
  BlockRows(const PackedRows& input, std::int64_t max_block_rows, std::byte* scratch)
      : input_(input), max_block_rows_(max_block_rows), scratch_(scratch) {}

  static std::size_t scratch_bytes(const PackedRows& input, std::int64_t max_block_rows) {
    std::size_t bytes = 0;
    for (std::size_t f = 0; f < kActFormatCount; ++f) {
      if (input.data[f] != nullptr) bytes += static_cast<std::size_t>(max_block_rows) * input.stride[f];
    }
    return bytes;
  }

  void use(const Block& block, const FfnJob& job) {
    if (block_ == &block) return;
    block_ = &block;
    job_ = &job;
    gathered_ = {};
  }

  const std::byte* rows(ActFormat format) {
    if (block_->first_token >= 0) return input_.row(format, block_->first_token);
    std::byte* const to = format == ActFormat::kF32 || !input_.has(ActFormat::kF32)
                              ? scratch_
                              : scratch_ + static_cast<std::size_t>(max_block_rows_) * stride(ActFormat::kF32);
    if (gathered_.has(format)) return to;
    gathered_.add(format);
    for (std::int64_t r = 0; r < block_->rows; ++r) {
      std::memcpy(to + static_cast<std::size_t>(r) * stride(format), input_.row(format, job_->tokens[block_->row + r]),
                  stride(format));
    }
    return to;
  }

  std::size_t stride(ActFormat format) const { return input_.stride[static_cast<std::size_t>(format)]; }

 private:
  const PackedRows& input_;
  std::int64_t max_block_rows_;
  std::byte* scratch_;
  const Block* block_ = nullptr;
  const FfnJob* job_ = nullptr;
  ActFormatSet gathered_;
};

Status FfnPass::run_gate_up(std::span<const FfnJob> jobs, const PackedRows& input) {
  // Per thread: gathered rows, then a gate and an up tile.
  const std::size_t gather_bytes = BlockRows::scratch_bytes(input, max_block_rows_);
  const auto tile_floats = static_cast<std::size_t>(std::max(kGateTileFloats, max_block_rows_ * kTileStep));
  const std::size_t thread_bytes = gather_bytes + 2 * tile_floats * sizeof(float);
  SLUICE_ASSIGN(std::byte* const scratch,
                workspace_->get(Workspace::Slot::kGate, thread_bytes * static_cast<std::size_t>(pool_.size())));

  const auto count = static_cast<std::int64_t>(items_.size());
  pool_.parallel_for("moe_gate_up", count, 1, [&](std::int64_t begin, std::int64_t end, int thread) {
    std::byte* const mine = scratch + thread_bytes * static_cast<std::size_t>(thread);
    float* const gate = reinterpret_cast<float*>(mine + gather_bytes);
    BlockRows rows(input, max_block_rows_, mine);
    for (std::int64_t i = begin; i < end; ++i) {
      const Item& item = items_[static_cast<std::size_t>(i)];
      const Block& block = blocks_[item.block];
      const FfnJob& job = jobs[block.job];
      rows.use(block, job);
      gate_up_item(job, block, item, rows, gate, gate + tile_floats);
      // The last tile of these rows: the others' writes are visible through the counter.
      if (tiles_left_[item.block].fetch_sub(1, std::memory_order_acq_rel) == 1) pack_activations(job, block);
    }
  });
  return Status::success();
}

void FfnPass::gate_up_item(const FfnJob& job, const Block& block, const Item& item, BlockRows& rows, float* gate,
                           float* up) const {
  const std::int64_t n = item.end - item.begin;
  const ExpertMatrices& w = job.weights;
  const auto product = [&](const WeightView& weight, float* y) {
    const ActFormat format = kernels_.act_format(weight.dtype);
    kernels_.matmul(weight.slice_rows(item.begin, n), rows.rows(format), rows.stride(format), block.rows, 0, n, y, n);
  };
  product(w.gate, gate);
  product(w.up, up);
  for (std::int64_t r = 0; r < block.rows; ++r) {
    float* g = gate + r * n;
    float* u = up + r * n;
    add_bias(offset(w.gate_bias, item.begin), n, g);
    add_bias(offset(w.up_bias, item.begin), n, u);
    float* out = buffers_[block.job].activation + (block.row + r) * job.intermediate_size + item.begin;
    if (facts_.activation == Activation::kSwigluOai) {
      kernels_.swiglu_oai(g, u, n, facts_.swiglu_alpha, facts_.swiglu_limit, out);
    } else {
      kernels_.silu_mul(g, u, n, out);
    }
  }
}

void FfnPass::pack_activations(const FfnJob& job, const Block& block) const {
  const JobBuffers& buffers = buffers_[block.job];
  for (std::int64_t r = block.row; r < block.row + block.rows; ++r) {
    kernels_.pack_row(buffers.format, buffers.activation + r * job.intermediate_size, job.intermediate_size,
                      buffers.packed + static_cast<std::size_t>(r) * buffers.packed_stride);
  }
}

Status FfnPass::run_down(std::span<const FfnJob> jobs, const FfnOutput& output) {
  const std::int64_t hidden = facts_.hidden_size;
  const std::int64_t positions = std::max<std::int64_t>(1, jobs.empty() ? 0 : jobs.back().first + jobs.back().rows);
  const std::int64_t threads = pool_.size();
  const std::int64_t even = round_up((hidden + threads * kItemsPerThread - 1) / (threads * kItemsPerThread), kTileStep);
  const std::int64_t fitting = kDownTileFloats / positions / kTileStep * kTileStep;
  const std::int64_t tile = std::clamp(std::min(even, fitting), kTileStep, kMaxTile);
  const std::int64_t tiles = (hidden + tile - 1) / tile;
  SLUICE_ASSIGN(float* const scratch, workspace_->get<float>(Workspace::Slot::kDown, positions * tile * threads));

  pool_.parallel_for("moe_down", tiles, 1, [&](std::int64_t begin, std::int64_t end, int thread) {
    float* const mine = scratch + positions * tile * thread;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t column = i * tile;
      const std::int64_t n = std::min(tile, hidden - column);
      for (std::size_t j = 0; j < jobs.size(); ++j) {
        const FfnJob& job = jobs[j];
        float* const y = mine + job.first * n;
        kernels_.matmul(job.weights.down.slice_rows(column, n), buffers_[j].packed, buffers_[j].packed_stride, job.rows,
                        0, n, y, n);
        for (std::int64_t r = 0; r < job.rows; ++r) add_bias(offset(job.weights.down_bias, column), n, y + r * n);
      }
      emit(output, mine, column, n);
    }
  });
  return Status::success();
}

void FfnPass::emit(const FfnOutput& output, const float* tile, std::int64_t begin, std::int64_t width) const {
  const auto position_row = [&](std::int64_t slot) -> const float* {
    const std::int64_t position = output.positions == nullptr ? slot : output.positions[slot];
    return position < 0 ? nullptr : tile + position * width;
  };
  for (std::int64_t r = 0; r < output.rows; ++r) {
    const std::int64_t first = r * output.slots;
    if (output.form == WeightAndReduce::kByExperts) {
      weighted_sum(
          output.slots, output.weights == nullptr ? nullptr : output.weights + first,
          [&](std::int32_t k) { return position_row(first + k); }, width, facts_.exact,
          output.out + r * output.out_stride + begin);
      continue;
    }
    for (std::int64_t slot = first; slot < first + output.slots; ++slot) {
      float* to = output.out + slot * output.out_stride + begin;
      if (const float* from = position_row(slot); from != nullptr) {
        std::memcpy(to, from, static_cast<std::size_t>(width) * sizeof(float));
      } else if (output.zero_unused) {
        std::memset(to, 0, static_cast<std::size_t>(width) * sizeof(float));
      }
    }
  }
}

}  // namespace sluice::moe
