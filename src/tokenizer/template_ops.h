// The operators of the language on values, with Python's meaning and Jinja2's rules for undefined values.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/template_runtime.h"
#include "tokenizer/template_value.h"

namespace sluice::jinja {

enum class BinaryOp : std::uint8_t { kAdd, kSubtract, kMultiply, kDivide, kFloorDivide, kModulo, kPower };
enum class CompareOp : std::uint8_t { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kIn, kNotIn };

// Python's name of the type: "str", "int", "NoneType", "list" ...
std::string_view type_name(const Value& value);
// The type as Jinja2 names it in messages: "dict object", "None".
std::string type_description(const Value& value);

// Python's bool(value): what is empty, zero, none or undefined is false.
bool truthy(const Value& value);
// An UndefinedError if the value is undefined.
Status require_defined(const Value& value);

// a == b. Errors: kResource for values nested without end.
Result<bool> equals(Runtime& runtime, const Value& a, const Value& b);
// Any comparison. Errors: order of types that have none.
Result<bool> compare(Runtime& runtime, CompareOp op, const Value& a, const Value& b);
// item in container. Errors: a container that is none.
Result<bool> contains(Runtime& runtime, const Value& container, const Value& item);

Result<Value> binary(Runtime& runtime, BinaryOp op, const Value& a, const Value& b);
Result<Value> negate(const Value& value);
Result<Value> posit(const Value& value);

// len(value)
Result<std::size_t> length(const Value& value);
// Whether length() works.
bool has_length(const Value& value);
bool is_iterable(const Value& value);
// All items: characters, elements, keys. Reads an iterator to its end.
Result<std::vector<Value>> iterate(Runtime& runtime, const Value& value);
// The characters of a string as strings.
Result<std::vector<Value>> characters(Runtime& runtime, const Value& text);

// value.name and value[key] as Jinja2 reads them: an attribute that is not there is looked up as an item and the other
// way round; what is found by neither is undefined. Errors: `value` is itself undefined.
Result<Value> get_attribute(Runtime& runtime, const Value& value, std::string_view name);
Result<Value> get_item(Runtime& runtime, const Value& value, const Value& key);
// value[start:stop:step]; parts that are absent are kMissing or none.
Result<Value> get_slice(Runtime& runtime, const Value& value, const Value& start, const Value& stop, const Value& step);

// The integer an index, a count or a width needs. `what` names it in the error.
Result<Int> require_int(const Value& value, std::string_view what);
// The same, cut off to what a 64-bit size can hold, negative values to 0.
Result<std::size_t> require_size(const Value& value, std::string_view what);

// Whether `key` may be the key of a dict, and the work of looking it up. Errors: unhashable types.
Status require_key(Runtime& runtime, const Value& key);

// Sorts stably by Python's <. With `keys` (as many as values) they are compared in place of the values.
Status sort_values(Runtime& runtime, std::vector<Value>& values, const std::vector<Value>& keys, bool reverse);

}  // namespace sluice::jinja
