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
  Session(Engine& engine_in, Progress& progress_in)
      : engine(engine_in), progress(progress_in), sequence(engine_in.new_sequence()) {}

  Engine& engine;
  Progress& progress;
  std::unique_ptr<Sequence> sequence;
  SamplerParams sampling;
  StopRules stop;
  Style style;
  std::optional<Conversation> conversation;  // nullopt: raw completion
  bool quiet = false;
  bool verbose = false;
  bool echo = false;
  bool output_closed = false;  // standard output takes no more
  std::string last_text;       // what the last generate() printed

  // Completes `text`, or the conversation as it stands. What the sequence already holds of it is not evaluated again.
  // The answer is streamed to standard output; a signal ends it with FinishReason::kCancelled.
  Result<GenerationResult> complete(const std::string& text);
  Result<GenerationResult> answer();

  // A remark on standard error: dimmed, one line.
  void say(const std::string& text) const { write_err(style.dim(one_line(text)) + "\n"); }
  void complain(const std::string& text) const { write_err(style.red(one_line(text)) + "\n"); }
  // What the file made the loader say, once; nothing if quiet. Called when the model has given its first token: one
  // that can't do that is answered with its error alone.
  void warn();
  // Speeds, on standard error; nothing if quiet.
  void report(const GenerationResult& result) const;

 private:
  Result<GenerationResult> generate(const std::vector<std::int32_t>& tokens);

  bool warned_ = false;
};

// The loop at the prompt. `first` is a message to begin with, if any.
Result<int> interactive(Session& session, const std::optional<std::string>& first);

}  // namespace sluice::cli
