#include "model/model.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/family.h"
#include "model/forward.h"
#include "model/weights.h"
#include "moe/fused_moe.h"

namespace sluice {
namespace {

// Logits of a chunk of rows at a time, so that "all logits" of a long prompt need no vocabulary-sized matrix.
constexpr std::int64_t kLogitRows = 32;

moe::PlanInputs plan_inputs(const moe::MoeSpec& spec, const moe::MoeWeights& weights, const moe::PlanWishes& wishes) {
  moe::PlanInputs inputs;
  inputs.spec = spec;
  const moe::ExpertMatrices expert = weights.experts->expert(moe::LocalExpert{0});
  inputs.gate_dtype = expert.gate.dtype;
  inputs.up_dtype = expert.up.dtype;
  inputs.down_dtype = expert.down.dtype;
  if (spec.shared.count > 0) inputs.shared_dtype = weights.shared.gate.dtype;
  inputs.wishes = wishes;
  return inputs;
}

class LoadedModel final : public Model {
 public:
  LoadedModel(ModelSpec spec, std::unique_ptr<ModelWeights> weights, Isa isa, ThreadPool& pool)
      : spec_(std::move(spec)),
        weights_(std::move(weights)),
        kernels_(kernels_for(isa)),
        pool_(pool),
        rope_(spec_.rope, weights_->rope_factors),
        attention_(kernels_, pool, rope_, spec_.hidden_size, spec_.rms_eps),
        projector_(kernels_, pool) {}

  Status build_layers(const moe::PlanWishes& wishes) {
    const auto workspace = std::make_shared<moe::Workspace>();  // layers run one after the other
    for (std::size_t i = 0; i < spec_.layers.size(); ++i) {
      const LayerSpec& layer = spec_.layers[i];
      const LayerWeights& weights = weights_->layers[i];
      Ffn ffn;
      if (layer.moe) {
        SLUICE_ASSIGN(const moe::Plan plan, moe::make_plan(plan_inputs(*layer.moe, weights.moe, wishes)));
        SLUICE_ASSIGN(ffn.moe, moe::FusedMoe::create(*layer.moe, weights.moe, plan, pool_, workspace));
      } else {
        SLUICE_ASSIGN(ffn.dense,
                      moe::DenseFfn::create(spec_.hidden_size, layer.dense_intermediate, moe::Activation::kSilu,
                                            weights.dense, wishes.isa, pool_, workspace));
      }
      ffn_.push_back(std::move(ffn));
    }
    return Status::success();
  }

  const ModelSpec& spec() const override { return spec_; }
  const Checkpoint& checkpoint() const override { return *weights_->checkpoint; }
  const moe::Plan* plan(std::size_t layer) const override {
    return ffn_[layer].moe ? &ffn_[layer].moe->plan() : nullptr;
  }
  const std::vector<std::string>& unused_tensors() const override { return weights_->unused; }
  std::size_t converted_bytes() const override { return weights_->arena.allocated(); }

  Status forward(std::span<const SequenceTokens> batch, const LogitsSink& sink,
                 const LayerRoutingObserver& routing) override;

 private:
  struct Ffn {
    std::unique_ptr<moe::FusedMoe> moe;
    std::unique_ptr<moe::DenseFfn> dense;
  };

  Status gather_rows(std::span<const SequenceTokens> batch, std::vector<std::int32_t>& tokens);
  Status run_layers(std::int64_t count, const LayerRoutingObserver& routing);
  Status emit_logits(std::span<const std::int64_t> wanted, const LogitsSink& sink);
  void norm(const char* region, const float* x, const float* weight, std::int64_t rows, float* out);

  ModelSpec spec_;
  std::unique_ptr<ModelWeights> weights_;
  const KernelTable& kernels_;
  ThreadPool& pool_;
  Rope rope_;
  Attention attention_;
  Projector projector_;
  std::vector<Ffn> ffn_;
  std::vector<BatchRow> rows_;
  Scratch<float> x_, normed_, branch_, logits_;
};

Status LoadedModel::gather_rows(std::span<const SequenceTokens> batch, std::vector<std::int32_t>& tokens) {
  rows_.clear();
  std::vector<const KvCache*> caches;
  for (const SequenceTokens& sequence : batch) caches.push_back(sequence.cache);
  std::ranges::sort(caches);
  if (std::ranges::adjacent_find(caches) != caches.end()) {
    return Error(ErrorCode::kInvalidArgument, "a sequence is twice in one batch");
  }
  for (const SequenceTokens& sequence : batch) {
    std::int64_t position = sequence.cache->length();
    for (const std::int32_t token : sequence.tokens) {
      if (token < 0 || token >= spec_.vocab_size) {
        return Error(ErrorCode::kInvalidArgument,
                     fmt::format("token id {} is out of range: the model has {} tokens", token, spec_.vocab_size));
      }
      rows_.push_back({sequence.cache, position++});
      tokens.push_back(token);
    }
    SLUICE_TRY(sequence.cache->reserve(static_cast<std::int64_t>(sequence.tokens.size())));
  }
  return Status::success();
}

void LoadedModel::norm(const char* region, const float* x, const float* weight, std::int64_t rows, float* out) {
  const std::int64_t hidden = spec_.hidden_size;
  pool_.parallel_for(region, rows, 8, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t t = begin; t < end; ++t) {
      kernels_.rms_norm(x + t * hidden, weight, hidden, spec_.rms_eps, out + t * hidden);
    }
  });
}

Status LoadedModel::run_layers(std::int64_t count, const LayerRoutingObserver& routing) {
  const std::int64_t hidden = spec_.hidden_size;
  float* x = x_.get();
  float* normed = normed_.resize(count * hidden);
  float* branch = branch_.resize(count * hidden);
  attention_.prepare(rows_);
  for (std::size_t i = 0; i < spec_.layers.size(); ++i) {
    const LayerWeights& weights = weights_->layers[i];
    norm("attention_norm", x, weights.attention_norm, count, normed);
    attention_.run(i, spec_.layers[i].attention, weights.attention, normed, rows_, branch);
    kernels_.add(branch, count * hidden, x);
    norm("ffn_norm", x, weights.ffn_norm, count, normed);
    if (ffn_[i].moe) {
      moe::RoutingObserver observer;
      if (routing) {
        observer = [&, i](std::int64_t tokens, std::int32_t top_k, const moe::GlobalExpert* ids, const float* values) {
          routing(static_cast<std::int64_t>(i), tokens, top_k, ids, values);
        };
      }
      SLUICE_TRY(ffn_[i].moe->forward(normed, count, branch, observer));
    } else {
      SLUICE_TRY(ffn_[i].dense->forward(normed, count, branch));
    }
    kernels_.add(branch, count * hidden, x);
  }
  return Status::success();
}

Status LoadedModel::emit_logits(std::span<const std::int64_t> wanted, const LogitsSink& sink) {
  const std::int64_t hidden = spec_.hidden_size;
  for (std::size_t first = 0; first < wanted.size(); first += kLogitRows) {
    const auto count = static_cast<std::int64_t>(std::min<std::size_t>(kLogitRows, wanted.size() - first));
    float* normed = normed_.resize(count * hidden);
    for (std::int64_t r = 0; r < count; ++r) {
      const std::int64_t row = wanted[first + static_cast<std::size_t>(r)];
      kernels_.rms_norm(x_.get() + row * hidden, weights_->output_norm, hidden, spec_.rms_eps, normed + r * hidden);
    }
    float* logits = logits_.resize(count * spec_.vocab_size);
    const Projection output = {&weights_->output, nullptr, logits};
    projector_.run("output", normed, count, hidden, {&output, 1});
    for (std::int64_t r = 0; r < count; ++r) {
      const std::span<const float> row(logits + r * spec_.vocab_size, static_cast<std::size_t>(spec_.vocab_size));
      if (!std::ranges::all_of(row, [](float v) { return std::isfinite(v); })) {
        const std::string culprit = find_non_finite_weight(*weights_->checkpoint);
        return Error(ErrorCode::kCorrupt,
                     culprit.empty()
                         ? fmt::format("{}: the model produced NaN or infinity, though all its weights are finite",
                                       weights_->checkpoint->path())
                         : fmt::format("{}: {} holds NaN or infinity", weights_->checkpoint->path(), culprit));
      }
      sink(wanted[first + static_cast<std::size_t>(r)], row);
    }
  }
  return Status::success();
}

Status LoadedModel::forward(std::span<const SequenceTokens> batch, const LogitsSink& sink,
                            const LayerRoutingObserver& routing) {
  std::vector<std::int32_t> tokens;
  SLUICE_TRY(gather_rows(batch, tokens));
  const auto count = static_cast<std::int64_t>(tokens.size());
  if (count == 0) return Status::success();
  const std::int64_t hidden = spec_.hidden_size;
  float* x = x_.resize(count * hidden);
  for (std::int64_t t = 0; t < count; ++t) {
    decode_row(weights_->embedding, tokens[static_cast<std::size_t>(t)], x + t * hidden);
  }
  SLUICE_TRY(run_layers(count, routing));

  std::vector<std::int64_t> wanted;
  std::int64_t end = 0;
  for (const SequenceTokens& sequence : batch) {
    const std::int64_t begin = end;
    end += static_cast<std::int64_t>(sequence.tokens.size());
    if (begin == end || sequence.want == WantLogits::kNone) continue;
    for (std::int64_t r = sequence.want == WantLogits::kAll ? begin : end - 1; r < end; ++r) wanted.push_back(r);
  }
  SLUICE_TRY(emit_logits(wanted, sink));
  for (const SequenceTokens& sequence : batch) {
    sequence.cache->commit(static_cast<std::int64_t>(sequence.tokens.size()));
  }
  return Status::success();
}

}  // namespace

Result<std::unique_ptr<Model>> Model::load(std::shared_ptr<const Checkpoint> checkpoint, const ModelOptions& options,
                                           ThreadPool& pool) {
  SLUICE_ASSIGN(UnderstoodModel understood, understand(*checkpoint));
  SLUICE_ASSIGN(std::unique_ptr<ModelWeights> weights,
                bind_weights(std::move(checkpoint), *understood.family, understood.spec, options.progress));
  auto model = std::make_unique<LoadedModel>(std::move(understood.spec), std::move(weights), options.wishes.isa, pool);
  SLUICE_TRY(model->build_layers(options.wishes));
  return std::unique_ptr<Model>(std::move(model));
}

}  // namespace sluice
