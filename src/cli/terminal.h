// The terminal: streams, colour, a progress bar, signals. Text goes to standard output, all else to standard error.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "cli/options.h"

namespace sluice::cli {

// Writes to standard output at once. False if the reader is gone (then nothing more need be made).
bool write_out(std::string_view text);
void write_err(std::string_view text);

bool stdin_is_terminal();
bool stdout_is_terminal();
bool stderr_is_terminal();

// Reads standard input to its end; kResource beyond max_bytes.
Result<std::string> read_stdin(std::size_t max_bytes);

// Whether to colour, from --color, NO_COLOR and the terminal.
struct Style {
  bool colour = false;
  std::string dim(std::string_view text) const;
  std::string bold(std::string_view text) const;
  std::string red(std::string_view text) const;
};
Style make_style(Env& env, const Arguments& arguments);

// A bar on standard error that appears only when something takes longer than half a second, and erases itself.
class Progress {
 public:
  explicit Progress(bool enabled) : enabled_(enabled), start_(std::chrono::steady_clock::now()) {}
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void update(std::string_view label, double fraction);
  void finish();

 private:
  bool enabled_;
  bool shown_ = false;
  int last_percent_ = -1;
  std::chrono::steady_clock::time_point start_;
};

// SIGINT and SIGTERM set flags; SIGPIPE is ignored (writes report it). A second SIGINT while the first is not yet
// looked at ends the process at once.
namespace signals {
void install();
// Number of the signal that asks to stop (SIGINT or SIGTERM), 0 if none.
int pending();
void clear_interrupt();
}  // namespace signals

}  // namespace sluice::cli
