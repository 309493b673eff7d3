// Llama, Mistral (dense) and Mixtral (routing program B).
#include <array>

#include "model/family.h"

namespace sluice {
namespace {

constexpr std::array<std::string_view, 1> kGguf = {"llama"};
constexpr std::array<std::string_view, 3> kHf = {"LlamaForCausalLM", "MistralForCausalLM", "MixtralForCausalLM"};

void set_experts(ModelSpec& spec, std::int64_t experts, std::int64_t used, std::int64_t width) {
  for (LayerSpec& layer : spec.layers) {
    moe::MoeSpec moe;
    moe.hidden_size = spec.hidden_size;
    moe.intermediate_size = width;
    moe.routing = softmax_routing(experts, used, true);
    layer.moe = moe;
  }
}

Result<ModelSpec> from_gguf(const GgufConfig& config) {
  // The converter permutes the rows of q and k so that neighbours form a pair.
  SLUICE_ASSIGN(ModelSpec spec, common_from_gguf(config, "llama", RopePairs::kNeighbours));
  SLUICE_ASSIGN(const std::int64_t experts, config.size_or("expert_count", 0));
  if (experts == 0) return spec;
  SLUICE_ASSIGN(const std::int64_t used, config.size("expert_used_count", 0));
  SLUICE_TRY(check_experts(config.checkpoint().path(), config.key("expert_used_count"), used, experts));
  SLUICE_ASSIGN(const std::int64_t width,
                config.size_or("expert_feed_forward_length", spec.layers[0].dense_intermediate, 1));
  set_experts(spec, experts, used, width);
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    SLUICE_ASSIGN(spec.layers[i].moe->routing.normalize, config.flag_or("expert_weights_norm", true));
    if (!gguf_layer_has_router(config, static_cast<std::int64_t>(i)) &&
        config.checkpoint().find("blk." + std::to_string(i) + ".ffn_gate.weight") != nullptr) {
      spec.layers[i].moe.reset();
    }
  }
  return spec;
}

Result<ModelSpec> from_config(const JsonConfig& config) {
  SLUICE_ASSIGN(ModelSpec spec, common_from_config(config, "llama"));
  SLUICE_ASSIGN(const bool attention_bias, config.flag_or("attention_bias", false));
  SLUICE_ASSIGN(const bool mlp_bias, config.flag_or("mlp_bias", false));
  SLUICE_ASSIGN(const std::int64_t window, config.size_or("sliding_window", 0));
  const bool listed = config.has("layer_types");
  for (LayerSpec& layer : spec.layers) {
    layer.attention.qkv_bias = attention_bias;
    layer.attention.output_bias = attention_bias;
    layer.dense_bias = mlp_bias;
    if (!listed) layer.attention.window = window;  // Mistral 7B v0.1 and Mixtral's null
  }
  SLUICE_ASSIGN(const std::int64_t experts, config.size_or("num_local_experts", 0));
  if (experts > 0) {
    SLUICE_ASSIGN(const std::int64_t used, config.size("num_experts_per_tok", 0));
    SLUICE_TRY(check_experts(config.path(), "num_experts_per_tok", used, experts));
    set_experts(spec, experts, used, spec.layers[0].dense_intermediate);
  }
  return spec;
}

}  // namespace

constinit const Family kLlamaFamily = {
    .name = "llama",
    .gguf_architectures = kGguf,
    .hf_architectures = kHf,
    .from_gguf = from_gguf,
    .from_config = from_config,
    .hf_names = {.moe_block = "block_sparse_moe", .gate = "w1", .up = "w3", .down = "w2"},
};

}  // namespace sluice
