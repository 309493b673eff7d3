// Dispatch: the command's name, its arguments, its errors and exit code.
#include <csignal>
#include <exception>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/terminal.h"

namespace sluice::cli {
namespace {

constexpr int kMaxThreads = 4096;

using Command = Result<int> (*)(Env&, const Arguments&);

Command implementation(std::string_view name) {
  if (name == "run") return run_command;
  if (name == "inspect") return inspect_command;
  if (name == "logits") return logits_command;
  if (name == "tokenize") return tokenize_command;
  if (name == "render") return render_command;
  if (name == "doctor") return doctor_command;
  if (name == "completion") return completion_command;
  return man_command;
}

int usage_error(const std::string& text) {
  write_err(text + "\n");
  return kExitUsage;
}

int unknown_command(const std::string& name) {
  for (const char* later : {"serve", "worker", "bench", "convert"}) {
    if (name == later) return usage_error(fmt::format("sluice: '{}' is not supported yet", name));
  }
  std::vector<std::string> known;
  for (const CommandRow& command : command_table()) known.emplace_back(command.name);
  if (Env::system().is_file(name) || Env::system().is_directory(name)) {
    return usage_error(fmt::format("sluice: '{}' is no command; did you mean `sluice run {}`?", name, name));
  }
  const auto close = nearest(name, known);
  return usage_error(close ? fmt::format("sluice: unknown command '{}'; did you mean '{}'?", name, *close)
                           : fmt::format("sluice: unknown command '{}'; `sluice --help` lists them", name));
}

std::string with_prefix(const Arguments& arguments, const std::string& message) {
  const std::string prefix = fmt::format("sluice {}: ", arguments.command->name);
  return message.starts_with(prefix) ? message : prefix + message;
}

int dispatch(Env& env, const CommandRow& command, std::span<const std::string> args) {
  Result<Arguments> parsed = parse_arguments(command, args);
  if (!parsed.ok()) return usage_error(parsed.error().message());
  Arguments& arguments = *parsed;
  if (arguments.help) return write_out(help_text(command)) ? kExitOk : kExitError;
  if (const Status status = apply_settings(env, arguments); !status.ok()) {
    return usage_error(with_prefix(arguments, status.error().message()));
  }
  const Result<int> result = implementation(command.name)(env, arguments);
  const int signal = signals::pending();
  if (signal == SIGTERM) return 128 + SIGTERM;
  if (result.ok()) return *result;
  if (signal == SIGINT) return 128 + SIGINT;
  const bool usage = result.error().code() == ErrorCode::kInvalidArgument;
  const Style style = make_style(env, arguments);
  write_err(fmt::format("{}\n", style.red(with_prefix(arguments, result.error().message()))));
  return usage ? kExitUsage : kExitError;
}

}  // namespace

std::string model_path(const Arguments& arguments) {
  if (arguments.has("model")) return arguments.text("model");
  return arguments.positionals.empty() ? std::string() : arguments.positionals.front();
}

Result<EngineOptions> engine_options(const Arguments& arguments) {
  EngineOptions options;
  SLUICE_ASSIGN(options.isa, parse_isa(arguments.text("isa", "auto")));
  SLUICE_ASSIGN(const std::int64_t threads, arguments.integer("threads", 0, 0, kMaxThreads));
  SLUICE_ASSIGN(const std::int64_t threads_batch, arguments.integer("threads-batch", threads, 0, kMaxThreads));
  if (threads_batch != threads) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("--threads-batch {} differs from --threads {}: one pool serves prompt and answer, give both "
                             "the same value",
                             threads_batch, threads));
  }
  options.threads = static_cast<int>(threads);
  SLUICE_ASSIGN(options.context, arguments.integer("ctx-size", 0, 0, std::int64_t{1} << 30));
  SLUICE_ASSIGN(const std::int64_t batch, arguments.integer("batch-size", 512, 1, 1 << 20));
  SLUICE_ASSIGN(const std::int64_t ubatch, arguments.integer("ubatch-size", batch, 1, 1 << 20));
  options.batch = std::min(batch, ubatch);
  options.wishes.experts = arguments.text("experts-kernel", "auto");
  options.wishes.shared_experts = arguments.text("shared-experts", "auto");
  options.wishes.all2all_backend = arguments.text("all2all-backend", "auto");
  return options;
}

int main_entry(Env& env, std::span<const std::string> args) {
  signals::install();
  if (args.empty() || args[0] == "help" || args[0] == "--help" || args[0] == "-h") {
    if (args.size() > 1) {
      const CommandRow* command = find_command(args[1]);
      if (command == nullptr) return unknown_command(args[1]);
      return write_out(help_text(*command)) ? kExitOk : kExitError;
    }
    if (!args.empty()) return write_out(overview_text()) ? kExitOk : kExitError;
    return usage_error(overview_text());
  }
  if (args[0] == "--version" || args[0] == "-V" || args[0] == "version") {
    return write_out(version_text()) ? kExitOk : kExitError;
  }
  if (args[0].starts_with("-")) {
    return usage_error(fmt::format("sluice: a command comes first, as in `sluice run {}`", args[0]));
  }
  const CommandRow* command = find_command(args[0]);
  if (command == nullptr) return unknown_command(args[0]);
  try {
    return dispatch(env, *command, args.subspan(1));
  } catch (const std::bad_alloc&) {
    write_err(fmt::format("sluice {}: out of memory\n", command->name));
  } catch (const std::exception& error) {
    write_err(fmt::format("sluice {}: internal error: {}\n", command->name, error.what()));
  }
  return kExitError;
}

}  // namespace sluice::cli
