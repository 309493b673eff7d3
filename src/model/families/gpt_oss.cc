// gpt-oss: attention sinks, a window on even layers, biases everywhere, a clamped activation, router bias (program B').
#include <array>

#include "model/family.h"

namespace sluice {
namespace {

constexpr std::array<std::string_view, 1> kGguf = {"gpt-oss"};
constexpr std::array<std::string_view, 1> kHf = {"GptOssForCausalLM"};

void finish(ModelSpec& spec, std::int64_t experts, std::int64_t used, std::int64_t width, double limit) {
  for (LayerSpec& layer : spec.layers) {
    layer.attention.qkv_bias = true;
    layer.attention.output_bias = true;
    layer.attention.sinks = true;
    moe::MoeSpec moe;
    moe.hidden_size = spec.hidden_size;
    moe.intermediate_size = width;
    moe.routing = softmax_routing(experts, used, true);
    moe.routing.logit_bias = true;
    moe.activation = moe::Activation::kSwigluOai;
    moe.swiglu_limit = static_cast<float>(limit);
    moe.expert_bias = true;
    layer.moe = moe;
  }
}

Result<ModelSpec> from_gguf(const GgufConfig& config) {
  SLUICE_ASSIGN(ModelSpec spec, common_from_gguf(config, "gpt_oss", RopePairs::kHalves));
  SLUICE_ASSIGN(const std::int64_t experts, config.size("expert_count"));
  SLUICE_ASSIGN(const std::int64_t used, config.size("expert_used_count", 0));
  SLUICE_TRY(check_experts(config.checkpoint().path(), config.key("expert_used_count"), used, experts));
  SLUICE_ASSIGN(const std::int64_t width, config.size("expert_feed_forward_length"));
  SLUICE_ASSIGN(const std::int64_t window, config.size("attention.sliding_window"));
  finish(spec, experts, used, width, 7.0);
  for (std::size_t i = 0; i < spec.layers.size(); i += 2) spec.layers[i].attention.window = window;
  return spec;
}

Result<ModelSpec> from_config(const JsonConfig& config) {
  SLUICE_ASSIGN(ModelSpec spec, common_from_config(config, "gpt_oss"));
  SLUICE_ASSIGN(const std::int64_t experts, config.size("num_local_experts"));
  SLUICE_ASSIGN(const std::int64_t per_tok, config.size_or("num_experts_per_tok", 4, 0));
  SLUICE_ASSIGN(const std::int64_t used, config.size_or("experts_per_token", per_tok, 0));
  SLUICE_TRY(check_experts(config.path(), "num_experts_per_tok", used, experts));
  SLUICE_ASSIGN(const double limit, config.number_or("swiglu_limit", 7.0));
  finish(spec, experts, used, spec.layers[0].dense_intermediate, limit);
  SLUICE_ASSIGN(const bool bias, config.flag_or("attention_bias", true));
  SLUICE_ASSIGN(const std::int64_t window, config.size_or("sliding_window", 0));
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    spec.layers[i].attention.qkv_bias = bias;
    spec.layers[i].attention.output_bias = bias;
    if (!config.has("layer_types") && i % 2 == 0) spec.layers[i].attention.window = window;
  }
  return spec;
}

}  // namespace

constinit const Family kGptOssFamily = {
    .name = "gpt_oss",
    .gguf_architectures = kGguf,
    .hf_architectures = kHf,
    .from_gguf = from_gguf,
    .from_config = from_config,
    .hf_names = {.router = "router", .fused_interleaved = true},
};

}  // namespace sluice
