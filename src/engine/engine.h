// The engine: a model with its tokenizer and threads, sequences, and generation of text.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "cpu/isa.h"
#include "engine/sampler.h"
#include "model/model.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace sluice {

struct EngineOptions {
  Isa isa = Isa::kScalar;      // from parse_isa("auto")
  int threads = 0;             // 0: physical cores
  std::int64_t context = 0;    // tokens per sequence; 0: the model's own
  std::int64_t batch = 512;    // tokens per forward pass of a prefill
  bool need_tokenizer = true;  // false: token ids only (a checkpoint without a tokenizer is fine then)
  moe::PlanWishes wishes;      // experts, all2all_backend, shared_experts; isa is set from above
  // stage: "opening", "tokenizer", "weights"; fraction 0 .. 1. May be empty.
  std::function<void(std::string_view stage, double fraction)> progress;
};

struct StopRules {
  std::vector<std::string> strings;  // the text ends before the first of them
  std::vector<std::int32_t> ids;     // beside the model's own end ids
  bool ignore_eos = false;           // the model's end ids do not stop (and are not printed)
  std::int64_t max_tokens = -1;      // < 0: until the context is full
};

enum class FinishReason { kStop /* end id or stop string */, kLength, kContextFull, kCancelled };

struct GenerationStats {
  std::int64_t prompt_tokens = 0;  // evaluated now (cached ones not counted)
  std::int64_t generated_tokens = 0;
  double prefill_seconds = 0.0;
  double decode_seconds = 0.0;
};

struct GenerationResult {
  std::vector<std::int32_t> tokens;  // generated, without the end id
  FinishReason reason = FinishReason::kStop;
  GenerationStats stats;
};

// One conversation's state: tokens evaluated so far and their cache.
class Sequence {
 public:
  Sequence(const ModelSpec& spec, std::int64_t max_positions) : cache_(spec, max_positions) {}
  const std::vector<std::int32_t>& tokens() const { return tokens_; }
  KvCache& cache() { return cache_; }
  // Forgets everything from position `length` on.
  void truncate(std::int64_t length);

 private:
  friend class Engine;
  KvCache cache_;
  std::vector<std::int32_t> tokens_;
};

// A sequence's part in one step: a prompt's piece (chunked prefill) or the token just sampled (decode).
struct Chunk {
  Sequence* sequence = nullptr;  // each at most once per step
  std::span<const std::int32_t> tokens;
  WantLogits want = WantLogits::kLast;
};

// Logits [vocab] of chunks[chunk].tokens[token]; valid during the call only.
using ChunkLogitsSink = std::function<void(std::size_t chunk, std::int64_t token, std::span<const float> logits)>;

// One step, evaluation or generation at a time.
class Engine {
 public:
  // path "" = the embedded model. Errors carry the file and the fault.
  static Result<std::unique_ptr<Engine>> load(Env& env, const std::string& path, const EngineOptions& options);
  ~Engine();

  const Model& model() const { return *model_; }
  const ModelSpec& spec() const { return model_->spec(); }
  const Tokenizer* tokenizer() const { return tokenizer_.get(); }  // null only if !need_tokenizer
  ThreadPool& pool() { return *pool_; }
  std::int64_t context() const { return context_; }
  const EngineOptions& options() const { return options_; }
  // Sampling defaults: those of generation_config.json over ours; do_sample false means greedy.
  const SamplerParams& default_sampling() const { return sampling_; }
  // End ids of the tokenizer and of generation_config.json.
  const std::vector<std::int32_t>& end_ids() const { return end_ids_; }
  // Warnings gathered while loading, one line each.
  const std::vector<std::string>& warnings() const { return warnings_; }

  std::unique_ptr<Sequence> new_sequence() const;

  // One forward pass over the chunks of several sequences, prefill and decode mixed. Checks all chunks first, and on
  // any error no sequence has changed: kInvalidArgument (no sequence, one twice, a token id out of range), kResource (a
  // context full, no memory), each naming the chunk where there are several; kCorrupt (the weights gave NaN or
  // infinity). In scalar mode a sequence's logits have the same bits as when it is evaluated alone.
  Status step(std::span<const Chunk> chunks, const ChunkLogitsSink& sink, const LayerRoutingObserver& routing = {});

  // Evaluates tokens in batches of options.batch (or `batch` if > 0). `sink` gets logits of every token (want_all) or
  // of the last one. `progress` (may be empty) gets tokens done; returning false cancels (kCancelled; what was
  // evaluated stays in the sequence).
  Status evaluate(Sequence& sequence, std::span<const std::int32_t> tokens, std::int64_t batch, bool want_all,
                  const LogitsSink& sink, const LayerRoutingObserver& routing,
                  const std::function<bool(std::int64_t done)>& progress);

  // Continues `sequence` by `prompt`, then generates. A common prefix of `prompt` with what the sequence holds is NOT
  // looked for here: see reuse_prefix(). on_text gets finished pieces of text (never half a character, never a part of
  // a stop string); returning false stops with kCancelled. on_prefill gets prompt tokens done.
  Result<GenerationResult> generate(Sequence& sequence, std::span<const std::int32_t> prompt,
                                    const SamplerParams& sampling, const StopRules& stop,
                                    const std::function<bool(std::string_view)>& on_text,
                                    const std::function<bool(std::int64_t done)>& on_prefill);

  // Truncates the sequence to its longest common prefix with `tokens` (at most tokens.size() - 1, so that something is
  // left to evaluate) and returns what remains to be evaluated.
  static std::span<const std::int32_t> reuse_prefix(Sequence& sequence, std::span<const std::int32_t> tokens);

 private:
  Engine() = default;
  Status check_chunk(const Chunk& chunk) const;

  EngineOptions options_;
  std::int64_t context_ = 0;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<Model> model_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  SamplerParams sampling_;
  std::vector<std::int32_t> end_ids_;
  std::vector<std::string> warnings_;
};

}  // namespace sluice
