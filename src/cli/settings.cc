// Settings behind the flags: SLUICE_* variables and the settings file.
#include <algorithm>
#include <cctype>
#include <sstream>

#include <fmt/format.h>
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "cli/options.h"

namespace sluice::cli {
namespace {

constexpr std::size_t kMaxSettingsBytes = 1U << 20;

std::string variable_name(std::string_view key) {
  std::string name = "SLUICE_";
  for (const char c : key) name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

Error wrong(std::string text) { return Error(ErrorCode::kInvalidArgument, std::move(text)); }

// The settings file; "" if there is none. Only a file that the user named has to exist.
Result<std::string> settings_path(Env& env) {
  if (const auto named = env.variable("SLUICE_CONFIG"); named && !named->empty()) {
    if (!env.is_file(*named)) return wrong(fmt::format("{}: no such file (SLUICE_CONFIG names it)", *named));
    return *named;
  }
  for (const auto& [variable, rest] :
       {std::pair{"XDG_CONFIG_HOME", "/sluice/config.toml"}, std::pair{"HOME", "/.config/sluice/config.toml"}}) {
    const auto folder = env.variable(variable);
    if (!folder || folder->empty()) continue;
    std::string path = *folder + rest;
    return env.is_file(path) ? path : std::string();
  }
  return std::string();
}

std::optional<std::string> scalar_text(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto flag = node.value_exact<bool>()) return *flag ? "true" : "false";
  if (const auto integer = node.value_exact<std::int64_t>()) return fmt::format("{}", *integer);
  if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
  return std::nullopt;
}

Error unknown_setting(const std::string& path, const std::string& key) {
  std::vector<std::string> known;
  for (const OptionRow& option : option_table()) {
    if (option.key() == key) {
      return wrong(fmt::format("{}: '{}' belongs to one run, so only the command line may give it", path, key));
    }
    if (option.setting) known.emplace_back(option.key());
  }
  const auto close = nearest(key, known);
  return wrong(fmt::format("{}: unknown setting '{}'{}", path, key, close ? "; did you mean '" + *close + "'?" : ""));
}

Status apply_node(const OptionRow& row, const toml::node& node, const std::string& source, Arguments& arguments) {
  const auto set = [&](const toml::node& item) -> Status {
    const auto text = scalar_text(item);
    if (!text) return wrong(source + ": neither text, number nor true/false");
    return arguments.set(row, *text, source, Arguments::Origin::kSetting);
  };
  const toml::array* list = node.as_array();
  if (list == nullptr || !row.repeatable) return set(node);
  for (const toml::node& item : *list) SLUICE_TRY(set(item));
  return Status::success();
}

// Every key of the table is checked; those of the command that nothing has set yet are applied.
Status apply_table(const std::string& path, const toml::table& table, Arguments& arguments, bool top_level) {
  for (const auto& [name, node] : table) {
    const std::string key(name.str());
    if (top_level && node.is_table() && find_command(key) != nullptr) continue;
    const OptionRow* row = find_option_key(key);
    if (row == nullptr || !row->setting) return unknown_setting(path, key);
    const auto& options = arguments.command->options;
    if (std::ranges::find(options, key) == options.end() || arguments.has(key)) continue;
    SLUICE_TRY(apply_node(*row, node, fmt::format("{}: {}", path, key), arguments));
  }
  return Status::success();
}

}  // namespace

Status apply_settings(Env& env, Arguments& arguments) {
  for (const std::string_view key : arguments.command->options) {
    const OptionRow& row = *find_option_key(key);
    if (arguments.has(key) || !row.setting) continue;
    const std::string name = variable_name(key);
    const auto value = env.variable(name);
    if (value && !value->empty()) SLUICE_TRY(arguments.set(row, *value, name, Arguments::Origin::kSetting));
  }
  SLUICE_ASSIGN(const std::string path, settings_path(env));
  if (path.empty()) return Status::success();
  SLUICE_ASSIGN(const std::string text, env.read_text(path, kMaxSettingsBytes));
  const toml::parse_result parsed = toml::parse(text, path);
  if (!parsed) {
    std::ostringstream where;
    where << parsed.error().source().begin;
    return wrong(fmt::format("{}: {} ({})", path, parsed.error().description(), where.str()));
  }
  const toml::table& table = parsed.table();
  if (const toml::table* own = table[arguments.command->name].as_table()) {
    SLUICE_TRY(apply_table(path, *own, arguments, false));
  }
  return apply_table(path, table, arguments, true);
}

}  // namespace sluice::cli
