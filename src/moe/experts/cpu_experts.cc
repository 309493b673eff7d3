#include "moe/experts/cpu_experts.h"

#include <algorithm>

#include <fmt/format.h>

#include "moe/expert_grouping.h"
#include "moe/experts/ffn_pass.h"

namespace sluice::moe {
namespace {

FfnFacts facts_of(const MoeSpec& spec, bool exact) {
  return {spec.hidden_size, spec.activation, spec.swiglu_alpha, spec.swiglu_limit, exact};
}

class CpuExperts final : public ExpertsKernel {
 public:
  CpuExperts(const ExpertsCapabilities& capabilities, const ExpertsSetup& setup)
      : capabilities_(capabilities),
        intermediate_(setup.spec->intermediate_size),
        store_(setup.store),
        pass_(facts_of(*setup.spec, capabilities.exact), kernels_for(capabilities.isa), *setup.pool, setup.workspace) {
    const auto add = [&](const ExpertMatrices& matrices) {
      pass_.input_formats(matrices).for_each([&](ActFormat format) { formats_.add(format); });
    };
    for (std::int32_t e = 0; e < store_->num_experts(); ++e) add(store_->expert(LocalExpert{e}));
    if (setup.shared.gate) add(setup.shared);
  }

  const ExpertsCapabilities& capabilities() const override { return capabilities_; }
  ActFormatSet input_formats() const override { return formats_; }

  Status apply(const ReceivedRows& rows, const SharedFfn* shared, const ExpertOutput& out) override {
    if (rows.format == ActivationFormat::kBatched) return apply_batched(rows, out);
    std::int64_t bytes = pass_.bytes_per_input() + rows.top_k * pass_.bytes_per_row(intermediate_);
    if (shared != nullptr) bytes += pass_.bytes_per_row(shared->intermediate_size);
    const std::int64_t chunk = pass_.workspace().chunk_tokens(bytes);
    for (std::int64_t begin = 0; begin < rows.rows; begin += chunk) {
      SLUICE_TRY(apply_chunk(rows, begin, std::min(chunk, rows.rows - begin), shared, out));
    }
    return Status::success();
  }

 private:
  // A job per group; tells the store first. The caller sets where the rows come from.
  void add_jobs() {
    jobs_.clear();
    active_.clear();
    for (const ExpertGrouping::Group& group : grouping_.groups) active_.push_back(group.expert);
    store_->will_need(active_);
    for (const ExpertGrouping::Group& group : grouping_.groups) {
      jobs_.push_back({.weights = store_->expert(group.expert),
                       .intermediate_size = intermediate_,
                       .first = group.first,
                       .rows = group.rows});
    }
  }

  // The packed form of rows [begin, begin + count): what came with them, else packed here.
  Result<PackedRows> packed_rows(const ReceivedRows& rows, std::int64_t begin, std::int64_t count) {
    bool complete = rows.packed != nullptr;
    if (complete) formats_.for_each([&](ActFormat format) { complete &= rows.packed->has(format); });
    if (!complete) return pass_.pack(rows.x + begin * rows.row_stride, count, rows.row_stride, formats_);
    PackedRows packed = *rows.packed;
    for (std::size_t f = 0; f < kActFormatCount; ++f) {
      if (packed.data[f] != nullptr) packed.data[f] += static_cast<std::size_t>(begin) * packed.stride[f];
    }
    return packed;
  }

  Status apply_chunk(const ReceivedRows& rows, std::int64_t begin, std::int64_t count, const SharedFfn* shared,
                     const ExpertOutput& out) {
    SLUICE_ASSIGN(const PackedRows packed, packed_rows(rows, begin, count));
    const std::int64_t slots = rows.top_k;
    grouping_.build({rows.ids + begin * slots, static_cast<std::size_t>(count * slots)}, rows.top_k,
                    store_->num_experts());
    add_jobs();
    for (FfnJob& job : jobs_) job.tokens = grouping_.tokens.data() + job.first;

    FfnOutput output = {
        .form = out.form,
        .rows = count,
        .slots = rows.top_k,
        .positions = grouping_.positions.data(),
        .weights = rows.weights + begin * slots,
        .out = out.rows + begin * (out.form == WeightAndReduce::kByExperts ? 1 : slots) * out.row_stride,
        .out_stride = out.row_stride};
    if (shared != nullptr) add_shared(*shared, begin, count, output);
    return pass_.run(jobs_, packed, output);
  }

  // One more slot per token, the last: its position is the token's row of the shared job.
  void add_shared(const SharedFfn& shared, std::int64_t begin, std::int64_t count, FfnOutput& output) {
    const std::int64_t first = grouping_.rows();
    jobs_.push_back(
        {.weights = *shared.matrices, .intermediate_size = shared.intermediate_size, .first = first, .rows = count});
    const std::int32_t routed = output.slots;
    positions_.clear();
    weights_.clear();
    for (std::int64_t t = 0; t < count; ++t) {
      positions_.insert(positions_.end(), output.positions + t * routed, output.positions + (t + 1) * routed);
      positions_.push_back(static_cast<std::int32_t>(first + t));
      weights_.insert(weights_.end(), output.weights + t * routed, output.weights + (t + 1) * routed);
      weights_.push_back(shared.weights == nullptr ? 1.0F : shared.weights[begin + t]);
    }
    output.slots = routed + 1;
    output.positions = positions_.data();
    output.weights = weights_.data();
  }

  // Rows [experts, capacity, H]: each expert's rows are contiguous already. One chunk: the capacity is the bound.
  Status apply_batched(const ReceivedRows& rows, const ExpertOutput& out) {
    const std::int64_t experts = store_->num_experts();
    const std::int64_t capacity = rows.rows;
    grouping_.groups.clear();
    positions_.assign(static_cast<std::size_t>(experts * capacity), -1);
    std::int64_t first = 0;
    for (std::int64_t e = 0; e < experts; ++e) {
      const std::int64_t count = rows.expert_rows[static_cast<std::size_t>(e)];
      if (count == 0) continue;
      grouping_.groups.push_back({LocalExpert{static_cast<std::int32_t>(e)}, first, count});
      for (std::int64_t i = 0; i < count; ++i) {
        positions_[static_cast<std::size_t>(e * capacity + i)] = static_cast<std::int32_t>(first + i);
      }
      first += count;
    }
    SLUICE_ASSIGN(const PackedRows packed,
                  pass_.pack(rows.x, experts * capacity, rows.row_stride, formats_, positions_.data()));
    add_jobs();
    for (std::size_t j = 0; j < jobs_.size(); ++j) jobs_[j].first_token = index(grouping_.groups[j].expert) * capacity;
    return pass_.run(jobs_, packed,
                     {.form = WeightAndReduce::kByFinalize,
                      .rows = experts * capacity,
                      .positions = positions_.data(),
                      .out = out.rows,
                      .out_stride = out.row_stride,
                      .zero_unused = false});
  }

  ExpertsCapabilities capabilities_;
  std::int64_t intermediate_;
  std::shared_ptr<const ExpertWeightStore> store_;
  FfnPass pass_;
  ActFormatSet formats_;
  // Scratch of apply(), kept for its capacity.
  ExpertGrouping grouping_;
  std::vector<LocalExpert> active_;
  std::vector<FfnJob> jobs_;
  std::vector<std::int32_t> positions_;
  std::vector<float> weights_;
};

}  // namespace

std::unique_ptr<ExpertsKernel> make_cpu_experts(const ExpertsCapabilities& capabilities, const ExpertsSetup& setup) {
  return std::make_unique<CpuExperts>(capabilities, setup);
}

}  // namespace sluice::moe
