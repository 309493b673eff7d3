// What the commands that load a model share.
#include <algorithm>

#include <fmt/format.h>

#include "cli/commands.h"

namespace sluice::cli {

std::string model_path(const Arguments& arguments) {
  // With --model on the command line the positional arguments of `run` are its prompt.
  if (arguments.has_flag("model") || arguments.positionals.empty()) return arguments.text("model");
  return arguments.positionals.front();
}

Status check_model(const Arguments& arguments) {
  const std::size_t left = arguments.command->max_positionals - (arguments.has_flag("model") ? 1 : 0);
  if (arguments.positionals.size() <= left) return Status::success();
  return usage_error(fmt::format("one argument too many: '{}' (--model is given)", arguments.positionals[left]));
}

bool wants_progress(const Arguments& arguments) {
  return stderr_is_terminal() && !arguments.flag("quiet") && arguments.text("progress", "true") == "true";
}

Result<std::unique_ptr<Engine>> load_engine(Env& env, const Arguments& arguments, const std::string& path,
                                            Progress& progress, const std::function<void(EngineOptions&)>& adjust) {
  EngineOptions options;
  SLUICE_ASSIGN(options.isa, parse_isa(arguments.text("isa", "auto")));
  options.threads = static_cast<int>(std::max<std::int64_t>(arguments.integer("threads", 0), 0));
  options.context = arguments.integer("ctx-size", 0);
  const std::int64_t batch = arguments.integer("batch-size", options.batch);
  options.batch = std::min(batch, arguments.integer("ubatch-size", batch));
  options.wishes.experts = arguments.text("experts-kernel", "auto");
  options.wishes.shared_experts = arguments.text("shared-experts", "auto");
  options.wishes.all2all_backend = arguments.text("all2all-backend", "auto");
  options.progress = [&](std::string_view stage, double fraction) { progress.update(stage, fraction); };
  if (adjust) adjust(options);
  auto engine = Engine::load(env, path, options);
  progress.finish();
  return engine;
}

std::string ranges(std::span<const std::size_t> numbers) {
  std::string out;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t j = i;
    while (j + 1 < numbers.size() && numbers[j + 1] == numbers[j] + 1) ++j;
    if (!out.empty()) out += ", ";
    out += i == j ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[j]);
    i = j + 1;
  }
  return out.empty() ? "none" : out;
}

std::string layers_of(std::span<const std::size_t> numbers) {
  return fmt::format("{} {}", numbers.size() == 1 ? "layer" : "layers", ranges(numbers));
}

std::string explain_plans(const Engine& engine) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> alike;
  for (std::size_t i = 0; i < engine.spec().layers.size(); ++i) {
    const moe::Plan* plan = engine.model().plan(i);
    if (plan == nullptr) continue;
    std::string text = plan->explain();
    auto it = std::ranges::find(alike, text, [](const auto& pair) { return pair.first; });
    if (it == alike.end()) it = alike.insert(it, {std::move(text), {}});
    it->second.push_back(i);
  }
  if (alike.empty()) return "this model has no layer with experts, so there is nothing to plan\n";
  std::string out;
  for (const auto& [text, layers] : alike) {
    out += fmt::format("plan of {}\n{}", layers_of(layers), text);
    if (!text.ends_with('\n')) out += '\n';
  }
  return out;
}

}  // namespace sluice::cli
