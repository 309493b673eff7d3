// Arithmetic, and what + * % mean for text and sequences.
#include <algorithm>
#include <cmath>
#include <string>

#include "tokenizer/template_markup.h"
#include "tokenizer/template_number.h"
#include "tokenizer/template_ops.h"
#include "tokenizer/template_text.h"

namespace sluice::jinja {

namespace {

std::string_view symbol(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd:
      return "+";
    case BinaryOp::kSubtract:
      return "-";
    case BinaryOp::kMultiply:
      return "*";
    case BinaryOp::kDivide:
      return "/";
    case BinaryOp::kFloorDivide:
      return "//";
    case BinaryOp::kModulo:
      return "%";
    case BinaryOp::kPower:
      break;
  }
  return "**";
}

Error overflow() { return limit_error("an integer does not fit into 128 bits"); }

Result<Value> integer_power(Int base, Int exponent) {
  if (exponent < 0) {
    if (base == 0) return runtime_error("0 cannot be raised to a negative power");
    return Value::real(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  Int result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return overflow();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return overflow();
  }
  return Value::integer(result);
}

Result<Value> integer_operation(BinaryOp op, Int a, Int b) {
  Int result = 0;
  switch (op) {
    case BinaryOp::kAdd:
      if (__builtin_add_overflow(a, b, &result)) return overflow();
      return Value::integer(result);
    case BinaryOp::kSubtract:
      if (__builtin_sub_overflow(a, b, &result)) return overflow();
      return Value::integer(result);
    case BinaryOp::kMultiply:
      if (__builtin_mul_overflow(a, b, &result)) return overflow();
      return Value::integer(result);
    case BinaryOp::kPower:
      return integer_power(a, b);
    case BinaryOp::kDivide:
    case BinaryOp::kFloorDivide:
    case BinaryOp::kModulo:
      break;
  }
  if (b == 0) return runtime_error("division by zero");
  if (op == BinaryOp::kDivide) return Value::real(static_cast<double>(a) / static_cast<double>(b));
  if (a == kIntMin && b == -1) return overflow();
  const Int remainder = a % b;
  const bool adjust = remainder != 0 && (remainder < 0) != (b < 0);  // Python rounds down, C++ towards zero
  if (op == BinaryOp::kModulo) return Value::integer(adjust ? remainder + b : remainder);
  return Value::integer(a / b - (adjust ? 1 : 0));
}

Result<Value> float_operation(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::kAdd:
      return Value::real(a + b);
    case BinaryOp::kSubtract:
      return Value::real(a - b);
    case BinaryOp::kMultiply:
      return Value::real(a * b);
    case BinaryOp::kPower: {
      if (a == 0 && b < 0) return runtime_error("0.0 cannot be raised to a negative power");
      if (a < 0 && std::isfinite(b) && std::trunc(b) != b) {
        return runtime_error("a negative number has no real power of " + float_to_text(b));
      }
      const double power = std::pow(a, b);
      if (std::isinf(power) && std::isfinite(a) && std::isfinite(b)) return runtime_error("result too large");
      return Value::real(power);
    }
    case BinaryOp::kDivide:
    case BinaryOp::kFloorDivide:
    case BinaryOp::kModulo:
      break;
  }
  if (b == 0) return runtime_error("float division by zero");
  if (op == BinaryOp::kDivide) return Value::real(a / b);
  // As Python: the remainder has the sign of the divisor, and a == (a // b) * b + a % b as far as rounding lets it be.
  double remainder = std::fmod(a, b);
  double quotient = (a - remainder) / b;
  if (remainder != 0) {
    if ((b < 0) != (remainder < 0)) {
      remainder += b;
      quotient -= 1.0;
    }
  } else {
    remainder = std::copysign(0.0, b);
  }
  if (op == BinaryOp::kModulo) return Value::real(remainder);
  if (quotient == 0) return Value::real(std::copysign(0.0, a / b));
  double floor = std::floor(quotient);
  if (quotient - floor > 0.5) floor += 1.0;
  return Value::real(floor);
}

Result<Value> repeat(Runtime& runtime, const Value& value, Int times) {
  const Int count = std::max<Int>(times, 0);
  const Int unit = static_cast<Int>(value.is_string() ? value.as_string().size() : value.items().size());
  // Both factors fit into 64 bits or the check below stops them.
  if (count > 0 && unit > (Int{1} << 62) / std::min<Int>(count, Int{1} << 62)) {
    return limit_error("a repetition is too long");
  }
  const auto total = static_cast<std::uint64_t>(unit == 0 ? 0 : count * unit);
  if (value.is_string()) {
    SLUICE_TRY(runtime.check_string(total));
    std::string text;
    text.reserve(total);
    while (text.size() < total) text += value.as_string();
    return is_markup(value) ? make_markup(runtime.heap(), std::move(text)) : runtime.string(std::move(text));
  }
  SLUICE_TRY(runtime.check_items(total));
  std::vector<Value> items;
  items.reserve(total);
  while (items.size() < total) items.insert(items.end(), value.items().begin(), value.items().end());
  return value.is_list() ? runtime.list(std::move(items)) : make_tuple(runtime.heap(), std::move(items));
}

Result<Value> concatenate(Runtime& runtime, const Value& a, const Value& b) {
  if (is_markup(a) || is_markup(b)) {
    SLUICE_ASSIGN(std::string text, escaped_str(runtime, a));
    SLUICE_ASSIGN(const std::string right, escaped_str(runtime, b));
    SLUICE_TRY(runtime.check_string(text.size() + right.size()));
    return make_markup(runtime.heap(), std::move(text) + right);
  }
  if (a.is_string()) {
    SLUICE_TRY(runtime.check_string(a.as_string().size() + b.as_string().size()));
    return runtime.string(a.as_string() + b.as_string());
  }
  SLUICE_TRY(runtime.spend(1 + a.items().size() + b.items().size()));
  std::vector<Value> items;
  items.reserve(a.items().size() + b.items().size());
  items = a.items();
  items.insert(items.end(), b.items().begin(), b.items().end());
  return a.is_list() ? runtime.list(std::move(items)) : make_tuple(runtime.heap(), std::move(items));
}

// dict | dict has no operator token in Jinja2 ('|' is the filter), so sequences are all that is left.
bool is_repeatable(const Value& value) { return value.is_string() || value.is_list() || value.is_tuple(); }

}  // namespace

Result<Value> binary(Runtime& runtime, BinaryOp op, const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return integer_operation(op, a.as_int(), b.as_int());
  if (a.is_number() && b.is_number()) return float_operation(op, a.as_double(), b.as_double());
  // "%s" % undefined formats the empty text; every other use of an undefined value is its error.
  if (op == BinaryOp::kModulo && a.is_string()) {
    if (is_markup(a)) {
      SLUICE_ASSIGN(const Value escaped, escape_arguments(runtime, b));
      SLUICE_ASSIGN(std::string text, format_percent(runtime, a.as_string(), escaped));
      return make_markup(runtime.heap(), std::move(text));
    }
    SLUICE_ASSIGN(std::string text, format_percent(runtime, a.as_string(), b));
    return runtime.string(std::move(text));
  }
  SLUICE_TRY(require_defined(a));
  SLUICE_TRY(require_defined(b));
  if (op == BinaryOp::kAdd && a.kind() == b.kind() && is_repeatable(a)) return concatenate(runtime, a, b);
  if (op == BinaryOp::kMultiply) {
    if (is_repeatable(a) && b.is_integral()) return repeat(runtime, a, b.as_int());
    if (is_repeatable(b) && a.is_integral()) return repeat(runtime, b, a.as_int());
  }
  if (op == BinaryOp::kAdd && is_repeatable(a)) {
    const std::string name(type_name(a));
    return runtime_error("can only concatenate " + name + " (not \"" + std::string(type_name(b)) + "\") to " + name);
  }
  return runtime_error("unsupported operand type(s) for " + std::string(symbol(op)) + ": '" +
                       std::string(type_name(a)) + "' and '" + std::string(type_name(b)) + "'");
}

Result<Value> negate(const Value& value) {
  SLUICE_TRY(require_defined(value));
  if (value.is_integral()) {
    if (value.as_int() == kIntMin) return overflow();
    return Value::integer(-value.as_int());
  }
  if (value.is_float()) return Value::real(-value.as_double());
  return runtime_error("bad operand type for unary -: '" + std::string(type_name(value)) + "'");
}

Result<Value> posit(const Value& value) {
  SLUICE_TRY(require_defined(value));
  if (value.is_integral()) return Value::integer(value.as_int());
  if (value.is_float()) return value;
  return runtime_error("bad operand type for unary +: '" + std::string(type_name(value)) + "'");
}

}  // namespace sluice::jinja
