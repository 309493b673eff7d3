#include "tokenizer/template_markup.h"

#include "tokenizer/template_ops.h"
#include "tokenizer/template_text.h"

namespace sluice::jinja {

namespace {

Value marked(Runtime& runtime, const Value& value) {
  return value.is_string() ? make_markup(runtime.heap(), value.as_string()) : value;
}

// A string or each string of a sequence.
Value mark_result(Runtime& runtime, const Value& result) {
  if (!result.is_list() && !result.is_tuple()) return marked(runtime, result);
  std::vector<Value> items;
  for (const Value& item : result.items()) items.push_back(marked(runtime, item));
  return result.is_list() ? runtime.list(std::move(items)) : make_tuple(runtime.heap(), std::move(items));
}

Result<Value> escape_argument(Runtime& runtime, const Value& value) {
  if (value.is_number()) return value;
  SLUICE_ASSIGN(std::string text, escaped_str(runtime, value));
  return make_markup(runtime.heap(), std::move(text));
}

Result<Value> escape_items(Runtime& runtime, const Value& iterable) {
  SLUICE_ASSIGN(std::vector<Value> items, iterate(runtime, iterable));
  for (Value& item : items) {
    SLUICE_ASSIGN(std::string text, escaped_str(runtime, item));
    item = make_markup(runtime.heap(), std::move(text));
  }
  return make_tuple(runtime.heap(), std::move(items));
}

}  // namespace

bool is_markup(const Value& value) { return value.is_string() && value.as_string_object().is_markup; }

Value make_markup(Heap& heap, std::string text) {
  Value value = make_string(heap, std::move(text));
  value.as_string_object().is_markup = true;
  return value;
}

std::string escape_html(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '\'':
        result += "&#39;";
        break;
      case '"':
        result += "&#34;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

Result<std::string> escaped_str(Runtime& runtime, const Value& value) {
  SLUICE_ASSIGN(std::string text, to_str(runtime, value));
  if (is_markup(value)) return text;
  text = escape_html(text);
  SLUICE_TRY(runtime.check_string(text.size()));
  return text;
}

Result<Value> escape_arguments(Runtime& runtime, const Value& arguments) {
  if (arguments.is_tuple()) {
    std::vector<Value> items;
    for (const Value& item : arguments.items()) {
      SLUICE_ASSIGN(Value escaped, escape_argument(runtime, item));
      items.push_back(std::move(escaped));
    }
    return make_tuple(runtime.heap(), std::move(items));
  }
  if (!arguments.is_dict()) return escape_argument(runtime, arguments);
  const Ref<DictObject> dict = runtime.heap().make<DictObject>();
  for (const auto& [key, value] : arguments.as_dict().entries()) {
    SLUICE_ASSIGN(Value escaped, escape_argument(runtime, value));
    dict->set(key, std::move(escaped));
  }
  return Value::object(Kind::kDict, dict.get());
}

Result<Value> call_method(Runtime& runtime, const NativeEntry& method, const Value& self, const Args& args) {
  if (!is_markup(self)) return method.function(runtime, self, args);
  Args escaped = args;
  if (method.name == "join" && !args.positional.empty()) {
    SLUICE_ASSIGN(escaped.positional[0], escape_items(runtime, args.positional[0]));
  } else if (method.name == "replace" && args.positional.size() >= 2) {
    SLUICE_ASSIGN(escaped.positional[1], escape_argument(runtime, args.positional[1]));
  } else if (method.name == "format") {
    for (Value& value : escaped.positional) {
      SLUICE_ASSIGN(value, escape_argument(runtime, value));
    }
    for (auto& named : escaped.named) {
      SLUICE_ASSIGN(named.second, escape_argument(runtime, named.second));
    }
  }
  SLUICE_ASSIGN(const Value result, method.function(runtime, self, escaped));
  return mark_result(runtime, result);
}

}  // namespace sluice::jinja
