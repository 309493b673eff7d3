#include "model/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sluice {
namespace {

// YaRN (Peng et al. 2023, 3.2): the dimension that turns `rotations` times over the original context.
double correction_dim(const RopeSpec& spec, double rotations) {
  return static_cast<double>(spec.dim) * std::log(spec.original_context / (rotations * 2.0 * std::numbers::pi)) /
         (2.0 * std::log(spec.base));
}

void scale_yarn(const RopeSpec& spec, std::vector<double>& frequencies) {
  double low = correction_dim(spec, spec.beta_fast);
  double high = correction_dim(spec, spec.beta_slow);
  if (spec.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(spec.dim - 1));
  if (high == low) high += 0.001;  // no division by zero, as in the reference
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    frequencies[i] = frequencies[i] / spec.factor * ramp + frequencies[i] * (1.0 - ramp);
  }
}

void scale_llama3(const RopeSpec& spec, std::vector<double>& frequencies) {
  const double low_wavelength = spec.original_context / spec.low_freq_factor;
  const double high_wavelength = spec.original_context / spec.high_freq_factor;
  for (double& frequency : frequencies) {
    const double wavelength = 2.0 * std::numbers::pi / frequency;
    if (wavelength > low_wavelength) {
      frequency /= spec.factor;
    } else if (wavelength >= high_wavelength) {
      const double smooth =
          (spec.original_context / wavelength - spec.low_freq_factor) / (spec.high_freq_factor - spec.low_freq_factor);
      frequency = (1.0 - smooth) * frequency / spec.factor + smooth * frequency;
    }
  }
}

}  // namespace

Rope::Rope(const RopeSpec& spec, const float* factors)
    : dim_(spec.dim),
      pairs_(spec.pairs),
      magnitude_(spec.magnitude),
      frequencies_(static_cast<std::size_t>(spec.dim / 2)) {
  for (std::size_t i = 0; i < frequencies_.size(); ++i) {
    frequencies_[i] = std::pow(spec.base, -2.0 * static_cast<double>(i) / static_cast<double>(spec.dim));
  }
  switch (spec.scaling) {
    case RopeScaling::kNone:
      break;
    case RopeScaling::kLinear:
      for (double& frequency : frequencies_) frequency /= spec.factor;
      break;
    case RopeScaling::kYarn:
      scale_yarn(spec, frequencies_);
      break;
    case RopeScaling::kLlama3:
      scale_llama3(spec, frequencies_);
      break;
  }
  if (factors != nullptr) {
    for (std::size_t i = 0; i < frequencies_.size(); ++i) frequencies_[i] /= static_cast<double>(factors[i]);
  }
}

void Rope::angles(std::int64_t position, float* cos, float* sin) const {
  for (std::size_t i = 0; i < frequencies_.size(); ++i) {
    const double angle = static_cast<double>(position) * frequencies_[i];
    cos[i] = static_cast<float>(std::cos(angle) * magnitude_);
    sin[i] = static_cast<float>(std::sin(angle) * magnitude_);
  }
}

void Rope::rotate(float* head, const float* cos, const float* sin) const {
  const std::int64_t half = dim_ / 2;
  if (pairs_ == RopePairs::kNeighbours) {
    for (std::int64_t i = 0; i < half; ++i) {
      const float a = head[2 * i];
      const float b = head[2 * i + 1];
      head[2 * i] = a * cos[i] - b * sin[i];
      head[2 * i + 1] = a * sin[i] + b * cos[i];
    }
    return;
  }
  for (std::int64_t i = 0; i < half; ++i) {
    const float a = head[i];
    const float b = head[i + half];
    head[i] = a * cos[i] - b * sin[i];
    head[i + half] = a * sin[i] + b * cos[i];
  }
}

}  // namespace sluice
