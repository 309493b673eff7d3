// The public layer (include/sluice/moe.h): turns plain arrays into specs and views.
#include "sluice/moe.h"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "cpu/isa.h"
#include "moe/fused_moe.h"
#include "moe/plan.h"

namespace sluice {
namespace {

Error invalid(std::string text) { return Error(ErrorCode::kInvalidArgument, std::move(text)); }

std::string known_types() {
  std::string names;
  for (int id = 0; id <= static_cast<int>(DType::kU64); ++id) {
    const FormatInfo* info = find_format(static_cast<DType>(id));
    if (info == nullptr || info->decode == nullptr) continue;
    if (!names.empty()) names += ", ";
    names += info->name;
  }
  return names;
}

Result<const FormatInfo*> weight_format(std::string_view name) {
  const FormatInfo* info = find_format(name);
  if (info == nullptr || info->decode == nullptr) {
    return invalid(fmt::format("unknown weight type '{}'; known: {}", name, known_types()));
  }
  return info;
}

moe::RoutingProgram program_of(const MoeDescription& d) {
  moe::RoutingProgram p;
  p.num_experts = d.routing.num_experts;
  p.top_k = d.routing.top_k;
  p.score = d.routing.score == MoeRouting::Score::kSoftmax ? moe::Score::kSoftmax : moe::Score::kSigmoid;
  p.logit_bias = !d.logit_bias.empty();
  p.selection_bias = !d.selection_bias.empty();
  p.num_groups = d.routing.num_groups;
  p.groups_used = d.routing.groups_used;
  p.group_value =
      d.routing.group_value == MoeRouting::GroupValue::kMax ? moe::GroupValue::kMax : moe::GroupValue::kTopTwoSum;
  p.normalize = d.routing.normalize;
  p.norm_guard = d.routing.norm_guard == MoeRouting::NormGuard::kAdd ? moe::NormGuard::kAdd : moe::NormGuard::kClamp;
  p.norm_epsilon = d.routing.norm_epsilon;
  p.scale = d.routing.scale;
  return p;
}

moe::MoeSpec spec_of(const MoeDescription& d) {
  moe::MoeSpec spec;
  spec.hidden_size = d.hidden_size;
  spec.intermediate_size = d.intermediate_size;
  spec.routing = program_of(d);
  spec.shared = {.count = d.num_shared_experts,
                 .intermediate_size = d.shared_intermediate_size,
                 .gated = !d.shared_output_gate.empty()};
  spec.activation = d.activation == MoeActivation::kSwigluOai ? moe::Activation::kSwigluOai : moe::Activation::kSilu;
  spec.swiglu_alpha = d.swiglu_alpha;
  spec.swiglu_limit = d.swiglu_limit;
  spec.expert_bias = !d.gate_bias.empty() || !d.up_bias.empty() || !d.down_bias.empty();
  return spec;
}

// Cuts the arrays of a description into views, checking every length. REQUIRES: sizes that make_plan() accepted, so
// that products of two of them fit 64 bits.
class ArrayReader {
 public:
  explicit ArrayReader(const MoeDescription& d) : d_(d) {}

  Result<moe::MoeWeights> read() {
    const std::int64_t experts = d_.routing.num_experts;
    const std::int64_t hidden = d_.hidden_size;
    const std::int64_t width = d_.intermediate_size;
    moe::MoeWeights weights;
    SLUICE_TRY(check("router", d_.router, experts * hidden));
    weights.router = floats(d_.router, experts, hidden);
    SLUICE_ASSIGN(weights.router_bias, optional("logit_bias", d_.logit_bias, experts));
    SLUICE_ASSIGN(weights.selection_bias, optional("selection_bias", d_.selection_bias, experts));

    SLUICE_ASSIGN(const WeightView gate, matrix("gate", d_.weight_type, d_.gate, experts * width, hidden));
    SLUICE_ASSIGN(const WeightView up, matrix("up", d_.weight_type, d_.up, experts * width, hidden));
    SLUICE_ASSIGN(const WeightView down, matrix("down", d_.weight_type, d_.down, experts * hidden, width));
    const bool bias = !d_.gate_bias.empty() || !d_.up_bias.empty() || !d_.down_bias.empty();
    if (bias) {
      SLUICE_TRY(check("gate_bias", d_.gate_bias, experts * width));
      SLUICE_TRY(check("up_bias", d_.up_bias, experts * width));
      SLUICE_TRY(check("down_bias", d_.down_bias, experts * hidden));
    }
    std::vector<moe::ExpertMatrices> stack;
    for (std::int64_t e = 0; e < experts; ++e) {
      stack.push_back({.gate = gate.slice_rows(e * width, width),
                       .up = up.slice_rows(e * width, width),
                       .down = down.slice_rows(e * hidden, hidden),
                       .gate_bias = bias ? d_.gate_bias.data() + e * width : nullptr,
                       .up_bias = bias ? d_.up_bias.data() + e * width : nullptr,
                       .down_bias = bias ? d_.down_bias.data() + e * hidden : nullptr});
    }
    weights.experts = std::make_shared<moe::MappedExpertStore>(std::move(stack));
    if (d_.num_shared_experts > 0) {
      SLUICE_TRY(read_shared(weights));
    } else if (!d_.shared_gate.empty() || !d_.shared_up.empty() || !d_.shared_down.empty()) {
      return invalid("MoE layer: weights of shared experts are given, but num_shared_experts is 0");
    }
    return weights;
  }

 private:
  Status read_shared(moe::MoeWeights& weights) {
    const std::int64_t hidden = d_.hidden_size;
    const std::int64_t width = d_.shared_intermediate_size;
    const std::string& type = d_.shared_weight_type;
    SLUICE_ASSIGN(weights.shared.gate, matrix("shared_gate", type, d_.shared_gate, width, hidden));
    SLUICE_ASSIGN(weights.shared.up, matrix("shared_up", type, d_.shared_up, width, hidden));
    SLUICE_ASSIGN(weights.shared.down, matrix("shared_down", type, d_.shared_down, hidden, width));
    if (!d_.shared_output_gate.empty()) {
      SLUICE_TRY(check("shared_output_gate", d_.shared_output_gate, hidden));
      weights.shared_gate = floats(d_.shared_output_gate, 1, hidden);
    }
    return Status::success();
  }

  static Status check(std::string_view name, std::span<const float> values, std::int64_t wanted) {
    if (static_cast<std::int64_t>(values.size()) == wanted) return Status::success();
    return invalid(fmt::format("MoE layer: {} holds {} floats, {} are needed", name, values.size(), wanted));
  }

  static Result<const float*> optional(std::string_view name, std::span<const float> values, std::int64_t wanted) {
    if (values.empty()) return static_cast<const float*>(nullptr);
    SLUICE_TRY(check(name, values, wanted));
    return values.data();
  }

  static WeightView floats(std::span<const float> values, std::int64_t rows, std::int64_t cols) {
    return {.dtype = DType::kF32,
            .data = std::as_bytes(values).data(),
            .rows = rows,
            .cols = cols,
            .row_bytes = static_cast<std::size_t>(cols) * sizeof(float)};
  }

  static Result<WeightView> matrix(std::string_view name, const std::string& type, std::span<const std::byte> bytes,
                                   std::int64_t rows, std::int64_t cols) {
    const auto wanted = weight_bytes(type, rows, cols);
    if (!wanted.ok()) return wanted.error().with_context(fmt::format("MoE layer: {}", name));
    if (bytes.size() != *wanted) {
      return invalid(fmt::format("MoE layer: {} holds {} bytes, {} are needed for [{}, {}] of {}", name, bytes.size(),
                                 *wanted, rows, cols, type));
    }
    return WeightView{.dtype = find_format(type)->dtype,
                      .data = bytes.data(),
                      .rows = rows,
                      .cols = cols,
                      .row_bytes = *wanted / static_cast<std::size_t>(rows)};
  }

  const MoeDescription& d_;
};

}  // namespace

Result<std::size_t> weight_bytes(std::string_view weight_type, std::int64_t rows, std::int64_t cols) {
  SLUICE_ASSIGN(const FormatInfo* info, weight_format(weight_type));
  if (rows < 1 || cols < 1) return invalid(fmt::format("a matrix of [{}, {}] is impossible", rows, cols));
  const auto row = row_bytes(info->dtype, static_cast<std::uint64_t>(cols));
  if (!row) {
    return invalid(fmt::format("rows of {} values are not a whole number of {} blocks of {}", cols, info->name,
                               info->block_values));
  }
  if (*row > std::numeric_limits<std::size_t>::max() / static_cast<std::uint64_t>(rows)) {
    return invalid(fmt::format("a matrix of [{}, {}] has more bytes than can be counted", rows, cols));
  }
  return static_cast<std::size_t>(*row) * static_cast<std::size_t>(rows);
}

struct MoeLayer::Impl {
  ThreadPool pool;
  std::unique_ptr<moe::FusedMoe> layer;
  std::int64_t hidden_size;
  std::int32_t top_k;

  explicit Impl(int threads) : pool(threads), hidden_size(0), top_k(0) {}
};

Result<MoeLayer> MoeLayer::create(const MoeDescription& description, const MoeOptions& options) {
  moe::PlanInputs inputs;
  inputs.spec = spec_of(description);
  SLUICE_ASSIGN(inputs.wishes.isa, parse_isa(options.isa));
  inputs.wishes.experts = options.experts;
  inputs.wishes.shared_experts = options.shared_experts;
  SLUICE_ASSIGN(const FormatInfo* type, weight_format(description.weight_type));
  inputs.gate_dtype = inputs.up_dtype = inputs.down_dtype = type->dtype;
  if (description.num_shared_experts > 0) {
    SLUICE_ASSIGN(type, weight_format(description.shared_weight_type));
    inputs.shared_dtype = type->dtype;
  }
  SLUICE_ASSIGN(const moe::Plan plan, moe::make_plan(inputs));
  SLUICE_ASSIGN(const moe::MoeWeights weights, ArrayReader(description).read());

  auto impl = std::make_unique<Impl>(options.threads);
  SLUICE_ASSIGN(impl->layer, moe::FusedMoe::create(inputs.spec, weights, plan, impl->pool));
  impl->hidden_size = description.hidden_size;
  impl->top_k = description.routing.top_k;
  return MoeLayer(std::move(impl));
}

MoeLayer::MoeLayer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MoeLayer::MoeLayer(MoeLayer&&) noexcept = default;
MoeLayer& MoeLayer::operator=(MoeLayer&&) noexcept = default;
MoeLayer::~MoeLayer() = default;

Status MoeLayer::forward(std::span<const float> x, std::span<float> out, MoeRouted* routed) {
  const auto hidden = static_cast<std::size_t>(impl_->hidden_size);
  if (x.size() % hidden != 0 || out.size() != x.size()) {
    return invalid(
        fmt::format("MoE layer: x holds {} floats and out {}; both need rows of {}", x.size(), out.size(), hidden));
  }
  moe::RoutingObserver observer;
  if (routed != nullptr) {
    *routed = {.top_k = impl_->top_k, .experts = {}, .weights = {}};
    observer = [&](std::int64_t tokens, std::int32_t top_k, const moe::GlobalExpert* ids, const float* weights) {
      const std::int64_t slots = tokens * top_k;
      routed->experts.reserve(static_cast<std::size_t>(slots));
      for (std::int64_t i = 0; i < slots; ++i) routed->experts.push_back(moe::index(ids[i]));
      routed->weights.assign(weights, weights + slots);
    };
  }
  return impl_->layer->forward(x.data(), static_cast<std::int64_t>(x.size() / hidden), out.data(), observer);
}

std::string MoeLayer::explain() const { return impl_->layer->plan().explain(); }

std::string_view MoeLayer::isa() const { return isa_name(impl_->layer->plan().isa); }

int MoeLayer::threads() const { return impl_->pool.size(); }

}  // namespace sluice
