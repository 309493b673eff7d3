// Settings behind the flags: SLUICE_* variables and the settings file.
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

// Texts that name one generation or one output must come from the command line only.
bool is_setting(std::string_view key) {
  return key != "prompt" && key != "file" && key != "tokens" && key != "out" && key != "routing" && key != "jsonl" &&
         key != "decode" && key != "json" && key != "explain";
}

std::string settings_path(Env& env) {
  if (const auto explicit_path = env.variable("SLUICE_CONFIG")) return *explicit_path;
  if (const auto xdg = env.variable("XDG_CONFIG_HOME"); xdg && !xdg->empty()) return *xdg + "/sluice/config.toml";
  if (const auto home = env.variable("HOME"); home && !home->empty()) return *home + "/.config/sluice/config.toml";
  return {};
}

std::optional<std::string> scalar_text(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto flag = node.value_exact<bool>()) return *flag ? "true" : "false";
  if (const auto integer = node.value_exact<std::int64_t>()) return fmt::format("{}", *integer);
  if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
  return std::nullopt;
}

Status apply_table(const std::string& path, const toml::table& table, Arguments& arguments, bool top_level) {
  for (const auto& [name, node] : table) {
    const std::string key(name.str());
    if (top_level && node.is_table() && find_command(key) != nullptr) continue;
    const OptionRow* row = find_option_key(key);
    if (row == nullptr || !is_setting(key)) {
      std::vector<std::string> known;
      for (const OptionRow& option : option_table()) {
        if (is_setting(option.key)) known.emplace_back(option.key);
      }
      const auto close = nearest(key, known);
      return Error(ErrorCode::kInvalidArgument,
                   fmt::format("{}: unknown setting '{}'{}", path, key, close ? "; did you mean '" + *close + "'?" : ""));
    }
    bool applies = false;
    for (const std::string_view option : arguments.command->options) applies = applies || option == key;
    if (!applies || arguments.has(key)) continue;
    const std::string source = fmt::format("{}: {}", path, key);
    if (const toml::array* list = node.as_array(); list != nullptr && row->repeatable) {
      for (const toml::node& item : *list) {
        const auto text = scalar_text(item);
        if (!text) return Error(ErrorCode::kInvalidArgument, source + " has a value that is neither text nor number");
        arguments.set(key, *text, source, true);
      }
      continue;
    }
    const auto text = scalar_text(node);
    if (!text) return Error(ErrorCode::kInvalidArgument, source + " is neither text, number nor true/false");
    arguments.set(key, *text, source, false);
  }
  return Status::success();
}

}  // namespace

Status apply_settings(Env& env, Arguments& arguments) {
  for (const std::string_view key : arguments.command->options) {
    if (arguments.has(key) || !is_setting(key)) continue;
    const std::string name = variable_name(key);
    const auto value = env.variable(name);
    if (value && !value->empty()) arguments.set(key, *value, name, false);
  }
  const std::string path = settings_path(env);
  if (path.empty() || !env.is_file(path)) return Status::success();
  SLUICE_ASSIGN(const std::string text, env.read_text(path, kMaxSettingsBytes));
  const toml::parse_result parsed = toml::parse(text, path);
  if (!parsed) {
    std::ostringstream where;
    where << parsed.error().source().begin;
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("{}: {} ({})", path, parsed.error().description(), where.str()));
  }
  const toml::table& table = parsed.table();
  if (const toml::table* own = table[arguments.command->name].as_table()) {
    SLUICE_TRY(apply_table(path, *own, arguments, false));
  }
  return apply_table(path, table, arguments, true);
}

}  // namespace sluice::cli
