// What the families share: sizes, GQA, RoPE and its scalings, from GGUF metadata and from config.json.
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "model/family.h"

namespace sluice {
namespace {

Status check_heads(const std::string& path, std::string_view key, std::int64_t heads, std::int64_t kv_heads) {
  if (kv_heads < 1 || heads % kv_heads != 0) {
    return Error(ErrorCode::kCorrupt,
                 fmt::format("{}: {} is {}, not a multiple of {} key/value heads", path, key, heads, kv_heads));
  }
  return Status::success();
}

Result<RopeSpec> rope_from_gguf(const GgufConfig& config, RopePairs pairs, std::int64_t head_dim,
                                std::int64_t context_length) {
  RopeSpec rope;
  rope.pairs = pairs;
  SLUICE_ASSIGN(rope.dim, config.size_or("rope.dimension_count", head_dim));
  SLUICE_ASSIGN(rope.base, config.number_or("rope.freq_base", 10000.0));
  SLUICE_ASSIGN(const std::string type, config.text_or("rope.scaling.type", "none"));
  SLUICE_ASSIGN(rope.factor, config.number_or("rope.scaling.factor", 1.0));
  SLUICE_ASSIGN(const double old_linear, config.number_or("rope.scale_linear", 1.0));
  SLUICE_ASSIGN(rope.original_context,
                config.number_or("rope.scaling.original_context_length", static_cast<double>(context_length)));
  SLUICE_ASSIGN(const double attn_factor, config.number_or("rope.scaling.attn_factor", 1.0));
  rope.magnitude = attn_factor;
  if (type == "linear" || (type == "none" && old_linear != 1.0)) {
    rope.scaling = RopeScaling::kLinear;
    if (type == "none") rope.factor = old_linear;
  } else if (type == "yarn") {
    rope.scaling = RopeScaling::kYarn;
    SLUICE_ASSIGN(rope.beta_fast, config.number_or("rope.scaling.yarn_beta_fast", 32.0));
    SLUICE_ASSIGN(rope.beta_slow, config.number_or("rope.scaling.yarn_beta_slow", 1.0));
    rope.magnitude *= 1.0 + 0.1 * std::log(std::max(rope.factor, 1.0));
  } else if (type != "none") {
    return Error(ErrorCode::kUnsupported,
                 fmt::format("{}: {} is '{}', supported are none, linear, yarn", config.checkpoint().path(),
                             config.key("rope.scaling.type"), type));
  }
  if (!(rope.factor > 0.0) || !(rope.base > 0.0) || rope.dim % 2 != 0) {
    return Error(ErrorCode::kCorrupt, fmt::format("{}: RoPE with base {}, factor {} and {} dimensions makes no sense",
                                                  config.checkpoint().path(), rope.base, rope.factor, rope.dim));
  }
  return rope;
}

// mscale of YaRN: 1 + 0.1 m ln(factor).
double yarn_magnitude(double factor, double m) { return factor <= 1.0 ? 1.0 : 1.0 + 0.1 * m * std::log(factor); }

Status yarn_from_config(const JsonConfig& scaling, double max_position, RopeSpec& rope) {
  rope.scaling = RopeScaling::kYarn;
  SLUICE_ASSIGN(rope.beta_fast, scaling.number_or("beta_fast", 32.0));
  SLUICE_ASSIGN(rope.beta_slow, scaling.number_or("beta_slow", 1.0));
  SLUICE_ASSIGN(rope.truncate, scaling.flag_or("truncate", true));
  SLUICE_ASSIGN(rope.original_context, scaling.number_or("original_max_position_embeddings", max_position));
  SLUICE_ASSIGN(const double mscale, scaling.number_or("mscale", 0.0));
  SLUICE_ASSIGN(const double mscale_all, scaling.number_or("mscale_all_dim", 0.0));
  const double computed = mscale != 0.0 && mscale_all != 0.0
                              ? yarn_magnitude(rope.factor, mscale) / yarn_magnitude(rope.factor, mscale_all)
                              : yarn_magnitude(rope.factor, 1.0);
  SLUICE_ASSIGN(rope.magnitude, scaling.number_or("attention_factor", computed));
  return Status::success();
}

Result<RopeSpec> rope_from_config(const JsonConfig& config, std::int64_t head_dim, std::int64_t context_length) {
  RopeSpec rope;
  SLUICE_ASSIGN(const std::optional<JsonConfig> parameters, config.object("rope_parameters"));
  SLUICE_ASSIGN(const std::optional<JsonConfig> old_scaling, config.object("rope_scaling"));
  const std::optional<JsonConfig>& scaling = parameters ? parameters : old_scaling;

  SLUICE_ASSIGN(rope.base, config.number_or("rope_theta", 10000.0));
  SLUICE_ASSIGN(double partial, config.number_or("partial_rotary_factor", 1.0));
  std::string type = "default";
  if (scaling) {
    SLUICE_ASSIGN(rope.base, scaling->number_or("rope_theta", rope.base));
    SLUICE_ASSIGN(partial, scaling->number_or("partial_rotary_factor", partial));
    SLUICE_ASSIGN(const std::string old_type, scaling->text_or("type", "default"));
    SLUICE_ASSIGN(type, scaling->text_or("rope_type", old_type));
    SLUICE_ASSIGN(rope.factor, scaling->number_or("factor", 1.0));
  }
  rope.dim = static_cast<std::int64_t>(static_cast<double>(head_dim) * partial);

  const auto max_position = static_cast<double>(context_length);
  if (type == "linear") {
    rope.scaling = RopeScaling::kLinear;
  } else if (type == "yarn") {
    SLUICE_TRY(yarn_from_config(*scaling, max_position, rope));
  } else if (type == "llama3") {
    rope.scaling = RopeScaling::kLlama3;
    SLUICE_ASSIGN(rope.low_freq_factor, scaling->number_or("low_freq_factor", 1.0));
    SLUICE_ASSIGN(rope.high_freq_factor, scaling->number_or("high_freq_factor", 4.0));
    SLUICE_ASSIGN(rope.original_context, scaling->number_or("original_max_position_embeddings", max_position));
  } else if (type != "default") {
    return Error(ErrorCode::kUnsupported,
                 fmt::format("{}: RoPE scaling '{}' is not supported; supported are default, linear, llama3, yarn",
                             config.path(), type));
  }
  if (!(rope.factor > 0.0) || !(rope.base > 0.0) || rope.dim % 2 != 0 || rope.dim > head_dim) {
    return Error(ErrorCode::kCorrupt,
                 fmt::format("{}: RoPE with base {}, factor {} and {} of {} dimensions makes no sense", config.path(),
                             rope.base, rope.factor, rope.dim, head_dim));
  }
  return rope;
}

}  // namespace

Result<ModelSpec> common_from_gguf(const GgufConfig& config, std::string_view family, RopePairs pairs) {
  ModelSpec spec;
  spec.family = family;
  const std::string& path = config.checkpoint().path();
  const auto tensors = static_cast<std::int64_t>(config.checkpoint().tensors().size());
  SLUICE_ASSIGN(std::int64_t blocks, config.size("block_count"));
  if (blocks > tensors) {
    return Error(ErrorCode::kCorrupt, fmt::format("{}: {} is {}, but the file holds only {} tensors", path,
                                                  config.key("block_count"), blocks, tensors));
  }
  SLUICE_ASSIGN(spec.skipped_layers, config.size_or("nextn_predict_layers", 0));
  if (spec.skipped_layers >= blocks) {
    return Error(ErrorCode::kCorrupt, fmt::format("{}: {} is {} of {} blocks", path, config.key("nextn_predict_layers"),
                                                  spec.skipped_layers, blocks));
  }
  blocks -= spec.skipped_layers;

  SLUICE_ASSIGN(spec.hidden_size, config.size("embedding_length"));
  SLUICE_ASSIGN(spec.context_length, config.size("context_length"));
  SLUICE_ASSIGN(const double eps, config.number("attention.layer_norm_rms_epsilon"));
  spec.rms_eps = static_cast<float>(eps);
  SLUICE_ASSIGN(const auto heads, config.per_layer("attention.head_count", blocks, std::nullopt, 1));
  // A missing head_count_kv means as many as heads.
  SLUICE_ASSIGN(auto kv_heads, config.per_layer("attention.head_count_kv", blocks, 0, 0));
  SLUICE_ASSIGN(const auto widths, config.per_layer("feed_forward_length", blocks, 0, 0));
  SLUICE_ASSIGN(const std::int64_t head_dim, config.size_or("attention.key_length", spec.hidden_size / heads[0], 1));
  SLUICE_ASSIGN(const std::int64_t value_dim, config.size_or("attention.value_length", head_dim, 1));

  for (std::size_t i = 0; i < static_cast<std::size_t>(blocks); ++i) {
    if (kv_heads[i] == 0) kv_heads[i] = heads[i];
    SLUICE_TRY(check_heads(path, config.key("attention.head_count"), heads[i], kv_heads[i]));
    LayerSpec layer;
    layer.attention.heads = heads[i];
    layer.attention.kv_heads = kv_heads[i];
    layer.attention.head_dim = head_dim;
    layer.attention.value_dim = value_dim;
    layer.attention.scale = 1.0 / std::sqrt(static_cast<double>(head_dim));
    layer.dense_intermediate = widths[i];
    spec.layers.push_back(std::move(layer));
  }
  SLUICE_ASSIGN(spec.rope, rope_from_gguf(config, pairs, head_dim, spec.context_length));

  const TensorInfo* embedding = config.checkpoint().find("token_embd.weight");
  if (embedding == nullptr || embedding->shape.size() != 2) {
    return Error(ErrorCode::kCorrupt, fmt::format("{}: tensor token_embd.weight is missing or not a matrix", path));
  }
  spec.vocab_size = embedding->shape[0];
  if (const MetaValue* tokens = config.checkpoint().get("tokenizer.ggml.tokens")) {
    if (const auto* array = std::get_if<MetaArray>(&tokens->value)) {
      const auto* texts = std::get_if<std::vector<std::string_view>>(array);
      if (texts != nullptr && static_cast<std::int64_t>(texts->size()) > spec.vocab_size) {
        return Error(ErrorCode::kCorrupt,
                     fmt::format("{}: token_embd.weight has {} rows, but the vocabulary has {} tokens", path,
                                 spec.vocab_size, texts->size()));
      }
    }
  }
  return spec;
}

Result<ModelSpec> common_from_config(const JsonConfig& config, std::string_view family) {
  ModelSpec spec;
  spec.family = family;
  SLUICE_ASSIGN(const std::int64_t layers, config.size("num_hidden_layers"));
  if (layers > 100'000) return config.wrong("num_hidden_layers", "at most 100000");
  SLUICE_ASSIGN(spec.hidden_size, config.size("hidden_size"));
  SLUICE_ASSIGN(spec.vocab_size, config.size("vocab_size"));
  SLUICE_ASSIGN(spec.context_length, config.size_or("max_position_embeddings", 2048, 1));
  SLUICE_ASSIGN(const double eps, config.number_or("rms_norm_eps", 1e-6));
  spec.rms_eps = static_cast<float>(eps);
  SLUICE_ASSIGN(spec.tied_embeddings, config.flag_or("tie_word_embeddings", false));
  SLUICE_ASSIGN(spec.skipped_layers, config.size_or("num_nextn_predict_layers", 0));
  SLUICE_ASSIGN(const std::string activation, config.text_or("hidden_act", "silu"));
  if (activation != "silu" && activation != "swish") {
    return Error(ErrorCode::kUnsupported,
                 fmt::format("{}: hidden_act '{}' is not supported; supported is silu", config.path(), activation));
  }

  SLUICE_ASSIGN(const std::int64_t heads, config.size("num_attention_heads"));
  SLUICE_ASSIGN(const std::int64_t kv_heads, config.size_or("num_key_value_heads", heads, 1));
  SLUICE_TRY(check_heads(config.path(), "num_attention_heads", heads, kv_heads));
  SLUICE_ASSIGN(const std::int64_t head_dim, config.size_or("head_dim", spec.hidden_size / heads, 1));
  if (head_dim < 1) return config.wrong("num_attention_heads", "no more than hidden_size");
  SLUICE_ASSIGN(const std::int64_t width, config.size_or("intermediate_size", 0));
  LayerSpec layer;
  layer.attention.heads = heads;
  layer.attention.kv_heads = kv_heads;
  layer.attention.head_dim = head_dim;
  layer.attention.value_dim = head_dim;
  layer.attention.scale = 1.0 / std::sqrt(static_cast<double>(head_dim));
  layer.dense_intermediate = width;
  spec.layers.assign(static_cast<std::size_t>(layers), layer);

  // Layers with a sliding window: by name where the config lists them.
  SLUICE_ASSIGN(const std::int64_t window, config.size_or("sliding_window", 0));
  SLUICE_ASSIGN(const std::vector<std::string> types, config.texts_or_empty("layer_types"));
  if (!types.empty() && static_cast<std::int64_t>(types.size()) < layers) {
    return config.wrong("layer_types", fmt::format("{} entries", layers));
  }
  for (std::size_t i = 0; i < spec.layers.size() && !types.empty(); ++i) {
    if (types[i] == "sliding_attention") {
      spec.layers[i].attention.window = window;
    } else if (types[i] != "full_attention") {
      return Error(ErrorCode::kUnsupported,
                   fmt::format("{}: layer type '{}' is not supported", config.path(), types[i]));
    }
  }
  SLUICE_ASSIGN(spec.rope, rope_from_config(config, head_dim, spec.context_length));
  return spec;
}

}  // namespace sluice
