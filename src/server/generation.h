// One generation on its way through the server: what was asked for, and the pieces of the answer as they come.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"

namespace sluice::server {

struct GenerationRequest {
  std::vector<std::int32_t> prompt;  // not empty, shorter than the context
  SamplerParams sampling;
  std::vector<std::pair<std::int32_t, float>> logit_bias;  // added to the logits before anything else
  StopRules stop;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

// Times in seconds since the request was accepted.
struct GenerationUsage {
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;  // of the prompt, not evaluated again
  std::int64_t completion_tokens = 0;
  double queue_seconds = 0.0;
  double first_token_seconds = 0.0;
  double total_seconds = 0.0;
};

struct GenerationFinish {
  FinishReason reason = FinishReason::kStop;
  std::optional<Error> error;  // instead of a reason
  GenerationUsage usage;
};

struct GenerationEvent {
  std::string text;                        // whole characters
  std::optional<GenerationFinish> finish;  // the last event has it
};

// Shared by the scheduler, which pushes, and one reader.
class Generation {
 public:
  // `wake` is called from the scheduler's thread after each push; it must not block.
  Generation(GenerationRequest wanted, std::function<void()> wake)
      : request(std::move(wanted)), wake_(std::move(wake)) {}

  const GenerationRequest request;

  // Asks the scheduler to drop it, wherever it is; takes effect between two forward passes.
  void cancel() { cancelled_.store(true); }
  bool cancelled() const { return cancelled_.load(); }

  void push(GenerationEvent event);
  std::optional<GenerationEvent> pop();

 private:
  std::function<void()> wake_;
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;
  std::deque<GenerationEvent> events_;
};

}  // namespace sluice::server
