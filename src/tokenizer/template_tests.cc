// The tests behind `is`.
#include "tokenizer/template_builtins.h"
#include "tokenizer/template_markup.h"
#include "tokenizer/template_ops.h"
#include "tokenizer/template_text.h"

namespace sluice::jinja {

namespace {

// A test that only looks at the value.
template <bool (*kHolds)(const Value&)>
Result<Value> test_value(Runtime&, const Value& self, const Args& args) {
  SLUICE_TRY(bind_none("the test", args));
  return Value::boolean(kHolds(self));
}

bool holds_defined(const Value& value) { return !value.is_undefined(); }
bool holds_undefined(const Value& value) { return value.is_undefined(); }
bool holds_none(const Value& value) { return value.is_none(); }
bool holds_boolean(const Value& value) { return value.is_bool(); }
bool holds_true(const Value& value) { return value.is_bool() && value.as_bool(); }
bool holds_false(const Value& value) { return value.is_bool() && !value.as_bool(); }
bool holds_integer(const Value& value) { return value.is_int(); }
bool holds_float(const Value& value) { return value.is_float(); }
bool holds_number(const Value& value) { return value.is_number(); }
bool holds_string(const Value& value) { return value.is_string(); }
bool holds_mapping(const Value& value) { return value.is_dict(); }
bool holds_iterable(const Value& value) { return is_iterable(value); }
// What has a length and can be subscripted: a dict is one, a view of it is not, and Undefined is.
bool holds_sequence(const Value& value) { return has_length(value) && value.kind() != Kind::kDictView; }
bool holds_callable(const Value& value) {
  return value.is_undefined() || (value.is_host() && value.as_host().callable());
}
bool holds_escaped(const Value& value) { return is_markup(value); }

template <CompareOp kOp>
Result<Value> test_compare(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("the test", args, {"other"}, 1));
  SLUICE_ASSIGN(const bool result, compare(runtime, kOp, self, bound[0]));
  return Value::boolean(result);
}

Result<Value> test_sameas(Runtime&, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("sameas", args, {"other"}, 1));
  return Value::boolean(self.same_as(bound[0]));
}

// value % divisor == remainder
Result<Value> remainder_is(Runtime& runtime, const Value& value, const Value& divisor, Int remainder) {
  SLUICE_ASSIGN(const Value rest, binary(runtime, BinaryOp::kModulo, value, divisor));
  SLUICE_ASSIGN(const bool same, equals(runtime, rest, Value::integer(remainder)));
  return Value::boolean(same);
}

template <int kRemainder>
Result<Value> test_parity(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_TRY(bind_none("the test", args));
  return remainder_is(runtime, self, Value::integer(2), kRemainder);
}

Result<Value> test_divisibleby(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("divisibleby", args, {"num"}, 1));
  return remainder_is(runtime, self, bound[0], 0);
}

template <const char* kMethod>
Result<Value> test_case(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(std::string text, to_str(runtime, self));
  const Value subject = runtime.string(std::move(text));
  return find_method(subject, kMethod)->function(runtime, subject, args);
}
constexpr char kIsLower[] = "islower";
constexpr char kIsUpper[] = "isupper";

template <const NativeEntry* (*kFind)(std::string_view)>
Result<Value> test_exists(Runtime&, const Value& self, const Args& args) {
  SLUICE_TRY(bind_none("the test", args));
  return Value::boolean(self.is_string() && kFind(self.as_string()) != nullptr);
}

constexpr NativeEntry kTests[] = {
    {"defined", test_value<holds_defined>},
    {"undefined", test_value<holds_undefined>},
    {"none", test_value<holds_none>},
    {"string", test_value<holds_string>},
    {"mapping", test_value<holds_mapping>},
    {"iterable", test_value<holds_iterable>},
    {"sequence", test_value<holds_sequence>},
    {"number", test_value<holds_number>},
    {"integer", test_value<holds_integer>},
    {"float", test_value<holds_float>},
    {"boolean", test_value<holds_boolean>},
    {"true", test_value<holds_true>},
    {"false", test_value<holds_false>},
    {"callable", test_value<holds_callable>},
    {"escaped", test_value<holds_escaped>},
    {"sameas", test_sameas},
    {"odd", test_parity<1>},
    {"even", test_parity<0>},
    {"divisibleby", test_divisibleby},
    {"lower", test_case<kIsLower>},
    {"upper", test_case<kIsUpper>},
    {"filter", test_exists<find_filter>},
    {"test", test_exists<find_test>},
    {"in", test_compare<CompareOp::kIn>},
    {"==", test_compare<CompareOp::kEqual>},
    {"eq", test_compare<CompareOp::kEqual>},
    {"equalto", test_compare<CompareOp::kEqual>},
    {"!=", test_compare<CompareOp::kNotEqual>},
    {"ne", test_compare<CompareOp::kNotEqual>},
    {">", test_compare<CompareOp::kGreater>},
    {"gt", test_compare<CompareOp::kGreater>},
    {"greaterthan", test_compare<CompareOp::kGreater>},
    {">=", test_compare<CompareOp::kGreaterEqual>},
    {"ge", test_compare<CompareOp::kGreaterEqual>},
    {"<", test_compare<CompareOp::kLess>},
    {"lt", test_compare<CompareOp::kLess>},
    {"lessthan", test_compare<CompareOp::kLess>},
    {"<=", test_compare<CompareOp::kLessEqual>},
    {"le", test_compare<CompareOp::kLessEqual>},
};

}  // namespace

std::span<const NativeEntry> native_tests() { return kTests; }

}  // namespace sluice::jinja
