// The terminal: streams, colour, a progress bar, signals. Text goes to standard output, all else to standard error.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "cli/options.h"

namespace sluice::cli {

// Writes to standard output at once. False if that failed, now or before: then nothing more need be made.
bool write_out(std::string_view text);
void write_err(std::string_view text);
// errno of the first write to standard output that failed, 0 if none did. EPIPE: the reader has gone, which is no
// fault.
int output_error();

bool stdin_is_terminal();
bool stdout_is_terminal();
bool stderr_is_terminal();

// One line for people out of text from anywhere: what would break the line or steer the terminal is escaped, and very
// long text is cut.
std::string one_line(std::string_view text);

// Reads standard input to its end; kResource beyond max_bytes.
Result<std::string> read_stdin(std::size_t max_bytes);
// Reads a file that the user named: also a pipe (<(command) of a shell) or a device. kResource beyond max_bytes.
Result<std::string> read_file(Env& env, const std::string& path, std::size_t max_bytes);

// Whether to colour, from --color, NO_COLOR and the terminal.
struct Style {
  bool colour = false;
  std::string dim(std::string_view text) const;
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

// SIGINT and SIGTERM end the process at once with 128 + their number, except inside a Scope, where they only ask to
// stop. SIGPIPE is ignored (writes report it).
namespace signals {

enum class Urgency : std::uint8_t {
  kSoon,    // what asks to stop is obeyed within a second, or the process is ended
  kAnswer,  // the same for SIGTERM; SIGINT stops an answer, however long its current step takes (a second one ends)
};

void install();
// Number of the signal that asks to stop (SIGINT or SIGTERM), 0 if none.
int pending();
void clear_interrupt();
// Waits until `file` has input or has ended: true. False when a signal asks to stop, however shortly before the wait.
bool wait_readable(int file);

// One at a time.
class Scope {
 public:
  explicit Scope(Urgency urgency);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
};

}  // namespace signals

}  // namespace sluice::cli
