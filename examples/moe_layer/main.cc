// One mixture-of-experts layer without any model: random weights, a look at the routing, the time of a decode step and
// of a prefill batch, and a check against the layer written as four plain loops.
//
//   moe_layer [ISA] [THREADS]      for example: moe_layer avx2 2
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "sluice/moe.h"

namespace {

constexpr std::size_t kHidden = 512;
constexpr std::size_t kWidth = 256;
constexpr std::size_t kExperts = 32;
constexpr std::size_t kTopK = 4;
constexpr std::size_t kTokens = 64;

std::vector<float> random_floats(std::size_t count, float size, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, size);
  std::vector<float> values(count);
  for (float& v : values) v = normal(random);
  return values;
}

struct Weights {
  std::vector<float> router = random_floats(kExperts * kHidden, 0.1F, 1);
  std::vector<float> gate = random_floats(kExperts * kWidth * kHidden, 0.05F, 2);
  std::vector<float> up = random_floats(kExperts * kWidth * kHidden, 0.05F, 3);
  std::vector<float> down = random_floats(kExperts * kHidden * kWidth, 0.05F, 4);
};

double dot(const float* a, const float* b, std::size_t n) {
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

// What the layer computes for one token, with the routing already known.
std::vector<double> plain_layer(const Weights& w, const float* x, const std::int32_t* experts, const float* weights) {
  std::vector<double> out(kHidden, 0.0);
  for (std::size_t k = 0; k < kTopK; ++k) {
    const auto e = static_cast<std::size_t>(experts[k]);
    std::vector<float> h(kWidth);
    for (std::size_t i = 0; i < kWidth; ++i) {
      const double gate = dot(&w.gate[(e * kWidth + i) * kHidden], x, kHidden);
      const double up = dot(&w.up[(e * kWidth + i) * kHidden], x, kHidden);
      h[i] = static_cast<float>(gate / (1.0 + std::exp(-gate)) * up);
    }
    for (std::size_t n = 0; n < kHidden; ++n) {
      out[n] += static_cast<double>(weights[k]) * dot(&w.down[(e * kHidden + n) * kWidth], h.data(), kWidth);
    }
  }
  return out;
}

// The router: softmax, the best kTopK, made to sum to one. Returns the largest difference to `routed` for this token,
// or 1 if other experts were chosen.
double check_routing(const Weights& w, const float* x, const std::int32_t* experts, const float* weights) {
  std::vector<std::pair<double, std::int32_t>> logits;
  for (std::size_t e = 0; e < kExperts; ++e) {
    logits.emplace_back(-dot(&w.router[e * kHidden], x, kHidden), static_cast<std::int32_t>(e));
  }
  std::sort(logits.begin(), logits.end());
  double sum = 0.0;
  for (std::size_t k = 0; k < kTopK; ++k) sum += std::exp(-logits[k].first);
  double worst = 0.0;
  for (std::size_t k = 0; k < kTopK; ++k) {
    if (logits[k].second != experts[k]) return 1.0;
    worst = std::max(worst, std::abs(std::exp(-logits[k].first) / sum - static_cast<double>(weights[k])));
  }
  return worst;
}

// Best of several runs, in seconds; negative if a run failed.
double best_time(sluice::MoeLayer& layer, std::span<const float> x, std::span<float> out) {
  double best = 1e9;
  for (int run = 0; run < 5; ++run) {
    const auto start = std::chrono::steady_clock::now();
    const sluice::Status status = layer.forward(x, out);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (!status.ok()) return -1.0;
    best = std::min(best, took.count());
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const Weights w;
  sluice::MoeDescription description;
  description.hidden_size = kHidden;
  description.intermediate_size = kWidth;
  description.routing.num_experts = kExperts;
  description.routing.top_k = kTopK;
  description.routing.normalize = true;
  description.router = w.router;
  description.gate = std::as_bytes(std::span(w.gate));
  description.up = std::as_bytes(std::span(w.up));
  description.down = std::as_bytes(std::span(w.down));

  sluice::MoeOptions options;
  if (argc > 1) options.isa = argv[1];
  if (argc > 2) options.threads = std::atoi(argv[2]);
  auto layer = sluice::MoeLayer::create(description, options);
  if (!layer.ok()) {
    std::fprintf(stderr, "moe_layer: %s\n", layer.error().message().c_str());
    return 1;
  }
  std::printf("%s%-18s%d\n\n", layer->explain().c_str(), "threads", layer->threads());

  const std::vector<float> x = random_floats(kTokens * kHidden, 1.0F, 5);
  std::vector<float> out(x.size());
  sluice::MoeRouted routed;
  if (const sluice::Status status = layer->forward(x, out, &routed); !status.ok()) {
    std::fprintf(stderr, "moe_layer: %s\n", status.error().message().c_str());
    return 1;
  }
  for (std::size_t t = 0; t < 4; ++t) {
    std::printf("token %zu:", t);
    for (std::size_t k = 0; k < kTopK; ++k) {
      std::printf("  expert %2d x %.4f", routed.experts[t * kTopK + k],
                  static_cast<double>(routed.weights[t * kTopK + k]));
    }
    std::printf("\n");
  }

  const double one = best_time(*layer, std::span(x).first(kHidden), std::span(out).first(kHidden));
  const double all = best_time(*layer, x, out);
  const double bytes = static_cast<double>(kTopK * 3 * kWidth * kHidden * sizeof(float));
  const double operations = static_cast<double>(kTokens * kTopK * 3 * kWidth * kHidden * 2);
  std::printf("\n%-18s%.3f ms, %.1f GB/s of expert weights\n", "one token", one * 1e3, bytes / one * 1e-9);
  std::printf("%zu %-15s%.3f ms, %.1f GFLOP/s\n", kTokens, "tokens", all * 1e3, operations / all * 1e-9);

  double worst = 0.0;
  double worst_weight = 0.0;
  for (std::size_t t = 0; t < 8; ++t) {
    const std::int32_t* experts = &routed.experts[t * kTopK];
    const float* weights = &routed.weights[t * kTopK];
    worst_weight = std::max(worst_weight, check_routing(w, &x[t * kHidden], experts, weights));
    const std::vector<double> want = plain_layer(w, &x[t * kHidden], experts, weights);
    for (std::size_t n = 0; n < kHidden; ++n) {
      worst = std::max(worst, std::abs(want[n] - static_cast<double>(out[t * kHidden + n])));
    }
  }
  const bool equal = worst < 1e-4 && worst_weight < 1e-5;
  std::printf("%-18slargest difference %.1e, of a routing weight %.1e: %s\n", "plain loops", worst, worst_weight,
              equal ? "equal" : "WRONG");
  return equal ? 0 : 1;
}
