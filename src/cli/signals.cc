#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>

#include "cli/progress_line.h"
#include "cli/terminal.h"

namespace sluice::cli::signals {
namespace {

enum Mode : int { kAtOnce, kObeySoon, kObeyAfterAnswer };

std::atomic<int> pending_signal{0};
std::atomic<int> mode{kAtOnce};
// Written to by the handler, so that a wait for input sees a signal that came just before it as well.
std::array<int, 2> wake_pipe{-1, -1};
static_assert(std::atomic<int>::is_always_lock_free, "used in signal handlers");

// Only what POSIX calls async-signal-safe. Generated text is in the file or the pipe already: it is written piece by
// piece without a buffer.
[[noreturn]] void leave(int number) {
  if (progress_line_shown.load()) (void)!::write(STDERR_FILENO, kEraseLine.data(), kEraseLine.size());
  ::_exit(128 + number);
}

void on_signal(int number) {
  const int before = pending_signal.exchange(number);
  const int now = mode.load();
  if (now == kAtOnce || before == number || before == SIGTERM) leave(number);
  if (now == kObeySoon || number == SIGTERM) ::alarm(1);
  const int error = errno;
  if (::write(wake_pipe[1], "", 1) < 0) errno = error;  // a full pipe wakes as well
}

void on_alarm(int) { leave(pending_signal.load()); }

void handle(int number, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;  // no SA_RESTART: a read at the prompt must return
  sigemptyset(&action.sa_mask);
  ::sigaction(number, &action, nullptr);
}

}  // namespace

void install() {
  (void)::pipe2(wake_pipe.data(), O_CLOEXEC | O_NONBLOCK);  // without it only the race of wait_readable() remains
  handle(SIGINT, on_signal);
  handle(SIGTERM, on_signal);
  handle(SIGALRM, on_alarm);
  handle(SIGPIPE, SIG_IGN);
}

int pending() { return pending_signal.load(); }

void clear_interrupt() {
  int expected = SIGINT;
  pending_signal.compare_exchange_strong(expected, 0);
}

bool wait_readable(int file) {
  std::array<pollfd, 2> waits{pollfd{file, POLLIN, 0}, pollfd{wake_pipe[0], POLLIN, 0}};
  while (pending() == 0) {
    std::array<char, 16> old{};
    while (::read(wake_pipe[0], old.data(), old.size()) > 0) {
    }
    if (pending() != 0) break;
    if (::poll(waits.data(), waits.size(), -1) > 0 && waits[0].revents != 0) return pending() == 0;
  }
  return false;
}

Scope::Scope(Urgency urgency) { mode.store(urgency == Urgency::kSoon ? kObeySoon : kObeyAfterAnswer); }
Scope::~Scope() { mode.store(kAtOnce); }

}  // namespace sluice::cli::signals
