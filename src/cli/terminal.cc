#include "cli/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fmt/format.h>

#include "checkpoint/text.h"
#include "cli/progress_line.h"

namespace sluice::cli {
namespace {

constexpr std::size_t kLongestLine = 2000;  // bytes of a message; a name out of a file may be long

int first_output_error = 0;

// 0, or the errno of the write that failed.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {  // some parents hand down a stream that does not block
      pollfd ready = {fd, POLLOUT, 0};
      (void)::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

Error read_error(const std::string& name, int error) {
  return Error(ErrorCode::kIo, fmt::format("{}: cannot read: {}", name, std::generic_category().message(error)));
}

// What `fd` holds up to its end.
Result<std::string> read_all(int fd, const std::string& name, std::size_t max_bytes) {
  std::string text;
  char buffer[65536];
  for (;;) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n == 0) return text;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return read_error(name, errno);
    text.append(buffer, static_cast<std::size_t>(n));
    if (text.size() > max_bytes) {
      return Error(ErrorCode::kResource, fmt::format("{}: more than {} bytes, which is the limit", name, max_bytes));
    }
  }
}

std::string paint(bool colour, std::string_view code, std::string_view text) {
  return colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

}  // namespace

bool write_out(std::string_view text) {
  if (first_output_error == 0) first_output_error = write_all(STDOUT_FILENO, text);
  return first_output_error == 0;
}

void write_err(std::string_view text) { (void)write_all(STDERR_FILENO, text); }

int output_error() { return first_output_error; }

bool stdin_is_terminal() { return ::isatty(STDIN_FILENO) == 1; }
bool stdout_is_terminal() { return ::isatty(STDOUT_FILENO) == 1; }
bool stderr_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

std::string one_line(std::string_view text) { return printable(text, kLongestLine); }

Result<std::string> read_stdin(std::size_t max_bytes) {
  if (::fcntl(STDIN_FILENO, F_GETFD) < 0) return std::string();  // a closed standard input is an empty one
  return read_all(STDIN_FILENO, "standard input", max_bytes);
}

Result<std::string> read_file(Env& env, const std::string& path, std::size_t max_bytes) {
  if (env.is_file(path)) return env.read_text(path, max_bytes);
  if (env.is_directory(path)) return read_error(path, EISDIR);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return Error(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
                 fmt::format("{}: cannot open: {}", path, std::generic_category().message(errno)));
  }
  auto text = read_all(fd, path, max_bytes);
  ::close(fd);
  return text;
}

std::string Style::dim(std::string_view text) const { return paint(colour, "2", text); }
std::string Style::red(std::string_view text) const { return paint(colour, "31", text); }

Style make_style(Env& env, const Arguments& arguments) {
  const std::string wish = arguments.text("color", "auto");
  if (wish == "always") return {true};
  if (wish == "never") return {false};
  const auto no_color = env.variable("NO_COLOR");
  const auto term = env.variable("TERM");
  return {stderr_is_terminal() && (!no_color || no_color->empty()) && !(term && *term == "dumb")};
}

void Progress::update(std::string_view label, double fraction) {
  if (!enabled_) return;
  const auto elapsed = std::chrono::steady_clock::now() - start_;
  const int percent = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * 100.0);
  if (percent == last_percent_ || (!shown_ && elapsed < std::chrono::milliseconds(500))) return;
  last_percent_ = percent;
  shown_ = true;
  constexpr int kWidth = 30;
  std::string bar;
  for (int i = 0; i < kWidth; ++i) bar += i < percent * kWidth / 100 ? '#' : '.';
  progress_line_shown.store(true);
  write_err(fmt::format("{}{} [{}] {:3}%", kEraseLine, label, bar, percent));
}

void Progress::finish() {
  if (shown_) {
    write_err(kEraseLine);
    progress_line_shown.store(false);
  }
  shown_ = false;
  last_percent_ = -1;
  start_ = std::chrono::steady_clock::now();
}

}  // namespace sluice::cli
