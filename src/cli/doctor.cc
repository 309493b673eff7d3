// sluice doctor: the machine, what this build can use of it, the plan for a model, and what is not built yet.
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/version.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "cpu/thread_pool.h"
#include "model/family.h"

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;

double memory_gib() {
  const auto pages = static_cast<double>(::sysconf(_SC_PHYS_PAGES));
  return pages * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1024.0 * 1024.0 * 1024.0);
}

// The first layer with experts stands for all; a plan that fails is an answer too.
Status report_plan(Env& env, const Arguments& arguments, const std::string& path, Json& json, std::string& text) {
  SLUICE_ASSIGN(EngineOptions options, engine_options(arguments));
  options.need_tokenizer = false;
  SLUICE_ASSIGN(const std::unique_ptr<Engine> engine, Engine::load(env, path, options));
  for (std::size_t i = 0; i < engine->spec().layers.size(); ++i) {
    const moe::Plan* plan = engine->model().plan(i);
    if (plan == nullptr) continue;
    text += fmt::format("\nplan of layer {} of {}\n{}\n", i, path.empty() ? "the built-in model" : path, plan->explain());
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
    return Status::success();
  }
  text += "\nthis model has no layer with experts, so there is nothing to plan\n";
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
  return fmt::format("sluice {} (commit {})\ncompiler: {}, {}\ninstruction sets built: {}\nthis processor runs: {} ({})\n",
                     info.version, info.commit, info.compiler, info.build_type, fmt::join(built, " "),
                     fmt::join(here, " "), cpu_model_name());
}

Result<int> doctor_command(Env& env, const Arguments& arguments) {
  Json json;
  SLUICE_ASSIGN(const Isa isa, parse_isa(arguments.text("isa", "auto")));
  std::string text = version_text();
  text += fmt::format("chosen: {}\ncores that may be used: {}\nmemory: {:.1f} GiB\n", isa_name(isa), usable_cores(), memory_gib());
  text += fmt::format("architectures: {}\n", supported_architectures());
  json["processor"] = cpu_model_name();
  json["isa"] = isa_name(isa);
  json["usable_cores"] = usable_cores();
  json["memory_gib"] = memory_gib();

  const std::string path = model_path(arguments);
  SLUICE_TRY(report_plan(env, arguments, path, json, text));

  const char* missing[] = {"`sluice serve` and its HTTP endpoints (/v1/responses among them)",
                           "expert parallelism over NUMA nodes and hosts",
                           "models larger than memory",
                           "speculative decoding",
                           "GPU experts",
                           "downloads (-hf)",
                           "ARM"};
  text += "\nnot built yet\n";
  json["not_built_yet"] = Json::array();
  for (const char* thing : missing) {
    text += fmt::format("  {}\n", thing);
    json["not_built_yet"].push_back(thing);
  }
  (void)write_out(arguments.flag("json") ? json.dump(2) + "\n" : text);
  return kExitOk;
}

}  // namespace sluice::cli
