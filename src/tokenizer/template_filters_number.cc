// Filters on numbers, and default.
#include <fmt/format.h>

#include <cmath>

#include "tokenizer/template_builtins.h"
#include "tokenizer/template_number.h"
#include "tokenizer/template_ops.h"
#include "tokenizer/template_text.h"

namespace sluice::jinja {

namespace {

Result<Value> filter_default(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("default", args, {"default_value", "boolean"}));
  const bool absent = self.is_undefined() || (truthy(bound[1]) && !truthy(self));
  if (!absent) return self;
  return bound[0].is_missing() ? runtime.string("") : bound[0];
}

Result<Value> filter_int(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("int", args, {"default", "base"}));
  SLUICE_TRY(require_defined(self));
  const Value otherwise = bound[0].is_missing() ? Value::integer(0) : bound[0];
  std::optional<Int> number;
  std::optional<double> real;
  if (self.is_integral()) {
    number = self.as_int();
  } else if (self.is_float()) {
    real = self.as_double();
  } else if (self.is_string()) {
    Int base = 10;
    if (!bound[1].is_missing()) {
      SLUICE_ASSIGN(base, require_int(bound[1], "the base of int"));
    }
    SLUICE_TRY(runtime.spend_bytes(self.as_string().size()));
    if (base == 0 || (base >= 2 && base <= 36)) number = text_to_int(self.as_string(), static_cast<int>(base));
    if (!number) real = text_to_float(self.as_string());
  }
  if (!number && real) number = truncate_to_int(*real);
  return number ? Value::integer(*number) : otherwise;
}

Result<Value> filter_float(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("float", args, {"default"}));
  SLUICE_TRY(require_defined(self));
  if (self.is_number()) return Value::real(self.as_double());
  if (self.is_string()) {
    SLUICE_TRY(runtime.spend_bytes(self.as_string().size()));
    if (const std::optional<double> number = text_to_float(self.as_string())) return Value::real(*number);
  }
  return bound[0].is_missing() ? Value::real(0.0) : bound[0];
}

Result<Value> filter_abs(Runtime&, const Value& self, const Args& args) {
  SLUICE_TRY(bind_none("abs", args));
  SLUICE_TRY(require_defined(self));
  if (self.is_float()) return Value::real(std::fabs(self.as_double()));
  if (!self.is_integral()) return runtime_error("bad operand type for abs(): '" + std::string(type_name(self)) + "'");
  return self.as_int() < 0 ? negate(self) : Value::integer(self.as_int());
}

// Integers round to tens, hundreds ... with ties to the even one.
Value round_int(Int value, Int digits) {
  if (digits >= 0) return Value::integer(value);
  Int scale = 1;
  for (Int i = digits; i < 0; ++i) {
    if (__builtin_mul_overflow(scale, Int{10}, &scale)) return Value::integer(0);
  }
  Int quotient = value / scale;
  Int remainder = value % scale;
  if (remainder < 0) {
    remainder += scale;
    --quotient;
  }
  const Int rest = scale - remainder;
  if (remainder > rest || (remainder == rest && (quotient & 1) != 0)) ++quotient;
  Int result = 0;
  return Value::integer(__builtin_mul_overflow(quotient, scale, &result) ? value : result);
}

Result<Value> filter_round(Runtime&, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("round", args, {"precision", "method"}));
  SLUICE_TRY(require_defined(self));
  std::string method = "common";
  if (!bound[1].is_missing()) {
    if (!bound[1].is_string()) return runtime_error("method must be common, ceil or floor");
    method = bound[1].as_string();
  }
  if (method != "common" && method != "ceil" && method != "floor") {
    return runtime_error("method must be common, ceil or floor");
  }
  if (!self.is_number()) return runtime_error("round needs a number, not '" + std::string(type_name(self)) + "'");
  Int digits = 0;
  if (!bound[0].is_missing()) {
    SLUICE_ASSIGN(digits, require_int(bound[0], "the precision of round"));
  }
  digits = std::clamp<Int>(digits, -400, 400);
  if (method == "common") {
    if (self.is_integral()) return round_int(self.as_int(), digits);
    return Value::real(round_float(self.as_double(), static_cast<int>(digits)));
  }
  const double scale = std::pow(10.0, static_cast<double>(digits));
  const double scaled = self.as_double() * scale;
  const double whole = method == "ceil" ? std::ceil(scaled) : std::floor(scaled);
  if (!std::isfinite(whole) || scale == 0) return runtime_error("the number can't be rounded to that precision");
  return Value::real(whole / scale);
}

Result<Value> filter_filesizeformat(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("filesizeformat", args, {"binary"}));
  SLUICE_TRY(require_defined(self));
  std::optional<double> bytes;
  if (self.is_number()) bytes = self.as_double();
  if (self.is_string()) bytes = text_to_float(self.as_string());
  if (!bytes) return runtime_error("filesizeformat needs a number");
  const bool binary = truthy(bound[0]);
  const double base = binary ? 1024 : 1000;
  if (*bytes == 1) return runtime.string("1 Byte");
  if (*bytes < base) return runtime.string(fmt::format("{} Bytes", std::trunc(*bytes)));
  double unit = base;
  std::size_t prefix = 0;
  constexpr std::string_view kPrefixes = "kMGTPEZY";
  while (prefix + 1 < kPrefixes.size() && *bytes >= unit * base) {
    unit *= base;
    ++prefix;
  }
  const char letter = binary && prefix == 0 ? 'K' : kPrefixes[prefix];
  return runtime.string(fmt::format("{:.1f} {}{}", *bytes / unit, letter, binary ? "iB" : "B"));
}

constexpr NativeEntry kFilters[] = {
    {"default", filter_default},
    {"d", filter_default},
    {"int", filter_int},
    {"float", filter_float},
    {"abs", filter_abs},
    {"round", filter_round},
    {"filesizeformat", filter_filesizeformat},
};

}  // namespace

std::span<const NativeEntry> number_filters() { return kFilters; }

}  // namespace sluice::jinja
