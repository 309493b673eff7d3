// format(value, spec), and the fields that all formatting is made of.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "tokenizer/template_number.h"
#include "tokenizer/template_ops.h"
#include "tokenizer/template_spec.h"
#include "tokenizer/template_text.h"
#include "tokenizer/template_unicode.h"

namespace sluice::jinja {

namespace {

constexpr std::size_t kMaxPrecision = 10'000;

// The digits of a finite or infinite |value|, without a sign.
Result<std::string> float_digits(double value, char type, std::optional<std::size_t> precision) {
  const double magnitude = std::fabs(value);
  const bool upper = type == 'F' || type == 'E' || type == 'G';
  if (!std::isfinite(value)) {
    const std::string text = std::isnan(value) ? "nan" : "inf";
    return upper ? to_upper(text) : text;
  }
  if (type == 0 && !precision) return float_to_text(magnitude);
  const std::size_t digits = precision.value_or(6);
  if (digits > kMaxPrecision) return limit_error("a precision of " + std::to_string(digits) + " is too large");
  const char lower = static_cast<char>(type | 0x20);
  const auto format = lower == 'f' || type == '%' ? std::chars_format::fixed
                      : lower == 'e'              ? std::chars_format::scientific
                                                  : std::chars_format::general;
  std::string text(digits + 330, '\0');
  const auto end = std::to_chars(text.data(), text.data() + text.size(), type == '%' ? magnitude * 100 : magnitude,
                                 format, static_cast<int>(digits));
  text.resize(static_cast<std::size_t>(end.ptr - text.data()));
  if (type == 0 && text.find_first_of(".e") == std::string::npos) text += ".0";
  if (type == '%') text += '%';
  return upper ? to_upper(text) : text;
}

std::string group_digits(const std::string& digits, char separator, std::size_t size) {
  std::string result;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % size == 0) result += separator;
    result += digits[i];
  }
  return result;
}

std::string sign_text(bool negative, char sign) {
  if (negative) return "-";
  return sign == '-' ? "" : std::string(1, sign);
}

// Sign, prefix and digits with the padding where it belongs. `whole` is the part that grouping applies to.
Result<std::string> assemble(Runtime& runtime, const std::string& prefix, std::string whole, const std::string& rest,
                             const Spec& spec) {
  const char align = spec.align == 0 ? '>' : spec.align;
  const std::size_t fixed = prefix.size() + rest.size();
  const bool zeros = align == '=' && spec.fill == "0";
  if (spec.grouping != 0) {
    const std::size_t size = spec.type == 'x' || spec.type == 'X' || spec.type == 'b' || spec.type == 'o' ? 4 : 3;
    SLUICE_TRY(runtime.check_string(spec.width + fixed));
    std::string grouped = group_digits(whole, spec.grouping, size);
    if (zeros && spec.width > fixed + grouped.size()) {
      // Zeros are grouped too; one more than fits if a separator would come first.
      const std::size_t room = spec.width - fixed;
      const std::size_t digits = room - room / (size + 1);
      whole.insert(0, digits - whole.size(), '0');
      grouped = group_digits(whole, spec.grouping, size);
    }
    whole = std::move(grouped);
  }
  if (align != '=') return pad(runtime, prefix + whole + rest, spec, align);
  Spec inner = spec;
  inner.width = spec.width > prefix.size() ? spec.width - prefix.size() : 0;
  SLUICE_ASSIGN(std::string padded, pad(runtime, whole + rest, inner, '>'));
  return prefix + padded;
}

Result<Spec> parse_spec(Runtime& runtime, std::string_view text) {
  Spec spec;
  std::size_t at = 0;
  const auto is_align = [&](std::size_t i) {
    return i < text.size() && std::string_view("<>^=").find(text[i]) != std::string_view::npos;
  };
  if (!text.empty()) {
    const std::size_t first = decode_at(text, 0).size;
    if (is_align(first)) {
      spec.fill = std::string(text.substr(0, first));
      spec.align = text[first];
      at = first + 1;
    } else if (is_align(0)) {
      spec.align = text[at++];
    }
  }
  if (at < text.size() && (text[at] == '+' || text[at] == '-' || text[at] == ' ')) spec.sign = text[at++];
  if (at < text.size() && text[at] == '#') spec.alternate = ++at != 0;
  if (at < text.size() && text[at] == '0') {
    if (spec.align == 0) {
      spec.fill = "0";
      spec.align = '=';
    }
    ++at;
  }
  SLUICE_TRY(read_number(runtime, text, at, spec.width));
  if (at < text.size() && (text[at] == ',' || text[at] == '_')) spec.grouping = text[at++];
  if (at < text.size() && text[at] == '.') {
    ++at;
    std::size_t precision = 0;
    const std::size_t before = at;
    SLUICE_TRY(read_number(runtime, text, at, precision));
    if (at == before) return runtime_error("Format specifier missing precision");
    spec.precision = precision;
  }
  if (at < text.size()) spec.type = text[at++];
  if (at != text.size()) return runtime_error("Invalid format specifier " + quote(text));
  return spec;
}

Error unknown_type(char type, const Value& value) {
  return runtime_error("Unknown format code '" + std::string(1, type) + "' for object of type '" +
                       std::string(type_name(value)) + "'");
}

}  // namespace

Status read_number(Runtime& runtime, std::string_view text, std::size_t& at, std::size_t& number) {
  number = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    number = number * 10 + static_cast<std::size_t>(text[at++] - '0');
    SLUICE_TRY(runtime.check_string(number));
  }
  return {};
}

Result<std::string> pad(Runtime& runtime, std::string text, const Spec& spec, char align) {
  const std::size_t size = count_code_points(text);
  if (size >= spec.width) return text;
  const std::size_t missing = spec.width - size;
  SLUICE_TRY(runtime.check_string(text.size() + missing * spec.fill.size()));
  const std::size_t left = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  std::string result;
  for (std::size_t i = 0; i < left; ++i) result += spec.fill;
  result += text;
  for (std::size_t i = left; i < missing; ++i) result += spec.fill;
  return result;
}

Result<std::string> format_int(Runtime& runtime, Int value, const Spec& spec) {
  const int base = spec.type == 'x' || spec.type == 'X' ? 16 : spec.type == 'o' ? 8 : spec.type == 'b' ? 2 : 10;
  std::string digits = int_to_text(value, base);
  if (value < 0) digits.erase(0, 1);
  if (spec.type == 'X') digits = to_upper(digits);
  std::string prefix = sign_text(value < 0, spec.sign);
  if (spec.alternate && base != 10) prefix.append("0").append(1, spec.type);
  return assemble(runtime, prefix, std::move(digits), "", spec);
}

Result<std::string> format_float(Runtime& runtime, double value, const Spec& spec) {
  SLUICE_TRY(runtime.spend(1 + spec.precision.value_or(0) / 8));
  SLUICE_ASSIGN(const std::string digits, float_digits(value, spec.type == 'n' ? 'g' : spec.type, spec.precision));
  std::size_t whole = 0;
  while (whole < digits.size() && digits[whole] >= '0' && digits[whole] <= '9') ++whole;
  return assemble(runtime, sign_text(std::signbit(value) && !std::isnan(value), spec.sign), digits.substr(0, whole),
                  digits.substr(whole), spec);
}

std::string escape_non_ascii(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_at(text, at);
    if (c.value < 0x80) {
      out += text[at];
    } else {
      const std::string digits = int_to_text(static_cast<Int>(c.value == kInvalid ? 0xFFFD : c.value), 16);
      const std::size_t size = digits.size() <= 2 ? 2 : digits.size() <= 4 ? 4 : 8;
      out += size == 2 ? "\\x" : size == 4 ? "\\u" : "\\U";
      out.append(size - digits.size(), '0').append(digits);
    }
    at += c.size;
  }
  return out;
}

Result<std::string> format_value(Runtime& runtime, const Value& value, std::string_view text) {
  if (text.empty()) return to_str(runtime, value);
  SLUICE_ASSIGN(const Spec spec, parse_spec(runtime, text));
  if (value.is_string()) {
    if (spec.type != 0 && spec.type != 's') return unknown_type(spec.type, value);
    if (spec.sign != '-') return runtime_error("Sign not allowed in string format specifier");
    if (spec.align == '=' && spec.fill != "0") {
      return runtime_error("'=' alignment not allowed in string format specifier");
    }
    std::string result = value.as_string();
    if (spec.precision) result.resize(byte_offset(result, *spec.precision));
    return pad(runtime, std::move(result), spec, spec.align == 0 || spec.align == '=' ? '<' : spec.align);
  }
  const bool float_type = spec.type != 0 && std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos;
  if (value.is_integral() && !float_type) {
    if (spec.type == 'c') {
      std::string character;
      append_code_point(character, static_cast<char32_t>(std::clamp<Int>(value.as_int(), 0, 0x110000)));
      return pad(runtime, std::move(character), spec, spec.align == 0 ? '<' : spec.align);
    }
    if (spec.type != 0 && std::string_view("dnxXob").find(spec.type) == std::string_view::npos) {
      return unknown_type(spec.type, value);
    }
    if (spec.precision) return runtime_error("Precision not allowed in integer format specifier");
    return format_int(runtime, value.as_int(), spec);
  }
  if (value.is_number()) {
    if (spec.type != 0 && spec.type != 'n' && !float_type) return unknown_type(spec.type, value);
    return format_float(runtime, value.as_double(), spec);
  }
  return runtime_error("unsupported format string passed to " + std::string(type_name(value)) + ".__format__");
}

}  // namespace sluice::jinja
