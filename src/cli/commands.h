// The commands. Each returns the process's exit code or an Error that main prints as one line.
#pragma once

#include "base/env.h"
#include "cli/options.h"
#include "engine/engine.h"

namespace sluice::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitError = 1;
inline constexpr int kExitUsage = 2;

Result<int> run_command(Env& env, const Arguments& arguments);
Result<int> inspect_command(Env& env, const Arguments& arguments);
Result<int> logits_command(Env& env, const Arguments& arguments);
Result<int> tokenize_command(Env& env, const Arguments& arguments);
Result<int> render_command(Env& env, const Arguments& arguments);
Result<int> doctor_command(Env& env, const Arguments& arguments);
Result<int> completion_command(Env& env, const Arguments& arguments);
Result<int> man_command(Env& env, const Arguments& arguments);
std::string version_text();

// Shared by the commands that load a model.

// The model's path: --model or the first positional; "" (the embedded one) if there is none.
std::string model_path(const Arguments& arguments);
// Engine options from --isa, --threads, --ctx-size, --batch-size and the wishes for the plan.
Result<EngineOptions> engine_options(const Arguments& arguments);

// Whole program: parses, applies settings, dispatches, prints errors. Returns the exit code.
int main_entry(Env& env, std::span<const std::string> args);

}  // namespace sluice::cli
