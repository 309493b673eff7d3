// Shell completion and the manual page, made from the option table.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "cli/terminal.h"

namespace sluice::cli {
namespace {

std::vector<std::string> spellings(std::string_view names) {
  std::vector<std::string> out;
  while (!names.empty()) {
    const std::size_t space = names.find(' ');
    out.emplace_back(names.substr(0, space));
    names = space == std::string_view::npos ? std::string_view() : names.substr(space + 1);
  }
  return out;
}

std::string quoted(std::string_view text) {  // for single quotes in sh, zsh and fish alike
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out;
}

std::string bash_script() {
  std::string cases;
  std::vector<std::string_view> commands;
  for (const CommandRow& command : command_table()) {
    commands.push_back(command.name);
    std::vector<std::string> words = {"--help"};
    for (const std::string_view key : command.options) {
      for (std::string& name : spellings(find_option_key(key)->names)) words.push_back(std::move(name));
    }
    if (command.name == "completion") words = {"bash", "zsh", "fish"};
    cases += fmt::format("    {}) words='{}' ;;\n", command.name, fmt::join(words, " "));
  }
  std::string values;
  for (const OptionRow& row : option_table()) {
    if (row.kind != ValueKind::kChoice) continue;
    std::string choices(row.value);
    for (char& c : choices) c = c == '|' ? ' ' : c;
    values += fmt::format("    {}) COMPREPLY=($(compgen -W '{}' -- \"$cur\")); return ;;\n", fmt::join(spellings(row.names), "|"), choices);
  }
  return fmt::format(R"(# bash completion for sluice
_sluice() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} words=''
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '{} --help --version' -- "$cur"))
    return
  fi
  case $prev in
{}  esac
  case ${{COMP_WORDS[1]}} in
{}  esac
  if [[ $cur == -* || ${{COMP_WORDS[1]}} == completion ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  fi
}}
complete -o default -F _sluice sluice
)",
                     fmt::join(commands, " "), values, cases);
}

std::string zsh_script() {
  std::string commands;
  std::string cases;
  for (const CommandRow& command : command_table()) {
    commands += fmt::format("    '{}:{}'\n", command.name, quoted(command.summary));
    std::string arguments;
    for (const std::string_view key : command.options) {
      const OptionRow* row = find_option_key(key);
      for (const std::string& name : spellings(row->names)) {
        std::string help = quoted(row->help);
        for (std::size_t at = 0; (at = help.find_first_of("[]:", at)) != std::string::npos; at += 2) help.insert(at, "\\");
        std::string action;
        if (row->kind == ValueKind::kChoice) {
          std::string choices(row->value);
          for (char& c : choices) c = c == '|' ? ' ' : c;
          action = fmt::format(":value:({})", choices);
        } else if (row->kind == ValueKind::kFile) {
          action = ":file:_files";
        } else if (row->kind != ValueKind::kFlag) {
          action = ":value: ";
        }
        arguments += fmt::format(" \\\n        '{}{}[{}]{}'", row->repeatable ? "*" : "", name, help, action);
      }
    }
    if (command.name == "completion") {
      arguments = " '1:shell:(bash zsh fish)'";
    } else {
      arguments += " '*:file:_files'";
    }
    cases += fmt::format("      {}) _arguments{} ;;\n", command.name, arguments);
  }
  return fmt::format(R"(#compdef sluice
_sluice() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
  else
    local command=$words[2]
    shift words
    (( CURRENT-- ))
    case $command in
{}    esac
  fi
}}
compdef _sluice sluice
)",
                     commands, cases);
}

std::string fish_script() {
  std::string out = "# fish completion for sluice\n";
  for (const CommandRow& command : command_table()) {
    out += fmt::format("complete -c sluice -n __fish_use_subcommand -f -a {} -d '{}'\n", command.name, quoted(command.summary));
    for (const std::string_view key : command.options) {
      const OptionRow* row = find_option_key(key);
      std::string names;
      for (const std::string& name : spellings(row->names)) {
        names += name.starts_with("--") ? fmt::format(" -l {}", name.substr(2))
                 : name.size() == 2     ? fmt::format(" -s {}", name.substr(1))
                                        : fmt::format(" -o {}", name.substr(1));
      }
      std::string value;
      if (row->kind == ValueKind::kChoice) {
        std::string choices(row->value);
        for (char& c : choices) c = c == '|' ? ' ' : c;
        value = fmt::format(" -x -a '{}'", choices);
      } else if (row->kind == ValueKind::kFile) {
        value = " -r";
      } else if (row->kind != ValueKind::kFlag) {
        value = " -x";
      }
      out += fmt::format("complete -c sluice -n '__fish_seen_subcommand_from {}'{}{} -d '{}'\n", command.name, names, value, quoted(row->help));
    }
  }
  out += "complete -c sluice -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n";
  return out;
}

std::string troff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  if (out.starts_with(".") || out.starts_with("'")) out.insert(0, "\\&");
  return out;
}

std::string man_page() {
  std::string out =
      ".TH SLUICE 1 \"\" \"sluice\" \"User Commands\"\n.SH NAME\nsluice \\- mixture\\-of\\-experts inference for the machines people own\n"
      ".SH SYNOPSIS\n.B sluice\nCOMMAND [OPTIONS] [ARGUMENTS]\n.SH DESCRIPTION\n"
      "Runs mixture\\-of\\-experts language models from GGUF and safetensors files on CPUs.\n.SH COMMANDS\n";
  for (const CommandRow& command : command_table()) {
    out += fmt::format(".SS sluice {} {}\n{}.\n", troff(command.name), troff(command.synopsis), troff(command.summary));
    if (!command.details.empty()) out += fmt::format("{}\n", troff(command.details));
    if (!command.options.empty()) {
      std::vector<std::string> names;
      for (const std::string_view key : command.options) names.push_back(troff(spellings(find_option_key(key)->names).front()));
      out += fmt::format(".br\nOptions: {}.\n", fmt::join(names, ", "));
    }
  }
  out += ".SH OPTIONS\n";
  for (const OptionRow& row : option_table()) {
    std::vector<std::string> names;
    for (const std::string& name : spellings(row.names)) names.push_back("\\fB" + troff(name) + "\\fR");
    out += fmt::format(".TP\n{}{}\n{}\n", fmt::join(names, ", "), row.kind == ValueKind::kFlag ? "" : " \\fI" + troff(row.value) + "\\fR",
                       troff(row.help));
  }
  out +=
      ".SH SETTINGS\nA flag wins over a variable SLUICE_NAME (SLUICE_TOP_K for \\-\\-top\\-k), which wins over "
      "~/.config/sluice/config.toml (top\\-k = 20; tables named after commands hold settings of that command only).\n"
      ".SH EXIT STATUS\n0 success; 1 an error; 2 wrong usage; 130 and 143 after SIGINT and SIGTERM.\n";
  return out;
}

}  // namespace

Result<int> completion_command(Env&, const Arguments& arguments) {
  const std::string shell = arguments.positionals.empty() ? "" : arguments.positionals.front();
  if (shell == "bash") return write_out(bash_script()) ? kExitOk : kExitError;
  if (shell == "zsh") return write_out(zsh_script()) ? kExitOk : kExitError;
  if (shell == "fish") return write_out(fish_script()) ? kExitOk : kExitError;
  return Error(ErrorCode::kInvalidArgument, "the shell is bash, zsh or fish");
}

Result<int> man_command(Env&, const Arguments&) { return write_out(man_page()) ? kExitOk : kExitError; }

}  // namespace sluice::cli
