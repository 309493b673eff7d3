// Texts of --help.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/options.h"

namespace sluice::cli {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kColumn = 34;  // where the texts of options begin

// Text in lines of at most kWidth columns; every line but the first begins with `indent` spaces.
std::string fold(std::string_view text, std::size_t indent) {
  std::string out;
  std::size_t column = indent;
  for (const std::string_view word : split(text, ' ')) {
    if (column > indent && column + 1 + word.size() > kWidth) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out + '\n';
}

std::string option_line(const OptionRow& row) {
  auto names = row.spellings();
  // Short spellings first, as people read them.
  std::ranges::stable_sort(names, {}, [](std::string_view name) { return name.starts_with("--"); });
  std::string left = fmt::format("  {}", fmt::join(names, ", "));
  if (row.kind != ValueKind::kFlag) left += fmt::format(" {}", row.value);
  const bool fits = left.size() + 2 <= kColumn;
  left += fits ? std::string(kColumn - left.size(), ' ') : '\n' + std::string(kColumn, ' ');
  return left + fold(row.help, kColumn);
}

}  // namespace

std::string help_text(const CommandRow& command) {
  std::string out =
      fmt::format("sluice {}: {}\n\nusage: sluice {}{}{}{}\n", command.name, command.summary, command.name,
                  command.options.empty() ? "" : " [OPTIONS]", command.synopsis.empty() ? "" : " ", command.synopsis);
  if (!command.details.empty()) out += '\n' + fold(command.details, 0);
  if (command.options.empty()) return out;
  out += "\noptions:\n";
  for (const std::string_view key : command.options) out += option_line(*find_option_key(key));
  out += option_line({.names = "--help -h", .kind = ValueKind::kFlag, .value = {}, .help = "this text"});
  out += '\n' + fold(
                    "Options that describe no single run can also be set as SLUICE_<NAME> (SLUICE_TOP_K=20) or in "
                    "~/.config/sluice/config.toml (top-k = 20). A flag --x is switched off by --no-x.",
                    0);
  return out;
}

std::string overview_text() {
  std::string out = "sluice: mixture-of-experts inference for the machines people own\n\nusage: sluice COMMAND ...\n\n";
  for (const CommandRow& command : command_table()) {
    out += fmt::format("  {:<12}{}\n", command.name, command.summary);
  }
  out += '\n' + fold(
                    "`sluice run` starts the built-in model. sluice COMMAND --help shows a command's options; sluice "
                    "--version the build.",
                    0);
  return out;
}

}  // namespace sluice::cli
