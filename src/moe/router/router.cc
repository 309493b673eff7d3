#include "moe/router/router.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

namespace sluice::moe {
namespace {

// Up to here an insertion into a short sorted list beats sorting all ids.
constexpr std::int32_t kInsertionTopK = 64;

// Everything about one token, in the precision Real.
template <typename Real>
struct Token {
  const RoutingProgram& program;
  const float* logits;
  const float* bias;            // selection bias or null
  std::span<Real> selection;    // [E] what the choice compares
  std::span<Real> group_worth;  // [num_groups]
  Real max_logit = 0;

  Real logit(std::int32_t e) const { return static_cast<Real>(logits[e]); }
};

template <typename Real>
Real sigmoid(Real x) {
  return Real{1} / (Real{1} + std::exp(-x));
}

// Scores rise with the logits, so without a bias and without sums over a group the logits themselves rank: nothing is
// lost to rounding or saturation, and no exponential is spent on experts that are not chosen.
bool logits_rank(const RoutingProgram& p) {
  const bool sums_groups = p.num_groups > 1 && p.groups_used < p.num_groups && p.group_value == GroupValue::kTopTwoSum;
  return !p.selection_bias && !sums_groups;
}

template <typename Real>
Real softmax_denominator(const Token<Real>& t) {
  Real sum = 0;
  for (std::int32_t e = 0; e < t.program.num_experts; ++e) sum += std::exp(t.logit(e) - t.max_logit);
  return sum;
}

// Fills t.selection; NaN becomes -infinity, which loses against everything. Returns whether there was a NaN.
template <typename Real>
bool fill_selection(Token<Real>& t) {
  const RoutingProgram& p = t.program;
  const std::int32_t count = p.num_experts;
  bool has_nan = false;
  Real max = -std::numeric_limits<Real>::infinity();
  for (std::int32_t e = 0; e < count; ++e) {
    const Real l = t.logit(e);
    has_nan |= l != l;
    max = l > max ? l : max;
    t.selection[static_cast<std::size_t>(e)] = l;
  }
  t.max_logit = max;
  if (!logits_rank(p)) {
    const Real scale = p.score == Score::kSoftmax ? Real{1} / softmax_denominator(t) : Real{1};
    for (std::int32_t e = 0; e < count; ++e) {
      Real& value = t.selection[static_cast<std::size_t>(e)];
      value = p.score == Score::kSoftmax ? std::exp(value - max) * scale : sigmoid(value);
      if (t.bias != nullptr) value += static_cast<Real>(t.bias[e]);
    }
  }
  for (Real& value : t.selection) {
    if (value != value) {
      has_nan = true;
      value = -std::numeric_limits<Real>::infinity();
    }
  }
  return has_nan;
}

// Orders ids by falling value, ties by lower id.
template <typename Real>
struct Better {
  const Real* value;
  bool operator()(std::int32_t a, std::int32_t b) const {
    return value[a] > value[b] || (value[a] == value[b] && a < b);
  }
};

// The k best of candidate ids [begin, end) that `kept` admits, offered in rising order, appended to best[0 .. found).
template <typename Real>
class TopList {
 public:
  TopList(std::int32_t* best, std::int32_t k, const Real* value) : best_(best), k_(k), better_{value} {}
  void offer(std::int32_t id) {
    if (found_ == k_) {
      // Ids rise, so a tie with the worst keeps the lower one that is already there.
      if (!(better_.value[id] > better_.value[best_[k_ - 1]])) return;
      --found_;
    }
    std::int32_t at = found_++;
    for (; at > 0 && better_(id, best_[at - 1]); --at) best_[at] = best_[at - 1];
    best_[at] = id;
  }

 private:
  std::int32_t* best_;
  std::int32_t k_;
  std::int32_t found_ = 0;
  Better<Real> better_;
};

// Marks the groups_used best groups (ties: lower group).
template <typename Real>
void keep_groups(const Token<Real>& t, std::vector<std::uint8_t>& kept, std::vector<std::int32_t>& order) {
  const RoutingProgram& p = t.program;
  const std::int32_t size = p.num_experts / p.num_groups;
  const std::span<Real> worth = t.group_worth;
  for (std::int32_t g = 0; g < p.num_groups; ++g) {
    Real first = -std::numeric_limits<Real>::infinity();
    Real second = first;
    for (std::int32_t i = 0; i < size; ++i) {
      const Real v = t.selection[static_cast<std::size_t>(g * size + i)];
      if (v > first) {
        second = first;
        first = v;
      } else if (v > second) {
        second = v;
      }
    }
    // A group of one has no second best.
    worth[static_cast<std::size_t>(g)] = p.group_value == GroupValue::kTopTwoSum && size > 1 ? first + second : first;
  }
  order.resize(worth.size());
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + p.groups_used, order.end(), Better<Real>{worth.data()});
  kept.assign(worth.size(), 0);
  for (std::int32_t i = 0; i < p.groups_used; ++i)
    kept[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = 1;
}

// The top_k best selection values -> chosen, any order. Experts of dropped groups are no candidates at all: a masked
// value, even -infinity, could still win a tie.
template <typename Real>
void choose(const Token<Real>& t, std::int32_t* chosen, Router::Scratch& scratch) {
  const RoutingProgram& p = t.program;
  const bool grouped = p.num_groups > 1 && p.groups_used < p.num_groups;
  const std::int32_t size = p.num_experts / p.num_groups;
  if (grouped) keep_groups(t, scratch.group_kept, scratch.order);
  const auto for_each_candidate = [&](const auto& visit) {
    for (std::int32_t g = 0; g < p.num_groups; ++g) {
      if (grouped && scratch.group_kept[static_cast<std::size_t>(g)] == 0) continue;
      for (std::int32_t e = g * size; e < (g + 1) * size; ++e) visit(e);
    }
  };
  if (p.top_k <= kInsertionTopK) {
    TopList<Real> list(chosen, p.top_k, t.selection.data());
    for_each_candidate([&](std::int32_t e) { list.offer(e); });
    return;
  }
  scratch.order.clear();
  for_each_candidate([&](std::int32_t e) { scratch.order.push_back(e); });
  std::nth_element(scratch.order.begin(), scratch.order.begin() + (p.top_k - 1), scratch.order.end(),
                   Better<Real>{t.selection.data()});
  std::copy_n(scratch.order.begin(), p.top_k, chosen);
}

// Final weights of the chosen experts, in the order of `chosen`; `real` is scratch of the same length.
template <typename Real>
void weigh(const Token<Real>& t, std::span<const std::int32_t> chosen, std::span<Real> real,
           std::vector<Router::Scratch::Choice>& choices) {
  const RoutingProgram& p = t.program;
  const bool softmax = p.score == Score::kSoftmax;
  // Normalised softmax without a guard is the softmax over the chosen logits: the denominator over all cancels.
  const bool over_chosen = softmax && p.normalize && p.norm_epsilon == 0.0F;
  Real max = t.max_logit;
  if (over_chosen) {
    max = t.logit(chosen[0]);
    for (const std::int32_t e : chosen) max = std::max(max, t.logit(e));
  }
  const Real denominator = softmax && !over_chosen ? softmax_denominator(t) : Real{1};
  Real sum = 0;
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    const Real l = t.logit(chosen[k]);
    real[k] = softmax ? std::exp(l - max) / denominator : sigmoid(l);
    sum += real[k];
  }
  Real factor = static_cast<Real>(p.scale);
  if (p.normalize) {
    const Real epsilon = static_cast<Real>(p.norm_epsilon);
    const Real divisor = p.norm_guard == NormGuard::kAdd ? sum + epsilon : std::max(sum, epsilon);
    factor = divisor != Real{0} ? factor / divisor : Real{0};  // all scores underflowed: weights 0, not 0 / 0
  }
  choices.clear();
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    choices.push_back({chosen[k], static_cast<float>(real[k] * factor)});
  }
}

template <typename Real>
void route_token(const RoutingProgram& p, const float* bias, const float* logits, std::vector<Real>& buffer,
                 Router::Scratch& scratch, GlobalExpert* ids, float* weights) {
  const auto experts = static_cast<std::size_t>(p.num_experts);
  const auto groups = static_cast<std::size_t>(p.num_groups);
  const auto top_k = static_cast<std::size_t>(p.top_k);
  buffer.resize(experts + groups + top_k);
  const std::span<Real> all(buffer);
  Token<Real> token{p, logits, bias, all.first(experts), all.subspan(experts, groups)};
  bool broken = fill_selection(token);
  scratch.chosen.resize(top_k);
  choose(token, scratch.chosen.data(), scratch);
  weigh(token, scratch.chosen, all.last(top_k), scratch.choices);

  for (const Router::Scratch::Choice& choice : scratch.choices) broken |= std::isnan(choice.weight);
  if (broken) {
    for (Router::Scratch::Choice& choice : scratch.choices) choice.weight = std::numeric_limits<float>::quiet_NaN();
  }
  std::sort(scratch.choices.begin(), scratch.choices.end(), [broken](const auto& a, const auto& b) {
    if (!broken && a.weight != b.weight) return a.weight > b.weight;
    return a.expert < b.expert;
  });
  for (std::size_t k = 0; k < top_k; ++k) {
    ids[k] = GlobalExpert{scratch.choices[k].expert};
    weights[k] = scratch.choices[k].weight;
  }
}

}  // namespace

Result<Router> Router::create(const RoutingProgram& program, const float* selection_bias, RouterPrecision precision) {
  SLUICE_TRY(program.validate());
  if (program.selection_bias && selection_bias == nullptr) {
    return Error(ErrorCode::kInvalidArgument, "routing: the program uses a selection bias, but none is given");
  }
  return Router(program, selection_bias, precision);
}

void Router::route(const float* logits, GlobalExpert* ids, float* weights, Scratch& scratch) const {
  if (precision_ == RouterPrecision::kDouble) {
    route_token<double>(program_, selection_bias_, logits, scratch.doubles, scratch, ids, weights);
  } else {
    route_token<float>(program_, selection_bias_, logits, scratch.floats, scratch, ids, weights);
  }
}

}  // namespace sluice::moe
