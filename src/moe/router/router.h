// The router: logits of one token -> its experts and their weights, as a RoutingProgram describes.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "moe/ids.h"
#include "moe/router/routing_program.h"

namespace sluice::moe {

// Precision of scores, sums and exponentials. kDouble is the exact mode (--isa scalar).
enum class RouterPrecision : std::uint8_t { kFloat, kDouble };

// Programs A to D. Immutable, thread-safe; each thread brings its own Scratch.
class Router {
 public:
  // Buffers that are reused between calls; any router may use any scratch.
  struct Scratch {
    struct Choice {
      std::int32_t expert;
      float weight;
    };
    std::vector<float> floats;
    std::vector<double> doubles;
    std::vector<std::int32_t> chosen, order;
    std::vector<std::uint8_t> group_kept;
    std::vector<Choice> choices;
  };

  // selection_bias: [num_experts], borrowed; needed if and only if the program says so.
  // Errors: those of RoutingProgram::validate(); kInvalidArgument for a missing bias.
  static Result<Router> create(const RoutingProgram& program, const float* selection_bias, RouterPrecision precision);

  // logits [num_experts] (logit bias already added) -> ids [top_k], weights [top_k]: final weights, falling; ties by
  // lower id. Ids are always distinct and in range. A NaN among the logits makes every weight of the token NaN, so that
  // a broken checkpoint shows in the output instead of quietly losing an expert; an infinite one may do the same.
  void route(const float* logits, GlobalExpert* ids, float* weights, Scratch& scratch) const;

  const RoutingProgram& program() const { return program_; }

 private:
  Router(const RoutingProgram& program, const float* selection_bias, RouterPrecision precision)
      : program_(program), selection_bias_(program.selection_bias ? selection_bias : nullptr), precision_(precision) {}

  RoutingProgram program_;
  const float* selection_bias_;
  RouterPrecision precision_;
};

}  // namespace sluice::moe
