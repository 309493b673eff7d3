// JSON from files: bounded in size and depth, with errors that name the place.
#pragma once

#include <cstddef>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/result.h"

namespace sluice {

// Parses config.json and the like: one JSON object; of a name given twice the last value counts, as in Python.
// `file` is the path for messages. Errors: kCorrupt (not JSON, not UTF-8, not an object); kResource (past kMaxJsonBytes
// or kMaxJsonDepth).
Result<nlohmann::json> parse_json_object(std::span<const std::byte> bytes, const std::string& file);

// Error kCorrupt unless the text is UTF-8 without zero bytes. `what` names it in the message ("the header").
Status check_json_characters(std::string_view text, const std::string& file, std::string_view what);

// The part of nlohmann's SAX interface that the readers of large JSON texts share. Events return false to stop, after
// fail(). Parsing does not recurse and keeps nothing but the handler's own state.
class JsonHandler {
 public:
  using Json = nlohmann::json;

  JsonHandler(const std::string& file, std::string_view what) : file_(file), what_(what) {}

  // Calls the events of `handler` (this object as its own class) for all of `text`.
  template <typename Handler>
  static Status run(std::string_view text, Handler& handler) {
    SLUICE_TRY(check_json_characters(text, handler.file_, handler.what_));
    try {
      if (Json::sax_parse(text.begin(), text.end(), &handler)) return Status::success();
    } catch (const std::exception& error) {
      return Error(ErrorCode::kInternal, fmt::format("{}: reading {}: {}", handler.file_, handler.what_, error.what()));
    }
    return *std::move(handler.error_);
  }

  bool parse_error(std::size_t position, const std::string& /*token*/, const Json::exception& /*error*/) {
    return fail(ErrorCode::kCorrupt, fmt::format("{} is not valid JSON at byte {}", what_, position));
  }
  bool binary(Json::binary_t& /*value*/) { return fail(ErrorCode::kCorrupt, "binary JSON"); }  // never in text

 protected:
  bool fail(ErrorCode code, std::string_view message) {
    error_.emplace(code, fmt::format("{}: {}", file_, message));
    return false;
  }
  bool corrupt(std::string_view message) { return fail(ErrorCode::kCorrupt, message); }

  const std::string& file_;
  std::string what_;

 private:
  std::optional<Error> error_;
};

}  // namespace sluice
