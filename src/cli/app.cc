// Dispatch: the command's name, its arguments, its errors and exit code.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <exception>
#include <new>
#include <system_error>

#include <fmt/format.h>

#include "cli/commands.h"

namespace sluice::cli {
namespace {

struct Command {
  std::string_view name;
  Status (*check)(const Arguments&);  // null: nothing to check
  Result<int> (*run)(Env&, const Arguments&);
};

constexpr Command kCommands[] = {
    {"run", check_run, run_command},
    {"inspect", check_inspect, inspect_command},
    {"logits", check_logits, logits_command},
    {"tokenize", check_tokenize, tokenize_command},
    {"render", check_render, render_command},
    {"doctor", check_doctor, doctor_command},
    {"completion", check_completion, completion_command},
    {"man", nullptr, man_command},
};

int complain(const Style& style, std::string_view who, const std::string& message, int code) {
  write_err(style.red(one_line(fmt::format("{}: {}", who, message))) + "\n");
  return code;
}

// The exit code of a command that printed all it had to: 0 also where the reader has gone, since it got what it wanted.
int finish(const Style& style, std::string_view who) {
  const int error = output_error();
  if (error == 0 || error == EPIPE) return kExitOk;
  return complain(style, who, "standard output: cannot write: " + std::generic_category().message(error), kExitError);
}

int print(const std::string& text) {
  (void)write_out(text);
  return finish({}, "sluice");
}

int unknown_command(Env& env, const std::string& name) {
  const auto usage = [](const std::string& text) { return complain({}, "sluice", text, kExitUsage); };
  for (const std::string_view later : {"serve", "worker", "bench", "convert"}) {
    if (name == later) return usage(fmt::format("'{}' is not supported yet", name));
  }
  if (name == "pull")
    return usage("'pull' is not supported yet: fetch the file (curl -LO URL) and `sluice run` its path");
  if (env.is_file(name) || env.is_directory(name)) {
    return usage(fmt::format("'{}' is no command; did you mean `sluice run {}`?", name, name));
  }
  std::vector<std::string> known;
  for (const CommandRow& command : command_table()) known.emplace_back(command.name);
  const auto close = nearest(name, known);
  return usage(close ? fmt::format("unknown command '{}'; did you mean '{}'?", name, *close)
                     : fmt::format("unknown command '{}'; `sluice --help` lists them", name));
}

// Parses and runs one command. Exceptions (of the standard library; ours has none) are main_entry's.
int dispatch(Env& env, const Command& command, std::span<const std::string> args) {
  const CommandRow& row = *find_command(command.name);
  const std::string who = fmt::format("sluice {}", command.name);
  Result<Arguments> parsed = parse_arguments(row, args);
  if (!parsed.ok()) return complain({}, who, parsed.error().message(), kExitUsage);
  Arguments& arguments = *parsed;
  if (arguments.help) return print(help_text(row));
  Status status = apply_settings(env, arguments);
  const Style style = make_style(env, arguments);
  if (status.ok() && command.check != nullptr) status = command.check(arguments);
  if (!status.ok()) return complain(style, who, status.error().message(), kExitUsage);

  const Result<int> result = command.run(env, arguments);
  if (signals::pending() == SIGTERM) return kExitSignal + SIGTERM;
  if (!result.ok()) return complain(style, who, result.error().message(), kExitError);
  return *result == kExitOk ? finish(style, who) : *result;
}

// A file opened later must not become standard input or output by taking the number of a closed one. What is closed
// stays as good as closed: nothing to read, and writing fails.
void fill_closed_streams() {
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(file, F_GETFD) < 0) (void)::open("/dev/null", O_RDONLY);
  }
}

}  // namespace

Error usage_error(std::string message) { return Error(ErrorCode::kInvalidArgument, std::move(message)); }

int main_entry(Env& env, std::span<const std::string> args) {
  fill_closed_streams();
  signals::install();
  if (args.empty()) {
    write_err(overview_text());
    return kExitUsage;
  }
  const std::string& first = args[0];
  if (first == "--version" || first == "-V" || first == "version") return print(version_text());
  if (first == "help" || first == "--help" || first == "-h") {
    if (args.size() == 1) return print(overview_text());
    const CommandRow* row = find_command(args[1]);
    return row == nullptr ? unknown_command(env, args[1]) : print(help_text(*row));
  }
  if (first.starts_with("-")) {
    return complain({}, "sluice", fmt::format("a command comes first, as in `sluice run {}`", first), kExitUsage);
  }
  for (const Command& command : kCommands) {
    if (command.name != first) continue;
    const std::string who = "sluice " + first;
    try {
      return dispatch(env, command, args.subspan(1));
    } catch (const std::bad_alloc&) {
      return complain({}, who, "out of memory", kExitError);
    } catch (const std::exception& error) {
      return complain({}, who, fmt::format("internal error: {}", error.what()), kExitError);
    }
  }
  return unknown_command(env, first);
}

}  // namespace sluice::cli
