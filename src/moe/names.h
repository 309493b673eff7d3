// Names of the layer's choices, as messages and `--explain` print them.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "moe/plan.h"
#include "moe/spec.h"
#include "quant/dtype.h"

namespace sluice::moe {

constexpr std::string_view name_of(Activation activation) {
  return activation == Activation::kSwigluOai ? "swiglu_oai" : "silu";
}

constexpr std::string_view name_of(SharedExpertsMode mode) {
  switch (mode) {
    case SharedExpertsMode::kNone:
      return "none";
    case SharedExpertsMode::kBeside:
      return "beside";
    case SharedExpertsMode::kFused:
      return "fused";
  }
  return "?";
}

// The format's name, or its number if the registry does not know it.
inline std::string name_of(DType dtype) {
  return find_format(dtype) != nullptr ? std::string(dtype_name(dtype))
                                       : fmt::format("number {}", static_cast<int>(dtype));
}

}  // namespace sluice::moe
