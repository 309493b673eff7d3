#include "cli/json_lines.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fmt/format.h>

namespace sluice::cli {
namespace {

Error line_error(std::size_t number, ErrorCode code, std::string_view what) {
  return Error(code, fmt::format("standard input, line {}: {}", number, what));
}

// Lines of a file descriptor, without their ends. A line is handed out as soon as it is complete, so that a program at
// the other end may wait for each answer.
class LineReader {
 public:
  // false at the end of input.
  Result<bool> next(std::string& line, std::size_t number) {
    line.clear();
    for (;;) {
      const std::size_t end = buffer_.find('\n', at_);
      const std::size_t stop = end == std::string::npos ? buffer_.size() : end;
      if (line.size() + (stop - at_) > kMaxLine) {
        return line_error(number, ErrorCode::kResource, fmt::format("longer than {} bytes", kMaxLine));
      }
      line.append(buffer_, at_, stop - at_);
      if (end != std::string::npos) {
        at_ = end + 1;
        return true;
      }
      SLUICE_ASSIGN(const bool more, refill());
      if (!more) return !line.empty();
    }
  }

 private:
  Result<bool> refill() {
    at_ = 0;
    buffer_.resize(1U << 16);
    for (;;) {
      const ssize_t n = ::read(STDIN_FILENO, buffer_.data(), buffer_.size());
      if (n < 0 && errno == EINTR) continue;
      buffer_.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
      if (n >= 0 || errno == EBADF) return n > 0;  // a closed standard input is an empty one
      return Error(ErrorCode::kIo,
                   fmt::format("standard input: cannot read: {}", std::generic_category().message(errno)));
    }
  }

  std::string buffer_;
  std::size_t at_ = 0;
};

// Nesting of brackets outside of strings; the text need not be JSON.
int depth(std::string_view text) {
  int now = 0;
  int most = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      most = std::max(most, ++now);
    } else if (c == '}' || c == ']') {
      --now;
    }
  }
  return most;
}

}  // namespace

std::optional<Json> parse_object(std::string_view text) {
  if (depth(text) > kMaxDepth) return std::nullopt;
  Json value = Json::parse(text, nullptr, false);
  if (!value.is_object()) return std::nullopt;
  return value;
}

Status for_each_json_line(const std::function<Result<bool>(const Json&, std::size_t)>& body) {
  LineReader reader;
  std::string line;
  for (std::size_t number = 1;; ++number) {
    SLUICE_ASSIGN(const bool there, reader.next(line, number));
    if (!there) return Status::success();
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::optional<Json> value = parse_object(line);
    if (!value) {
      return line_error(number, ErrorCode::kCorrupt,
                        fmt::format("no JSON object of at most {} levels: {}", kMaxDepth, line.substr(0, 60)));
    }
    SLUICE_ASSIGN(const bool more, body(*value, number));
    if (!more) return Status::success();
  }
}

std::string json_text(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace sluice::cli
