#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include <fmt/format.h>

namespace sluice::cli {
namespace {

std::atomic<int> pending_signal{0};
static_assert(std::atomic<int>::is_always_lock_free, "set from a signal handler");

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

void on_signal(int number) {
  if (number == SIGINT && pending_signal.load() == SIGINT) ::_exit(128 + SIGINT);
  pending_signal.store(number);
}

std::string paint(bool colour, std::string_view code, std::string_view text) {
  return colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

}  // namespace

bool write_out(std::string_view text) { return write_all(STDOUT_FILENO, text); }
void write_err(std::string_view text) { (void)write_all(STDERR_FILENO, text); }

bool stdin_is_terminal() { return ::isatty(STDIN_FILENO) == 1; }
bool stdout_is_terminal() { return ::isatty(STDOUT_FILENO) == 1; }
bool stderr_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

Result<std::string> read_stdin(std::size_t max_bytes) {
  std::string text;
  char buffer[65536];
  for (;;) {
    const ssize_t n = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) {
      if (signals::pending() != 0) return Error(ErrorCode::kCancelled, "interrupted");
      continue;
    }
    if (n <= 0) break;  // a closed standard input reads as empty
    text.append(buffer, static_cast<std::size_t>(n));
    if (text.size() > max_bytes) {
      return Error(ErrorCode::kResource, fmt::format("standard input: more than {} bytes", max_bytes));
    }
  }
  return text;
}

std::string Style::dim(std::string_view text) const { return paint(colour, "2", text); }
std::string Style::bold(std::string_view text) const { return paint(colour, "1", text); }
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
  write_err(fmt::format("\r\x1b[K{} [{}] {:3}%", label, bar, percent));
}

void Progress::finish() {
  if (shown_) write_err("\r\x1b[K");
  shown_ = false;
  last_percent_ = -1;
  start_ = std::chrono::steady_clock::now();
}

namespace signals {

void install() {
  struct sigaction action = {};
  action.sa_handler = on_signal;  // no SA_RESTART: a read at the prompt must return
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, nullptr);
}

int pending() { return pending_signal.load(); }

void clear_interrupt() {
  int expected = SIGINT;
  pending_signal.compare_exchange_strong(expected, 0);
}

}  // namespace signals
}  // namespace sluice::cli
