// The mixture-of-experts layer on its own: plain arrays in, plain arrays out, no model, no file.
//
//   sluice::MoeDescription d;
//   d.hidden_size = 2048; d.intermediate_size = 768;
//   d.routing.num_experts = 128; d.routing.top_k = 8; d.routing.normalize = true;
//   d.router = router;                                   // std::span<const float>
//   d.gate = std::as_bytes(std::span(gate));  ...
//   auto layer = sluice::MoeLayer::create(d);
//   if (!layer.ok()) { std::puts(layer.error().message().c_str()); return 1; }
//   sluice::Status status = layer->forward(x, out);
//
// docs/moe.md and docs/routing.md of the source tree say more. Link with the CMake target sluice::moe or with
// pkg-config's sluice-moe. Before version 1.0 a minor version may change this interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/result.h"

namespace sluice {

// How a token's logits become experts and weights.
//
// s = score(logit + logit bias); experts are chosen by s + selection bias (ties: the lower id), within the best groups
// if groups are limited; their weights are s without the selection bias, divided by their sum if `normalize`, times
// `scale`.
struct MoeRouting {
  enum class Score : std::uint8_t { kSoftmax, kSigmoid };
  // What a group is worth: its best expert (DeepSeek-V2) or the sum of its two best (DeepSeek-V3).
  enum class GroupValue : std::uint8_t { kMax, kTopTwoSum };
  // The divisor of the normalisation: sum + epsilon, or max(sum, epsilon).
  enum class NormGuard : std::uint8_t { kAdd, kClamp };

  std::int32_t num_experts = 0;
  std::int32_t top_k = 0;
  Score score = Score::kSoftmax;
  std::int32_t num_groups = 1;
  std::int32_t groups_used = 1;
  GroupValue group_value = GroupValue::kMax;
  bool normalize = false;
  NormGuard norm_guard = NormGuard::kAdd;
  float norm_epsilon = 0.0F;
  float scale = 1.0F;
};

// What stands between the gate and up products and the down product.
enum class MoeActivation : std::uint8_t {
  kSilu,       // silu(gate) * up
  kSwigluOai,  // gpt-oss: gate and up clamped to swiglu_limit, gate * sigmoid(alpha * gate) * (up + 1)
};

// A layer: sizes and arrays. E = routing.num_experts, H = hidden_size, I = intermediate_size, S =
// shared_intermediate_size. Arrays are contiguous, the last index fastest, and are borrowed: they must outlive the
// layer. Empty means "not there". A matrix of block-quantised weights holds its blocks row by row, as GGUF files do;
// weight_bytes() gives its size.
struct MoeDescription {
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  MoeRouting routing;
  MoeActivation activation = MoeActivation::kSilu;
  float swiglu_alpha = 1.702F;
  float swiglu_limit = 7.0F;

  std::span<const float> router;          // [E, H]
  std::span<const float> logit_bias;      // [E], optional: added to the logits
  std::span<const float> selection_bias;  // [E], optional: for the choice only

  std::string weight_type = "F32";   // of gate, up and down: "F32", "BF16", "Q8_0", "Q4_K", "MXFP4", ...
  std::span<const std::byte> gate;   // [E, I, H]
  std::span<const std::byte> up;     // [E, I, H]
  std::span<const std::byte> down;   // [E, H, I]
  std::span<const float> gate_bias;  // [E, I], optional, all three or none
  std::span<const float> up_bias;    // [E, I]
  std::span<const float> down_bias;  // [E, H]

  // Shared experts, run for every token; several lie side by side: S is their width together.
  std::int32_t num_shared_experts = 0;
  std::int64_t shared_intermediate_size = 0;
  std::string shared_weight_type = "F32";
  std::span<const std::byte> shared_gate;  // [S, H]
  std::span<const std::byte> shared_up;    // [S, H]
  std::span<const std::byte> shared_down;  // [H, S]
  // [H], optional: the shared experts' output is multiplied by sigmoid(dot(shared_output_gate, x)).
  std::span<const float> shared_output_gate;
};

struct MoeOptions {
  // "auto", or a level: "scalar" (exact: fp32 activations, fp64 sums), "avx2", "avx512", "avx512vnni", "avx512bf16".
  std::string isa = "auto";
  int threads = 0;                      // 0: as many as this process may use cores
  std::string experts = "auto";         // experts kernel; explain() lists them
  std::string shared_experts = "auto";  // "beside" or "fused" (as extra routed experts)
};

// The routing of a batch: for each token its experts by falling weight, and the final weights.
struct MoeRouted {
  std::int32_t top_k = 0;
  std::vector<std::int32_t> experts;  // [tokens, top_k]
  std::vector<float> weights;         // [tokens, top_k]
};

// Bytes of a matrix [rows, cols] of a weight type. Errors: kInvalidArgument for an unknown type (listing the known
// ones), for sizes below 1, for cols that are not a whole number of the type's blocks, or for more bytes than can be
// counted.
Result<std::size_t> weight_bytes(std::string_view weight_type, std::int64_t rows, std::int64_t cols);

// A layer with its threads. Results do not depend on the batch nor on the number of threads. One forward at a time per
// object; different objects are independent.
class MoeLayer {
 public:
  // Errors: kInvalidArgument (an impossible size, an array of the wrong length, an unknown name), kUnsupported (nothing
  // in this build can run the layer; every candidate is listed with its reason).
  static Result<MoeLayer> create(const MoeDescription& description, const MoeOptions& options = {});

  MoeLayer(MoeLayer&&) noexcept;
  MoeLayer& operator=(MoeLayer&&) noexcept;
  ~MoeLayer();

  // out[T, H] = sum of each token's experts (and the shared ones) for x[T, H]; T = x.size() / H may be 0. out must not
  // overlap x. routed, if not null, is filled with the routing.
  Status forward(std::span<const float> x, std::span<float> out, MoeRouted* routed = nullptr);

  // What was chosen and why everything else was not, several lines for people.
  std::string explain() const;
  // The instruction set in use.
  std::string_view isa() const;
  int threads() const;

 private:
  struct Impl;
  explicit MoeLayer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
