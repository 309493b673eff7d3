// The command line's options as one table: it drives parsing, settings, help, shell completion and the man page. The
// parser is ours because users paste llama.cpp command lines, whose multi-letter names with one dash (-ub, -ctk) no
// packaged library reads.
#pragma once

#include <cstdint>
#include <limits>
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

// One option. `names` holds all spellings, separated by spaces, the main one (with two dashes) first:
// "--predict -n --n-predict".
struct OptionRow {
  std::string_view names;
  ValueKind kind = ValueKind::kFlag;
  std::string_view value;  // shown in help: "N", "FILE"; of a choice the words, "auto|scalar"; empty for flags
  std::string_view help;
  // Of integers and numbers, both ends included; infinite: no bound but that of int64 or double.
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool repeatable = false;  // keeps all its values; any other option keeps the last one
  bool setting = true;      // false: names one run's input or output, so only the command line may give it

  // Its name in the settings file; SLUICE_<KEY> in upper case with _ for - is its variable.
  constexpr std::string_view key() const { return names.substr(2, names.find(' ') - 2); }
  std::vector<std::string_view> spellings() const;
  std::vector<std::string_view> choices() const;  // empty unless kind is kChoice
};

// Options that users know from elsewhere and that are not built yet; they are answered, never ignored.
struct FutureOption {
  std::string_view names;
  std::string_view what;  // what it will do, or what to do meanwhile; may be empty
};

struct CommandRow {
  std::string_view name;
  std::string_view synopsis;                  // "[MODEL] [PROMPT]"
  std::string_view summary;                   // one line
  std::string_view details;                   // a paragraph for --help and the man page; may be empty
  std::span<const std::string_view> options;  // keys of OptionRow
  std::size_t max_positionals;
};

std::span<const OptionRow> option_table();
std::span<const FutureOption> future_options();
std::span<const CommandRow> command_table();
const CommandRow* find_command(std::string_view name);
const OptionRow* find_option_key(std::string_view key);

// Words of a text, separated by `separator`; views into it.
std::vector<std::string_view> split(std::string_view text, char separator);

// What the user asked for: values by key, where each came from, and the positional arguments. Every value has been held
// to its row's kind and bounds, so reading one can't fail.
class Arguments {
 public:
  enum class Origin : std::uint8_t { kFlag, kSetting };

  const CommandRow* command = nullptr;
  std::vector<std::string> positionals;
  bool help = false;

  bool has(std::string_view key) const { return values_.contains(key); }
  bool has_flag(std::string_view key) const;  // given on the command line itself, not by a setting
  bool flag(std::string_view key) const;      // false if absent
  std::string text(std::string_view key, std::string_view fallback = {}) const;
  const std::vector<std::string>& all(std::string_view key) const;
  std::int64_t integer(std::string_view key, std::int64_t fallback) const;
  double number(std::string_view key, double fallback) const;

  // Stores one value; a repeatable row's values add up. `source` names its origin in messages ("--temp",
  // "SLUICE_TEMP"). kInvalidArgument, nothing stored: "--temp: 'abc' is not a number".
  Status set(const OptionRow& row, std::string value, std::string_view source, Origin origin);

 private:
  struct Entry {
    std::vector<std::string> values;
    Origin origin = Origin::kFlag;
  };
  std::map<std::string, Entry, std::less<>> values_;
};

// Parses argv behind the command's name. Errors are kInvalidArgument; an unknown option's names the nearest known one.
Result<Arguments> parse_arguments(const CommandRow& command, std::span<const std::string> args);

// Fills what no flag set: SLUICE_* variables, then the settings file ($SLUICE_CONFIG, else
// $XDG_CONFIG_HOME/sluice/config.toml, else ~/.config/sluice/config.toml; top-level keys, and a table per command,
// which wins). Unknown keys are errors.
Status apply_settings(Env& env, Arguments& arguments);

// The closest of `known` to `word`, if it is close enough to be meant.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known);

std::string help_text(const CommandRow& command);
std::string overview_text();

}  // namespace sluice::cli
