#include "cli/repl.h"

#include <editline/readline.h>
#include <termios.h>
#include <unistd.h>

#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cwchar>

#include <fmt/format.h>

#include "cli/commands.h"

namespace sluice::cli {
namespace {

constexpr const char* kChatHelp =
    "/help            this list\n"
    "/clear           forget the conversation\n"
    "/system TEXT     set the system message and start over\n"
    "/regen           answer the last message again\n"
    "/stats           speeds of the last answer, and the context used\n"
    "/exit            leave (Ctrl-D does too)\n"
    "Ctrl-C stops an answer. A line that ends in \\ goes on in the next one.\n";
constexpr const char* kRawHelp =
    "/help            this list\n"
    "/stats           speeds of the last completion, and the context used\n"
    "/exit            leave (Ctrl-D does too)\n"
    "Any other line is the beginning of a text. Ctrl-C stops a completion. A line that ends in \\ goes on in the "
    "next.\n";

// libedit shows its prompt while the terminal still collects lines, and a Ctrl-D typed just then is lost. It calls this
// when it has noted the terminal's settings and before it shows the prompt; it restores them when the line is read.
int stop_collecting_lines() {
  termios settings{};
  if (::tcgetattr(STDIN_FILENO, &settings) != 0) return 0;
  settings.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  settings.c_cc[VMIN] = 1;
  settings.c_cc[VTIME] = 0;
  (void)::tcsetattr(STDIN_FILENO, TCSANOW, &settings);
  return 0;
}

// The next character for libedit. Its own wait loses a signal that comes while it edits: read() then blocks until a key
// is pressed.
int next_character(FILE*) {
  std::mbstate_t state{};
  for (;;) {
    char byte = 0;
    if (!signals::wait_readable(STDIN_FILENO) || ::read(STDIN_FILENO, &byte, 1) != 1) return EOF;
    wchar_t character = 0;
    const std::size_t used = std::mbrtowc(&character, &byte, 1, &state);
    if (used <= 1) return static_cast<int>(character);
    if (used == static_cast<std::size_t>(-1)) state = {};  // a byte that begins nothing is left out
  }
}

// libedit reads characters of the locale; a program that never asks for one gets ASCII only.
void prepare_editing() {
  (void)std::setlocale(LC_CTYPE, "");
  if (MB_CUR_MAX == 1) (void)std::setlocale(LC_CTYPE, "C.UTF-8");
  if (!stdout_is_terminal()) rl_outstream = stderr;  // the prompt is no text of the model's
  rl_getc_function = next_character;
  rl_pre_input_hook = stop_collecting_lines;
  ::using_history();
}

// A line from the terminal; nullopt at the end of input, or when a signal came.
std::optional<std::string> read_line() {
  const char* prompt = "> ";
  std::string text;
  for (;;) {
    char* line = ::readline(prompt);
    if (line == nullptr) return std::nullopt;
    text += line;
    std::free(line);
    if (text.empty() || text.back() != '\\') return text;
    text.back() = '\n';
    prompt = "... ";
  }
}

enum class Next { kGoOn, kLeave };

class Loop {
 public:
  explicit Loop(Session& session) : session_(session) {}

  Next turn(const std::string& line) {
    if (line.starts_with("/")) return command(line);
    if (!session_.conversation) return finish(session_.complete(line));
    session_.conversation->add("user", line);
    return answer();
  }

 private:
  Next command(const std::string& line) {
    const std::string name = line.substr(0, line.find(' '));
    const bool chat = session_.conversation.has_value();
    if (name == "/exit" || name == "/quit" || name == "/bye") return Next::kLeave;
    if (name == "/help" || name == "/?") {
      write_err(chat ? kChatHelp : kRawHelp);
    } else if (name == "/stats") {
      if (last_) session_.report(*last_);
      session_.say(fmt::format("{} of {} tokens of context used", session_.sequence->cache().length(),
                               session_.engine.context()));
    } else if (chat && (name == "/clear" || name == "/reset")) {
      session_.conversation->clear();
      session_.say("the conversation is forgotten");
    } else if (chat && name == "/system") {
      session_.conversation->clear();
      session_.conversation->set_system(line.size() > name.size() ? line.substr(name.size() + 1) : "");
      session_.say("system message set; the conversation starts over");
    } else if (chat && name == "/regen") {
      if (session_.conversation->size() >= 2) {
        session_.conversation->drop_last();
        ++session_.sampling.seed;
        return answer();
      }
      session_.say("there is no answer yet");
    } else {
      session_.say(fmt::format("unknown command {}; /help lists them", name));
    }
    return Next::kGoOn;
  }

  // Answers the user's message that ends the conversation; a turn without an answer leaves nothing of itself.
  Next answer() {
    auto result = session_.answer();
    if (result.ok() && (result->reason != FinishReason::kCancelled || !session_.last_text.empty())) {
      session_.conversation->add("assistant", session_.last_text);
    } else {
      session_.conversation->drop_last();
    }
    return finish(std::move(result));
  }

  Next finish(Result<GenerationResult> result) {
    if (session_.output_closed) return Next::kLeave;
    if (!result.ok()) {
      session_.complain(result.error().message());
      return Next::kGoOn;
    }
    (void)write_out("\n");
    last_ = std::move(result).value();
    session_.report(*last_);
    if (last_->reason == FinishReason::kContextFull) session_.say("the context is full; /clear starts over");
    return Next::kGoOn;
  }

  Session& session_;
  std::optional<GenerationResult> last_;
};

}  // namespace

Result<int> interactive(Session& session, const std::optional<std::string>& first) {
  const signals::Scope scope(signals::Urgency::kAnswer);
  prepare_editing();
  session.echo = true;  // a completion stands below the typed line and is read with it
  session.warn();
  if (!session.quiet) {
    const ModelSpec& spec = session.engine.spec();
    session.say(fmt::format("{} ({}), context {} tokens; {} /help lists commands", spec.name, spec.architecture,
                            session.engine.context(),
                            session.conversation ? "type a message." : "texts are completed, there is no chat."));
  }
  Loop loop(session);
  std::optional<std::string> line = first;
  for (;;) {
    if (!line) line = read_line();
    if (signals::pending() == SIGTERM) return kExitSignal + SIGTERM;
    if (!line) {
      if (signals::pending() == 0) {  // Ctrl-D
        write_err("\n");
        return kExitOk;
      }
      signals::clear_interrupt();  // Ctrl-C at the prompt: a fresh line
      write_err("(Ctrl-D or /exit leaves)\n");
      continue;
    }
    if (!line->empty()) {
      ::add_history(line->c_str());
      const Next next = loop.turn(*line);
      if (signals::pending() == SIGTERM) return kExitSignal + SIGTERM;
      signals::clear_interrupt();
      if (next == Next::kLeave) return kExitOk;
    }
    line.reset();
  }
}

}  // namespace sluice::cli
