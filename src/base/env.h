// Env: every call to the operating system goes through this seam, so that tests can inject faults.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace sluice {

// Read-only bytes that stay valid as long as the object lives: a mapped file or memory of the program.
class Bytes {
 public:
  virtual ~Bytes() = default;
  virtual std::span<const std::byte> span() const = 0;
  // Hints that [offset, offset + length) is read soon; never fails visibly.
  virtual void will_need(std::size_t offset, std::size_t length) const { (void)offset, (void)length; }
  // Bytes of the range resident in memory now, or nullopt where that cannot be told.
  virtual std::optional<std::size_t> resident() const { return std::nullopt; }
};

// The operating system as Sluice sees it. Thread-safe.
class Env {
 public:
  virtual ~Env() = default;

  // Maps a whole file read-only (size 0 gives an empty span). Errors: kNotFound, kIo; text names the path.
  virtual Result<std::shared_ptr<const Bytes>> map(const std::string& path) = 0;
  // Reads a small file whole. kResource if it is larger than max_bytes.
  virtual Result<std::string> read_text(const std::string& path, std::size_t max_bytes) = 0;
  virtual bool is_file(const std::string& path) = 0;
  virtual bool is_directory(const std::string& path) = 0;
  // Names (not paths) in a directory, sorted.
  virtual Result<std::vector<std::string>> list(const std::string& path) = 0;
  virtual std::optional<std::string> variable(const std::string& name) = 0;
  virtual std::chrono::steady_clock::time_point now() = 0;

  // The real operating system.
  static Env& system();
};

// Bytes that point at memory which outlives the program's use of them (for example embedded data).
std::shared_ptr<const Bytes> borrow_bytes(std::span<const std::byte> bytes);
// Bytes that own a string.
std::shared_ptr<const Bytes> own_bytes(std::string text);

}  // namespace sluice
