#include "moe/prepare_finalize/allgather_reducescatter.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "moe/weighted_sum.h"

namespace sluice::moe {
namespace {

constexpr std::array kForms = {WeightAndReduce::kByFinalize};

// What a window begins with; zeroed memory is a valid one.
struct Header {
  comm::EpochFlag sent;                                                  // by the window's rank
  std::array<comm::EpochFlag, comm::SharedGroup::kMaxRanks> combined{};  // [r] by rank r: its results are all here
  std::int64_t tokens = 0;
};

std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

// Where the parts of a window lie. M = tokens at most.
struct Layout {
  Layout(const PrepareFinalize::Shape& shape, std::int64_t max_tokens) {
    const auto m = static_cast<std::size_t>(max_tokens);
    const auto hidden = static_cast<std::size_t>(shape.hidden_size) * sizeof(float);
    const auto top_k = static_cast<std::size_t>(shape.top_k);
    ids = aligned(sizeof(Header));
    weights = ids + aligned(m * top_k * sizeof(GlobalExpert));
    x = weights + aligned(m * top_k * sizeof(float));
    results = x + aligned(m * hidden);
    bytes = results + aligned(m * top_k * hidden);
  }
  std::size_t ids, weights;  // [M, top_k]
  std::size_t x;             // [M, H]
  std::size_t results;       // [M, top_k, H]
  std::size_t bytes;
};

struct GatherStep final : DispatchHandle::Step {
  explicit GatherStep(std::shared_ptr<EpChannel> used) : channel(std::move(used)) {}
  ~GatherStep() override {
    if (begun) channel->fail();
  }

  std::shared_ptr<EpChannel> channel;
  bool begun = false;
  std::uint32_t epoch = 0;
  // Received rows: tokens of any rank with an expert here.
  std::vector<float> x;
  std::vector<LocalExpert> local;
  std::vector<float> row_weights;
  std::vector<std::int64_t> expert_rows;
  std::vector<RowOrigin> origins;
};

class AllgatherReduceScatter final : public PrepareFinalize {
 public:
  AllgatherReduceScatter(const Shape& shape, std::shared_ptr<EpChannel> channel,
                         const AllgatherReduceScatterOptions& options)
      : PrepareFinalize(shape),
        channel_(std::move(channel)),
        options_(options),
        layout_(shape, options.max_tokens_per_rank),
        map_(options.placement.local_map(channel_->rank())) {
    capabilities_ = {.name = "allgather_reducescatter",
                     .format = ActivationFormat::kStandard,
                     .weight_and_reduce = kForms,
                     .max_ranks = comm::SharedGroup::kMaxRanks,
                     .max_tokens_per_rank = options.max_tokens_per_rank};
  }

  const PrepareFinalizeCapabilities& capabilities() const override { return capabilities_; }

 private:
  std::int32_t ranks() const { return channel_->group().size(); }
  template <typename T>
  T* part(std::int32_t rank, std::size_t offset) const {
    return reinterpret_cast<T*>(channel_->group().window(rank).data() + offset);
  }
  Header& header(std::int32_t rank) const { return *part<Header>(rank, 0); }

  std::unique_ptr<DispatchHandle::Step> make_step() override { return std::make_unique<GatherStep>(channel_); }

  Status do_dispatch_send(DispatchHandle::Step& base, const DispatchInput& input) override {
    auto& step = static_cast<GatherStep&>(base);
    SLUICE_ASSIGN(step.epoch, channel_->begin());
    step.begun = true;
    // Nobody reads this window any more: all results of the step before have come.
    const std::int32_t me = channel_->rank();
    std::copy(step.ids.begin(), step.ids.end(), part<GlobalExpert>(me, layout_.ids));
    std::copy(step.weights.begin(), step.weights.end(), part<float>(me, layout_.weights));
    std::copy_n(input.x, step.tokens * shape().hidden_size, part<float>(me, layout_.x));
    header(me).tokens = step.tokens;
    comm::SharedGroup::publish(header(me).sent, step.epoch);
    return Status::success();
  }

  Result<ReceivedRows> do_dispatch_recv(DispatchHandle::Step& base) override {
    auto& step = static_cast<GatherStep&>(base);
    const std::int32_t fused = shape().num_experts - options_.placement.num_experts();
    const std::int32_t held = options_.placement.num_local(channel_->rank()) + fused;
    step.expert_rows.assign(static_cast<std::size_t>(held), 0);
    for (std::int32_t from = 0; from < ranks(); ++from) {
      SLUICE_TRY(channel_->group().wait(header(from).sent, step.epoch, from, "dispatch"));
      SLUICE_TRY(gather(step, from));
    }
    ReceivedRows rows;
    rows.rows = static_cast<std::int64_t>(step.origins.size());
    rows.row_stride = shape().hidden_size;
    rows.x = step.x.data();
    rows.top_k = shape().top_k;
    rows.ids = step.local.data();
    rows.weights = step.row_weights.data();
    rows.expert_rows = step.expert_rows;
    rows.origins = step.origins;
    rows.placement_version = options_.placement.version();
    return rows;
  }

  // The tokens of one rank that need an expert of ours.
  Status gather(GatherStep& step, std::int32_t from) const {
    const auto corrupt = [&](std::string_view what, std::int64_t value) {
      return Error(ErrorCode::kCorrupt,
                   fmt::format("allgather_reducescatter: rank {} published {} {}", from, what, value));
    };
    const std::int64_t tokens = header(from).tokens;
    if (tokens < 0 || tokens > options_.max_tokens_per_rank) return corrupt("a number of tokens of", tokens);
    const std::int32_t top_k = shape().top_k;
    const std::int64_t hidden = shape().hidden_size;
    const auto* const ids = part<const GlobalExpert>(from, layout_.ids);
    const auto* const weights = part<const float>(from, layout_.weights);
    const auto* const x = part<const float>(from, layout_.x);
    for (std::int64_t t = 0; t < tokens; ++t) {
      bool ours = false;
      for (std::int64_t slot = t * top_k; slot < (t + 1) * top_k; ++slot) {
        const GlobalExpert id = ids[slot];
        if (index(id) < index(kNoGlobalExpert) || index(id) >= shape().num_experts) {
          return corrupt("expert id", index(id));
        }
        const LocalExpert local = local_of(id, from);
        step.local.push_back(local);
        if (local == kNoLocalExpert) continue;
        ours = true;
        ++step.expert_rows[static_cast<std::size_t>(index(local))];
      }
      if (!ours) {
        step.local.resize(step.local.size() - static_cast<std::size_t>(top_k));
        continue;
      }
      step.row_weights.insert(step.row_weights.end(), weights + t * top_k, weights + (t + 1) * top_k);
      step.x.insert(step.x.end(), x + t * hidden, x + (t + 1) * hidden);
      step.origins.push_back({from, static_cast<std::int32_t>(t)});
    }
    return Status::success();
  }

  LocalExpert local_of(GlobalExpert id, std::int32_t from) const {
    const std::int32_t routed = options_.placement.num_experts();
    if (index(id) < routed) return map_[id];
    if (from != channel_->rank()) return kNoLocalExpert;  // a shared expert runs on its token's rank, once
    return LocalExpert{options_.placement.num_local(from) + index(id) - routed};
  }

  Status do_combine_send(DispatchHandle::Step& base, const ExpertOutput& output) override {
    auto& step = static_cast<GatherStep&>(base);
    if (!step.origins.empty() && (output.rows == nullptr || output.row_stride < shape().hidden_size)) {
      return Error(ErrorCode::kInvalidArgument, "allgather_reducescatter: combine_send without the received rows");
    }
    const std::int32_t top_k = shape().top_k;
    const std::int64_t hidden = shape().hidden_size;
    for (std::size_t row = 0; row < step.origins.size(); ++row) {
      const RowOrigin origin = step.origins[row];
      auto* const results = part<float>(origin.rank, layout_.results);
      for (std::int32_t k = 0; k < top_k; ++k) {
        const std::int64_t slot = static_cast<std::int64_t>(row) * top_k + k;
        if (step.local[static_cast<std::size_t>(slot)] == kNoLocalExpert) continue;
        // Each slot of a token has one expert, so one writer.
        std::copy_n(output.rows + slot * output.row_stride, hidden,
                    results + (static_cast<std::int64_t>(origin.token) * top_k + k) * hidden);
      }
    }
    for (std::int32_t to = 0; to < ranks(); ++to) {
      comm::SharedGroup::publish(header(to).combined[static_cast<std::size_t>(channel_->rank())], step.epoch);
    }
    return Status::success();
  }

  Status do_combine_recv(DispatchHandle::Step& base, float* out) override {
    auto& step = static_cast<GatherStep&>(base);
    const std::int32_t me = channel_->rank();
    for (std::int32_t from = 0; from < ranks(); ++from) {
      SLUICE_TRY(
          channel_->group().wait(header(me).combined[static_cast<std::size_t>(from)], step.epoch, from, "combine"));
    }
    const auto* const results = part<const float>(me, layout_.results);
    const std::int64_t hidden = shape().hidden_size;
    for (std::int64_t t = 0; t < step.tokens; ++t) {
      const std::int64_t first = t * shape().top_k;
      const auto row = [&](std::int32_t k) -> const float* {
        const bool used = step.ids[static_cast<std::size_t>(first + k)] != kNoGlobalExpert;
        return used ? results + (first + k) * hidden : nullptr;
      };
      weighted_sum(shape().top_k, step.weights.data() + first, row, hidden, options_.exact, out + t * hidden);
    }
    step.begun = false;
    channel_->end();
    return Status::success();
  }

  std::shared_ptr<EpChannel> channel_;
  AllgatherReduceScatterOptions options_;
  Layout layout_;
  LocalExpertMap map_;
  PrepareFinalizeCapabilities capabilities_;
};

}  // namespace

Result<std::uint32_t> EpChannel::begin() {
  if (failed_) return Error(ErrorCode::kIo, fmt::format("rank {} left its group: an earlier step failed", rank_));
  if (in_flight_) {
    return Error(ErrorCode::kInvalidArgument, fmt::format("rank {}: a step is in flight, one at a time", rank_));
  }
  in_flight_ = true;
  return ++epoch_;
}

void EpChannel::fail() {
  failed_ = true;
  group_->leave(rank_);
}

std::size_t allgather_reducescatter_window_bytes(const PrepareFinalize::Shape& shape,
                                                 std::int64_t max_tokens_per_rank) {
  return Layout(shape, max_tokens_per_rank).bytes;
}

Result<std::unique_ptr<PrepareFinalize>> make_allgather_reducescatter(const PrepareFinalize::Shape& shape,
                                                                      std::shared_ptr<EpChannel> channel,
                                                                      const AllgatherReduceScatterOptions& options) {
  const std::int32_t ranks = channel->group().size();
  const auto invalid = [](std::string text) {
    return Error(ErrorCode::kInvalidArgument, "allgather_reducescatter: " + std::move(text));
  };
  if (channel->rank() < 0 || channel->rank() >= ranks)
    return invalid(fmt::format("rank {} of {}", channel->rank(), ranks));
  if (options.placement.num_ranks() != ranks) {
    return invalid(fmt::format("a placement on {} ranks, the group has {}", options.placement.num_ranks(), ranks));
  }
  if (options.placement.num_experts() > shape.num_experts) {
    return invalid(
        fmt::format("a placement of {} experts, the layer has {}", options.placement.num_experts(), shape.num_experts));
  }
  if (options.max_tokens_per_rank < 1) return invalid(fmt::format("{} tokens per rank", options.max_tokens_per_rank));
  const std::size_t wanted = allgather_reducescatter_window_bytes(shape, options.max_tokens_per_rank);
  const std::size_t found = channel->group().window(0).size();
  if (found < wanted) return invalid(fmt::format("windows of {} bytes, {} are needed", found, wanted));
  return std::unique_ptr<PrepareFinalize>(std::make_unique<AllgatherReduceScatter>(shape, std::move(channel), options));
}

}  // namespace sluice::moe
