// Whether a progress bar stands on the terminal: a signal that ends the process has to erase it.
#pragma once

#include <atomic>
#include <string_view>

namespace sluice::cli {

inline constexpr std::string_view kEraseLine = "\r\x1b[K";
inline std::atomic<bool> progress_line_shown{false};
static_assert(std::atomic<bool>::is_always_lock_free, "read in a signal handler");

}  // namespace sluice::cli
