#include <algorithm>
#include <utility>

#include "moe/experts/ffn_pass.h"
#include "moe/fused_moe.h"
#include "moe/layer_checks.h"

namespace sluice::moe {
namespace {

class DenseFfnImpl final : public DenseFfn {
 public:
  DenseFfnImpl(const FfnFacts& facts, std::int64_t intermediate_size, const ExpertMatrices& weights, Isa isa,
               ThreadPool& pool, std::shared_ptr<Workspace> workspace)
      : intermediate_(intermediate_size),
        weights_(weights),
        workspace_(std::move(workspace)),
        pass_(facts, kernels_for(isa), pool, workspace_),
        formats_(pass_.input_formats(weights)) {}

  Status forward(const float* x, std::int64_t tokens, float* out) override {
    SLUICE_ASSIGN(const Workspace::Lease lease, workspace_->acquire());
    const std::int64_t hidden = pass_.facts().hidden_size;
    const std::int64_t chunk = workspace_->chunk_tokens(pass_.bytes_per_input() + pass_.bytes_per_row(intermediate_));
    for (std::int64_t begin = 0; begin < tokens; begin += chunk) {
      const std::int64_t count = std::min(chunk, tokens - begin);
      SLUICE_ASSIGN(const PackedRows packed, pass_.pack(x + begin * hidden, count, hidden, formats_));
      const FfnJob job = {.weights = weights_, .intermediate_size = intermediate_, .rows = count};
      SLUICE_TRY(pass_.run({&job, 1}, packed, {.rows = count, .out = out + begin * hidden, .out_stride = hidden}));
    }
    return Status::success();
  }

 private:
  std::int64_t intermediate_;
  ExpertMatrices weights_;
  std::shared_ptr<Workspace> workspace_;
  FfnPass pass_;
  ActFormatSet formats_;
};

}  // namespace

Result<std::unique_ptr<DenseFfn>> DenseFfn::create(std::int64_t hidden_size, std::int64_t intermediate_size,
                                                   Activation activation, const ExpertMatrices& weights, Isa isa,
                                                   ThreadPool& pool, std::shared_ptr<Workspace> workspace) {
  SLUICE_TRY(check_ffn("the dense FFN", weights, hidden_size, intermediate_size, false));
  if (workspace == nullptr) workspace = std::make_shared<Workspace>();
  const MoeSpec defaults;
  const FfnFacts facts = {hidden_size, activation, defaults.swiglu_alpha, defaults.swiglu_limit, isa == Isa::kScalar};
  return std::unique_ptr<DenseFfn>(
      std::make_unique<DenseFfnImpl>(facts, intermediate_size, weights, isa, pool, std::move(workspace)));
}

}  // namespace sluice::moe
