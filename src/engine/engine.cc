#include "engine/engine.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "checkpoint/checkpoint.h"
#include "engine/answer_text.h"
#include "engine/embedded_model.h"
#include "engine/stop_filter.h"
#include "model/config_reader.h"
#include "model/family.h"

namespace sluice {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Defaults that the model's makers published; ours where they say nothing.
Status read_generation_config(const Checkpoint& checkpoint, SamplerParams& sampling, std::vector<std::int32_t>& ends) {
  if (!checkpoint.generation_config().is_object()) return Status::success();
  const std::string file = checkpoint.path() + "/generation_config.json";
  const JsonConfig config(checkpoint.generation_config(), file);
  SLUICE_ASSIGN(const double temperature, config.number_or("temperature", static_cast<double>(sampling.temperature)));
  SLUICE_ASSIGN(const std::int64_t top_k, config.size_or("top_k", sampling.top_k));
  SLUICE_ASSIGN(const double top_p,
                config.number_or("top_p", config.has("top_k") ? 1.0 : static_cast<double>(sampling.top_p)));
  SLUICE_ASSIGN(const double min_p,
                config.number_or("min_p", config.has("top_k") ? 0.0 : static_cast<double>(sampling.min_p)));
  SLUICE_ASSIGN(const double penalty,
                config.number_or("repetition_penalty", static_cast<double>(sampling.repeat_penalty)));
  SLUICE_ASSIGN(const bool sample, config.flag_or("do_sample", config.has("temperature") || config.has("top_k")));
  if (sample) {
    sampling.temperature = static_cast<float>(temperature);
    sampling.top_k = static_cast<std::int32_t>(top_k);
    sampling.top_p = static_cast<float>(top_p);
    sampling.min_p = static_cast<float>(min_p);
  } else if (config.has("do_sample")) {
    sampling.temperature = 0.0F;
  }
  sampling.repeat_penalty = static_cast<float>(penalty);
  if (const nlohmann::json* eos = config.find("eos_token_id")) {
    const auto add = [&](const nlohmann::json& id) {
      if (!id.is_number_integer()) return;
      const auto value = id.get<std::int64_t>();
      if (value >= 0 && value <= INT32_MAX) ends.push_back(static_cast<std::int32_t>(value));  // others are no token
    };
    if (eos->is_array()) {
      for (const nlohmann::json& id : *eos) add(id);
    } else {
      add(*eos);
    }
  }
  if (const Status status = sampling.validate(); !status.ok()) return status.error().with_context(file);
  return Status::success();
}

}  // namespace

void Sequence::truncate(std::int64_t length) {
  if (length >= static_cast<std::int64_t>(tokens_.size())) return;
  tokens_.resize(static_cast<std::size_t>(length));
  cache_.truncate(length);
}

Engine::~Engine() = default;

Result<std::unique_ptr<Engine>> Engine::load(Env& env, const std::string& path, const EngineOptions& options) {
  const auto report = [&](std::string_view stage, double fraction) {
    if (options.progress) options.progress(stage, fraction);
  };
  report("opening", 0.0);
  auto opened = path.empty() ? open_checkpoint_memory(embedded_model_files(), "tales-moe (embedded)")
                             : open_checkpoint(env, path);
  if (!opened.ok()) return opened.error();
  const std::shared_ptr<const Checkpoint> checkpoint = std::move(opened).value();

  std::unique_ptr<Engine> engine(new Engine());
  engine->options_ = options;
  engine->options_.wishes.isa = options.isa;
  engine->warnings_ = checkpoint->warnings();

  // What the model is comes first: "architecture X is not supported" says more than a tokenizer's complaint.
  if (auto understood = understand(*checkpoint); !understood.ok()) return understood.error();
  report("tokenizer", 0.0);
  auto tokenizer = Tokenizer::from_checkpoint(*checkpoint);
  if (tokenizer.ok()) {
    engine->tokenizer_ = std::move(tokenizer).value();
    for (const std::string& warning : engine->tokenizer_->warnings()) engine->warnings_.push_back(warning);
    engine->end_ids_.assign(engine->tokenizer_->end_ids().begin(), engine->tokenizer_->end_ids().end());
  } else if (options.need_tokenizer) {
    return tokenizer.error();
  }
  SLUICE_TRY(read_generation_config(*checkpoint, engine->sampling_, engine->end_ids_));
  std::ranges::sort(engine->end_ids_);
  engine->end_ids_.erase(std::unique(engine->end_ids_.begin(), engine->end_ids_.end()), engine->end_ids_.end());

  engine->pool_ = std::make_unique<ThreadPool>(options.threads);
  report("weights", 0.0);
  ModelOptions model_options;
  model_options.wishes = engine->options_.wishes;
  model_options.progress = [&](double fraction) { report("weights", fraction); };
  SLUICE_ASSIGN(engine->model_, Model::load(checkpoint, model_options, *engine->pool_));
  report("weights", 1.0);

  const ModelSpec& spec = engine->model_->spec();
  for (const std::string& note : spec.notes) engine->warnings_.push_back(note);
  if (!engine->model_->unused_tensors().empty()) {
    const auto& unused = engine->model_->unused_tensors();
    engine->warnings_.push_back(fmt::format("{}: {} tensors are not used by this architecture, first {}",
                                            checkpoint->path(), unused.size(), unused.front()));
  }
  if (engine->tokenizer_ && engine->tokenizer_->vocab_size() > spec.vocab_size) {
    engine->warnings_.push_back(fmt::format("{}: the tokenizer knows {} ids, the model only {}", checkpoint->path(),
                                            engine->tokenizer_->vocab_size(), spec.vocab_size));
  }
  engine->context_ = options.context > 0 ? options.context : spec.context_length;
  if (options.context > spec.context_length) {
    engine->warnings_.push_back(fmt::format("context of {} tokens is longer than the {} that the model was trained for",
                                            options.context, spec.context_length));
  }
  return engine;
}

std::unique_ptr<Sequence> Engine::new_sequence() const { return std::make_unique<Sequence>(spec(), context_); }

Status Engine::check_chunk(const Chunk& chunk) const {
  if (chunk.sequence == nullptr) return Error(ErrorCode::kInvalidArgument, "a chunk has no sequence");
  for (const std::int32_t token : chunk.tokens) {
    if (token < 0 || token >= spec().vocab_size) {
      return Error(ErrorCode::kInvalidArgument,
                   fmt::format("token id {} is out of range: the model has {} tokens", token, spec().vocab_size));
    }
  }
  return chunk.sequence->cache_.check_room(static_cast<std::int64_t>(chunk.tokens.size()));
}

Status Engine::step(std::span<const Chunk> chunks, const ChunkLogitsSink& sink, const LayerRoutingObserver& routing) {
  std::vector<SequenceTokens> batch;
  std::vector<std::int64_t> ends;  // of each chunk's rows in the batch
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const Chunk& chunk = chunks[i];
    if (const Status status = check_chunk(chunk); !status.ok()) {
      return chunks.size() == 1 ? status.error() : status.error().with_context(fmt::format("chunk {}", i));
    }
    batch.push_back({&chunk.sequence->cache_, chunk.tokens, sink ? chunk.want : WantLogits::kNone});
    ends.push_back((ends.empty() ? 0 : ends.back()) + static_cast<std::int64_t>(chunk.tokens.size()));
  }
  const LogitsSink by_chunk = [&](std::int64_t row, std::span<const float> logits) {
    const auto chunk = static_cast<std::size_t>(std::ranges::upper_bound(ends, row) - ends.begin());
    sink(chunk, row - (chunk == 0 ? 0 : ends[chunk - 1]), logits);
  };
  SLUICE_TRY(model_->forward(batch, by_chunk, routing));
  for (const Chunk& chunk : chunks) {
    chunk.sequence->tokens_.insert(chunk.sequence->tokens_.end(), chunk.tokens.begin(), chunk.tokens.end());
  }
  return Status::success();
}

Status Engine::evaluate(Sequence& sequence, std::span<const std::int32_t> tokens, std::int64_t batch, bool want_all,
                        const LogitsSink& sink, const LayerRoutingObserver& routing,
                        const std::function<bool(std::int64_t done)>& progress) {
  if (batch <= 0) batch = std::max<std::int64_t>(options_.batch, 1);
  const auto total = static_cast<std::int64_t>(tokens.size());
  for (std::int64_t done = 0; done < total;) {
    const std::int64_t count = std::min(batch, total - done);
    const std::span<const std::int32_t> part =
        tokens.subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(count));
    // Logits of inner batches' last tokens are nobody's business unless all are wanted.
    const WantLogits last = done + count == total ? WantLogits::kLast : WantLogits::kNone;
    const Chunk chunk = {&sequence, part, want_all ? WantLogits::kAll : last};
    const ChunkLogitsSink shifted = [&](std::size_t, std::int64_t token, std::span<const float> logits) {
      sink(done + token, logits);
    };
    SLUICE_TRY(step({&chunk, 1}, sink ? shifted : ChunkLogitsSink(), routing));
    done += count;
    if (progress && !progress(done) && done < total) return Error(ErrorCode::kCancelled, "cancelled");
  }
  return Status::success();
}

Result<GenerationResult> Engine::generate(Sequence& sequence, std::span<const std::int32_t> prompt,
                                          const SamplerParams& sampling, const StopRules& stop,
                                          const std::function<bool(std::string_view)>& on_text,
                                          const std::function<bool(std::int64_t done)>& on_prefill) {
  SLUICE_TRY(sampling.validate());
  if (prompt.empty()) {
    return Error(ErrorCode::kInvalidArgument, "the prompt is empty, and this model has no token to begin a text with");
  }
  GenerationResult result;
  Sampler sampler(sampling);
  for (const std::int32_t token : sequence.tokens_) sampler.accept(token);
  for (const std::int32_t token : prompt) sampler.accept(token);

  std::vector<float> logits;
  const LogitsSink keep = [&](std::int64_t, std::span<const float> row) { logits.assign(row.begin(), row.end()); };
  auto start = std::chrono::steady_clock::now();
  const Status prefill = evaluate(sequence, prompt, 0, false, keep, {}, on_prefill);
  result.stats.prompt_tokens = static_cast<std::int64_t>(prompt.size());
  result.stats.prefill_seconds = seconds_since(start);
  if (!prefill.ok()) {
    if (prefill.error().code() != ErrorCode::kCancelled) return prefill.error();
    result.reason = FinishReason::kCancelled;
    return result;
  }

  StopFilter filter(stop.strings);
  std::optional<AnswerText> stream;
  if (tokenizer_) stream.emplace(*tokenizer_, sequence.tokens_);
  const auto is_end = [&](std::int32_t id) {
    return std::ranges::binary_search(end_ids_, id) || std::ranges::find(stop.ids, id) != stop.ids.end();
  };
  const auto emit = [&](const std::string& text) { return text.empty() || !on_text || on_text(text); };

  start = std::chrono::steady_clock::now();
  result.reason = FinishReason::kLength;
  while (stop.max_tokens < 0 || static_cast<std::int64_t>(result.tokens.size()) < stop.max_tokens) {
    const std::int32_t token = sampler.sample(logits);
    const bool own_stop = std::ranges::find(stop.ids, token) != stop.ids.end();
    if (own_stop || (is_end(token) && !stop.ignore_eos)) {
      result.reason = FinishReason::kStop;
      break;
    }
    sampler.accept(token);
    result.tokens.push_back(token);
    if (stream && !emit(filter.push(stream->push(token)))) {
      result.reason = FinishReason::kCancelled;
      break;
    }
    if (filter.found()) {
      result.reason = FinishReason::kStop;
      break;
    }
    if (stop.max_tokens >= 0 && static_cast<std::int64_t>(result.tokens.size()) >= stop.max_tokens) break;
    if (sequence.cache_.length() >= sequence.cache_.max_positions()) {
      result.reason = FinishReason::kContextFull;
      break;
    }
    SLUICE_TRY(evaluate(sequence, {&token, 1}, 1, false, keep, {}, {}));
  }
  if (stream && result.reason != FinishReason::kCancelled && !filter.found()) {
    (void)emit(filter.push(stream->flush()));
    (void)emit(filter.flush());
  }
  result.stats.generated_tokens = static_cast<std::int64_t>(result.tokens.size());
  result.stats.decode_seconds = seconds_since(start);
  return result;
}

std::span<const std::int32_t> Engine::reuse_prefix(Sequence& sequence, std::span<const std::int32_t> tokens) {
  const auto& held = sequence.tokens();
  std::size_t common = 0;
  while (common < held.size() && common + 1 < tokens.size() && held[common] == tokens[common]) ++common;
  sequence.truncate(static_cast<std::int64_t>(common));
  return tokens.subspan(common);
}

}  // namespace sluice
