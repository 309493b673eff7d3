// A prepare/finalize backend for tests: copies every row as a transport would, in either format, and poisons whatever
// nobody may read with NaN.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "moe/prepare_finalize/prepare_finalize.h"
#include "moe/weighted_sum.h"

namespace sluice::moe {

class CopyBackend final : public PrepareFinalize {
 public:
  struct Options {
    ActivationFormat format = ActivationFormat::kStandard;
    WeightAndReduce form = WeightAndReduce::kByExperts;
    std::int64_t used_columns = 0;  // of each row; the rest is padding
    bool exact = false;
  };

  CopyBackend(const Shape& shape, const Options& options) : PrepareFinalize(shape), options_(options) {
    capabilities_ = {
        .name = "copy", .format = options.format, .weight_and_reduce = {&options_.form, 1}, .max_ranks = 1};
  }

  const PrepareFinalizeCapabilities& capabilities() const override { return capabilities_; }

 private:
  struct CopyStep final : DispatchHandle::Step {
    std::vector<float> x;
    std::vector<LocalExpert> local;
    std::vector<std::int64_t> expert_rows;
    std::vector<std::int64_t> place;  // batched: row of each slot, -1 for none
    std::int64_t capacity = 0;
    std::vector<float> result;
  };
  static constexpr float kPoison = std::numeric_limits<float>::quiet_NaN();

  std::unique_ptr<DispatchHandle::Step> make_step() override { return std::make_unique<CopyStep>(); }

  Status do_dispatch_send(DispatchHandle::Step& base, const DispatchInput& input) override {
    auto& step = static_cast<CopyStep&>(base);
    const std::int64_t width = shape().hidden_size;
    step.expert_rows.assign(static_cast<std::size_t>(shape().num_experts), 0);
    for (const GlobalExpert id : step.ids) {
      step.local.push_back(LocalExpert{index(id)});
      if (id == kNoGlobalExpert) {
        step.place.push_back(-1);
      } else {
        step.place.push_back(step.expert_rows[static_cast<std::size_t>(index(id))]++);
      }
    }
    step.capacity = 3;  // some padding in any case
    for (const std::int64_t rows : step.expert_rows) step.capacity = std::max(step.capacity, rows + 1);
    const bool batched = options_.format == ActivationFormat::kBatched;
    const std::int64_t rows = batched ? shape().num_experts * step.capacity : step.tokens;
    step.x.assign(static_cast<std::size_t>(rows * width), kPoison);
    const auto copy = [&](std::int64_t token, std::int64_t row) {
      std::copy_n(input.x + token * width, options_.used_columns, step.x.begin() + row * width);
    };
    for (std::int64_t t = 0; t < step.tokens; ++t) {
      if (!batched) copy(t, t);
      for (std::int64_t slot = t * shape().top_k; batched && slot < (t + 1) * shape().top_k; ++slot) {
        std::int64_t& place = step.place[static_cast<std::size_t>(slot)];
        if (place < 0) continue;
        place += index(step.ids[static_cast<std::size_t>(slot)]) * step.capacity;
        copy(t, place);
      }
    }
    return Status::success();
  }

  Result<ReceivedRows> do_dispatch_recv(DispatchHandle::Step& base) override {
    auto& step = static_cast<CopyStep&>(base);
    ReceivedRows rows;
    rows.format = options_.format;
    rows.row_stride = shape().hidden_size;
    rows.x = step.x.data();
    rows.expert_rows = step.expert_rows;
    if (options_.format == ActivationFormat::kBatched) {
      rows.rows = step.capacity;
      return rows;
    }
    rows.rows = step.tokens;
    rows.top_k = shape().top_k;
    rows.ids = step.local.data();
    rows.weights = step.weights.data();
    return rows;
  }

  Status do_combine_send(DispatchHandle::Step& base, const ExpertOutput& output) override {
    auto& step = static_cast<CopyStep&>(base);
    const std::int64_t width = shape().hidden_size;
    const std::int64_t used = options_.used_columns;
    step.result.assign(static_cast<std::size_t>(step.tokens * width), kPoison);
    for (std::int64_t t = 0; t < step.tokens; ++t) {
      float* to = step.result.data() + t * width;
      if (options_.form == WeightAndReduce::kByExperts) {
        std::copy_n(output.rows + t * output.row_stride, used, to);
        continue;
      }
      const std::int64_t first = t * shape().top_k;
      const auto row = [&](std::int32_t k) -> const float* {
        const std::int64_t slot = first + k;
        if (step.ids[static_cast<std::size_t>(slot)] == kNoGlobalExpert) return nullptr;
        const bool batched = options_.format == ActivationFormat::kBatched;
        return output.rows + (batched ? step.place[static_cast<std::size_t>(slot)] : slot) * output.row_stride;
      };
      weighted_sum(shape().top_k, step.weights.data() + first, row, used, options_.exact, to);
    }
    return Status::success();
  }

  Status do_combine_recv(DispatchHandle::Step& base, float* out) override {
    const auto& step = static_cast<CopyStep&>(base);
    std::copy(step.result.begin(), step.result.end(), out);
    return Status::success();
  }

  Options options_;
  PrepareFinalizeCapabilities capabilities_;
};

}  // namespace sluice::moe
