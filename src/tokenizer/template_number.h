// Numbers as Python has them: exact comparison of int and float, the shortest repr of a float, int() and float() of
// text.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tokenizer/template_value.h"

namespace sluice::jinja {

inline constexpr Int kIntMax = static_cast<Int>((static_cast<UInt>(1) << 127) - 1);
inline constexpr Int kIntMin = -kIntMax - 1;

// The integer that equals `value`; nullopt if there is none, or none in range.
std::optional<Int> exact_int(double value);
// Truncates towards zero; nullopt for infinity, NaN and values out of range.
std::optional<Int> truncate_to_int(double value);
// Both must be numbers. Exact, unlike a conversion of the int to double.
std::partial_ordering compare_numbers(const Value& a, const Value& b);

// Digits in `base` (2 to 36), lower case, with '-' for negative values and no prefix.
std::string int_to_text(Int value, int base = 10);
// Python's repr: the shortest text that reads back as the same value; "1.0", "1e-05", "inf", "nan".
std::string float_to_text(double value);

// Python's int(text, base) and float(text): surrounding space, sign, single '_' between digits, and for base 0 or a
// matching base the prefixes 0x 0o 0b. nullopt where Python raises ValueError, and for int also out of range.
std::optional<Int> text_to_int(std::string_view text, int base = 10);
std::optional<double> text_to_float(std::string_view text);

// Python's round(value, digits): correctly rounded, ties to even.
double round_float(double value, int digits);

}  // namespace sluice::jinja
