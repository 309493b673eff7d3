// The commands, and what those that load a model share.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/env.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "engine/engine.h"

namespace sluice::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitError = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitSignal = 128;  // plus the signal's number

// Whose fault an error is does not follow from its code (a bad file's may be kInvalidArgument, too), so a command has
// two functions. check_* looks at the command line and the settings alone: its errors are wrong usage, exit code 2.
// *_command does the work and returns the exit code; its errors end with exit code 1.
Status check_run(const Arguments& arguments);
Status check_inspect(const Arguments& arguments);
Status check_logits(const Arguments& arguments);
Status check_tokenize(const Arguments& arguments);
Status check_render(const Arguments& arguments);
Status check_doctor(const Arguments& arguments);
Status check_completion(const Arguments& arguments);
Result<int> run_command(Env& env, const Arguments& arguments);
Result<int> inspect_command(Env& env, const Arguments& arguments);
Result<int> logits_command(Env& env, const Arguments& arguments);
Result<int> tokenize_command(Env& env, const Arguments& arguments);
Result<int> render_command(Env& env, const Arguments& arguments);
Result<int> doctor_command(Env& env, const Arguments& arguments);
Result<int> completion_command(Env& env, const Arguments& arguments);
Result<int> man_command(Env& env, const Arguments& arguments);

std::string version_text();
std::string man_page();
// shell: "bash", "zsh" or "fish".
std::string completion_script(std::string_view shell);

// An Error of wrong usage.
Error usage_error(std::string message);

// The model's path: the first positional argument, else --model; "" (the embedded model) if there is none. A model
// named on the command line wins over SLUICE_MODEL.
std::string model_path(const Arguments& arguments);
// kInvalidArgument if the model is given twice.
Status check_model(const Arguments& arguments);

// Loads the model with the options --isa, --threads, --ctx-size, --batch-size and the wishes for the plan, and a
// progress bar. `adjust` (may be empty) changes the options before.
Result<std::unique_ptr<Engine>> load_engine(Env& env, const Arguments& arguments, const std::string& path,
                                            Progress& progress, const std::function<void(EngineOptions&)>& adjust);
// Whether a progress bar may appear.
bool wants_progress(const Arguments& arguments);

// The plans of the model's MoE layers in lines; layers planned alike are told once.
std::string explain_plans(const Engine& engine);
// "0, 3-5": rising numbers for people; "none" for no number.
std::string ranges(std::span<const std::size_t> numbers);
// "layer 3", "layers 0, 3-5".
std::string layers_of(std::span<const std::size_t> numbers);

// Whole program: parses, applies settings, dispatches, prints errors. Returns the exit code.
int main_entry(Env& env, std::span<const std::string> args);

}  // namespace sluice::cli
