// Shell completion, made from the option table.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"

namespace sluice::cli {
namespace {

std::string replaced(std::string_view text, char from, std::string_view to) {
  std::string out;
  for (const char c : text) {
    if (c == from) {
      out += to;
    } else {
      out += c;
    }
  }
  return out;
}

// For single quotes: sh and zsh end the string, add a quote and go on; fish escapes inside of it.
std::string quoted(std::string_view text) { return replaced(text, '\'', "'\\''"); }
std::string fish_quoted(std::string_view text) { return replaced(replaced(text, '\\', "\\\\"), '\'', "\\'"); }

std::string words(const OptionRow& row) { return fmt::format("{}", fmt::join(row.choices(), " ")); }

std::string bash_script() {
  std::string cases;
  std::vector<std::string_view> commands;
  for (const CommandRow& command : command_table()) {
    commands.push_back(command.name);
    std::vector<std::string_view> names = {"--help"};
    for (const std::string_view key : command.options) {
      for (const std::string_view name : find_option_key(key)->spellings()) names.push_back(name);
    }
    if (command.name == "completion") names = {"bash", "zsh", "fish"};
    cases += fmt::format("    {}) words='{}' ;;\n", command.name, fmt::join(names, " "));
  }
  std::string values;
  std::vector<std::string_view> files;
  std::vector<std::string_view> texts;
  for (const OptionRow& row : option_table()) {
    const auto names = row.spellings();
    if (row.kind == ValueKind::kChoice) {
      values += fmt::format("    {}) COMPREPLY=($(compgen -W '{}' -- \"$cur\")); return ;;\n", fmt::join(names, "|"),
                            words(row));
    } else if (row.kind == ValueKind::kFile) {
      files.insert(files.end(), names.begin(), names.end());
    } else if (row.kind != ValueKind::kFlag) {
      texts.insert(texts.end(), names.begin(), names.end());
    }
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
{}    {}) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); return ;;
    {}) compopt +o default; return ;;
  esac
  case ${{COMP_WORDS[1]}} in
{}  esac
  if [[ $cur == -* || ${{COMP_WORDS[1]}} == completion ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  fi
}}
complete -o default -F _sluice sluice
)",
                     fmt::join(commands, " "), values, fmt::join(files, "|"), fmt::join(texts, "|"), cases);
}

// One option of _arguments: 'NAME[HELP]:value:ACTION'.
std::string zsh_option(const OptionRow& row, std::string_view name) {
  std::string help = quoted(row.help);
  for (std::size_t at = 0; (at = help.find_first_of("[]:", at)) != std::string::npos; at += 2) help.insert(at, "\\");
  std::string action;
  if (row.kind == ValueKind::kChoice) {
    action = fmt::format(":value:({})", words(row));
  } else if (row.kind == ValueKind::kFile) {
    action = ":file:_files";
  } else if (row.kind != ValueKind::kFlag) {
    action = ":value: ";
  }
  return fmt::format("'{}{}[{}]{}'", row.repeatable ? "*" : "", name, help, action);
}

std::string zsh_script() {
  std::string commands;
  std::string cases;
  for (const CommandRow& command : command_table()) {
    commands += fmt::format("    '{}:{}'\n", command.name, quoted(command.summary));
    std::string arguments;
    for (const std::string_view key : command.options) {
      const OptionRow& row = *find_option_key(key);
      for (const std::string_view name : row.spellings()) arguments += " \\\n        " + zsh_option(row, name);
    }
    arguments += command.name == "completion" ? " '1:shell:(bash zsh fish)'" : " '*:file:_files'";
    cases += fmt::format("      {}) _arguments{} ;;\n", command.name, arguments);
  }
  // Works both ways: autoloaded from a folder of $fpath (then the first call has to complete), and by eval.
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
if [[ $funcstack[1] == _sluice ]]; then
  _sluice "$@"
else
  compdef _sluice sluice
fi
)",
                     commands, cases);
}

std::string fish_option(const OptionRow& row) {
  std::string out;
  for (const std::string_view name : row.spellings()) {
    const std::string_view bare = name.substr(name.starts_with("--") ? 2 : 1);
    const char* const style = name.starts_with("--") ? "-l" : bare.size() == 1 ? "-s" : "-o";
    out += fmt::format(" {} {}", style, bare);
  }
  if (row.kind == ValueKind::kChoice) return out + fmt::format(" -x -a '{}'", words(row));
  if (row.kind == ValueKind::kFile) return out + " -r";
  return row.kind == ValueKind::kFlag ? out : out + " -x";
}

std::string fish_script() {
  std::string out = "# fish completion for sluice\n";
  for (const CommandRow& command : command_table()) {
    out += fmt::format("complete -c sluice -n __fish_use_subcommand -f -a {} -d '{}'\n", command.name,
                       fish_quoted(command.summary));
    for (const std::string_view key : command.options) {
      const OptionRow& row = *find_option_key(key);
      out += fmt::format("complete -c sluice -n '__fish_seen_subcommand_from {}'{} -d '{}'\n", command.name,
                         fish_option(row), fish_quoted(row.help));
    }
  }
  return out + "complete -c sluice -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n";
}

}  // namespace

std::string completion_script(std::string_view shell) {
  if (shell == "bash") return bash_script();
  return shell == "zsh" ? zsh_script() : fish_script();
}

Status check_completion(const Arguments& arguments) {
  const std::string shell = arguments.positionals.empty() ? "" : arguments.positionals.front();
  if (shell == "bash" || shell == "zsh" || shell == "fish") return Status::success();
  return usage_error(shell.empty() ? "a shell is needed: bash, zsh or fish"
                                   : fmt::format("'{}' is none of the shells bash, zsh and fish", shell));
}

Result<int> completion_command(Env&, const Arguments& arguments) {
  (void)write_out(completion_script(arguments.positionals.front()));
  return kExitOk;
}

}  // namespace sluice::cli
