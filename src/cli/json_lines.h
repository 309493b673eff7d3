// Reading JSON lines from standard input, one at a time.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace sluice::cli {

// Keys in the order of the text: chat templates print objects.
using Json = nlohmann::ordered_json;

// One JSON object. nullopt if the text is none, or nests deeper than kMaxDepth (printing such a value recurses).
inline constexpr int kMaxDepth = 128;
std::optional<Json> parse_object(std::string_view text);

// Calls body(value, line number) per line as soon as the line is there; empty lines are skipped. A line that is no JSON
// object, or longer than kMaxLine bytes, is an error that names its number. Stops when body returns false (the reader
// of the output is gone).
inline constexpr std::size_t kMaxLine = 32U << 20;
Status for_each_json_line(const std::function<Result<bool>(const Json&, std::size_t)>& body);

// The text of a value in one line; invalid UTF-8 becomes U+FFFD.
std::string json_text(const Json& value);

}  // namespace sluice::cli
