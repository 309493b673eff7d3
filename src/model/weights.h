// The weights of a model: views into the checkpoint by role, bound and checked against the spec.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "model/binder.h"
#include "model/family.h"
#include "model/spec.h"

namespace sluice {

struct AttentionWeights {
  WeightView q, k, v, o;          // GQA: [heads * head_dim, H] ...; q also under MLA without q_lora
  WeightView q_a, q_b, kv_a;      // MLA
  std::vector<WeightView> k_b;    // MLA, per head: [latent, nope] (absorbs q into the latent space)
  std::vector<WeightView> v_b;    // MLA, per head: [value_dim, latent]
  const float* q_bias = nullptr;  // also of q_a under MLA
  const float* k_bias = nullptr;
  const float* v_bias = nullptr;
  const float* kv_a_bias = nullptr;
  const float* o_bias = nullptr;
  const float* q_norm = nullptr;
  const float* k_norm = nullptr;
  const float* q_a_norm = nullptr;
  const float* kv_a_norm = nullptr;
  const float* sinks = nullptr;  // [heads]
};

struct LayerWeights {
  const float* attention_norm = nullptr;
  const float* ffn_norm = nullptr;
  AttentionWeights attention;
  moe::ExpertMatrices dense;  // layers without experts
  moe::MoeWeights moe;        // layers with
};

struct ModelWeights {
  std::shared_ptr<const Checkpoint> checkpoint;  // keeps the mappings alive
  WeightArena arena;
  WeightView embedding;  // [vocab, H]
  WeightView output;     // [vocab, H]; the embedding again when tied
  const float* output_norm = nullptr;
  const float* rope_factors = nullptr;  // [rope dim / 2] divisors of the frequencies (GGUF rope_freqs), or null
  std::vector<LayerWeights> layers;
  std::vector<std::string> unused;  // tensors that the model does not use (skipped layers left out)
};

// Binds all weights. `progress` (may be empty) gets values from 0 to 1.
// Errors: kCorrupt naming the tensor that is missing or of another shape; kUnsupported for a type.
Result<std::unique_ptr<ModelWeights>> bind_weights(std::shared_ptr<const Checkpoint> checkpoint, const Family& family,
                                                   const ModelSpec& spec, const std::function<void(double)>& progress);

// First weight that decodes to NaN or infinity, as "tensor NAME, row R"; empty if there is none. Reads every weight:
// for the message after a forward pass went wrong.
std::string find_non_finite_weight(const Checkpoint& checkpoint);

}  // namespace sluice
