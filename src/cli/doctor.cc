// sluice doctor: the machine, what this build can use of it, the plan for a model, and what is not built yet.
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/version.h"
#include "cli/commands.h"
#include "cli/json_lines.h"
#include "cpu/thread_pool.h"
#include "model/family.h"

namespace sluice::cli {
namespace {

constexpr std::string_view kNotBuiltYet[] = {
    "`sluice serve` and its HTTP endpoints (/v1/responses among them)",
    "expert parallelism over NUMA nodes and hosts",
    "models larger than memory",
    "speculative decoding",
    "GPU experts",
    "downloads (-hf)",
    "ARM",
};

double memory_gib() {
  const auto pages = static_cast<double>(::sysconf(_SC_PHYS_PAGES));
  return pages * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1024.0 * 1024.0 * 1024.0);
}

// The first layer with experts stands for all in JSON; the text tells them apart where they differ.
Status report_plan(Env& env, const Arguments& arguments, Json& json, std::string& text) {
  Progress progress(wants_progress(arguments));
  const std::string path = model_path(arguments);
  SLUICE_ASSIGN(const std::unique_ptr<Engine> engine,
                load_engine(env, arguments, path, progress, [](EngineOptions& o) { o.need_tokenizer = false; }));
  text += fmt::format("\n{}\n{}", path.empty() ? "the built-in model" : path, explain_plans(*engine));
  json["model"] = path;
  json["plan"] = nullptr;
  for (std::size_t i = 0; i < engine->spec().layers.size(); ++i) {
    const moe::Plan* plan = engine->model().plan(i);
    if (plan == nullptr) continue;
    Json refusals = Json::array();
    for (const moe::Refusal& refusal : plan->refusals) {
      refusals.push_back({{"candidate", refusal.candidate}, {"reason", refusal.reason}});
    }
    json["plan"] = {{"layer", i},
                    {"experts", plan->experts},
                    {"prepare_finalize", plan->prepare_finalize},
                    {"hash", fmt::format("{:016x}", plan->hash())},
                    {"refusals", std::move(refusals)},
                    {"notes", plan->notes}};
    break;
  }
  return Status::success();
}

}  // namespace

std::string version_text() {
  std::vector<std::string_view> built;
  std::vector<std::string_view> here;
  for (int i = 0; i < kIsaCount; ++i) {
    built.push_back(isa_name(static_cast<Isa>(i)));
    if (isa_available(static_cast<Isa>(i))) here.push_back(built.back());
  }
  const BuildInfo info = build_info();
  return fmt::format(
      "sluice {} (commit {})\ncompiler: {}, {}{}\ninstruction sets built: {}\nthis processor runs: {} ({})\n",
      info.version, info.commit, info.compiler, info.build_type,
      info.sanitizers.empty() ? "" : fmt::format(", sanitizers: {}", info.sanitizers), fmt::join(built, " "),
      fmt::join(here, " "), cpu_model_name());
}

Status check_doctor(const Arguments& arguments) { return check_model(arguments); }

Result<int> doctor_command(Env& env, const Arguments& arguments) {
  SLUICE_ASSIGN(const Isa isa, parse_isa(arguments.text("isa", "auto")));
  Json json = {{"version", build_info().version},
               {"commit", build_info().commit},
               {"processor", cpu_model_name()},
               {"isa", isa_name(isa)},
               {"usable_cores", usable_cores()},
               {"memory_gib", memory_gib()},
               {"architectures", supported_architectures()}};
  std::string text = version_text();
  text += fmt::format("chosen: {}\ncores that may be used: {}\nmemory: {:.1f} GiB\narchitectures: {}\n", isa_name(isa),
                      usable_cores(), memory_gib(), supported_architectures());
  // What is known of the machine is told even if the model can't be loaded: that may be the reason.
  const Status plan = report_plan(env, arguments, json, text);
  text += "\nnot built yet\n";
  json["not_built_yet"] = kNotBuiltYet;
  for (const std::string_view thing : kNotBuiltYet) text += fmt::format("  {}\n", thing);
  if (!plan.ok()) json["error"] = plan.error().message();
  (void)write_out(arguments.flag("json") ? json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n" : text);
  if (!plan.ok()) return plan.error();
  return kExitOk;
}

}  // namespace sluice::cli
