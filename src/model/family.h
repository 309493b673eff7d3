// Families of models: each maps a checkpoint's configuration to a ModelSpec and knows its tensors' names. One file per
// family in src/model/families/; family.cc holds the table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/config_reader.h"
#include "model/spec.h"

namespace sluice {

// How a family's safetensors name their tensors: parts that differ between families; the rest is common
// (see weights.cc). "{p}" prefixes are written with the trailing dot.
struct HfNames {
  std::string_view moe_block = "mlp";  // model.layers.N.<moe_block>.
  std::string_view router = "gate";    // <moe_block>.<router>.weight
  std::string_view selection_bias = "gate.e_score_correction_bias";
  std::string_view gate = "gate_proj";  // <moe_block>.experts.E.<gate>.weight
  std::string_view up = "up_proj";
  std::string_view down = "down_proj";
  std::string_view shared = "shared_experts";  // <moe_block>.<shared>.gate_proj.weight
  std::string_view shared_gate = "shared_expert_gate";
  // Fused expert tensors: experts.gate_up_proj [E, 2I, H] and experts.down_proj [E, H, I]; gpt-oss stores them
  // transposed, with gate and up in alternating columns.
  bool fused_interleaved = false;
};

struct Family {
  std::string_view name;
  std::span<const std::string_view> gguf_architectures;
  std::span<const std::string_view> hf_architectures;
  Result<ModelSpec> (*from_gguf)(const GgufConfig& config);
  Result<ModelSpec> (*from_config)(const JsonConfig& config);
  HfNames hf_names;
};

std::span<const Family* const> families();
// All names of supported architectures, for messages: "llama, qwen2moe, ... (GGUF); MixtralForCausalLM, ...
// (safetensors)".
std::string supported_architectures();

struct UnderstoodModel {
  const Family* family;
  ModelSpec spec;
};
// Reads the configuration of a checkpoint. Errors: kUnsupported with the architecture's name and the list of what is
// supported; kCorrupt for missing or impossible values, naming the key.
Result<UnderstoodModel> understand(const Checkpoint& checkpoint);

// Helpers that several families share.

// Starts a spec with what every GGUF has: sizes, layers (attention as GQA with head counts and widths), RoPE with its
// scaling. Families then set what is theirs.
Result<ModelSpec> common_from_gguf(const GgufConfig& config, std::string_view family, RopePairs pairs);
// The same for config.json of a Hugging Face decoder (both rope_scaling + rope_theta and rope_parameters).
Result<ModelSpec> common_from_config(const JsonConfig& config, std::string_view family);
// The table's softmax programs: A (normalize = false) and B.
moe::RoutingProgram softmax_routing(std::int64_t experts, std::int64_t used, bool normalize);
// Checks expert_used_count <= expert_count with the key's name.
Status check_experts(const std::string& path, std::string_view used_key, std::int64_t used, std::int64_t experts);
// Whether the GGUF layer has a router tensor; layers without one are dense.
bool gguf_layer_has_router(const GgufConfig& config, std::int64_t layer);

// gguf: 1 softmax, 2 sigmoid, 3 softmax after top-k; absent: sigmoid if any layer has a selection bias, else softmax.
Result<moe::Score> gguf_score(const GgufConfig& config);

extern const Family kLlamaFamily;
extern const Family kQwen2Family;
extern const Family kQwen3Family;
extern const Family kOlmoeFamily;
extern const Family kDeepseekFamily;
extern const Family kGptOssFamily;

}  // namespace sluice
