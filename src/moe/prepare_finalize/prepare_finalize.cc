#include "moe/prepare_finalize/prepare_finalize.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace sluice::moe {
namespace {

using Stage = DispatchHandle::Stage;

std::string_view stage_name(Stage stage) {
  switch (stage) {
    case Stage::kEmpty:
      return "an empty handle";
    case Stage::kSent:
      return "a handle whose dispatch was sent, not received";
    case Stage::kReceived:
      return "a handle whose dispatch was received";
    case Stage::kCombineSent:
      return "a handle whose combine was sent already";
    case Stage::kDone:
      return "a handle that was used already";
  }
  return "a broken handle";
}

}  // namespace

Status PrepareFinalize::check_input(const DispatchInput& input) const {
  const std::string_view name = capabilities().name;
  const auto invalid = [&](std::string text) {
    return Error(ErrorCode::kInvalidArgument, fmt::format("{}: {}", name, text));
  };
  const std::int64_t limit = capabilities().max_tokens_per_rank;
  if (input.tokens < 0) return invalid(fmt::format("dispatch of {} tokens", input.tokens));
  if (limit > 0 && input.tokens > limit) {
    return invalid(fmt::format("dispatch of {} tokens, at most {} per rank; split the batch", input.tokens, limit));
  }
  if (input.tokens > std::numeric_limits<std::int32_t>::max() / std::max(1, shape_.top_k)) {
    return invalid(fmt::format("dispatch of {} tokens with top_k {} has more than 2^31 slots; split the batch",
                               input.tokens, shape_.top_k));
  }
  if (input.tokens == 0) return Status::success();
  if (input.x == nullptr || input.ids == nullptr || input.weights == nullptr) {
    return invalid("dispatch without rows, ids or weights");
  }
  const std::int64_t slots = input.tokens * shape_.top_k;
  for (std::int64_t i = 0; i < slots; ++i) {
    const std::int32_t id = index(input.ids[i]);
    if (id < index(kNoGlobalExpert) || id >= shape_.num_experts) {
      return invalid(
          fmt::format("expert id {} of token {} is outside -1 to {}", id, i / shape_.top_k, shape_.num_experts - 1));
    }
  }
  return Status::success();
}

Status PrepareFinalize::check_stage(const DispatchHandle& handle, Stage wanted, std::string_view call) const {
  if (handle.stage() != wanted) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("{}: {} with {}; a handle goes once through dispatch_send, dispatch_recv, combine_send, "
                             "combine_recv",
                             capabilities().name, call, stage_name(handle.stage())));
  }
  if (handle.step_->owner_ != identity_) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("{}: {} with a handle of another backend", capabilities().name, call));
  }
  return Status::success();
}

Result<DispatchHandle> PrepareFinalize::dispatch_send(const DispatchInput& input) {
  SLUICE_TRY(check_input(input));
  DispatchHandle handle;
  handle.step_ = make_step();
  DispatchHandle::Step& step = *handle.step_;
  step.owner_ = identity_;
  step.tokens = input.tokens;
  if (input.tokens > 0) {
    const std::int64_t slots = input.tokens * shape_.top_k;
    step.ids.assign(input.ids, input.ids + slots);
    step.weights.assign(input.weights, input.weights + slots);
  }
  SLUICE_TRY(do_dispatch_send(step, input));
  return handle;
}

Result<ReceivedRows> PrepareFinalize::dispatch_recv(DispatchHandle& handle) {
  SLUICE_TRY(check_stage(handle, Stage::kSent, "dispatch_recv"));
  auto rows = do_dispatch_recv(*handle.step_);
  handle.step_->stage = rows.ok() ? Stage::kReceived : Stage::kDone;
  return rows;
}

Status PrepareFinalize::combine_send(DispatchHandle& handle, const ExpertOutput& output) {
  SLUICE_TRY(check_stage(handle, Stage::kReceived, "combine_send"));
  const auto forms = capabilities().weight_and_reduce;
  if (std::ranges::find(forms, output.form) == forms.end()) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("{}: combine_send of rows that {} must weight; this backend cannot take them",
                             capabilities().name, name_of(output.form)));
  }
  if (handle.step_->tokens > 0 && (output.rows == nullptr || output.row_stride < shape_.hidden_size)) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("{}: combine_send without rows, or with a row stride of {} below hidden_size = {}",
                             capabilities().name, output.row_stride, shape_.hidden_size));
  }
  Status status = do_combine_send(*handle.step_, output);
  handle.step_->stage = status.ok() ? Stage::kCombineSent : Stage::kDone;
  return status;
}

Status PrepareFinalize::combine_recv(DispatchHandle& handle, float* out) {
  SLUICE_TRY(check_stage(handle, Stage::kCombineSent, "combine_recv"));
  if (handle.step_->tokens > 0 && out == nullptr) {
    return Error(ErrorCode::kInvalidArgument, fmt::format("{}: combine_recv without an output", capabilities().name));
  }
  Status status = do_combine_recv(*handle.step_, out);
  handle.step_->stage = Stage::kDone;
  return status;
}

Result<PrepareFinalize::Prepared> PrepareFinalize::prepare(const DispatchInput& input) {
  Prepared prepared;
  SLUICE_ASSIGN(prepared.handle, dispatch_send(input));
  SLUICE_ASSIGN(prepared.rows, dispatch_recv(prepared.handle));
  return prepared;
}

Status PrepareFinalize::finalize(DispatchHandle& handle, const ExpertOutput& output, float* out) {
  SLUICE_TRY(combine_send(handle, output));
  return combine_recv(handle, out);
}

}  // namespace sluice::moe
