// sluice render: chat templates on the command line.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/json_lines.h"

namespace sluice::cli {
namespace {

constexpr std::size_t kMaxTemplate = 16U << 20;

Result<bool> render_line(const ChatTemplate& chat_template, const Json& line, std::size_t number) {
  Json variables = Json::object();
  if (const auto messages = line.find("messages"); messages != line.end()) variables["messages"] = *messages;
  if (const auto kwargs = line.find("kwargs"); kwargs != line.end() && !kwargs->is_null()) {
    if (!kwargs->is_object()) {
      return Error(ErrorCode::kCorrupt, fmt::format("standard input, line {}: \"kwargs\" is no object", number));
    }
    for (const auto& [key, value] : kwargs->items()) variables[key] = value;
  }
  std::optional<std::string> now;
  if (const auto value = line.find("now"); value != line.end() && value->is_string()) now = value->get<std::string>();
  const Result<std::string> text = chat_template.render(variables, now);
  Json out;
  if (line.contains("id")) out["id"] = line["id"];
  if (text.ok()) {
    out["text"] = *text;
  } else {
    out["error"] = text.error().message();
  }
  return write_out(json_text(out) + "\n");
}

}  // namespace

Status check_render(const Arguments& arguments) {
  if (arguments.positionals.empty()) return usage_error("a TEMPLATE file is needed");
  if (arguments.flag("jsonl")) return Status::success();
  return usage_error("--jsonl is needed: lines {\"id\", \"messages\", \"kwargs\"} on standard input");
}

Result<int> render_command(Env& env, const Arguments& arguments) {
  const std::string& path = arguments.positionals.front();
  SLUICE_ASSIGN(const std::string source, read_file(env, path, kMaxTemplate));
  auto compiled = ChatTemplate::compile(source);
  if (!compiled.ok()) return compiled.error().with_context(path);
  const std::shared_ptr<const ChatTemplate> chat_template = std::move(compiled).value();
  SLUICE_TRY(for_each_json_line(
      [&](const Json& line, std::size_t number) { return render_line(*chat_template, line, number); }));
  return kExitOk;
}

}  // namespace sluice::cli
