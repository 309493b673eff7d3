// The parser of the command line.
#include "cli/options.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sluice::cli {
namespace {

bool has_name(std::string_view names, std::string_view name) {
  const auto all = split(names, ' ');
  return std::ranges::find(all, name) != all.end();
}

// The command's option with this spelling; --no-X also finds the flag X.
const OptionRow* find_option(const CommandRow& command, std::string_view name, bool* negated) {
  *negated = false;
  for (const std::string_view key : command.options) {
    const OptionRow* row = find_option_key(key);
    if (row != nullptr && has_name(row->names, name)) return row;
  }
  if (name.starts_with("--no-")) {
    const std::string positive = "--" + std::string(name.substr(5));
    for (const std::string_view key : command.options) {
      const OptionRow* row = find_option_key(key);
      if (row == nullptr || row->kind != ValueKind::kFlag || !has_name(row->names, positive)) continue;
      *negated = true;
      return row;
    }
  }
  return nullptr;
}

Error usage(std::string text) { return Error(ErrorCode::kInvalidArgument, std::move(text)); }

// Negative numbers are values, not options.
bool looks_like_number(std::string_view text) {
  return text.size() > 1 && (std::isdigit(static_cast<unsigned char>(text[1])) != 0 || text[1] == '.');
}

bool asks_for_download(std::string_view name) {
  return name == "-hf" || name == "-hfr" || name == "--hf-repo" || name == "-hff" || name == "--hf-file";
}

Error unknown_option(const CommandRow& command, std::string_view name) {
  if (asks_for_download(name)) {
    return usage(fmt::format(
        "{} is not supported yet: downloads are still to come. Fetch the file first (`hf download USER/REPO FILE.gguf "
        "--local-dir .`, or `curl -LO https://huggingface.co/USER/REPO/resolve/main/FILE.gguf`) and give its path",
        name));
  }
  for (const OptionRow& row : option_table()) {
    if (!has_name(row.names, name)) continue;
    std::vector<std::string_view> commands;
    for (const CommandRow& other : command_table()) {
      if (std::ranges::find(other.options, row.key()) != other.options.end()) commands.push_back(other.name);
    }
    return usage(
        fmt::format("{} is an option of `sluice {}`, not of this command", name, fmt::join(commands, "`, `sluice ")));
  }
  for (const FutureOption& option : future_options()) {
    if (!has_name(option.names, name)) continue;
    return usage(option.what.empty() ? fmt::format("{} is not supported yet", name)
                                     : fmt::format("{} is not supported yet: {}", name, option.what));
  }
  std::vector<std::string> known = {"--help"};
  for (const std::string_view key : command.options) {
    for (const std::string_view spelling : find_option_key(key)->spellings()) known.emplace_back(spelling);
  }
  const std::optional<std::string> close = nearest(name, known);
  return usage(close ? fmt::format("unknown option {}; did you mean {}?", name, *close)
                     : fmt::format("unknown option {}; `sluice {} --help` lists them", name, command.name));
}

}  // namespace

Result<Arguments> parse_arguments(const CommandRow& command, std::span<const std::string> args) {
  Arguments out;
  out.command = &command;
  bool options_ended = false;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    if (options_ended || arg.size() < 2 || arg[0] != '-' || looks_like_number(arg)) {
      out.positionals.push_back(arg);
      continue;
    }
    if (arg == "--") {
      options_ended = true;
      continue;
    }
    if (arg == "--help" || arg == "-h") {
      out.help = true;
      return out;
    }
    const std::size_t equals = arg.find('=');
    const std::string name = arg.substr(0, equals);
    bool negated = false;
    const OptionRow* row = find_option(command, name, &negated);
    if (row == nullptr) return unknown_option(command, name);
    std::string value;
    if (negated) {
      if (equals != std::string::npos) return usage(fmt::format("{} takes no value", name));
      value = "false";
    } else if (equals != std::string::npos) {
      value = arg.substr(equals + 1);
    } else if (row->kind == ValueKind::kFlag) {
      value = "true";
    } else if (i + 1 < args.size()) {
      value = args[++i];  // whatever it begins with: prompts and numbers may begin with a dash
    } else {
      return usage(fmt::format("{} needs a value: {} {}", name, name, row->value));
    }
    SLUICE_TRY(out.set(*row, std::move(value), name, Arguments::Origin::kFlag));
  }
  if (out.positionals.size() > command.max_positionals) {
    return usage(fmt::format("one argument too many: '{}' (texts with spaces need quotes); usage: sluice {} {}",
                             out.positionals[command.max_positionals], command.name, command.synopsis));
  }
  return out;
}

}  // namespace sluice::cli
