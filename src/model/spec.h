// ModelSpec: what a checkpoint is once its family understood the metadata; sizes only, no weights.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "moe/spec.h"

namespace sluice {

enum class RopePairs : std::uint8_t {
  kHalves,      // (i, i + d/2)
  kNeighbours,  // (2i, 2i + 1)
};
enum class RopeScaling : std::uint8_t { kNone, kLinear, kYarn, kLlama3 };

// Rotary position embedding. Sources: Su et al. 2021 (RoPE), Peng et al. 2023 (YaRN), Llama 3.1's config.
struct RopeSpec {
  std::int64_t dim = 0;  // rotated dimensions of a head (its first ones); 0 = no rotation
  double base = 10000.0;
  RopePairs pairs = RopePairs::kHalves;
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1.0;
  double original_context = 0.0;
  double beta_fast = 32.0;  // YaRN
  double beta_slow = 1.0;
  bool truncate = true;          // floor and ceil the correction range
  double magnitude = 1.0;        // cos and sin are multiplied by it
  double low_freq_factor = 1.0;  // llama3
  double high_freq_factor = 4.0;
};

enum class QkNorm : std::uint8_t { kNone, kPerHead, kFullWidth };

struct AttentionSpec {
  bool mla = false;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;      // GQA; 1 in effect under MLA
  std::int64_t head_dim = 0;      // of q and k: nope + rope under MLA
  std::int64_t value_dim = 0;     // of v
  std::int64_t kv_lora_rank = 0;  // MLA only, with the four below
  std::int64_t q_lora_rank = 0;   // 0: q straight from the hidden state
  std::int64_t nope_dim = 0;
  std::int64_t rope_dim = 0;
  float latent_eps = 0.0F;  // of the norms inside MLA (q_a, kv_a); 0: the model's rms_eps
  double scale = 0.0;       // of q . k
  QkNorm qk_norm = QkNorm::kNone;
  bool qkv_bias = false;  // under MLA: biases of q_a and kv_a
  bool output_bias = false;
  bool sinks = false;       // one learnt logit per head in the softmax
  std::int64_t window = 0;  // 0: the whole past; else only distances < window
  double clip_qkv = 0.0;    // 0: none

  // Floats per cached position: keys then values under GQA; latent then rotated key under MLA.
  std::int64_t cache_row() const { return mla ? kv_lora_rank + rope_dim : kv_heads * (head_dim + value_dim); }
};

struct LayerSpec {
  AttentionSpec attention;
  std::optional<moe::MoeSpec> moe;  // nullopt: a dense FFN
  std::int64_t dense_intermediate = 0;
  bool dense_bias = false;
};

struct ModelSpec {
  std::string family;        // "llama", "qwen3", "deepseek" ... (a file of src/model/families)
  std::string architecture;  // as the checkpoint spells it
  std::string name;          // general.name, or the folder's
  std::int64_t hidden_size = 0;
  std::int64_t vocab_size = 0;
  std::int64_t context_length = 0;
  float rms_eps = 1e-6F;
  RopeSpec rope;
  std::vector<LayerSpec> layers;
  std::int64_t skipped_layers = 0;  // next-token-prediction layers behind the last one
  bool tied_embeddings = false;     // asked for by the config; GGUF files say it by leaving output.weight out
  // Metadata that the family did not look at and that might change arithmetic.
  std::vector<std::string> notes;

  bool has_experts() const {
    for (const LayerSpec& layer : layers) {
      if (layer.moe) return true;
    }
    return false;
  }
};

}  // namespace sluice
