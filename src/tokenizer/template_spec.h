// The fields of formatted text, as "%" formatting and str.format share them. Internal to the three files of formatting.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tokenizer/template_runtime.h"

namespace sluice::jinja {

// Width, precision and the rest of one field.
struct Spec {
  std::string fill = " ";  // one character
  char align = 0;          // '<' '>' '^' '=', or 0 for the type's own
  char sign = '-';
  bool alternate = false;
  char grouping = 0;      // ',' or '_' between groups of digits, 0 for none
  std::size_t width = 0;  // characters
  std::optional<std::size_t> precision;
  char type = 0;
};

// Reads decimal digits at `at`, which moves behind them; 0 if there are none. Errors: a number past the longest string.
Status read_number(Runtime& runtime, std::string_view text, std::size_t& at, std::size_t& number);
// Fills `text` up to the width.
Result<std::string> pad(Runtime& runtime, std::string text, const Spec& spec, char align);
Result<std::string> format_int(Runtime& runtime, Int value, const Spec& spec);
Result<std::string> format_float(Runtime& runtime, double value, const Spec& spec);
// Escapes all that is not ASCII, as Python's ascii().
std::string escape_non_ascii(std::string_view text);

}  // namespace sluice::jinja
