// Qwen3 (dense) and Qwen3-MoE: RMSNorm on every head of q and k, no shared expert (program B).
#include <algorithm>
#include <array>

#include "model/family.h"

namespace sluice {
namespace {

constexpr std::array<std::string_view, 2> kGguf = {"qwen3", "qwen3moe"};
constexpr std::array<std::string_view, 2> kHf = {"Qwen3ForCausalLM", "Qwen3MoeForCausalLM"};

moe::MoeSpec make_moe(std::int64_t hidden, std::int64_t experts, std::int64_t used, bool normalize,
                      std::int64_t width) {
  moe::MoeSpec moe;
  moe.hidden_size = hidden;
  moe.intermediate_size = width;
  moe.routing = softmax_routing(experts, used, normalize);
  return moe;
}

Result<ModelSpec> from_gguf(const GgufConfig& config) {
  SLUICE_ASSIGN(ModelSpec spec, common_from_gguf(config, "qwen3", RopePairs::kHalves));
  for (LayerSpec& layer : spec.layers) layer.attention.qk_norm = QkNorm::kPerHead;
  SLUICE_ASSIGN(const std::int64_t experts, config.size_or("expert_count", 0));
  if (experts == 0) return spec;
  SLUICE_ASSIGN(const std::int64_t used, config.size("expert_used_count", 0));
  SLUICE_TRY(check_experts(config.checkpoint().path(), config.key("expert_used_count"), used, experts));
  SLUICE_ASSIGN(const std::int64_t width, config.size("expert_feed_forward_length"));
  SLUICE_ASSIGN(const bool normalize, config.flag_or("expert_weights_norm", true));
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    if (!gguf_layer_has_router(config, static_cast<std::int64_t>(i)) &&
        config.checkpoint().find("blk." + std::to_string(i) + ".ffn_gate.weight") != nullptr) {
      continue;
    }
    spec.layers[i].moe = make_moe(spec.hidden_size, experts, used, normalize, width);
  }
  return spec;
}

Result<ModelSpec> from_config(const JsonConfig& config) {
  SLUICE_ASSIGN(ModelSpec spec, common_from_config(config, "qwen3"));
  SLUICE_ASSIGN(const bool bias, config.flag_or("attention_bias", false));
  SLUICE_ASSIGN(const bool use_window, config.flag_or("use_sliding_window", false));
  SLUICE_ASSIGN(const std::int64_t window, config.size_or("sliding_window", 0));
  SLUICE_ASSIGN(const std::int64_t first_window, config.size_or("max_window_layers", 0));
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    AttentionSpec& attention = spec.layers[i].attention;
    attention.qk_norm = QkNorm::kPerHead;
    attention.qkv_bias = bias;
    attention.output_bias = bias;
    if (!use_window) attention.window = 0;
    if (use_window && !config.has("layer_types") && static_cast<std::int64_t>(i) >= first_window) {
      attention.window = window;
    }
  }

  SLUICE_ASSIGN(const std::int64_t local, config.size_or("num_local_experts", 0));
  SLUICE_ASSIGN(const std::int64_t experts, config.size_or("num_experts", local));
  if (experts == 0) return spec;
  SLUICE_ASSIGN(const std::int64_t used, config.size("num_experts_per_tok", 0));
  SLUICE_TRY(check_experts(config.path(), "num_experts_per_tok", used, experts));
  SLUICE_ASSIGN(const std::int64_t width, config.size("moe_intermediate_size"));
  SLUICE_ASSIGN(const bool normalize, config.flag_or("norm_topk_prob", false));
  SLUICE_ASSIGN(const std::int64_t step, config.size_or("decoder_sparse_step", 1, 1));
  SLUICE_ASSIGN(const std::vector<std::int64_t> dense, config.sizes_or_empty("mlp_only_layers"));
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const auto layer = static_cast<std::int64_t>(i);
    if (std::ranges::find(dense, layer) != dense.end() || (layer + 1) % step != 0) continue;
    spec.layers[i].moe = make_moe(spec.hidden_size, experts, used, normalize, width);
  }
  return spec;
}

}  // namespace

constinit const Family kQwen3Family = {
    .name = "qwen3",
    .gguf_architectures = kGguf,
    .hf_architectures = kHf,
    .from_gguf = from_gguf,
    .from_config = from_config,
    .hf_names = {},
};

}  // namespace sluice
