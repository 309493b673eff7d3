// The command line's options as one table: it drives parsing, settings, help, shell completion and the man page. The
// parser is ours because users paste llama.cpp command lines, whose multi-letter names with one dash (-ub, -ctk) no
// packaged library reads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "base/result.h"

namespace sluice::cli {

enum class ValueKind : std::uint8_t { kFlag, kText, kFile, kInteger, kNumber, kChoice };

// One option. `names` holds all spellings, separated by spaces, the main one first ("--predict -n --n-predict").
struct OptionRow {
  std::string_view key;       // of the settings file; SLUICE_<KEY> in upper case with _ is its variable
  std::string_view names;
  ValueKind kind;
  std::string_view value;     // shown in help: "N", "FILE", "auto|scalar|..."; empty for flags
  std::string_view help;
  bool repeatable = false;
};

// An option that users know from elsewhere and that is not built yet; it is answered, never ignored.
struct FutureOption {
  std::string_view names;
  std::string_view what;  // what it will do, or what to do meanwhile; may be empty
};

struct CommandRow {
  std::string_view name;
  std::string_view synopsis;   // "[MODEL] [PROMPT]"
  std::string_view summary;    // one line
  std::string_view details;    // a paragraph for `help` and the man page
  std::span<const std::string_view> options;  // keys of OptionRow
  std::size_t max_positionals;
};

std::span<const OptionRow> option_table();
std::span<const FutureOption> future_options();
std::span<const CommandRow> command_table();
const CommandRow* find_command(std::string_view name);
const OptionRow* find_option_key(std::string_view key);

// What the user asked for: values by key, where each came from, and the positional arguments.
class Arguments {
 public:
  const CommandRow* command = nullptr;
  std::vector<std::string> positionals;
  bool help = false;

  bool has(std::string_view key) const { return values_.contains(std::string(key)); }
  bool flag(std::string_view key) const;  // set and not "false", "0", "no", "off"
  std::string text(std::string_view key, std::string_view fallback = {}) const;
  const std::vector<std::string>& all(std::string_view key) const;
  // kInvalidArgument: "--temp: 'abc' is not a number".
  Result<std::int64_t> integer(std::string_view key, std::int64_t fallback, std::int64_t minimum, std::int64_t maximum) const;
  Result<double> number(std::string_view key, double fallback) const;

  void set(std::string_view key, std::string value, std::string source, bool append);

 private:
  struct Entry {
    std::vector<std::string> values;
    std::string source;  // "--temp", "SLUICE_TEMP", "config.toml: temp"
  };
  std::map<std::string, Entry, std::less<>> values_;
};

// Parses argv behind the command's name. Usage errors are kInvalidArgument and name the nearest known option.
Result<Arguments> parse_arguments(const CommandRow& command, std::span<const std::string> args);

// Fills what no flag set: SLUICE_* variables, then the settings file (~/.config/sluice/config.toml, or
// $XDG_CONFIG_HOME/sluice/config.toml; top-level keys, and a table per command). Unknown keys are errors.
Status apply_settings(Env& env, Arguments& arguments);

// The closest of `known` to `word`, if it is close enough to be meant.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known);

std::string help_text(const CommandRow& command);
std::string overview_text();

}  // namespace sluice::cli
