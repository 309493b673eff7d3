// sluice tokenize: text to ids and back.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "cli/json_lines.h"

namespace sluice::cli {
namespace {

constexpr std::size_t kMaxText = 32U << 20;

Error bad_line(std::size_t number, std::string_view what) {
  return Error(ErrorCode::kCorrupt, fmt::format("standard input, line {}: {}", number, what));
}

Result<Json> encode_line(const Tokenizer& tokenizer, const Json& line, std::size_t number, bool special) {
  const auto text = line.find("text");
  if (text == line.end() || !text->is_string()) return bad_line(number, "no string \"text\"");
  SLUICE_ASSIGN(const std::vector<std::int32_t> ids, tokenizer.encode(text->get_ref<const std::string&>(), special));
  Json out;
  if (line.contains("id")) out["id"] = line["id"];
  out["ids"] = ids;
  return out;
}

Result<Json> decode_line(const Tokenizer& tokenizer, const Json& line, std::size_t number) {
  const auto list = line.find("ids");
  if (list == line.end() || !list->is_array()) return bad_line(number, "no list \"ids\"");
  std::vector<std::int32_t> ids;
  for (const Json& id : *list) {
    if (!id.is_number_integer()) return bad_line(number, "\"ids\" holds something else than whole numbers");
    const auto value = id.get<std::int64_t>();
    if (value >= 0 && value <= INT32_MAX) ids.push_back(static_cast<std::int32_t>(value));  // others have no token
  }
  Json out;
  if (line.contains("id")) out["id"] = line["id"];
  out["text"] = tokenizer.decode(ids, false);
  out["text_skip_special"] = tokenizer.decode(ids, true);
  return out;
}

}  // namespace

Status check_tokenize(const Arguments& arguments) {
  SLUICE_TRY(check_model(arguments));
  if (model_path(arguments).empty()) return usage_error("a MODEL is needed: a file, or a folder with tokenizer.json");
  if (arguments.flag("jsonl")) {
    return arguments.has("prompt") ? usage_error("-p and --jsonl exclude each other") : Status::success();
  }
  return arguments.flag("decode") ? usage_error("--decode works with --jsonl") : Status::success();
}

Result<int> tokenize_command(Env& env, const Arguments& arguments) {
  SLUICE_ASSIGN(const std::shared_ptr<const Tokenizer> tokenizer, Tokenizer::from_path(env, model_path(arguments)));
  const bool special = arguments.flag("special");
  if (!arguments.flag("jsonl")) {
    std::string text = arguments.text("prompt", "-");
    if (text == "-") {
      SLUICE_ASSIGN(text, read_stdin(kMaxText));
    }
    SLUICE_ASSIGN(const std::vector<std::int32_t> ids, tokenizer->encode(text, special));
    (void)write_out(fmt::format("{}\n", fmt::join(ids, " ")));
    return kExitOk;
  }
  const bool decode = arguments.flag("decode");
  SLUICE_TRY(for_each_json_line([&](const Json& line, std::size_t number) -> Result<bool> {
    SLUICE_ASSIGN(const Json out,
                  decode ? decode_line(*tokenizer, line, number) : encode_line(*tokenizer, line, number, special));
    return write_out(json_text(out) + "\n");
  }));
  return kExitOk;
}

}  // namespace sluice::cli
