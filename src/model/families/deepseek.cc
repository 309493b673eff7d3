// DeepSeek-V2, DeepSeek-V3 and what follows their recipe (Kimi-K2, GLM-4.7-Flash): multi-head latent attention, shared
// experts, routing programs A (with group limits by maximum), C and D.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "model/family.h"

namespace sluice {
namespace {

constexpr std::array<std::string_view, 1> kGguf = {"deepseek2"};
constexpr std::array<std::string_view, 3> kHf = {"DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM",
                                                 "Glm4MoeLiteForCausalLM"};

struct MoeFacts {
  std::int64_t experts = 0, used = 0, width = 0, shared = 0;
  std::int64_t groups = 1, groups_used = 1;
  moe::Score score = moe::Score::kSoftmax;
  bool selection_bias = false, normalize = false;
  double scale = 1.0;
};

Result<moe::MoeSpec> make_moe(const std::string& path, std::int64_t hidden, const MoeFacts& facts) {
  moe::MoeSpec moe;
  moe.hidden_size = hidden;
  moe.intermediate_size = facts.width;
  moe.routing = softmax_routing(facts.experts, facts.used, facts.normalize);
  moe.routing.score = facts.score;
  moe.routing.selection_bias = facts.selection_bias;
  moe.routing.norm_epsilon = 1e-20F;
  moe.routing.scale = static_cast<float>(facts.scale);
  if (facts.groups > 1 && facts.groups_used < facts.groups && facts.groups_used > 0) {
    moe.routing.num_groups = static_cast<std::int32_t>(facts.groups);
    moe.routing.groups_used = static_cast<std::int32_t>(facts.groups_used);
    moe.routing.group_value = facts.score == moe::Score::kSoftmax ? moe::GroupValue::kMax : moe::GroupValue::kTopTwoSum;
  }
  if (facts.shared > 0) {
    moe.shared = {.count = static_cast<std::int32_t>(facts.shared),
                  .intermediate_size = facts.shared * facts.width,
                  .gated = false};
  }
  if (Status status = moe.routing.validate(); !status.ok()) return status.error().with_context(path);
  return moe;
}

Result<ModelSpec> from_gguf(const GgufConfig& config) {
  SLUICE_ASSIGN(ModelSpec spec, common_from_gguf(config, "deepseek", RopePairs::kNeighbours));
  const std::string& path = config.checkpoint().path();
  AttentionSpec mla = spec.layers[0].attention;
  mla.mla = true;
  SLUICE_ASSIGN(mla.kv_lora_rank, config.size("attention.kv_lora_rank"));
  SLUICE_ASSIGN(mla.q_lora_rank, config.size_or("attention.q_lora_rank", 0));
  SLUICE_ASSIGN(mla.rope_dim, config.size("rope.dimension_count"));
  // With key_length_mla present, key_length and value_length describe the latent cache instead of a head.
  SLUICE_ASSIGN(mla.head_dim, config.size_or("attention.key_length_mla", mla.head_dim, 1));
  SLUICE_ASSIGN(mla.value_dim, config.size_or("attention.value_length_mla", mla.value_dim, 1));
  mla.nope_dim = mla.head_dim - mla.rope_dim;
  mla.kv_heads = 1;
  if (mla.nope_dim < 1) {
    return Error(ErrorCode::kCorrupt,
                 fmt::format("{}: {} is {}, not more than {} = {}", path, config.key("attention.key_length_mla"),
                             mla.head_dim, config.key("rope.dimension_count"), mla.rope_dim));
  }
  mla.scale = 1.0 / std::sqrt(static_cast<double>(mla.head_dim));
  if (spec.rope.scaling == RopeScaling::kYarn) {
    // The key holds 0.1 * mscale_all_dim; cos and sin stay unscaled since mscale equals mscale_all_dim.
    SLUICE_ASSIGN(const double log_multiplier, config.number_or("rope.scaling.yarn_log_multiplier", 0.0));
    const double magnitude = 1.0 + log_multiplier * std::log(std::max(spec.rope.factor, 1.0));
    mla.scale *= magnitude * magnitude;
    SLUICE_ASSIGN(spec.rope.magnitude, config.number_or("rope.scaling.attn_factor", 1.0));
  }
  for (LayerSpec& layer : spec.layers) {
    mla.heads = layer.attention.heads;
    layer.attention = mla;
  }

  MoeFacts facts;
  SLUICE_ASSIGN(facts.experts, config.size_or("expert_count", 0));
  if (facts.experts == 0) return spec;
  SLUICE_ASSIGN(facts.used, config.size("expert_used_count", 0));
  SLUICE_TRY(check_experts(path, config.key("expert_used_count"), facts.used, facts.experts));
  SLUICE_ASSIGN(facts.width, config.size("expert_feed_forward_length"));
  SLUICE_ASSIGN(facts.shared, config.size_or("expert_shared_count", 0));
  SLUICE_ASSIGN(facts.groups, config.size_or("expert_group_count", 1));
  SLUICE_ASSIGN(facts.groups_used, config.size_or("expert_group_used_count", facts.groups));
  SLUICE_ASSIGN(facts.score, gguf_score(config));
  SLUICE_ASSIGN(facts.normalize, config.flag_or("expert_weights_norm", false));
  SLUICE_ASSIGN(facts.scale, config.number_or("expert_weights_scale", 1.0));
  if (facts.scale == 0.0) facts.scale = 1.0;  // some converters write 0 for "none"
  SLUICE_ASSIGN(const std::int64_t first_dense, config.size_or("leading_dense_block_count", 0));
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    if (static_cast<std::int64_t>(i) < first_dense) continue;
    facts.selection_bias = config.checkpoint().find(fmt::format("blk.{}.exp_probs_b.bias", i)) != nullptr;
    SLUICE_ASSIGN(spec.layers[i].moe, make_moe(path, spec.hidden_size, facts));
  }
  return spec;
}

Result<ModelSpec> from_config(const JsonConfig& config) {
  SLUICE_ASSIGN(ModelSpec spec, common_from_config(config, "deepseek"));
  SLUICE_ASSIGN(const std::vector<std::string> architectures, config.texts_or_empty("architectures"));
  const bool v2 = architectures.front() == "DeepseekV2ForCausalLM";

  AttentionSpec mla = spec.layers[0].attention;
  mla.mla = true;
  mla.kv_heads = 1;
  mla.window = 0;
  // The reference builds these two norms with its default, whatever rms_norm_eps says; GGUF engines use the config's.
  mla.latent_eps = 1e-6F;
  SLUICE_ASSIGN(mla.kv_lora_rank, config.size("kv_lora_rank"));
  SLUICE_ASSIGN(mla.q_lora_rank, config.size_or("q_lora_rank", 0));
  SLUICE_ASSIGN(mla.nope_dim, config.size("qk_nope_head_dim"));
  SLUICE_ASSIGN(mla.rope_dim, config.size("qk_rope_head_dim"));
  SLUICE_ASSIGN(mla.value_dim, config.size("v_head_dim"));
  SLUICE_ASSIGN(const bool bias, config.flag_or("attention_bias", false));
  mla.qkv_bias = bias;
  mla.output_bias = bias;
  mla.head_dim = mla.nope_dim + mla.rope_dim;
  mla.scale = 1.0 / std::sqrt(static_cast<double>(mla.head_dim));
  SLUICE_ASSIGN(const bool interleave, config.flag_or("rope_interleave", true));
  spec.rope.pairs = v2 || interleave ? RopePairs::kNeighbours : RopePairs::kHalves;
  spec.rope.dim = mla.rope_dim;
  if (spec.rope.dim % 2 != 0) return config.wrong("qk_rope_head_dim", "an even number");
  SLUICE_ASSIGN(const std::optional<JsonConfig> parameters, config.object("rope_parameters"));
  SLUICE_ASSIGN(const std::optional<JsonConfig> old_scaling, config.object("rope_scaling"));
  const std::optional<JsonConfig>& scaling = parameters ? parameters : old_scaling;
  if (scaling && spec.rope.scaling != RopeScaling::kNone) {
    SLUICE_ASSIGN(const double all_dim, scaling->number_or("mscale_all_dim", 0.0));
    const double magnitude = 1.0 + 0.1 * all_dim * std::log(std::max(spec.rope.factor, 1.0));
    mla.scale *= magnitude * magnitude;
  }
  for (LayerSpec& layer : spec.layers) layer.attention = mla;

  MoeFacts facts;
  SLUICE_ASSIGN(facts.experts, config.size_or("n_routed_experts", 0));
  if (facts.experts == 0) return spec;
  SLUICE_ASSIGN(facts.used, config.size("num_experts_per_tok", 0));
  SLUICE_TRY(check_experts(config.path(), "num_experts_per_tok", facts.used, facts.experts));
  SLUICE_ASSIGN(facts.width, config.size("moe_intermediate_size"));
  SLUICE_ASSIGN(facts.shared, config.size_or("n_shared_experts", 0));
  SLUICE_ASSIGN(facts.scale, config.number_or("routed_scaling_factor", 1.0));
  SLUICE_ASSIGN(const std::string score, config.text_or("scoring_func", v2 ? "softmax" : "sigmoid"));
  SLUICE_ASSIGN(const std::string method, config.text_or("topk_method", v2 ? "greedy" : "noaux_tc"));
  if (score != "softmax" && score != "sigmoid") return config.wrong("scoring_func", "softmax or sigmoid");
  if (method != "greedy" && method != "group_limited_greedy" && method != "noaux_tc") {
    return config.wrong("topk_method", "greedy, group_limited_greedy or noaux_tc");
  }
  facts.score = score == "softmax" ? moe::Score::kSoftmax : moe::Score::kSigmoid;
  facts.selection_bias = method == "noaux_tc";
  if (method != "greedy") {
    SLUICE_ASSIGN(facts.groups, config.size_or("n_group", 1));
    SLUICE_ASSIGN(facts.groups_used, config.size_or("topk_group", facts.groups));
  }
  SLUICE_ASSIGN(facts.normalize, config.flag_or("norm_topk_prob", !v2));

  SLUICE_ASSIGN(const std::int64_t first_dense, config.size_or("first_k_dense_replace", 0));
  SLUICE_ASSIGN(const std::int64_t frequency, config.size_or("moe_layer_freq", 1, 1));
  SLUICE_ASSIGN(const std::vector<std::string> kinds, config.texts_or_empty("mlp_layer_types"));
  if (!kinds.empty() && kinds.size() < spec.layers.size()) {
    return config.wrong("mlp_layer_types", fmt::format("{} entries", spec.layers.size()));
  }
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const auto layer = static_cast<std::int64_t>(i);
    const bool sparse = kinds.empty() ? layer >= first_dense && layer % frequency == 0 : kinds[i] == "sparse";
    if (!sparse) continue;
    SLUICE_ASSIGN(spec.layers[i].moe, make_moe(config.path(), spec.hidden_size, facts));
  }
  return spec;
}

}  // namespace

constinit const Family kDeepseekFamily = {
    .name = "deepseek",
    .gguf_architectures = kGguf,
    .hf_architectures = kHf,
    .from_gguf = from_gguf,
    .from_config = from_config,
    .hf_names = {},
};

}  // namespace sluice
