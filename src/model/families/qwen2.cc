// Qwen2 (dense) and Qwen2-MoE: biases on q, k, v; a shared expert times the sigmoid of a one-wide gate (program A).
#include <algorithm>
#include <array>

#include "model/family.h"

namespace sluice {
namespace {

constexpr std::array<std::string_view, 2> kGguf = {"qwen2", "qwen2moe"};
constexpr std::array<std::string_view, 2> kHf = {"Qwen2ForCausalLM", "Qwen2MoeForCausalLM"};

moe::MoeSpec make_moe(std::int64_t hidden, std::int64_t experts, std::int64_t used, bool normalize, std::int64_t width,
                      std::int64_t shared_width) {
  moe::MoeSpec moe;
  moe.hidden_size = hidden;
  moe.intermediate_size = width;
  moe.routing = softmax_routing(experts, used, normalize);
  if (shared_width > 0) moe.shared = {.count = 1, .intermediate_size = shared_width, .gated = true};
  return moe;
}

Result<ModelSpec> from_gguf(const GgufConfig& config) {
  SLUICE_ASSIGN(ModelSpec spec, common_from_gguf(config, "qwen2", RopePairs::kHalves));
  for (LayerSpec& layer : spec.layers) layer.attention.qkv_bias = true;
  SLUICE_ASSIGN(const std::int64_t experts, config.size_or("expert_count", 0));
  if (experts == 0) return spec;
  SLUICE_ASSIGN(const std::int64_t used, config.size("expert_used_count", 0));
  SLUICE_TRY(check_experts(config.checkpoint().path(), config.key("expert_used_count"), used, experts));
  SLUICE_ASSIGN(const std::int64_t width, config.size("expert_feed_forward_length"));
  SLUICE_ASSIGN(const std::int64_t shared, config.size_or("expert_shared_feed_forward_length", 0));
  SLUICE_ASSIGN(const bool normalize, config.flag_or("expert_weights_norm", false));
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    if (!gguf_layer_has_router(config, static_cast<std::int64_t>(i)) &&
        config.checkpoint().find("blk." + std::to_string(i) + ".ffn_gate.weight") != nullptr) {
      continue;
    }
    spec.layers[i].moe = make_moe(spec.hidden_size, experts, used, normalize, width, shared);
  }
  return spec;
}

Result<ModelSpec> from_config(const JsonConfig& config) {
  SLUICE_ASSIGN(ModelSpec spec, common_from_config(config, "qwen2"));
  SLUICE_ASSIGN(const bool bias, config.flag_or("qkv_bias", true));
  SLUICE_ASSIGN(const bool use_window, config.flag_or("use_sliding_window", false));
  SLUICE_ASSIGN(const std::int64_t window, config.size_or("sliding_window", 0));
  SLUICE_ASSIGN(const std::int64_t first_window, config.size_or("max_window_layers", 0));
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    AttentionSpec& attention = spec.layers[i].attention;
    attention.qkv_bias = bias;
    if (!use_window) attention.window = 0;
    if (use_window && !config.has("layer_types") && static_cast<std::int64_t>(i) >= first_window) {
      attention.window = window;
    }
  }

  SLUICE_ASSIGN(const std::int64_t experts, config.size_or("num_experts", 0));
  if (experts == 0) return spec;
  SLUICE_ASSIGN(const std::int64_t used, config.size("num_experts_per_tok", 0));
  SLUICE_TRY(check_experts(config.path(), "num_experts_per_tok", used, experts));
  SLUICE_ASSIGN(const std::int64_t width, config.size("moe_intermediate_size"));
  SLUICE_ASSIGN(const std::int64_t shared, config.size_or("shared_expert_intermediate_size", 0));
  SLUICE_ASSIGN(const bool normalize, config.flag_or("norm_topk_prob", false));
  SLUICE_ASSIGN(const std::int64_t step, config.size_or("decoder_sparse_step", 1, 1));
  SLUICE_ASSIGN(const std::vector<std::int64_t> dense, config.sizes_or_empty("mlp_only_layers"));
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const auto layer = static_cast<std::int64_t>(i);
    if (std::ranges::find(dense, layer) != dense.end() || (layer + 1) % step != 0) continue;
    spec.layers[i].moe = make_moe(spec.hidden_size, experts, used, normalize, width, shared);
  }
  return spec;
}

}  // namespace

constinit const Family kQwen2Family = {
    .name = "qwen2",
    .gguf_architectures = kGguf,
    .hf_architectures = kHf,
    .from_gguf = from_gguf,
    .from_config = from_config,
    .hf_names = {.shared = "shared_expert"},
};

}  // namespace sluice
