// Sampling: from logits to a token.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "base/result.h"

namespace sluice {

struct SamplerParams {
  float temperature = 0.8F;     // <= 0: greedy
  std::int32_t top_k = 40;      // <= 0: all
  float top_p = 0.95F;          // >= 1: off
  float min_p = 0.05F;          // <= 0: off
  float repeat_penalty = 1.0F;  // 1: off (divides positive logits, multiplies negative ones)
  float presence_penalty = 0.0F;
  float frequency_penalty = 0.0F;
  std::int32_t penalty_last_n = 64;  // tokens looked back at; 0: off, -1: all
  std::uint64_t seed = 0;            // the same seed gives the same tokens

  // kInvalidArgument naming the parameter and its range.
  Status validate() const;
};

// One sequence's sampler: penalties over its history, then top-k, top-p, min-p, temperature, then one draw. The order
// is that of llama.cpp's default chain (penalties, top-k, top-p, min-p, temperature). Not thread-safe.
class Sampler {
 public:
  explicit Sampler(const SamplerParams& params);

  // Tokens that count for the penalties (prompt and answer).
  void accept(std::int32_t token);
  // Ties go to the lower id. REQUIRES: at least one finite logit.
  std::int32_t sample(std::span<const float> logits);

 private:
  SamplerParams params_;
  std::mt19937_64 random_;
  std::vector<std::int32_t> history_;
  std::vector<float> scratch_;
};

}  // namespace sluice
