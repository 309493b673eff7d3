// sluice run: one answer, or a conversation on the terminal.
#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/chat.h"
#include "cli/commands.h"
#include "cli/repl.h"
#include "cli/terminal.h"

namespace sluice::cli {
namespace {

constexpr std::size_t kMaxPrompt = 64U << 20;
constexpr std::int64_t kDefaultRawTokens = 256;  // a model that never ends a text should end some time

struct Prompt {
  std::optional<std::string> text;  // nullopt: interactive
};

Result<Prompt> find_prompt(Env& env, const Arguments& arguments) {
  const bool model_by_name = arguments.has("model");
  const std::size_t model_positionals = model_by_name ? 0 : 1;
  if (arguments.has("prompt") + arguments.has("file") + (arguments.positionals.size() > model_positionals) > 1) {
    return Error(ErrorCode::kInvalidArgument, "the prompt is given twice: -p, -f and PROMPT exclude each other");
  }
  if (model_by_name && arguments.positionals.size() > 1) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("one argument too many: '{}' (--model is given)", arguments.positionals[1]));
  }
  Prompt prompt;
  if (arguments.has("prompt") && arguments.text("prompt") != "-") {
    prompt.text = arguments.text("prompt");
  } else if (arguments.has("file")) {
    SLUICE_ASSIGN(prompt.text, env.read_text(arguments.text("file"), kMaxPrompt));
  } else if (arguments.positionals.size() > model_positionals) {
    prompt.text = arguments.positionals.back();
  } else if (arguments.has("prompt") || !stdin_is_terminal()) {
    SLUICE_ASSIGN(std::string text, read_stdin(kMaxPrompt));
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    prompt.text = std::move(text);
  } else if (!stdout_is_terminal()) {
    prompt.text = "";
  }
  return prompt;
}

Result<SamplerParams> sampling_from(const Arguments& arguments, const SamplerParams& defaults) {
  SamplerParams sampling = defaults;
  SLUICE_ASSIGN(const double temperature, arguments.number("temp", static_cast<double>(sampling.temperature)));
  SLUICE_ASSIGN(const std::int64_t top_k, arguments.integer("top-k", sampling.top_k, -1, INT32_MAX));
  SLUICE_ASSIGN(const double top_p, arguments.number("top-p", static_cast<double>(sampling.top_p)));
  SLUICE_ASSIGN(const double min_p, arguments.number("min-p", static_cast<double>(sampling.min_p)));
  SLUICE_ASSIGN(const double repeat, arguments.number("repeat-penalty", static_cast<double>(sampling.repeat_penalty)));
  SLUICE_ASSIGN(const double presence, arguments.number("presence-penalty", static_cast<double>(sampling.presence_penalty)));
  SLUICE_ASSIGN(const double frequency,
                arguments.number("frequency-penalty", static_cast<double>(sampling.frequency_penalty)));
  SLUICE_ASSIGN(const std::int64_t last_n, arguments.integer("repeat-last-n", sampling.penalty_last_n, -1, INT32_MAX));
  SLUICE_ASSIGN(const std::int64_t seed, arguments.integer("seed", -1, INT64_MIN, INT64_MAX));
  sampling.temperature = static_cast<float>(temperature);
  sampling.top_k = static_cast<std::int32_t>(top_k);
  sampling.top_p = static_cast<float>(top_p);
  sampling.min_p = static_cast<float>(min_p);
  sampling.repeat_penalty = static_cast<float>(repeat);
  sampling.presence_penalty = static_cast<float>(presence);
  sampling.frequency_penalty = static_cast<float>(frequency);
  sampling.penalty_last_n = static_cast<std::int32_t>(last_n);
  sampling.seed = seed >= 0 ? static_cast<std::uint64_t>(seed)
                            : static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  SLUICE_TRY(sampling.validate());
  return sampling;
}

Result<StopRules> stop_from(const Arguments& arguments, std::int64_t vocab) {
  StopRules stop;
  stop.strings = arguments.all("stop");
  for (const std::string& text : arguments.all("stop-id")) {
    Arguments one;
    one.set("stop-id", text, "--stop-id", false);
    SLUICE_ASSIGN(const std::int64_t id, one.integer("stop-id", 0, 0, vocab - 1));
    stop.ids.push_back(static_cast<std::int32_t>(id));
  }
  stop.ignore_eos = arguments.flag("ignore-eos");
  SLUICE_ASSIGN(stop.max_tokens, arguments.integer("predict", -1, -2, std::int64_t{1} << 40));
  return stop;
}

Result<nlohmann::ordered_json> template_kwargs(const Arguments& arguments) {
  if (!arguments.has("chat-template-kwargs")) return nlohmann::ordered_json::object();
  auto value = nlohmann::ordered_json::parse(arguments.text("chat-template-kwargs"), nullptr, false);
  if (value.is_discarded() || !value.is_object()) {
    return Error(ErrorCode::kInvalidArgument, "--chat-template-kwargs: no JSON object");
  }
  return value;
}

Result<std::string> explicit_template(Env& env, const Arguments& arguments) {
  if (arguments.has("chat-template-file")) return env.read_text(arguments.text("chat-template-file"), kMaxPrompt);
  return arguments.text("chat-template");
}

void explain(const Engine& engine) {
  for (std::size_t i = 0; i < engine.spec().layers.size(); ++i) {
    const moe::Plan* plan = engine.model().plan(i);
    if (plan == nullptr) continue;
    write_err(fmt::format("plan of layer {} (every layer is planned alike unless its weight types differ):\n{}\n", i,
                          plan->explain()));
    return;
  }
  write_err("this model has no layer with experts, so there is nothing to plan\n");
}

Result<int> answer_once(Session& session, const std::string& text) {
  std::vector<std::int32_t> tokens;
  if (session.conversation) {
    session.conversation->add("user", text);
    SLUICE_ASSIGN(tokens, session.conversation->tokens());
  } else {
    SLUICE_ASSIGN(tokens, session.engine.tokenizer()->encode(text, true));
    if (tokens.empty() && session.engine.tokenizer()->bos()) tokens.push_back(*session.engine.tokenizer()->bos());
    if (session.echo && !write_out(text)) return kExitOk;
    if (session.stop.max_tokens == -1) session.stop.max_tokens = kDefaultRawTokens;
  }
  SLUICE_ASSIGN(const GenerationResult result, session.generate(tokens));
  if (session.output_closed) return kExitOk;
  (void)write_out("\n");
  session.report(result);
  if (result.reason == FinishReason::kCancelled && signals::pending() != 0) return 128 + signals::pending();
  return kExitOk;
}

}  // namespace

Result<int> run_command(Env& env, const Arguments& arguments) {
  const std::string path = model_path(arguments);
  SLUICE_ASSIGN(EngineOptions options, engine_options(arguments));
  // Wrong flags are reported before a model is loaded.
  SLUICE_TRY([&]() -> Status {
    auto sampling = sampling_from(arguments, {});
    return sampling.ok() ? Status::success() : Status(sampling.error());
  }());
  SLUICE_ASSIGN(const nlohmann::ordered_json kwargs, template_kwargs(arguments));
  SLUICE_ASSIGN(const std::string template_source, explicit_template(env, arguments));
  if (!path.empty() && !env.is_file(path) && !env.is_directory(path) && path.find(' ') != std::string::npos) {
    return Error(ErrorCode::kNotFound, fmt::format("no model '{}'; a prompt for the built-in model goes behind -p", path));
  }
  SLUICE_ASSIGN(Prompt prompt, find_prompt(env, arguments));

  const bool quiet = arguments.flag("quiet");
  const Style style = make_style(env, arguments);
  Progress progress(stderr_is_terminal() && !quiet && !arguments.flag("no-progress"));
  options.progress = [&](std::string_view stage, double fraction) { progress.update(stage, fraction); };
  SLUICE_ASSIGN(const std::unique_ptr<Engine> engine, Engine::load(env, path, options));
  progress.finish();
  if (!quiet) {
    for (const std::string& warning : engine->warnings()) write_err(style.dim("warning: " + warning) + "\n");
  }
  if (arguments.flag("explain")) explain(*engine);

  SLUICE_ASSIGN(const SamplerParams sampling, sampling_from(arguments, engine->default_sampling()));
  SLUICE_ASSIGN(const StopRules stop, stop_from(arguments, engine->spec().vocab_size));
  Session session(*engine, sampling, stop, style, progress);
  session.quiet = quiet;
  session.verbose = arguments.flag("verbose");
  const bool has_template = !template_source.empty() || !engine->tokenizer()->chat_template().empty();
  if (!arguments.flag("raw") && has_template) {
    SLUICE_ASSIGN(session.conversation, Conversation::create(*engine, template_source, kwargs));
    if (arguments.has("system-prompt")) session.conversation->set_system(arguments.text("system-prompt"));
  } else if (arguments.has("system-prompt")) {
    return Error(ErrorCode::kInvalidArgument, "--system-prompt needs a chat, but the text is completed as it is");
  }
  session.echo = arguments.has("echo") ? arguments.flag("echo") : stdout_is_terminal();

  if (prompt.text && !(arguments.flag("interactive") && stdin_is_terminal())) return answer_once(session, *prompt.text);
  return interactive(session, prompt.text);
}

}  // namespace sluice::cli
