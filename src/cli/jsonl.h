// Reading JSON lines from standard input, one at a time.
#pragma once

#include <functional>
#include <iostream>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/result.h"
#include "cli/terminal.h"

namespace sluice::cli {

// Calls body(value, line number) per line; empty lines are skipped. A line that is no JSON object is an error that
// names its number. Stops quietly when body returns false (the reader of the output is gone).
template <typename Json>
Status for_each_json_line(const std::function<Result<bool>(const Json&, std::size_t)>& body) {
  std::string line;
  for (std::size_t number = 1; std::getline(std::cin, line); ++number) {
    if (signals::pending() != 0) return Error(ErrorCode::kCancelled, "interrupted");
    if (line.empty() || line == "\r") continue;
    const Json value = Json::parse(line, nullptr, false);
    if (value.is_discarded() || !value.is_object()) {
      return Error(ErrorCode::kCorrupt, fmt::format("standard input, line {}: no JSON object", number));
    }
    SLUICE_ASSIGN(const bool more, body(value, number));
    if (!more) break;
  }
  return Status::success();
}

// JSON text of a value; invalid UTF-8 becomes U+FFFD.
template <typename Json>
std::string json_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace sluice::cli
