// Generating on the terminal: one answer, and the interactive loop.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/chat.h"
#include "cli/terminal.h"
#include "engine/engine.h"

namespace sluice::cli {

// Everything one `sluice run` needs to answer.
struct Session {
  Session(Engine& engine_in, SamplerParams sampling_in, StopRules stop_in, Style style_in, Progress& progress_in)
      : engine(engine_in),
        sampling(sampling_in),
        stop(std::move(stop_in)),
        style(style_in),
        progress(progress_in),
        sequence(engine_in.new_sequence()) {}

  Engine& engine;
  SamplerParams sampling;
  StopRules stop;
  Style style;
  Progress& progress;
  std::unique_ptr<Sequence> sequence;
  std::optional<Conversation> conversation;  // nullopt: raw completion
  bool quiet = false;
  bool verbose = false;
  bool echo = false;
  bool output_closed = false;
  std::string last_text;  // what the last generate() printed

  // Evaluates what `tokens` adds to the sequence and streams the answer to standard output. Ctrl-C stops the answer.
  Result<GenerationResult> generate(const std::vector<std::int32_t>& tokens);
  // Speeds, on standard error.
  void report(const GenerationResult& result) const;
};

// The loop at the prompt. `first` is a message to begin with, if any.
Result<int> interactive(Session& session, const std::optional<std::string>& first);

}  // namespace sluice::cli
