#include "moe/router/gate.h"

#include <algorithm>
#include <cmath>

namespace sluice::moe {
namespace {

constexpr std::int64_t kBlockTokens = 16;
constexpr std::int64_t kPackTokens = 4;
constexpr std::int64_t kMinPiece = 8;  // experts
constexpr std::int64_t kPiecesPerThread = 4;

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

float sigmoid(float x, bool exact) {
  if (exact) return static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(x))));
  return 1.0F / (1.0F + std::exp(-x));
}

}  // namespace

// One region's worth of tokens.
struct Gate::Chunk {
  const float* x;
  std::int64_t tokens;
  const Output* output;
  float* logits;       // [tokens, E]
  std::int64_t piece;  // experts per item
  std::byte* rows;     // per thread: a block's rows in each of own_formats_
  std::array<std::size_t, kActFormatCount> row_bytes;
};

Gate::Gate(const Router& router, const Weights& weights, std::int64_t hidden_size, bool exact,
           const KernelTable& kernels, ThreadPool& pool, std::shared_ptr<Workspace> workspace)
    : router_(router),
      weights_(weights),
      hidden_size_(hidden_size),
      exact_(exact),
      kernels_(kernels),
      pool_(pool),
      workspace_(std::move(workspace)),
      scratch_(static_cast<std::size_t>(pool.size())) {
  own_formats_.add(kernels_.act_format(weights_.router.dtype));
  if (weights_.shared_gate) own_formats_.add(kernels_.act_format(weights_.shared_gate.dtype));
}

Status Gate::run(const float* x, std::int64_t tokens, const Output& output) {
  const std::int64_t experts = router_.program().num_experts;
  const std::int64_t top_k = router_.program().top_k;
  // Logits of a batch are bounded whatever the number of experts: whole blocks of tokens at a time.
  const std::int64_t fitting = workspace_->chunk_tokens(4 * experts * static_cast<std::int64_t>(sizeof(float)));
  const std::int64_t chunk = std::max<std::int64_t>(1, fitting / kBlockTokens) * kBlockTokens;
  for (std::int64_t begin = 0; begin < tokens; begin += chunk) {
    Output part = output;
    part.ids += begin * top_k;
    part.weights += begin * top_k;
    if (part.shared_weights != nullptr) part.shared_weights += begin;
    for (std::size_t f = 0; f < kActFormatCount; ++f) {
      if (part.packed.data[f] != nullptr)
        part.packed.data[f] += static_cast<std::size_t>(begin) * part.packed.stride[f];
    }
    SLUICE_TRY(run_chunk(x + begin * hidden_size_, std::min(chunk, tokens - begin), part));
  }
  return Status::success();
}

Status Gate::run_chunk(const float* x, std::int64_t tokens, const Output& output) {
  const std::int64_t experts = router_.program().num_experts;
  Chunk chunk{
      .x = x, .tokens = tokens, .output = &output, .logits = nullptr, .piece = 0, .rows = nullptr, .row_bytes = {}};
  SLUICE_ASSIGN(chunk.logits, workspace_->get<float>(Workspace::Slot::kLogits, tokens * experts));
  std::size_t thread_bytes = 0;
  own_formats_.for_each([&](ActFormat format) {
    const std::size_t bytes = kernels_.packed_row_bytes(format, hidden_size_);
    chunk.row_bytes[static_cast<std::size_t>(format)] = bytes;
    thread_bytes += bytes * static_cast<std::size_t>(kBlockTokens);
  });
  SLUICE_ASSIGN(chunk.rows,
                workspace_->get(Workspace::Slot::kRouterTask, thread_bytes * static_cast<std::size_t>(pool_.size())));

  const std::int64_t blocks = divide_up(tokens, kBlockTokens);
  const std::int64_t wanted = divide_up(pool_.size() * kPiecesPerThread, blocks);  // pieces per block
  chunk.piece = std::max(kMinPiece, divide_up(divide_up(experts, wanted), kMinPiece) * kMinPiece);
  const std::int64_t pieces = divide_up(experts, chunk.piece);
  if (pieces_left_size_ < blocks) {
    pieces_left_size_ = blocks * 2;
    pieces_left_ = std::make_unique<std::atomic<std::int32_t>[]>(static_cast<std::size_t>(pieces_left_size_));
  }
  for (std::int64_t b = 0; b < blocks; ++b) {
    pieces_left_[static_cast<std::size_t>(b)].store(static_cast<std::int32_t>(pieces), std::memory_order_relaxed);
  }
  // Packing items come first, then (block, piece) in row order, so that a thread mostly keeps its packed block.
  const std::int64_t pack_items = output.formats.empty() ? 0 : divide_up(tokens, kPackTokens);
  pool_.parallel_for("moe_router", pack_items + blocks * pieces, 1,
                     [&](std::int64_t begin, std::int64_t end, int thread) {
                       for (std::int64_t i = begin; i < end; ++i) {
                         if (i >= pack_items) {
                           gate_item(chunk, (i - pack_items) / pieces, (i - pack_items) % pieces, thread);
                           continue;
                         }
                         for (std::int64_t t = i * kPackTokens; t < std::min(tokens, (i + 1) * kPackTokens); ++t) {
                           pack_row(kernels_, x + t * hidden_size_, hidden_size_, output.formats, output.packed, t);
                         }
                       }
                     });
  return Status::success();
}

void Gate::gate_item(const Chunk& chunk, std::int64_t block, std::int64_t piece, int thread) {
  const std::int64_t experts = router_.program().num_experts;
  const std::int64_t first = block * kBlockTokens;
  const std::int64_t rows = std::min(kBlockTokens, chunk.tokens - first);

  // Packing again for each piece is cheap beside the product, and needs no further barrier.
  std::size_t thread_bytes = 0;
  for (const std::size_t bytes : chunk.row_bytes) thread_bytes += bytes * static_cast<std::size_t>(kBlockTokens);
  PackedRows packed;
  std::byte* at = chunk.rows + thread_bytes * static_cast<std::size_t>(thread);
  for (std::size_t f = 0; f < kActFormatCount; ++f) {
    packed.stride[f] = chunk.row_bytes[f];
    if (chunk.row_bytes[f] != 0) packed.data[f] = at;
    at += chunk.row_bytes[f] * static_cast<std::size_t>(kBlockTokens);
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    pack_row(kernels_, chunk.x + (first + r) * hidden_size_, hidden_size_, own_formats_, packed, r);
  }

  const auto product = [&](const WeightView& weight, float* y, std::int64_t stride, std::int64_t begin,
                           std::int64_t end) {
    const ActFormat format = kernels_.act_format(weight.dtype);
    kernels_.matmul(weight, packed.row(format, 0), packed.stride[static_cast<std::size_t>(format)], rows, begin, end, y,
                    stride);
  };
  const std::int64_t begin = piece * chunk.piece;
  const std::int64_t end = std::min(experts, begin + chunk.piece);
  float* const logits = chunk.logits + first * experts;
  product(weights_.router, logits, experts, begin, end);
  if (weights_.logit_bias != nullptr) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t e = begin; e < end; ++e) logits[r * experts + e] += weights_.logit_bias[e];
    }
  }
  const Output& output = *chunk.output;
  if (piece == 0 && output.shared_weights != nullptr) {
    float* const shared = output.shared_weights + first;
    product(weights_.shared_gate, shared, 1, 0, 1);
    for (std::int64_t r = 0; r < rows; ++r) shared[r] = sigmoid(shared[r], exact_);
  }

  // The last piece of these tokens: the others' logits are visible through the counter.
  if (pieces_left_[static_cast<std::size_t>(block)].fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  const std::int64_t top_k = router_.program().top_k;
  for (std::int64_t r = 0; r < rows; ++r) {
    router_.route(logits + r * experts, output.ids + (first + r) * top_k, output.weights + (first + r) * top_k,
                  scratch_[static_cast<std::size_t>(thread)]);
  }
}

}  // namespace sluice::moe
