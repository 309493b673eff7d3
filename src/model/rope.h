// Rotary position embedding with its scalings.
#pragma once

#include <cstdint>
#include <vector>

#include "model/spec.h"

namespace sluice {

// Frequencies of a model, and the rotation. Immutable; thread-safe.
class Rope {
 public:
  // `factors` (may be null): divisors of the frequencies, [dim / 2] (GGUF rope_freqs).
  Rope(const RopeSpec& spec, const float* factors);

  std::int64_t dim() const { return dim_; }
  const std::vector<double>& frequencies() const { return frequencies_; }

  // cos and sin of one position, [dim / 2] each, times the scaling's magnitude. Angles are computed in double: at
  // position 100 000 a float angle would be off by 0.004.
  void angles(std::int64_t position, float* cos, float* sin) const;
  // Rotates the first dim() values of one head in place.
  void rotate(float* head, const float* cos, const float* sin) const;

 private:
  std::int64_t dim_;
  RopePairs pairs_;
  double magnitude_;
  std::vector<double> frequencies_;  // radians per position, [dim / 2]
};

}  // namespace sluice
