// sluice run: one answer, or a conversation on the terminal.
#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "cli/chat.h"
#include "cli/commands.h"
#include "cli/json_lines.h"
#include "cli/repl.h"

namespace sluice::cli {
namespace {

constexpr std::size_t kMaxPrompt = 32U << 20;
constexpr std::int64_t kDefaultRawTokens = 256;  // a model that never ends a text should end some time

// The positional argument that is the prompt: the second one, or with --model on the command line the first.
std::optional<std::string> positional_prompt(const Arguments& arguments) {
  const std::size_t models = arguments.has_flag("model") ? 0 : 1;
  if (arguments.positionals.size() <= models) return std::nullopt;
  return arguments.positionals.back();
}

// Editors and echo(1) end a text with a newline that is not meant for the model.
std::string without_newline(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

// nullopt: none is given and there is a terminal to ask on.
Result<std::optional<std::string>> find_prompt(Env& env, const Arguments& arguments) {
  std::optional<std::string> prompt = positional_prompt(arguments);
  if (prompt) return prompt;
  if (arguments.has("file")) {
    SLUICE_ASSIGN(std::string input, read_file(env, arguments.text("file"), kMaxPrompt));
    return std::optional(without_newline(std::move(input)));
  }
  const std::string text = arguments.text("prompt", "-");
  if (text != "-") return std::optional(text);
  if (arguments.has("prompt") || !stdin_is_terminal()) {
    SLUICE_ASSIGN(std::string input, read_stdin(kMaxPrompt));
    return std::optional(without_newline(std::move(input)));
  }
  if (!stdout_is_terminal()) return std::optional<std::string>("");
  return prompt;
}

Result<SamplerParams> sampling_from(const Arguments& arguments, SamplerParams sampling) {
  const auto number = [&](std::string_view key, float& value) {
    value = static_cast<float>(arguments.number(key, static_cast<double>(value)));
  };
  const auto integer = [&](std::string_view key, std::int32_t& value) {
    value = static_cast<std::int32_t>(arguments.integer(key, value));
  };
  number("temp", sampling.temperature);
  integer("top-k", sampling.top_k);
  number("top-p", sampling.top_p);
  number("min-p", sampling.min_p);
  number("repeat-penalty", sampling.repeat_penalty);
  number("presence-penalty", sampling.presence_penalty);
  number("frequency-penalty", sampling.frequency_penalty);
  integer("repeat-last-n", sampling.penalty_last_n);
  const std::int64_t seed = arguments.integer("seed", -1);
  const std::int64_t clock = std::chrono::system_clock::now().time_since_epoch().count();
  sampling.seed = static_cast<std::uint64_t>(seed >= 0 ? seed : clock);
  SLUICE_TRY(sampling.validate());
  return sampling;
}

Result<StopRules> stop_from(const Arguments& arguments, bool chat, std::int64_t vocab) {
  StopRules stop;
  stop.strings = arguments.all("stop");
  for (const std::string& text : arguments.all("stop-id")) {
    const std::int64_t id = std::stoll(text);  // held to int32 when it was parsed
    if (id >= vocab) {
      return Error(ErrorCode::kInvalidArgument,
                   fmt::format("--stop-id {}: the model's vocabulary has {} tokens", id, vocab));
    }
    stop.ids.push_back(static_cast<std::int32_t>(id));
  }
  stop.ignore_eos = arguments.flag("ignore-eos");
  stop.max_tokens = arguments.integer("predict", chat ? -1 : kDefaultRawTokens);
  return stop;
}

Result<Json> template_kwargs(const Arguments& arguments) {
  const auto kwargs = parse_object(arguments.text("chat-template-kwargs", "{}"));
  if (!kwargs) return usage_error("--chat-template-kwargs: no JSON object");
  return *kwargs;
}

// The explicit template, else the model's; "" if there is none or none is wanted.
Result<std::string> find_template(Env& env, const Arguments& arguments, const Engine& engine) {
  if (arguments.flag("raw")) return std::string();
  if (arguments.has("chat-template")) return arguments.text("chat-template");
  if (arguments.has("chat-template-file")) return read_file(env, arguments.text("chat-template-file"), kMaxPrompt);
  return std::string(engine.tokenizer()->chat_template());
}

Status start_conversation(Env& env, const Arguments& arguments, Session& session) {
  SLUICE_ASSIGN(const std::string source, find_template(env, arguments, session.engine));
  const std::string system = arguments.text("system-prompt");
  if (source.empty()) {
    // As a setting it is for the models that chat; on the command line it must not be ignored.
    if (!arguments.has_flag("system-prompt")) return Status::success();
    return Error(ErrorCode::kNotFound,
                 "--system-prompt needs a chat, but the model has no chat template; --chat-template-file gives one");
  }
  SLUICE_ASSIGN(const Json kwargs, template_kwargs(arguments));
  SLUICE_ASSIGN(session.conversation, Conversation::create(*session.engine.tokenizer(), source, kwargs));
  session.conversation->set_system(system);
  return Status::success();
}

Result<int> answer_once(Session& session, const std::string& text) {
  const signals::Scope scope(signals::Urgency::kSoon);
  if (session.conversation) session.conversation->add("user", text);
  SLUICE_ASSIGN(const GenerationResult result, session.conversation ? session.answer() : session.complete(text));
  (void)write_out("\n");
  if (session.output_closed) return kExitOk;
  session.report(result);
  const bool stopped = result.reason == FinishReason::kCancelled && signals::pending() != 0;
  return stopped ? kExitSignal + signals::pending() : kExitOk;
}

void introduce(const Session& session) {
  const ModelSpec& spec = session.engine.spec();
  session.say(fmt::format("{} ({}): {} layers, context {} tokens; {}, {} threads; seed {}", spec.name,
                          spec.architecture, spec.layers.size(), session.engine.context(),
                          isa_name(session.engine.options().isa), session.engine.pool().size(), session.sampling.seed));
}

}  // namespace

Status check_run(const Arguments& arguments) {
  SLUICE_TRY(check_model(arguments));
  if (arguments.has("prompt") + arguments.has("file") + positional_prompt(arguments).has_value() > 1) {
    return usage_error("the prompt is given twice: -p, -f and PROMPT exclude each other");
  }
  if (arguments.has_flag("chat-template") && arguments.has_flag("chat-template-file")) {
    return usage_error("--chat-template and --chat-template-file exclude each other");
  }
  if (arguments.has_flag("system-prompt") && arguments.flag("raw")) {
    return usage_error("--system-prompt needs a chat, but --raw completes the text as it is");
  }
  const std::int64_t threads = arguments.integer("threads", 0);
  if (arguments.integer("threads-batch", threads) != threads) {
    return usage_error(
        "--threads-batch differs from --threads: one pool serves prompt and answer, give both one value");
  }
  if (const auto kwargs = template_kwargs(arguments); !kwargs.ok()) return kwargs.error();
  const auto sampling = sampling_from(arguments, {});
  return sampling.ok() ? Status::success() : Status(sampling.error());
}

Result<int> run_command(Env& env, const Arguments& arguments) {
  const std::string path = model_path(arguments);
  if (!path.empty() && !env.is_file(path) && !env.is_directory(path)) {
    return Error(ErrorCode::kNotFound,
                 fmt::format("{}: no such file or folder{}", path,
                             arguments.has_flag("model") ? "" : "; a prompt for the built-in model goes behind -p"));
  }
  SLUICE_ASSIGN(const std::optional<std::string> prompt, find_prompt(env, arguments));

  Progress progress(wants_progress(arguments));
  SLUICE_ASSIGN(const std::unique_ptr<Engine> engine, load_engine(env, arguments, path, progress, {}));
  Session session(*engine, progress);
  session.style = make_style(env, arguments);
  session.quiet = arguments.flag("quiet");
  session.verbose = arguments.flag("verbose");
  if (arguments.flag("explain")) write_err(explain_plans(*engine));

  SLUICE_TRY(start_conversation(env, arguments, session));
  SLUICE_ASSIGN(session.sampling, sampling_from(arguments, engine->default_sampling()));
  SLUICE_ASSIGN(session.stop, stop_from(arguments, session.conversation.has_value(), engine->spec().vocab_size));
  session.echo = arguments.has("echo") ? arguments.flag("echo") : stdout_is_terminal();
  if (session.verbose) introduce(session);

  if (prompt && !(arguments.flag("interactive") && stdin_is_terminal())) return answer_once(session, *prompt);
  return interactive(session, prompt);
}

}  // namespace sluice::cli
