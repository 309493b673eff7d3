#include "moe/support/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace sluice::moe {
namespace {

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

std::vector<double> scores_of(const RoutingProgram& p, std::span<const double> logits) {
  std::vector<double> scores(logits.begin(), logits.end());
  if (p.score == Score::kSigmoid) {
    for (double& s : scores) s = sigmoid(s);
    return scores;
  }
  const double max = *std::ranges::max_element(logits);
  double sum = 0.0;
  for (double& s : scores) sum += s = std::exp(s - max);
  for (double& s : scores) s /= sum;
  return scores;
}

// Ids by falling value, ties by lower id.
std::vector<std::int32_t> ranking(std::span<const double> values) {
  std::vector<std::int32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::int32_t a, std::int32_t b) {
    return values[static_cast<std::size_t>(a)] > values[static_cast<std::size_t>(b)];
  });
  return order;
}

std::vector<double> multiply(const WeightView& weight, const float* bias, std::span<const double> x) {
  const std::vector<double> w = decode_matrix(weight);
  std::vector<double> y(static_cast<std::size_t>(weight.rows));
  for (std::size_t n = 0; n < y.size(); ++n) {
    for (std::size_t k = 0; k < x.size(); ++k) y[n] += w[n * x.size() + k] * x[k];
    if (bias != nullptr) y[n] += static_cast<double>(bias[n]);
  }
  return y;
}

}  // namespace

ReferenceRouting reference_route(const RoutingProgram& p, std::span<const double> logits, const float* selection_bias) {
  const std::vector<double> scores = scores_of(p, logits);
  std::vector<double> selection = scores;
  for (std::size_t e = 0; e < selection.size(); ++e) {
    if (selection_bias != nullptr) selection[e] += static_cast<double>(selection_bias[e]);
  }
  if (p.num_groups > 1) {
    const auto size = selection.size() / static_cast<std::size_t>(p.num_groups);
    std::vector<double> worth;
    for (std::size_t g = 0; g < static_cast<std::size_t>(p.num_groups); ++g) {
      std::vector<double> members(selection.begin() + static_cast<std::ptrdiff_t>(g * size),
                                  selection.begin() + static_cast<std::ptrdiff_t>((g + 1) * size));
      std::ranges::sort(members, std::greater<>());
      worth.push_back(p.group_value == GroupValue::kMax || size == 1 ? members[0] : members[0] + members[1]);
    }
    const std::vector<std::int32_t> best = ranking(worth);
    for (auto g = static_cast<std::size_t>(p.groups_used); g < best.size(); ++g) {
      for (std::size_t i = 0; i < size; ++i) {
        selection[static_cast<std::size_t>(best[g]) * size + i] = -std::numeric_limits<double>::infinity();
      }
    }
  }
  std::vector<std::int32_t> chosen = ranking(selection);
  chosen.resize(static_cast<std::size_t>(p.top_k));

  double sum = 0.0;
  for (const std::int32_t e : chosen) sum += scores[static_cast<std::size_t>(e)];
  const double epsilon = static_cast<double>(p.norm_epsilon);
  const double divisor = !p.normalize ? 1.0 : p.norm_guard == NormGuard::kAdd ? sum + epsilon : std::max(sum, epsilon);
  std::vector<double> weights;
  for (const std::int32_t e : chosen) {
    weights.push_back(scores[static_cast<std::size_t>(e)] / divisor * static_cast<double>(p.scale));
  }
  std::vector<std::size_t> order(chosen.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return weights[a] != weights[b] ? weights[a] > weights[b] : chosen[a] < chosen[b];
  });
  ReferenceRouting routing;
  for (const std::size_t i : order) {
    routing.ids.push_back(chosen[i]);
    routing.weights.push_back(weights[i]);
  }
  return routing;
}

std::vector<double> decode_matrix(const WeightView& weight) {
  std::vector<float> row(static_cast<std::size_t>(weight.cols));
  std::vector<double> all;
  for (std::int64_t n = 0; n < weight.rows; ++n) {
    decode_row(weight, n, row.data());
    all.insert(all.end(), row.begin(), row.end());
  }
  return all;
}

std::vector<double> reference_ffn(const MoeSpec& spec, const ExpertMatrices& weights, std::span<const float> x) {
  const std::vector<double> input(x.begin(), x.end());
  const std::vector<double> gate = multiply(weights.gate, weights.gate_bias, input);
  const std::vector<double> up = multiply(weights.up, weights.up_bias, input);
  std::vector<double> h(gate.size());
  for (std::size_t i = 0; i < h.size(); ++i) {
    if (spec.activation == Activation::kSilu) {
      h[i] = gate[i] * sigmoid(gate[i]) * up[i];
    } else {
      const double limit = static_cast<double>(spec.swiglu_limit);
      const double g = std::min(gate[i], limit);
      const double u = std::clamp(up[i], -limit, limit);
      h[i] = g * sigmoid(static_cast<double>(spec.swiglu_alpha) * g) * (u + 1.0);
    }
  }
  return multiply(weights.down, weights.down_bias, h);
}

ReferenceOutput reference_forward(const MoeSpec& spec, const MoeWeights& weights, std::span<const float> x) {
  const auto hidden = static_cast<std::size_t>(spec.hidden_size);
  ReferenceOutput result;
  for (std::size_t t = 0; t * hidden < x.size(); ++t) {
    const std::span<const float> row = x.subspan(t * hidden, hidden);
    const std::vector<double> input(row.begin(), row.end());
    const std::vector<double> logits =
        multiply(weights.router, spec.routing.logit_bias ? weights.router_bias : nullptr, input);
    const ReferenceRouting routing =
        reference_route(spec.routing, logits, spec.routing.selection_bias ? weights.selection_bias : nullptr);
    std::vector<double> out(hidden);
    const auto add = [&](double weight, const ExpertMatrices& expert) {
      const std::vector<double> y = reference_ffn(spec, expert, row);
      for (std::size_t i = 0; i < hidden; ++i) out[i] += weight * y[i];
    };
    for (std::size_t k = 0; k < routing.ids.size(); ++k) {
      add(routing.weights[k], weights.experts->expert(LocalExpert{routing.ids[k]}));
    }
    if (spec.shared.count > 0) {
      add(spec.shared.gated ? sigmoid(multiply(weights.shared_gate, nullptr, input)[0]) : 1.0, weights.shared);
    }
    result.out.insert(result.out.end(), out.begin(), out.end());
    result.routing.push_back(routing);
  }
  return result;
}

}  // namespace sluice::moe
