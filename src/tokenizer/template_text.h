// Values as text: Python's str() and repr(), JSON, and the two ways of formatting.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "tokenizer/template_runtime.h"

namespace sluice::jinja {

// Python's str(value); undefined gives the empty text. Errors: kResource for values nested or repeated without end.
Status append_str(Runtime& runtime, const Value& value, std::string& out);
// Python's repr(value). Objects that are no data show without the address that Python prints.
Status append_repr(Runtime& runtime, const Value& value, std::string& out);
Result<std::string> to_str(Runtime& runtime, const Value& value);
// repr of a name in a message.
std::string quote(std::string_view text);

struct JsonFormat {
  bool ensure_ascii = false;
  bool sort_keys = false;
  bool pretty = false;  // `indent` was given: one item a line
  std::string indent;   // text of one level
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};

// Python's json.dumps. Errors: what JSON does not have (undefined values, iterators, NaN is written as Python does).
Status append_json(Runtime& runtime, const Value& value, const JsonFormat& format, std::string& out);
// JSON to values, as Python's json.loads would give them.
Result<Value> from_json(Runtime& runtime, const nlohmann::ordered_json& json);

// text % arguments, where `arguments` is a tuple, a dict, or one value.
Result<std::string> format_percent(Runtime& runtime, std::string_view text, const Value& arguments);
// text.format(...)
Result<std::string> format_braces(Runtime& runtime, std::string_view text, const Args& args);
// format(value, spec): the mini-language behind ':' in a replacement field.
Result<std::string> format_value(Runtime& runtime, const Value& value, std::string_view spec);

}  // namespace sluice::jinja
