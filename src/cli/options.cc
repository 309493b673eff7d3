#include "cli/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sluice::cli {
namespace {

std::vector<std::string_view> split_names(std::string_view names) {
  std::vector<std::string_view> out;
  while (!names.empty()) {
    const std::size_t space = names.find(' ');
    out.push_back(names.substr(0, space));
    names = space == std::string_view::npos ? std::string_view() : names.substr(space + 1);
  }
  return out;
}

bool has_name(std::string_view names, std::string_view name) {
  const auto all = split_names(names);
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
    bool ignored = false;
    const OptionRow* row = find_option(command, positive, &ignored);
    if (row != nullptr && row->kind == ValueKind::kFlag) {
      *negated = true;
      return row;
    }
  }
  return nullptr;
}

Error usage(const CommandRow& command, std::string text) {
  return Error(ErrorCode::kInvalidArgument, fmt::format("sluice {}: {}", command.name, std::move(text)));
}

// Names like "-5" or "-0.3" are values, not options.
bool looks_like_number(std::string_view text) {
  return text.size() > 1 && text[0] == '-' && (std::isdigit(static_cast<unsigned char>(text[1])) != 0 || text[1] == '.');
}

Error unknown_option(const CommandRow& command, std::string_view name) {
  if (name == "-hf" || name == "-hfr" || name == "--hf-repo" || name == "-hff" || name == "--hf-file") {
    return usage(command,
                 "downloads are not supported yet: fetch the file first (for example `hf download USER/REPO FILE.gguf "
                 "--local-dir .`, or curl -LO https://huggingface.co/USER/REPO/resolve/main/FILE.gguf) and give its path");
  }
  for (const FutureOption& option : future_options()) {
    if (!has_name(option.names, name)) continue;
    return usage(command, option.what.empty() ? fmt::format("{} is not supported yet", name)
                                              : fmt::format("{} is not supported yet ({})", name, option.what));
  }
  for (const OptionRow& row : option_table()) {
    if (!has_name(row.names, name)) continue;
    std::vector<std::string_view> commands;
    for (const CommandRow& other : command_table()) {
      if (std::ranges::find(other.options, row.key) != other.options.end()) commands.push_back(other.name);
    }
    return usage(command, fmt::format("{} is an option of `sluice {}`, not of this command", name,
                                      fmt::join(commands, "`, `sluice ")));
  }
  std::vector<std::string> known;
  for (const std::string_view key : command.options) {
    for (const std::string_view spelling : split_names(find_option_key(key)->names)) known.emplace_back(spelling);
  }
  known.emplace_back("--help");
  const std::optional<std::string> close = nearest(name, known);
  return usage(command, close ? fmt::format("unknown option {}; did you mean {}?", name, *close)
                              : fmt::format("unknown option {}; `sluice {} --help` lists them", name, command.name));
}

Status check_choice(const CommandRow& command, const OptionRow& row, const std::string& value, std::string_view source) {
  if (row.kind != ValueKind::kChoice) return Status::success();
  std::vector<std::string> choices;
  std::string_view rest = row.value;
  while (!rest.empty()) {
    const std::size_t bar = rest.find('|');
    choices.emplace_back(rest.substr(0, bar));
    rest = bar == std::string_view::npos ? std::string_view() : rest.substr(bar + 1);
  }
  if (std::ranges::find(choices, value) != choices.end()) return Status::success();
  return usage(command, fmt::format("{}: '{}' is none of {}", source, value, fmt::join(choices, ", ")));
}

}  // namespace

bool Arguments::flag(std::string_view key) const {
  const auto it = values_.find(key);
  if (it == values_.end()) return false;
  const std::string& value = it->second.values.back();
  return value != "false" && value != "0" && value != "no" && value != "off";
}

std::string Arguments::text(std::string_view key, std::string_view fallback) const {
  const auto it = values_.find(key);
  return it == values_.end() ? std::string(fallback) : it->second.values.back();
}

const std::vector<std::string>& Arguments::all(std::string_view key) const {
  static const std::vector<std::string> kNone;
  const auto it = values_.find(key);
  return it == values_.end() ? kNone : it->second.values;
}

Result<std::int64_t> Arguments::integer(std::string_view key, std::int64_t fallback, std::int64_t minimum,
                                        std::int64_t maximum) const {
  const auto it = values_.find(key);
  if (it == values_.end()) return fallback;
  const std::string& text = it->second.values.back();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return Error(ErrorCode::kInvalidArgument, fmt::format("{}: '{}' is not a whole number", it->second.source, text));
  }
  if (value < minimum || value > maximum) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("{}: {} is out of range, wanted {} to {}", it->second.source, value, minimum, maximum));
  }
  return value;
}

Result<double> Arguments::number(std::string_view key, double fallback) const {
  const auto it = values_.find(key);
  if (it == values_.end()) return fallback;
  const std::string& text = it->second.values.back();
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return Error(ErrorCode::kInvalidArgument, fmt::format("{}: '{}' is not a number", it->second.source, text));
  }
  return value;
}

void Arguments::set(std::string_view key, std::string value, std::string source, bool append) {
  Entry& entry = values_[std::string(key)];
  if (!append) entry.values.clear();
  entry.values.push_back(std::move(value));
  entry.source = std::move(source);
}

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
    if (row->kind == ValueKind::kFlag) {
      if (negated && equals != std::string::npos) return usage(command, fmt::format("{} takes no value", name));
      value = negated ? "false" : equals == std::string::npos ? "true" : arg.substr(equals + 1);
    } else if (equals != std::string::npos) {
      value = arg.substr(equals + 1);
    } else if (i + 1 < args.size()) {
      value = args[++i];
    } else {
      return usage(command, fmt::format("{} needs a value: {} {}", name, name, row->value));
    }
    SLUICE_TRY(check_choice(command, *row, value, name));
    out.set(row->key, std::move(value), name, row->repeatable);
  }
  if (out.positionals.size() > command.max_positionals) {
    return usage(command, fmt::format("one argument too many: '{}' (texts with spaces need quotes); usage: sluice {} {}",
                                      out.positionals[command.max_positionals], command.name, command.synopsis));
  }
  return out;
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known) {
  const auto distance = [](std::string_view a, std::string_view b) {
    // Levenshtein with adjacent swaps, two rows back.
    std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
    std::iota(last.begin(), last.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
      row[0] = i;
      for (std::size_t j = 1; j <= b.size(); ++j) {
        const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
        row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
      }
      before.swap(last);
      last.swap(row);
    }
    return last[b.size()];
  };
  std::optional<std::string> best;
  std::size_t best_distance = word.size() / 3 + 2;  // more than a third changed is another word
  for (const std::string& candidate : known) {
    const std::size_t d = distance(word, candidate);
    if (d < best_distance) {
      best_distance = d;
      best = candidate;
    }
  }
  return best;
}

std::string help_text(const CommandRow& command) {
  std::string out = fmt::format("sluice {}: {}\n\nusage: sluice {}{} {}\n", command.name, command.summary, command.name,
                                command.options.empty() ? "" : " [OPTIONS]", command.synopsis);
  if (!command.details.empty()) {
    out += '\n';
    std::string line;
    std::string_view rest = command.details;
    while (!rest.empty()) {  // fold at 100 columns
      const std::size_t space = rest.find(' ');
      const std::string_view word = rest.substr(0, space);
      if (line.size() + word.size() + 1 > 100) {
        out += line + '\n';
        line.clear();
      }
      line += (line.empty() ? "" : " ");
      line += word;
      rest = space == std::string_view::npos ? std::string_view() : rest.substr(space + 1);
    }
    out += line + '\n';
  }
  if (!command.options.empty()) out += "\noptions:\n";
  for (const std::string_view key : command.options) {
    const OptionRow* row = find_option_key(key);
    auto names = split_names(row->names);
    // Short spellings first, as people read them.
    std::ranges::stable_sort(names, {}, [](std::string_view n) { return n.starts_with("--"); });
    std::string left = fmt::format("  {}", fmt::join(names, ", "));
    if (row->kind != ValueKind::kFlag) left += fmt::format(" {}", row->value);
    if (left.size() > 38) {
      out += left + '\n';
      left.clear();
    }
    out += fmt::format("{:<40}{}\n", left, row->help);
  }
  if (!command.options.empty()) {
    out += "\nEvery option can also be set as SLUICE_<NAME> (SLUICE_TOP_K=20) or in ~/.config/sluice/config.toml (top-k = 20).\n";
  }
  return out;
}

std::string overview_text() {
  std::string out = "sluice: mixture-of-experts inference for the machines people own\n\nusage: sluice COMMAND ...\n\n";
  for (const CommandRow& command : command_table()) {
    out += fmt::format("  {:<12}{}\n", command.name, command.summary);
  }
  out += "\nsluice COMMAND --help shows a command's options; sluice --version the build. `sluice run` starts the built-in model.\n";
  return out;
}

}  // namespace sluice::cli
