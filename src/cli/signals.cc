#include <unistd.h>

#include <atomic>
#include <csignal>

#include "cli/progress_line.h"
#include "cli/terminal.h"

namespace sluice::cli::signals {
namespace {

enum Mode : int { kAtOnce, kObeySoon, kObeyAfterAnswer };

std::atomic<int> pending_signal{0};
std::atomic<int> mode{kAtOnce};
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

Scope::Scope(Urgency urgency) { mode.store(urgency == Urgency::kSoon ? kObeySoon : kObeyAfterAnswer); }
Scope::~Scope() { mode.store(kAtOnce); }

}  // namespace sluice::cli::signals
