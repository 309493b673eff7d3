// Result and error types. User data never aborts: whatever a file, a flag or a peer can cause is an Error value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace sluice {

// Category of an error. The values are part of the C ABI of plugins: append, never renumber.
enum class ErrorCode : std::uint8_t {
  kInvalidArgument = 1,  // the caller's value is wrong (flag, option, shape)
  kNotFound = 2,         // a file, tensor, key or name does not exist
  kCorrupt = 3,          // a file contradicts its format or itself
  kUnsupported = 4,      // well-formed, but not something this build can run
  kIo = 5,               // the operating system refused
  kResource = 6,         // a limit (memory, length, depth) would be passed
  kCancelled = 7,        // the user asked to stop
  kTimeout = 8,          // a deadline passed
  kInternal = 9,         // a promise inside Sluice was broken
};

// An error: its category and one line for people: what (file, name), what was wanted, what was found, the way out.
class [[nodiscard]] Error {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }

  // The same error with "context: " in front, for callers that know the file or the layer.
  Error with_context(std::string_view context) const {
    std::string text(context);
    text += ": ";
    text += message_;
    return Error(code_, std::move(text));
  }

 private:
  ErrorCode code_;
  std::string message_;
};

// Either a T or an Error. Move-friendly; value() on an error is a programmer's mistake and throws bad_variant_access.
template <typename T>
class [[nodiscard]] Result {
 public:
  static_assert(!std::is_same_v<T, Error>, "Result<Error> is ambiguous");

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

// Success or an Error, for functions without a value.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  static Status success() { return {}; }
  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace sluice
