#include "engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace sluice {
namespace {

struct Candidate {
  float logit;
  std::int32_t id;
};

// Falling logit; equal logits: the lower id first, so that ties never depend on the sort.
bool better(const Candidate& a, const Candidate& b) { return a.logit != b.logit ? a.logit > b.logit : a.id < b.id; }

// 53 random bits to [0, 1): the same on every platform, unlike std::uniform_real_distribution.
double unit(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1.0p-53; }

}  // namespace

Status SamplerParams::validate() const {
  const auto bad = [](const char* name, double value, const char* range) {
    return Error(ErrorCode::kInvalidArgument, fmt::format("{} is {}, wanted {}", name, value, range));
  };
  if (!std::isfinite(temperature)) return bad("temperature", temperature, "a number (0 = greedy)");
  if (!(top_p > 0.0F)) return bad("top-p", top_p, "more than 0 (1 = off)");
  if (!(min_p <= 1.0F)) return bad("min-p", min_p, "0 (off) to 1");
  if (!(repeat_penalty > 0.0F) || !std::isfinite(repeat_penalty)) {
    return bad("repeat-penalty", repeat_penalty, "more than 0 (1 = off)");
  }
  if (!std::isfinite(presence_penalty)) return bad("presence-penalty", presence_penalty, "a number");
  if (!std::isfinite(frequency_penalty)) return bad("frequency-penalty", frequency_penalty, "a number");
  if (penalty_last_n < -1) return bad("repeat-last-n", penalty_last_n, "-1 (all), 0 (off) or more");
  return Status::success();
}

Sampler::Sampler(const SamplerParams& params) : params_(params), random_(params.seed) {}

void Sampler::accept(std::int32_t token) { history_.push_back(token); }

std::int32_t Sampler::sample(std::span<const float> logits) {
  scratch_.assign(logits.begin(), logits.end());
  const bool penalties =
      params_.repeat_penalty != 1.0F || params_.presence_penalty != 0.0F || params_.frequency_penalty != 0.0F;
  if (penalties && params_.penalty_last_n != 0) {
    std::size_t window = history_.size();
    if (params_.penalty_last_n > 0) window = std::min(window, static_cast<std::size_t>(params_.penalty_last_n));
    std::vector<std::int32_t> recent(history_.end() - static_cast<std::ptrdiff_t>(window), history_.end());
    std::ranges::sort(recent);
    for (std::size_t i = 0; i < recent.size();) {
      std::size_t j = i;
      while (j < recent.size() && recent[j] == recent[i]) ++j;
      if (recent[i] >= 0 && static_cast<std::size_t>(recent[i]) < scratch_.size()) {
        float& logit = scratch_[static_cast<std::size_t>(recent[i])];
        logit = logit > 0.0F ? logit / params_.repeat_penalty : logit * params_.repeat_penalty;
        logit -= params_.presence_penalty + params_.frequency_penalty * static_cast<float>(j - i);
      }
      i = j;
    }
  }
  if (params_.temperature <= 0.0F) {
    return static_cast<std::int32_t>(std::ranges::max_element(scratch_) - scratch_.begin());
  }

  std::vector<Candidate> candidates(scratch_.size());
  for (std::size_t i = 0; i < scratch_.size(); ++i) candidates[i] = {scratch_[i], static_cast<std::int32_t>(i)};
  std::size_t keep = candidates.size();
  if (params_.top_k > 0) keep = std::min(keep, static_cast<std::size_t>(params_.top_k));
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(keep), candidates.end(),
                    better);
  candidates.resize(keep);

  // Probabilities at temperature 1, as top-p and min-p see them.
  std::vector<double> weights(keep);
  for (std::size_t i = 0; i < keep; ++i) {
    weights[i] = std::exp(static_cast<double>(candidates[i].logit) - static_cast<double>(candidates[0].logit));
  }
  if (params_.top_p < 1.0F) {
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    double sum = 0.0;
    for (std::size_t i = 0; i < keep; ++i) {
      sum += weights[i];
      if (sum >= static_cast<double>(params_.top_p) * total) {
        keep = i + 1;
        break;
      }
    }
  }
  if (params_.min_p > 0.0F) {
    std::size_t enough = 1;  // the best one has weight 1 and always stays
    while (enough < keep && weights[enough] >= static_cast<double>(params_.min_p)) ++enough;
    keep = enough;
  }

  double total = 0.0;
  for (std::size_t i = 0; i < keep; ++i) {
    const double difference = static_cast<double>(candidates[i].logit) - static_cast<double>(candidates[0].logit);
    weights[i] = std::exp(difference / static_cast<double>(params_.temperature));
    total += weights[i];
  }
  double point = unit(random_) * total;
  for (std::size_t i = 0; i + 1 < keep; ++i) {
    point -= weights[i];
    if (point < 0.0) return candidates[i].id;
  }
  return candidates[keep - 1].id;
}

}  // namespace sluice
