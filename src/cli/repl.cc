#include "cli/repl.h"

#include <editline/readline.h>

#include <csignal>
#include <cstdlib>

#include <fmt/format.h>

#include "cli/commands.h"

namespace sluice::cli {
namespace {

constexpr const char* kHelp =
    "/help            this list\n"
    "/clear           forget the conversation\n"
    "/system TEXT     set the system message and start over\n"
    "/regen           answer the last message again\n"
    "/stats           speeds of the last answer, and the context used\n"
    "/exit            leave (Ctrl-D does too)\n"
    "Ctrl-C stops an answer. A line that ends in \\ goes on in the next one.\n";

// A line from the terminal; nullopt at the end of input.
std::optional<std::string> read_line(const char* prompt) {
  std::string text;
  for (;;) {
    char* line = ::readline(prompt);
    if (line == nullptr) return text.empty() ? std::nullopt : std::optional<std::string>(text);
    text += line;
    ::free(line);
    if (text.empty() || text.back() != '\\') return text;
    text.back() = '\n';
    prompt = "... ";
  }
}

Result<GenerationResult> answer(Session& session) {
  std::vector<std::int32_t> tokens;
  SLUICE_ASSIGN(tokens, session.conversation->tokens());
  SLUICE_ASSIGN(GenerationResult result, session.generate(tokens));
  session.conversation->add("assistant", session.last_text);
  (void)write_out("\n");
  return result;
}

enum class Next { kGoOn, kLeave };

// Commands of a chat. Errors of a turn are printed and leave the conversation as it was.
Next chat_turn(Session& session, const std::string& line, std::optional<GenerationResult>& last) {
  Conversation& conversation = *session.conversation;
  const auto say = [&](const std::string& text) { write_err(session.style.dim(text) + "\n"); };
  if (line == "/exit" || line == "/quit" || line == "/bye") return Next::kLeave;
  if (line == "/help" || line == "/?") {
    write_err(kHelp);
    return Next::kGoOn;
  }
  if (line == "/clear" || line == "/reset") {
    conversation.clear();
    say("the conversation is forgotten");
    return Next::kGoOn;
  }
  if (line.starts_with("/system")) {
    conversation.clear();
    conversation.set_system(line.size() > 8 ? line.substr(8) : "");
    say("system message set; the conversation starts over");
    return Next::kGoOn;
  }
  if (line == "/stats") {
    if (last) session.report(*last);
    say(fmt::format("{} of {} tokens of context used", session.sequence->cache().length(), session.engine.context()));
    return Next::kGoOn;
  }
  if (line == "/regen") {
    if (conversation.size() < 2) {
      say("there is no answer yet");
      return Next::kGoOn;
    }
    conversation.drop_last();
    ++session.sampling.seed;
  } else if (line.starts_with("/")) {
    say(fmt::format("unknown command {}; /help lists them", line.substr(0, line.find(' '))));
    return Next::kGoOn;
  } else {
    conversation.add("user", line);
  }
  const std::size_t before = conversation.size();
  auto result = answer(session);
  if (result.ok()) {
    last = std::move(result).value();
    if (!session.quiet) session.report(*last);
    if (last->reason == FinishReason::kContextFull) say("the context is full; /clear starts over");
  } else {
    write_err(session.style.red(result.error().message()) + "\n");
    if (conversation.size() == before) conversation.drop_last();
  }
  return session.output_closed ? Next::kLeave : Next::kGoOn;
}

Next raw_turn(Session& session, const std::string& line) {
  if (line == "/exit" || line == "/quit" || line == "/bye") return Next::kLeave;
  if (line == "/help") {
    write_err("type the beginning of a text; /exit or Ctrl-D leaves, Ctrl-C stops a completion\n");
    return Next::kGoOn;
  }
  auto tokens = session.engine.tokenizer()->encode(line, true);
  if (!tokens.ok()) {
    write_err(session.style.red(tokens.error().message()) + "\n");
    return Next::kGoOn;
  }
  (void)write_out(line);
  auto result = session.generate(*tokens);
  (void)write_out("\n");
  if (!result.ok()) {
    write_err(session.style.red(result.error().message()) + "\n");
  } else if (!session.quiet) {
    session.report(*result);
  }
  return session.output_closed ? Next::kLeave : Next::kGoOn;
}

}  // namespace

Result<GenerationResult> Session::generate(const std::vector<std::int32_t>& tokens) {
  last_text.clear();
  const std::span<const std::int32_t> rest = Engine::reuse_prefix(*sequence, tokens);
  const auto total = static_cast<double>(std::max<std::size_t>(rest.size(), 1));
  auto result = engine.generate(
      *sequence, rest, sampling, stop,
      [&](std::string_view text) {
        progress.finish();
        last_text += text;
        if (!write_out(text)) {
          output_closed = true;
          return false;
        }
        return signals::pending() == 0;
      },
      [&](std::int64_t done) {
        progress.update("prompt", static_cast<double>(done) / total);
        return signals::pending() == 0;
      });
  progress.finish();
  return result;
}

void Session::report(const GenerationResult& result) const {
  if (quiet) return;
  const GenerationStats& stats = result.stats;
  const auto speed = [](std::int64_t tokens, double seconds) {
    return seconds > 0.0 ? static_cast<double>(tokens) / seconds : 0.0;
  };
  // The first new token comes out of the prefill; the decode time covers the ones after it.
  const std::int64_t decoded = std::max<std::int64_t>(stats.generated_tokens - 1, 0);
  write_err(style.dim(fmt::format("prefill {} tokens, {:.1f} tokens/s; decode {} tokens, {:.1f} tokens/s", stats.prompt_tokens,
                                  speed(stats.prompt_tokens, stats.prefill_seconds), stats.generated_tokens,
                                  speed(decoded, stats.decode_seconds))) +
            "\n");
}

Result<int> interactive(Session& session, const std::optional<std::string>& first) {
  ::using_history();
  const bool chat = session.conversation.has_value();
  if (!session.quiet) {
    write_err(session.style.dim(fmt::format("{} ({}), context {} tokens; {} /help lists commands", session.engine.spec().name,
                                            session.engine.spec().architecture, session.engine.context(),
                                            chat ? "type a message." : "no chat template: texts are completed.")) +
              "\n");
  }
  if (!chat && session.stop.max_tokens == -1) session.stop.max_tokens = 256;
  std::optional<GenerationResult> last;
  std::optional<std::string> next = first;
  for (;;) {
    if (!next) {
      signals::clear_interrupt();
      next = read_line("> ");
      if (signals::pending() == SIGTERM) return 128 + SIGTERM;
      if (!next && signals::pending() == SIGINT) {  // Ctrl-C at the prompt: a fresh line
        signals::clear_interrupt();
        write_err("\n(Ctrl-D or /exit leaves)\n");
        continue;
      }
      if (!next) {
        write_err("\n");
        return kExitOk;
      }
    }
    const std::string line = std::move(*next);
    next.reset();
    if (line.empty()) continue;
    ::add_history(line.c_str());
    const Next then = chat ? chat_turn(session, line, last) : raw_turn(session, line);
    if (signals::pending() == SIGTERM) return 128 + SIGTERM;
    signals::clear_interrupt();
    if (then == Next::kLeave) return kExitOk;
  }
}

}  // namespace sluice::cli
