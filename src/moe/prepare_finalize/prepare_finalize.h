// Prepare/finalize: how the rows of tokens reach the ranks that hold their experts, and how the results come back.
// One contract for every backend; docs/moe.md says what each promises.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "moe/activation_format.h"
#include "moe/ids.h"
#include "moe/packed_rows.h"

namespace sluice::moe {

// What a backend can do, as data: the oracle chooses from this without creating one. 0 means "no limit".
struct PrepareFinalizeCapabilities {
  std::string_view name;
  ActivationFormat format = ActivationFormat::kStandard;
  std::span<const WeightAndReduce> weight_and_reduce = {};  // forms of expert output that combine accepts
  std::int32_t max_ranks = 0;
  std::int64_t max_tokens_per_rank = 0;  // of one dispatch
  std::int32_t max_top_k = 0;
  std::int32_t id_bits = 32;         // expert ids on the wire
  bool needs_equal_experts = false;  // num_experts % ranks == 0
  bool async = false;                // work may go on between the send and receive halves
  bool deterministic = true;         // bit-identical from run to run
  bool zero_copy_in = false;         // received rows are the caller's own
  bool zero_copy_out = false;        // experts may write straight into the layer's output
  bool output_is_reduced = true;     // finalize's output needs no further sum over ranks
  bool supports_mask = false;        // goes on without ranks that are masked out
  bool supports_join = false;        // ranks may join a running group
};

// One rank's tokens of a step. Borrowed until dispatch_recv() for x, until dispatch_send() returns for the routing.
struct DispatchInput {
  const float* x = nullptr;            // [tokens, hidden_size], contiguous
  std::int64_t tokens = 0;             // may be 0: a rank without tokens takes part all the same
  const GlobalExpert* ids = nullptr;   // [tokens, top_k]; kNoGlobalExpert = slot not used
  const float* weights = nullptr;      // [tokens, top_k], final
  const PackedRows* packed = nullptr;  // the same rows packed, if the caller has them already
};

// Where a received row comes from.
struct RowOrigin {
  std::int32_t rank = 0;
  std::int32_t token = 0;
};

// What this rank's experts work on. Views: valid until combine_recv() of the same handle returns or the handle dies.
struct ReceivedRows {
  ActivationFormat format = ActivationFormat::kStandard;
  std::int64_t rows = 0;        // standard: rows in all; batched: capacity of each expert
  std::int64_t row_stride = 0;  // floats between rows
  const float* x = nullptr;
  const PackedRows* packed = nullptr;  // of the same rows, or null

  // Standard only: [rows, top_k]; kNoLocalExpert where the slot's expert lives elsewhere.
  std::int32_t top_k = 0;
  const LocalExpert* ids = nullptr;
  const float* weights = nullptr;

  std::span<const std::int64_t> expert_rows;  // per local expert: rows that name it
  std::span<const RowOrigin> origins;         // per row; empty: the caller's own tokens, in order
  std::span<const std::uint8_t> valid_ranks;  // 1 where a rank took part; empty: all
  std::uint64_t placement_version = 0;
};

// What experts give back; the layout follows from `form` and the received format.
struct ExpertOutput {
  WeightAndReduce form = WeightAndReduce::kByExperts;
  float* rows = nullptr;
  std::int64_t row_stride = 0;  // floats
};

class PrepareFinalize;

// One step in flight: owns a copy of the routing, goes through the four calls once, in order. Dropping it early is
// allowed and releases what it holds. Move-only.
class DispatchHandle {
 public:
  enum class Stage : std::uint8_t { kEmpty, kSent, kReceived, kCombineSent, kDone };

  DispatchHandle() = default;
  Stage stage() const { return step_ == nullptr ? Stage::kEmpty : step_->stage; }

  // State of a step; backends derive from it.
  struct Step {
    Step() = default;
    virtual ~Step() = default;
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

    Stage stage = Stage::kSent;
    std::int64_t tokens = 0;
    std::vector<GlobalExpert> ids;  // [tokens, top_k]
    std::vector<float> weights;     // [tokens, top_k]

   private:
    friend class PrepareFinalize;
    std::shared_ptr<const int> owner_;  // whose step this is; compared, never followed
  };

 private:
  friend class PrepareFinalize;
  std::unique_ptr<Step> step_;
};

// A backend, bound to the sizes of one layer. Not thread-safe. Several handles may be in flight where `async` is set.
// Misuse (a call out of order, twice, with an empty or foreign handle, with ids or sizes out of range) gives
// kInvalidArgument and changes nothing.
class PrepareFinalize {
 public:
  struct Shape {
    std::int64_t hidden_size = 0;  // after the backend's rounding rule
    std::int32_t num_experts = 0;  // global, fused shared experts included
    std::int32_t top_k = 0;        // slots of a token, fused shared experts included
  };

  virtual ~PrepareFinalize() = default;
  PrepareFinalize(const PrepareFinalize&) = delete;
  PrepareFinalize& operator=(const PrepareFinalize&) = delete;

  virtual const PrepareFinalizeCapabilities& capabilities() const = 0;
  const Shape& shape() const { return shape_; }

  // The four halves. Between send and receive the caller may compute (that is the CPU form of a receive hook).
  Result<DispatchHandle> dispatch_send(const DispatchInput& input);
  Result<ReceivedRows> dispatch_recv(DispatchHandle& handle);
  Status combine_send(DispatchHandle& handle, const ExpertOutput& output);
  // out [tokens, hidden_size], contiguous; where zero_copy_out is set it may be output.rows itself.
  Status combine_recv(DispatchHandle& handle, float* out);

  // Without overlap: prepare = dispatch_send + dispatch_recv, finalize = combine_send + combine_recv.
  struct Prepared {
    DispatchHandle handle;
    ReceivedRows rows;
  };
  Result<Prepared> prepare(const DispatchInput& input);
  Status finalize(DispatchHandle& handle, const ExpertOutput& output, float* out);

 protected:
  explicit PrepareFinalize(const Shape& shape) : shape_(shape), identity_(std::make_shared<const int>(0)) {}

  // What a backend implements; arguments are checked and stages kept by the callers above. A step whose call fails is
  // over: its handle goes to kDone.
  virtual std::unique_ptr<DispatchHandle::Step> make_step() = 0;
  virtual Status do_dispatch_send(DispatchHandle::Step& step, const DispatchInput& input) = 0;
  virtual Result<ReceivedRows> do_dispatch_recv(DispatchHandle::Step& step) = 0;
  virtual Status do_combine_send(DispatchHandle::Step& step, const ExpertOutput& output) = 0;
  virtual Status do_combine_recv(DispatchHandle::Step& step, float* out) = 0;

 private:
  Status check_input(const DispatchInput& input) const;
  Status check_stage(const DispatchHandle& handle, DispatchHandle::Stage wanted, std::string_view call) const;

  Shape shape_;
  std::shared_ptr<const int> identity_;
};

}  // namespace sluice::moe
