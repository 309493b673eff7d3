// The manual page in troff (man macros), made from the option table.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/version.h"
#include "cli/commands.h"

namespace sluice::cli {
namespace {

// Text for troff: backslashes and dashes are escaped; a period or quote at the beginning of a line is no request.
std::string troff(std::string_view text) {
  std::string out = text.starts_with(".") || text.starts_with("'") ? "\\&" : "";
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + troff(text) + "\\fR"; }

std::string command_section(const CommandRow& command) {
  std::string out =
      fmt::format(".SS sluice {} {}\n{}.\n", troff(command.name), troff(command.synopsis), troff(command.summary));
  if (!command.details.empty()) out += troff(command.details) + "\n";
  if (command.options.empty()) return out;
  std::vector<std::string> names;
  for (const std::string_view key : command.options) names.push_back(bold(find_option_key(key)->spellings().front()));
  return out + fmt::format(".PP\nOptions: {}.\n", fmt::join(names, ", "));
}

std::string option_entry(const OptionRow& row) {
  std::vector<std::string> names;
  for (const std::string_view name : row.spellings()) names.push_back(bold(name));
  const std::string value = row.kind == ValueKind::kFlag ? "" : " \\fI" + troff(row.value) + "\\fR";
  return fmt::format(".TP\n{}{}\n{}\n", fmt::join(names, ", "), value, troff(row.help));
}

}  // namespace

std::string man_page() {
  std::string out = fmt::format(
      ".TH SLUICE 1 \"\" \"sluice {}\" \"User Commands\"\n"
      ".SH NAME\nsluice \\- mixture\\-of\\-experts inference for the machines people own\n"
      ".SH SYNOPSIS\n.B sluice\n.I COMMAND\n[\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]\n"
      ".SH DESCRIPTION\n"
      "Runs mixture\\-of\\-experts language models from GGUF and safetensors files on CPUs. \\fBsluice run\\fR alone "
      "starts the built\\-in model.\n.SH COMMANDS\n",
      build_info().version);
  for (const CommandRow& command : command_table()) out += command_section(command);
  out += ".SH OPTIONS\nA flag \\fB\\-\\-x\\fR is switched off by \\fB\\-\\-no\\-x\\fR.\n";
  for (const OptionRow& row : option_table()) out += option_entry(row);
  out +=
      ".SH ENVIRONMENT\n"
      ".TP\n\\fBSLUICE_\\fINAME\\fR\nThe option \\fB\\-\\-name\\fR (SLUICE_TOP_K for \\fB\\-\\-top\\-k\\fR); a flag "
      "wins "
      "over it.\n"
      ".TP\n\\fBSLUICE_CONFIG\\fR\nThe settings file instead of the usual one.\n"
      ".TP\n\\fBNO_COLOR\\fR\nIf set, no colour unless \\fB\\-\\-color always\\fR asks for it.\n"
      ".SH FILES\n"
      ".TP\n\\fI~/.config/sluice/config.toml\\fR\nSettings (top\\-k = 20), below flags and variables; a table named "
      "after "
      "a command holds settings of that command only.\n"
      ".SH EXIT STATUS\n"
      ".TP\n0\nSuccess.\n.TP\n1\nAn error; one line on standard error names it.\n.TP\n2\nWrong usage.\n"
      ".TP\n130, 143\nStopped by SIGINT or SIGTERM.\n";
  return out;
}

Result<int> man_command(Env&, const Arguments&) {
  (void)write_out(man_page());
  return kExitOk;
}

}  // namespace sluice::cli
