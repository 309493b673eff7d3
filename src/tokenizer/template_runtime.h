// What running code of a template shares: the heap, the bounds, and the errors. One per render; not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/template_objects.h"

namespace sluice::jinja {

// ---- Making objects

Value make_string(Heap& heap, std::string text);
Value make_list(Heap& heap, std::vector<Value> items);
Value make_tuple(Heap& heap, std::vector<Value> items);
// `type_name` is of static lifetime.
Value make_iterator(Heap& heap, std::vector<Value> items, std::string_view type_name = "generator");
// An iterator that ends in an error, which its reader gets.
Value make_failing_iterator(Heap& heap, std::vector<Value> items, Error error);
Value make_undefined(Heap& heap, std::string message);

// ---- Errors

// The conversation or the template is wrong at run time: a TypeError, ValueError, UndefinedError ... of Jinja2.
Error runtime_error(std::string message);
// A bound of TemplateLimits was passed.
Error limit_error(std::string message);

class Runtime {
 public:
  explicit Runtime(const TemplateLimits& limits) : heap_(limits.max_memory), limits_(limits) {}

  Heap& heap() { return heap_; }
  const TemplateLimits& limits() const { return limits_; }

  // Counts work; fails when the render has used up its steps or its memory. A step is about one node of the template
  // or one element of a collection.
  Status spend(std::uint64_t steps = 1);
  // The same for work on text.
  Status spend_bytes(std::uint64_t bytes) { return spend(1 + bytes / kBytesPerStep); }
  // To be asked before a string or a list is built whose size does not follow from that of its sources.
  Status check_string(std::uint64_t bytes);
  Status check_items(std::uint64_t count);

  // Depth of the native stack, in levels of evaluation; see DepthGuard.
  Status enter(int levels);
  void leave(int levels) { depth_ -= levels; }

  Value string(std::string text) { return make_string(heap_, std::move(text)); }
  Value list(std::vector<Value> items) { return make_list(heap_, std::move(items)); }
  Value undefined(std::string message) { return make_undefined(heap_, std::move(message)); }

  // What raise_exception(message) was called with: its Error must reach the caller unchanged.
  void set_raised() { raised_ = true; }
  bool raised() const { return raised_; }

  // The time strftime_now shows.
  void set_now(const std::tm& now) { now_ = now; }
  std::tm now() const;

 private:
  static constexpr std::uint64_t kBytesPerStep = 64;

  Heap heap_;
  const TemplateLimits& limits_;
  std::uint64_t steps_ = 0;
  int depth_ = 0;
  bool raised_ = false;
  std::optional<std::tm> now_;
};

// A level of nested data is walked by two functions with larger frames than those of evaluation.
inline constexpr int kLevelsOfData = 4;

// Holds levels of depth for a scope; ask status() before going on.
class DepthGuard {
 public:
  explicit DepthGuard(Runtime& runtime, int levels = 1)
      : runtime_(runtime), levels_(levels), status_(runtime.enter(levels)) {}
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;
  ~DepthGuard() { runtime_.leave(levels_); }
  const Status& status() const { return status_; }

 private:
  Runtime& runtime_;
  int levels_;
  Status status_;
};

// ---- Arguments of native functions

// Matches arguments with parameters by position and name. The result has one value per parameter, kMissing where none
// was given. Errors, as Python's TypeError: a name that is not a parameter, one given twice, too many, one of the first
// `required` missing.
Result<std::vector<Value>> bind_arguments(std::string_view function, const Args& args, const char* const* names,
                                          std::size_t count, std::size_t required);

template <std::size_t N>
Result<std::array<Value, N>> bind(std::string_view function, const Args& args, const char* const (&names)[N],
                                  std::size_t required = 0) {
  SLUICE_ASSIGN(std::vector<Value> values, bind_arguments(function, args, names, N, required));
  std::array<Value, N> result;
  for (std::size_t i = 0; i < N; ++i) result[i] = std::move(values[i]);
  return result;
}
// For functions without parameters.
Status bind_none(std::string_view function, const Args& args);

}  // namespace sluice::jinja
