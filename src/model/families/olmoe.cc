// OLMoE: RMSNorm over the whole width of q and of k, every layer MoE, weights not renormalised (program A).
#include <array>

#include "model/family.h"

namespace sluice {
namespace {

constexpr std::array<std::string_view, 1> kGguf = {"olmoe"};
constexpr std::array<std::string_view, 1> kHf = {"OlmoeForCausalLM"};

void finish(ModelSpec& spec, std::int64_t experts, std::int64_t used, bool normalize, std::int64_t width, double clip) {
  for (LayerSpec& layer : spec.layers) {
    layer.attention.qk_norm = QkNorm::kFullWidth;
    layer.attention.clip_qkv = clip;
    moe::MoeSpec moe;
    moe.hidden_size = spec.hidden_size;
    moe.intermediate_size = width;
    moe.routing = softmax_routing(experts, used, normalize);
    layer.moe = moe;
  }
}

Result<ModelSpec> from_gguf(const GgufConfig& config) {
  SLUICE_ASSIGN(ModelSpec spec, common_from_gguf(config, "olmoe", RopePairs::kHalves));
  SLUICE_ASSIGN(const std::int64_t experts, config.size("expert_count"));
  SLUICE_ASSIGN(const std::int64_t used, config.size("expert_used_count", 0));
  SLUICE_TRY(check_experts(config.checkpoint().path(), config.key("expert_used_count"), used, experts));
  SLUICE_ASSIGN(const std::int64_t width,
                config.size_or("expert_feed_forward_length", spec.layers[0].dense_intermediate, 1));
  SLUICE_ASSIGN(const bool normalize, config.flag_or("expert_weights_norm", false));
  SLUICE_ASSIGN(const double clip, config.number_or("attention.clamp_kqv", 0.0));
  finish(spec, experts, used, normalize, width, clip);
  return spec;
}

Result<ModelSpec> from_config(const JsonConfig& config) {
  SLUICE_ASSIGN(ModelSpec spec, common_from_config(config, "olmoe"));
  SLUICE_ASSIGN(const std::int64_t experts, config.size("num_experts"));
  SLUICE_ASSIGN(const std::int64_t used, config.size("num_experts_per_tok", 0));
  SLUICE_TRY(check_experts(config.path(), "num_experts_per_tok", used, experts));
  SLUICE_ASSIGN(const bool normalize, config.flag_or("norm_topk_prob", false));
  SLUICE_ASSIGN(const double clip, config.number_or("clip_qkv", 0.0));
  SLUICE_ASSIGN(const bool bias, config.flag_or("attention_bias", false));
  finish(spec, experts, used, normalize, spec.layers[0].dense_intermediate, clip);
  for (LayerSpec& layer : spec.layers) {
    layer.attention.qkv_bias = bias;
    layer.attention.output_bias = bias;
  }
  return spec;
}

}  // namespace

constinit const Family kOlmoeFamily = {
    .name = "olmoe",
    .gguf_architectures = kGguf,
    .hf_architectures = kHf,
    .from_gguf = from_gguf,
    .from_config = from_config,
    .hf_names = {},
};

}  // namespace sluice
