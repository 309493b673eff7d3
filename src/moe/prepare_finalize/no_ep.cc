#include "moe/prepare_finalize/no_ep.h"

#include <array>
#include <cstring>

#include "moe/weighted_sum.h"

namespace sluice::moe {
namespace {

constexpr std::array kForms = {WeightAndReduce::kByExperts, WeightAndReduce::kByFinalize};

constexpr PrepareFinalizeCapabilities kCapabilities = {
    .name = "no_ep",
    .format = ActivationFormat::kStandard,
    .weight_and_reduce = kForms,
    .max_ranks = 1,
    .async = true,
    .zero_copy_in = true,
    .zero_copy_out = true,
};

struct NoEpStep final : DispatchHandle::Step {
  const float* x = nullptr;
  const PackedRows* packed = nullptr;
  std::vector<LocalExpert> local_ids;
  std::vector<std::int64_t> expert_rows;
  ExpertOutput output;
};

class NoEp final : public PrepareFinalize {
 public:
  NoEp(const Shape& shape, bool exact) : PrepareFinalize(shape), exact_(exact) {}

  const PrepareFinalizeCapabilities& capabilities() const override { return kCapabilities; }

 private:
  std::unique_ptr<DispatchHandle::Step> make_step() override { return std::make_unique<NoEpStep>(); }

  Status do_dispatch_send(DispatchHandle::Step& base, const DispatchInput& input) override {
    auto& step = static_cast<NoEpStep&>(base);
    step.x = input.x;
    step.packed = input.packed;
    return Status::success();
  }

  Result<ReceivedRows> do_dispatch_recv(DispatchHandle::Step& base) override {
    auto& step = static_cast<NoEpStep&>(base);
    step.expert_rows.assign(static_cast<std::size_t>(shape().num_experts), 0);
    step.local_ids.reserve(step.ids.size());
    for (const GlobalExpert id : step.ids) {
      // One rank: slots are numbered like experts.
      step.local_ids.push_back(LocalExpert{index(id)});
      if (id != kNoGlobalExpert) ++step.expert_rows[static_cast<std::size_t>(index(id))];
    }
    ReceivedRows rows;
    rows.rows = step.tokens;
    rows.row_stride = shape().hidden_size;
    rows.x = step.x;
    rows.packed = step.packed;
    rows.top_k = shape().top_k;
    rows.ids = step.local_ids.data();
    rows.weights = step.weights.data();
    rows.expert_rows = step.expert_rows;
    return rows;
  }

  Status do_combine_send(DispatchHandle::Step& base, const ExpertOutput& output) override {
    static_cast<NoEpStep&>(base).output = output;
    return Status::success();
  }

  Status do_combine_recv(DispatchHandle::Step& base, float* out) override {
    const auto& step = static_cast<NoEpStep&>(base);
    const ExpertOutput& from = step.output;
    const std::int64_t hidden = shape().hidden_size;
    const std::int32_t top_k = shape().top_k;
    for (std::int64_t t = 0; t < step.tokens; ++t) {
      float* to = out + t * hidden;
      if (from.form == WeightAndReduce::kByFinalize) {
        const std::int64_t slot = t * top_k;
        const auto row = [&](std::int32_t k) {
          const bool used = step.ids[static_cast<std::size_t>(slot + k)] != kNoGlobalExpert;
          return used ? from.rows + (slot + k) * from.row_stride : nullptr;
        };
        weighted_sum(top_k, step.weights.data() + slot, row, hidden, exact_, to);
      } else if (from.rows + t * from.row_stride != to) {
        std::memmove(to, from.rows + t * from.row_stride, static_cast<std::size_t>(hidden) * sizeof(float));
      }
    }
    return Status::success();
  }

  bool exact_;
};

}  // namespace

const PrepareFinalizeCapabilities& no_ep_capabilities() { return kCapabilities; }

std::unique_ptr<PrepareFinalize> make_no_ep(const PrepareFinalize::Shape& shape, bool exact) {
  return std::make_unique<NoEp>(shape, exact);
}

}  // namespace sluice::moe
