#include "model/weights.h"

#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "model/expert_weights.h"

namespace sluice {
namespace {

// Names of one layer's tensors without ".weight" / ".bias".
struct LayerNames {
  std::string block;  // "blk.N." or "model.layers.N."
  std::string attention_norm, ffn_norm;
  std::string q, k, v, o, q_norm, k_norm;
  std::string q_a, q_a_norm, q_b, kv_a, kv_a_norm, kv_b, k_b, v_b;
  std::string sinks;  // full name
  std::string gate, up, down;
  std::string router, selection_bias;  // the latter a full name
  std::string shared_gate_proj, shared_up_proj, shared_down_proj, shared_gate;
};

LayerNames gguf_layer(std::size_t i, bool oai_norm) {
  const std::string b = fmt::format("blk.{}.", i);
  LayerNames n;
  n.block = b;
  n.attention_norm = b + "attn_norm";
  n.ffn_norm = b + (oai_norm ? "post_attention_norm" : "ffn_norm");
  n.q = b + "attn_q";
  n.k = b + "attn_k";
  n.v = b + "attn_v";
  n.o = b + "attn_output";
  n.q_norm = b + "attn_q_norm";
  n.k_norm = b + "attn_k_norm";
  n.q_a = b + "attn_q_a";
  n.q_a_norm = b + "attn_q_a_norm";
  n.q_b = b + "attn_q_b";
  n.kv_a = b + "attn_kv_a_mqa";
  n.kv_a_norm = b + "attn_kv_a_norm";
  n.kv_b = b + "attn_kv_b";
  n.k_b = b + "attn_k_b";
  n.v_b = b + "attn_v_b";
  n.sinks = b + "attn_sinks.weight";
  n.gate = b + "ffn_gate";
  n.up = b + "ffn_up";
  n.down = b + "ffn_down";
  n.router = b + "ffn_gate_inp";
  n.selection_bias = b + "exp_probs_b.bias";
  n.shared_gate_proj = b + "ffn_gate_shexp";
  n.shared_up_proj = b + "ffn_up_shexp";
  n.shared_down_proj = b + "ffn_down_shexp";
  n.shared_gate = b + "ffn_gate_inp_shexp";
  return n;
}

// `moe_block` is "model.layers.N.mlp." or the like.
LayerNames hf_layer(const std::string& prefix, std::size_t i, const std::string& moe_block, const HfNames& names) {
  const std::string b = fmt::format("{}layers.{}.", prefix, i);
  const std::string a = b + "self_attn.";
  LayerNames n;
  n.block = b;
  n.attention_norm = b + "input_layernorm";
  n.ffn_norm = b + "post_attention_layernorm";
  n.q = a + "q_proj";
  n.k = a + "k_proj";
  n.v = a + "v_proj";
  n.o = a + "o_proj";
  n.q_norm = a + "q_norm";
  n.k_norm = a + "k_norm";
  n.q_a = a + "q_a_proj";
  n.q_a_norm = a + "q_a_layernorm";
  n.q_b = a + "q_b_proj";
  n.kv_a = a + "kv_a_proj_with_mqa";
  n.kv_a_norm = a + "kv_a_layernorm";
  n.kv_b = a + "kv_b_proj";
  n.sinks = a + "sinks";
  n.gate = b + "mlp.gate_proj";
  n.up = b + "mlp.up_proj";
  n.down = b + "mlp.down_proj";
  n.router = moe_block + std::string(names.router);
  n.selection_bias = moe_block + std::string(names.selection_bias);
  const std::string shared = moe_block + std::string(names.shared) + ".";
  n.shared_gate_proj = shared + "gate_proj";
  n.shared_up_proj = shared + "up_proj";
  n.shared_down_proj = shared + "down_proj";
  n.shared_gate = moe_block + std::string(names.shared_gate);
  return n;
}

std::string weight(const std::string& base) { return base + ".weight"; }
std::string bias(const std::string& base) { return base + ".bias"; }

// Per head the transposed nope part of kv_b [heads * (nope + v), latent]: [latent, nope], so that a query is carried
// into the latent space by an ordinary product. Two-byte types are copied as they are, all others become fp32.
WeightView transpose_key_part(Binder& binder, const WeightView& kv_b, std::int64_t first_row, std::int64_t nope) {
  const std::int64_t latent = kv_b.cols;
  const bool half = kv_b.dtype == DType::kBF16 || kv_b.dtype == DType::kF16;
  const std::size_t size = half ? 2 : 4;
  std::byte* out = binder.arena().allocate(static_cast<std::size_t>(latent * nope) * size);
  std::vector<float> row(static_cast<std::size_t>(latent));
  for (std::int64_t n = 0; n < nope; ++n) {
    const std::byte* source = kv_b.data + static_cast<std::size_t>(first_row + n) * kv_b.row_bytes;
    if (!half) {
      decode_row(kv_b, first_row + n, row.data());
      source = reinterpret_cast<const std::byte*>(row.data());
    }
    for (std::int64_t l = 0; l < latent; ++l) {
      std::memcpy(out + static_cast<std::size_t>(l * nope + n) * size, source + static_cast<std::size_t>(l) * size,
                  size);
    }
  }
  WeightView view;
  view.dtype = half ? kv_b.dtype : DType::kF32;
  view.data = out;
  view.rows = latent;
  view.cols = nope;
  view.row_bytes = static_cast<std::size_t>(nope) * size;
  return view;
}

Status bind_mla(Binder& binder, const LayerNames& names, const AttentionSpec& spec, std::int64_t hidden,
                AttentionWeights& out) {
  const std::int64_t q_rows = spec.heads * spec.head_dim;
  if (spec.q_lora_rank > 0) {
    SLUICE_ASSIGN(out.q_a, binder.matrix(weight(names.q_a), spec.q_lora_rank, hidden));
    SLUICE_ASSIGN(out.q_a_norm, binder.vector(weight(names.q_a_norm), spec.q_lora_rank));
    SLUICE_ASSIGN(out.q_b, binder.matrix(weight(names.q_b), q_rows, spec.q_lora_rank));
    if (spec.qkv_bias) {
      SLUICE_ASSIGN(out.q_bias, binder.vector(bias(names.q_a), spec.q_lora_rank));
    }
  } else {
    SLUICE_ASSIGN(out.q, binder.matrix(weight(names.q), q_rows, hidden));
  }
  const std::int64_t kv_rows = spec.kv_lora_rank + spec.rope_dim;
  SLUICE_ASSIGN(out.kv_a, binder.matrix(weight(names.kv_a), kv_rows, hidden));
  if (spec.qkv_bias) {
    SLUICE_ASSIGN(out.kv_a_bias, binder.vector(bias(names.kv_a), kv_rows));
  }
  SLUICE_ASSIGN(out.kv_a_norm, binder.vector(weight(names.kv_a_norm), spec.kv_lora_rank));

  if (!names.k_b.empty() && binder.has(weight(names.k_b))) {
    SLUICE_ASSIGN(out.k_b, binder.stack(weight(names.k_b), spec.heads, spec.kv_lora_rank, spec.nope_dim));
    SLUICE_ASSIGN(out.v_b, binder.stack(weight(names.v_b), spec.heads, spec.value_dim, spec.kv_lora_rank));
  } else {
    const std::int64_t per_head = spec.nope_dim + spec.value_dim;
    SLUICE_ASSIGN(const WeightView kv_b, binder.matrix(weight(names.kv_b), spec.heads * per_head, spec.kv_lora_rank));
    for (std::int64_t h = 0; h < spec.heads; ++h) {
      out.k_b.push_back(transpose_key_part(binder, kv_b, h * per_head, spec.nope_dim));
      out.v_b.push_back(kv_b.slice_rows(h * per_head + spec.nope_dim, spec.value_dim));
    }
  }
  SLUICE_ASSIGN(out.o, binder.matrix(weight(names.o), hidden, spec.heads * spec.value_dim));
  return Status::success();
}

Status bind_gqa(Binder& binder, const LayerNames& names, const AttentionSpec& spec, std::int64_t hidden,
                AttentionWeights& out) {
  const std::int64_t q_rows = spec.heads * spec.head_dim;
  const std::int64_t k_rows = spec.kv_heads * spec.head_dim;
  const std::int64_t v_rows = spec.kv_heads * spec.value_dim;
  SLUICE_ASSIGN(out.q, binder.matrix(weight(names.q), q_rows, hidden));
  SLUICE_ASSIGN(out.k, binder.matrix(weight(names.k), k_rows, hidden));
  SLUICE_ASSIGN(out.v, binder.matrix(weight(names.v), v_rows, hidden));
  SLUICE_ASSIGN(out.o, binder.matrix(weight(names.o), hidden, spec.heads * spec.value_dim));
  // Some GGUF files carry biases that the architecture's name does not announce (Llama with attention_bias).
  if (spec.qkv_bias || binder.has(bias(names.q))) {
    SLUICE_ASSIGN(out.q_bias, binder.vector(bias(names.q), q_rows));
    SLUICE_ASSIGN(out.k_bias, binder.vector(bias(names.k), k_rows));
    SLUICE_ASSIGN(out.v_bias, binder.vector(bias(names.v), v_rows));
  }
  if (spec.qk_norm != QkNorm::kNone) {
    const bool full = spec.qk_norm == QkNorm::kFullWidth;
    SLUICE_ASSIGN(out.q_norm, binder.vector(weight(names.q_norm), full ? q_rows : spec.head_dim));
    SLUICE_ASSIGN(out.k_norm, binder.vector(weight(names.k_norm), full ? k_rows : spec.head_dim));
  }
  if (spec.sinks) {
    SLUICE_ASSIGN(out.sinks, binder.vector(names.sinks, spec.heads));
  }
  return Status::success();
}

Result<moe::ExpertMatrices> bind_ffn(Binder& binder, const std::string& gate, const std::string& up,
                                     const std::string& down, std::int64_t hidden, std::int64_t width, bool biases) {
  moe::ExpertMatrices out;
  SLUICE_ASSIGN(out.gate, binder.matrix(weight(gate), width, hidden));
  SLUICE_ASSIGN(out.up, binder.matrix(weight(up), width, hidden));
  SLUICE_ASSIGN(out.down, binder.matrix(weight(down), hidden, width));
  if (biases) {
    SLUICE_ASSIGN(out.gate_bias, binder.vector(bias(gate), width));
    SLUICE_ASSIGN(out.up_bias, binder.vector(bias(up), width));
    SLUICE_ASSIGN(out.down_bias, binder.vector(bias(down), hidden));
  }
  return out;
}

Status bind_moe(Binder& binder, const LayerNames& names, const moe::MoeSpec& spec, moe::MoeWeights& out) {
  const std::int64_t experts = spec.routing.num_experts;
  SLUICE_ASSIGN(out.router, binder.matrix(weight(names.router), experts, spec.hidden_size));
  if (spec.routing.logit_bias) {
    SLUICE_ASSIGN(out.router_bias, binder.vector(bias(names.router), experts));
  }
  if (spec.routing.selection_bias) {
    SLUICE_ASSIGN(out.selection_bias, binder.vector(names.selection_bias, experts));
  }
  if (spec.shared.count > 0) {
    SLUICE_ASSIGN(out.shared, bind_ffn(binder, names.shared_gate_proj, names.shared_up_proj, names.shared_down_proj,
                                       spec.hidden_size, spec.shared.intermediate_size, false));
    if (spec.shared.gated) {
      SLUICE_ASSIGN(out.shared_gate, binder.matrix(weight(names.shared_gate), 1, spec.hidden_size));
    }
  }
  return Status::success();
}

Status bind_layer(Binder& binder, const LayerNames& names, const ModelSpec& model, const LayerSpec& spec,
                  LayerWeights& out) {
  const std::int64_t hidden = model.hidden_size;
  SLUICE_ASSIGN(out.attention_norm, binder.vector(weight(names.attention_norm), hidden));
  SLUICE_ASSIGN(out.ffn_norm, binder.vector(weight(names.ffn_norm), hidden));
  SLUICE_TRY(spec.attention.mla ? bind_mla(binder, names, spec.attention, hidden, out.attention)
                                : bind_gqa(binder, names, spec.attention, hidden, out.attention));
  if (spec.attention.output_bias || binder.has(bias(names.o))) {
    SLUICE_ASSIGN(out.attention.o_bias, binder.vector(bias(names.o), hidden));
  }
  if (spec.moe) return bind_moe(binder, names, *spec.moe, out.moe);
  if (spec.dense_intermediate < 1) {
    return Error(ErrorCode::kCorrupt, fmt::format("{}: layer {} has no experts and no width of a dense FFN",
                                                  binder.checkpoint().path(), names.block));
  }
  SLUICE_ASSIGN(out.dense,
                bind_ffn(binder, names.gate, names.up, names.down, hidden, spec.dense_intermediate, spec.dense_bias));
  return Status::success();
}

Status check_fp8_blocks(const Checkpoint& checkpoint) {
  const JsonConfig config(checkpoint.config(), checkpoint.path() + "/config.json");
  SLUICE_ASSIGN(const std::optional<JsonConfig> quantization, config.object("quantization_config"));
  if (!quantization) return Status::success();
  SLUICE_ASSIGN(const std::string method, quantization->text_or("quant_method", ""));
  if (method != "fp8" && method != "mxfp4") {
    return Error(ErrorCode::kUnsupported,
                 fmt::format("{}: quantization '{}' is not supported; supported are fp8 (128 x 128 blocks), mxfp4 and "
                             "GGUF's formats",
                             config.path(), method));
  }
  SLUICE_ASSIGN(const auto block, quantization->sizes_or_empty("weight_block_size"));
  if (!block.empty() && block != std::vector<std::int64_t>{128, 128}) {
    return quantization->wrong("weight_block_size", "[128, 128]");
  }
  return Status::success();
}

}  // namespace

Result<std::unique_ptr<ModelWeights>> bind_weights(std::shared_ptr<const Checkpoint> checkpoint, const Family& family,
                                                   const ModelSpec& spec, const std::function<void(double)>& progress) {
  auto weights = std::make_unique<ModelWeights>();
  weights->checkpoint = std::move(checkpoint);
  const bool gguf = weights->checkpoint->kind() == CheckpointKind::kGguf;
  if (!gguf) SLUICE_TRY(check_fp8_blocks(*weights->checkpoint));
  Binder binder(*weights->checkpoint, weights->arena);
  // Text models inside multimodal checkpoints keep their usual names behind a prefix.
  std::string prefix = "model.";
  if (!gguf && !binder.has("model.embed_tokens.weight") && binder.has("language_model.model.embed_tokens.weight")) {
    prefix = "language_model.model.";
  }

  const std::string embedding = gguf ? "token_embd.weight" : prefix + "embed_tokens.weight";
  const std::string output = gguf ? "output.weight" : "lm_head.weight";
  SLUICE_ASSIGN(weights->embedding, binder.matrix(embedding, spec.vocab_size, spec.hidden_size));
  SLUICE_ASSIGN(weights->output_norm,
                binder.vector(gguf ? "output_norm.weight" : prefix + "norm.weight", spec.hidden_size));
  if (spec.tied_embeddings || (gguf && !binder.has(output))) {
    weights->output = weights->embedding;
    if (binder.has(output)) (void)binder.tensor(output);
  } else {
    SLUICE_ASSIGN(weights->output, binder.matrix(output, spec.vocab_size, spec.hidden_size));
  }
  if (gguf && binder.has("rope_freqs.weight")) {
    SLUICE_ASSIGN(weights->rope_factors, binder.vector("rope_freqs.weight", spec.rope.dim / 2));
  }

  weights->layers.resize(spec.layers.size());
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const LayerSpec& layer = spec.layers[i];
    std::string moe_block = fmt::format("{}layers.{}.{}.", prefix, i, family.hf_names.moe_block);
    if (!gguf && layer.moe && !binder.has(weight(moe_block + std::string(family.hf_names.router)))) {
      moe_block = fmt::format("{}layers.{}.mlp.", prefix, i);  // Mixtral as newer libraries name it
    }
    const LayerNames names =
        gguf ? gguf_layer(i, family.name == "gpt_oss") : hf_layer(prefix, i, moe_block, family.hf_names);
    SLUICE_TRY(bind_layer(binder, names, spec, layer, weights->layers[i]));
    if (layer.moe) {
      SLUICE_ASSIGN(weights->layers[i].moe.experts,
                    gguf ? bind_gguf_experts(binder, names.block, *layer.moe)
                         : bind_hf_experts(binder, moe_block, family.hf_names, *layer.moe));
    }
    if (progress) progress(static_cast<double>(i + 1) / static_cast<double>(spec.layers.size()));
  }

  std::vector<std::string> skipped = {"rope_freqs", "blk.0.attn_rot_embd"};
  for (std::int64_t i = 0; i < spec.skipped_layers; ++i) {
    const auto index = static_cast<std::int64_t>(spec.layers.size()) + i;
    skipped.push_back(gguf ? fmt::format("blk.{}.", index) : fmt::format("{}layers.{}.", prefix, index));
  }
  weights->unused = binder.unused(skipped);
  return weights;
}

std::string find_non_finite_weight(const Checkpoint& checkpoint) {
  std::vector<float> row;
  for (const TensorInfo& info : checkpoint.tensors()) {
    const FormatInfo* format = find_format(info.dtype);
    if (format == nullptr || format->decode == nullptr || info.shape.empty() || info.shape.back() == 0) continue;
    const std::int64_t cols = info.shape.back();
    const auto bytes = row_bytes(info.dtype, static_cast<std::uint64_t>(cols));
    if (!bytes) continue;
    row.resize(static_cast<std::size_t>(cols));
    for (std::int64_t r = 0; r < info.elements() / cols; ++r) {
      format->decode(info.data.data() + static_cast<std::size_t>(r) * static_cast<std::size_t>(*bytes), row.data(),
                     cols);
      for (const float value : row) {
        if (!std::isfinite(value)) return fmt::format("tensor {}, row {}", info.name, r);
      }
    }
  }
  return {};
}

}  // namespace sluice
