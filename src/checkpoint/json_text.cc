#include "checkpoint/json_text.h"

#include <algorithm>

#include <simdjson.h>

#include "checkpoint/limits.h"

namespace sluice {
namespace {

// Deepest nesting of brackets outside of strings; the text need not be JSON.
int nesting_depth(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

}  // namespace

Status check_json_characters(std::string_view text, const std::string& file, std::string_view what) {
  // nlohmann's reader takes a zero byte for the end of the text; no JSON has one.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    return Error(ErrorCode::kCorrupt, fmt::format("{}: {} is not valid JSON at byte {}", file, what, zero + 1));
  }
  if (simdjson::validate_utf8(text.data(), text.size())) return Status::success();
  return Error(ErrorCode::kCorrupt, fmt::format("{}: {} is not valid UTF-8", file, what));
}

Result<nlohmann::json> parse_json_object(std::span<const std::byte> bytes, const std::string& file) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.size() > kMaxJsonBytes) {
    return Error(ErrorCode::kResource, fmt::format("{}: {} bytes, more than the limit of {} for this file", file,
                                                   text.size(), kMaxJsonBytes));
  }
  SLUICE_TRY(check_json_characters(text, file, "the text"));
  if (nesting_depth(text) > kMaxJsonDepth) {
    return Error(ErrorCode::kResource, fmt::format("{}: JSON nested more than {} deep", file, kMaxJsonDepth));
  }
  try {
    nlohmann::json value = nlohmann::json::parse(text.begin(), text.end());
    if (value.is_object()) return value;
    return Error(ErrorCode::kCorrupt, fmt::format("{}: {} instead of a JSON object", file, value.type_name()));
  } catch (const nlohmann::json::parse_error& error) {
    return Error(ErrorCode::kCorrupt, fmt::format("{}: not valid JSON at byte {}", file, error.byte));
  } catch (const std::exception& error) {  // numbers out of range
    return Error(ErrorCode::kCorrupt, fmt::format("{}: not valid JSON: {}", file, error.what()));
  }
}

}  // namespace sluice
