#include "tokenizer/template_number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "tokenizer/template_unicode.h"

namespace sluice::jinja {

namespace {

constexpr double kTwoTo127 = 0x1p127;

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  return 99;
}

// Removes '_' that stands between two digits; nullopt where one stands elsewhere.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      result += text[i];
      continue;
    }
    const bool between = i > 0 && i + 1 < text.size() && digit_value(text[i - 1]) < 36 && digit_value(text[i + 1]) < 36;
    if (!between) return std::nullopt;
  }
  return result;
}

}  // namespace

std::optional<Int> truncate_to_int(double value) {
  if (!(value >= -kTwoTo127 && value < kTwoTo127)) return std::nullopt;
  return static_cast<Int>(value);
}

std::optional<Int> exact_int(double value) {
  if (std::trunc(value) != value) return std::nullopt;
  return truncate_to_int(value);
}

std::partial_ordering compare_numbers(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return a.as_int() <=> b.as_int();
  if (a.is_float() && b.is_float()) return a.as_double() <=> b.as_double();
  if (a.is_float()) return 0 <=> compare_numbers(b, a);
  const double real = b.as_double();
  if (std::isnan(real)) return std::partial_ordering::unordered;
  if (real >= kTwoTo127) return std::partial_ordering::less;
  if (real < -kTwoTo127) return std::partial_ordering::greater;
  const double whole = std::floor(real);
  const Int floor = static_cast<Int>(whole);
  if (a.as_int() != floor) return a.as_int() <=> floor;
  return whole < real ? std::partial_ordering::less : std::partial_ordering::equivalent;
}

std::string int_to_text(Int value, int base) {
  // 128 binary digits and the sign.
  std::array<char, 130> buffer;
  std::size_t at = buffer.size();
  auto magnitude = static_cast<UInt>(value);
  if (value < 0) magnitude = -magnitude;
  do {
    buffer[--at] = "0123456789abcdefghijklmnopqrstuvwxyz"[static_cast<int>(magnitude % static_cast<unsigned>(base))];
    magnitude /= static_cast<unsigned>(base);
  } while (magnitude != 0);
  if (value < 0) buffer[--at] = '-';
  return std::string(buffer.data() + at, buffer.size() - at);
}

std::string float_to_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 40> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data()));
  // d.ddde±XX, to be laid out as Python does: positional for exponents from -4 to 15.
  const std::size_t e = text.find('e');
  std::string digits;
  for (const char c : text.substr(0, e)) {
    if (c >= '0' && c <= '9') digits += c;
  }
  const int exponent = std::atoi(std::string(text.substr(e + 1)).c_str());
  std::string result = text.front() == '-' ? "-" : "";
  const int count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    result += digits[0];
    if (count > 1) result.append(".").append(digits, 1);
    std::array<char, 16> suffix;
    std::snprintf(suffix.data(), suffix.size(), "e%c%02d", exponent < 0 ? '-' : '+', std::abs(exponent));
    return result + suffix.data();
  }
  if (exponent < 0) return result + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return result + digits + std::string(whole - digits.size(), '0') + ".0";
  return result + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::optional<Int> text_to_int(std::string_view text, int base) {
  if (base != 0 && (base < 2 || base > 36)) return std::nullopt;
  text = strip_space(text);
  bool negative = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text.size() > 1 && text[0] == '0') {
    const char letter = static_cast<char>(text[1] | 0x20);
    const int prefix = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    if (prefix != 0 && (base == 0 || base == prefix)) {
      base = prefix;
      text.remove_prefix(2);
      if (!text.empty() && text[0] == '_') text.remove_prefix(1);
    } else if (base == 0 && text.find_first_not_of("0_") != std::string_view::npos) {
      return std::nullopt;  // "007" is no literal
    }
  }
  if (base == 0) base = 10;
  const std::optional<std::string> digits = without_underscores(text);
  if (!digits || digits->empty()) return std::nullopt;
  Int value = 0;
  for (const char c : *digits) {
    const int digit = digit_value(c);
    if (digit >= base) return std::nullopt;
    if (__builtin_mul_overflow(value, static_cast<Int>(base), &value)) return std::nullopt;
    if (__builtin_sub_overflow(value, static_cast<Int>(digit), &value)) return std::nullopt;  // negative: one more fits
  }
  if (negative) return value;
  if (value == kIntMin) return std::nullopt;
  return -value;
}

std::optional<double> text_to_float(std::string_view text) {
  const std::optional<std::string> digits = without_underscores(strip_space(text));
  if (!digits || digits->empty()) return std::nullopt;
  std::string lower = *digits;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); });
  const std::string_view unsigned_part = std::string_view(lower).substr(lower[0] == '+' || lower[0] == '-' ? 1 : 0);
  const double sign = lower[0] == '-' ? -1.0 : 1.0;
  if (unsigned_part == "inf" || unsigned_part == "infinity") return sign * HUGE_VAL;
  if (unsigned_part == "nan") return std::nan("");
  // strtod takes more than Python does (hexadecimal), and stops where it likes: check the alphabet first.
  if (unsigned_part.empty() || unsigned_part.find_first_not_of("0123456789.e+-") != std::string_view::npos) {
    return std::nullopt;
  }
  if (unsigned_part[0] == '+' || unsigned_part[0] == '-') return std::nullopt;
  // from_chars does not depend on the locale; overflow is told apart from underflow by the exponent's sign.
  double value = 0;
  const auto [end, error] = std::from_chars(unsigned_part.data(), unsigned_part.data() + unsigned_part.size(), value);
  if (error == std::errc::invalid_argument || end != unsigned_part.data() + unsigned_part.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    const std::size_t e = unsigned_part.find('e');
    const bool tiny = e != std::string_view::npos ? unsigned_part.substr(e + 1).starts_with('-')
                                                  : unsigned_part.find_first_not_of("0") > unsigned_part.find('.');
    value = tiny ? 0.0 : HUGE_VAL;
  }
  return sign * value;
}

double round_float(double value, int digits) {
  if (!std::isfinite(value) || digits > 330) return value;
  if (digits < -330) return std::copysign(0.0, value);
  if (digits < 0) {
    const double scale = std::pow(10.0, -digits);
    return std::isinf(scale) ? std::copysign(0.0, value) : std::nearbyint(value / scale) * scale;
  }
  // Decimal conversion is exact in both directions, so printing rounds correctly.
  std::string text(400 + static_cast<std::size_t>(digits), '\0');
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, digits);
  double result = value;
  std::from_chars(text.data(), end.ptr, result);
  return result;
}

}  // namespace sluice::jinja
