// JSON out of values (Python's json.dumps, which the tojson of chat templates is) and values out of JSON.
#include <fmt/format.h>

#include "tokenizer/template_number.h"
#include "tokenizer/template_ops.h"
#include "tokenizer/template_text.h"
#include "tokenizer/template_unicode.h"

namespace sluice::jinja {

namespace {

void append_unit(std::string& out, std::uint32_t unit) { fmt::format_to(std::back_inserter(out), "\\u{:04x}", unit); }

void append_json_string(std::string_view text, bool ensure_ascii, std::string& out) {
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_at(text, at);
    switch (c.value) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\b':
        out += "\\b";
        break;
      default: {
        const auto number = static_cast<std::uint32_t>(c.value);
        if (c.value == kInvalid) {
          ensure_ascii ? append_unit(out, 0xFFFD) : append_code_point(out, 0xFFFD);
        } else if (number < 0x20 || (ensure_ascii && number > 0x7E && number < 0x10000)) {
          append_unit(out, number);
        } else if (ensure_ascii && number >= 0x10000) {
          append_unit(out, 0xD800 + ((number - 0x10000) >> 10U));
          append_unit(out, 0xDC00 + ((number - 0x10000) & 0x3FFU));
        } else {
          out.append(text, at, c.size);
        }
      }
    }
    at += c.size;
  }
  out += '"';
}

std::string json_float(double value) {
  if (value != value) return "NaN";
  const std::string text = float_to_text(value);
  if (text == "inf") return "Infinity";
  return text == "-inf" ? "-Infinity" : text;
}

class JsonWriter {
 public:
  JsonWriter(Runtime& runtime, const JsonFormat& format, std::string& out)
      : runtime_(runtime), format_(format), out_(out) {}

  Status write(const Value& value) {
    SLUICE_TRY(runtime_.spend());
    if (out_.size() > runtime_.limits().max_string) return runtime_.check_string(out_.size());
    switch (value.kind()) {
      case Kind::kNone:
        out_ += "null";
        return {};
      case Kind::kBool:
        out_ += value.as_bool() ? "true" : "false";
        return {};
      case Kind::kInt:
        out_ += int_to_text(value.as_int());
        return {};
      case Kind::kFloat:
        out_ += json_float(value.as_double());
        return {};
      case Kind::kString:
        SLUICE_TRY(runtime_.spend_bytes(value.as_string().size()));
        append_json_string(value.as_string(), format_.ensure_ascii, out_);
        return {};
      case Kind::kList:
      case Kind::kTuple:
        return write_items(value.items());
      case Kind::kDict:
        return write_dict(value.as_dict());
      default:
        return runtime_error("Object of type " + std::string(type_name(value)) + " is not JSON serializable");
    }
  }

 private:
  // Before item `i` of a container whose items stand at `level`.
  Status separate(std::size_t i, std::size_t level) {
    if (i > 0) out_ += format_.item_separator;
    return break_line(level);
  }
  Status break_line(std::size_t level) {
    if (!format_.pretty) return {};
    SLUICE_TRY(runtime_.check_string(out_.size() + level * format_.indent.size()));
    out_ += '\n';
    for (std::size_t i = 0; i < level; ++i) out_ += format_.indent;
    return {};
  }

  Status write_items(const std::vector<Value>& items) {
    if (items.empty()) {
      out_ += "[]";
      return {};
    }
    const DepthGuard depth(runtime_, kLevelsOfData);
    SLUICE_TRY(depth.status());
    out_ += '[';
    ++level_;
    for (std::size_t i = 0; i < items.size(); ++i) {
      SLUICE_TRY(separate(i, level_));
      SLUICE_TRY(write(items[i]));
    }
    --level_;
    SLUICE_TRY(break_line(level_));
    out_ += ']';
    return {};
  }

  Status write_dict(DictObject& dict) {
    if (dict.size() == 0) {
      out_ += "{}";
      return {};
    }
    const DepthGuard depth(runtime_, kLevelsOfData);
    SLUICE_TRY(depth.status());
    out_ += '{';
    ++level_;
    if (format_.sort_keys) {
      SLUICE_TRY(write_sorted(dict));
    } else {
      std::size_t i = 0;
      for (const auto& [key, value] : dict.entries()) SLUICE_TRY(write_entry(i++, key, value));
    }
    --level_;
    SLUICE_TRY(break_line(level_));
    out_ += '}';
    return {};
  }

  Status write_sorted(DictObject& dict) {
    std::vector<Value> keys;
    for (const auto& entry : dict.entries()) keys.push_back(entry.first);
    std::vector<Value> order = keys;
    SLUICE_TRY(sort_values(runtime_, keys, order, false));
    for (std::size_t i = 0; i < keys.size(); ++i) SLUICE_TRY(write_entry(i, keys[i], *dict.find(keys[i])));
    return {};
  }

  Status write_entry(std::size_t i, const Value& key, const Value& value) {
    SLUICE_TRY(separate(i, level_));
    switch (key.kind()) {
      case Kind::kString:
        SLUICE_TRY(write(key));
        break;
      case Kind::kNone:
      case Kind::kBool:
      case Kind::kInt:
      case Kind::kFloat:
        out_ += '"';
        SLUICE_TRY(write(key));
        out_ += '"';
        break;
      default:
        return runtime_error("keys must be str, int, float, bool or None, not " + std::string(type_name(key)));
    }
    out_ += format_.key_separator;
    return write(value);
  }

  Runtime& runtime_;
  const JsonFormat& format_;
  std::string& out_;
  std::size_t level_ = 0;
};

}  // namespace

Status append_json(Runtime& runtime, const Value& value, const JsonFormat& format, std::string& out) {
  return JsonWriter(runtime, format, out).write(value);
}

Result<Value> from_json(Runtime& runtime, const nlohmann::ordered_json& json) {
  using Type = nlohmann::ordered_json::value_t;
  SLUICE_TRY(runtime.spend());
  switch (json.type()) {
    case Type::null:
      return Value::none();
    case Type::boolean:
      return Value::boolean(json.get<bool>());
    case Type::number_integer:
      return Value::integer(json.get<std::int64_t>());
    case Type::number_unsigned:
      return Value::integer(json.get<std::uint64_t>());
    case Type::number_float:
      return Value::real(json.get<double>());
    case Type::string: {
      const std::string& text = json.get_ref<const std::string&>();
      SLUICE_TRY(runtime.check_string(text.size()));
      return runtime.string(text);
    }
    case Type::array:
    case Type::object:
      break;
    case Type::binary:
    case Type::discarded:
      return runtime_error("a variable of the template holds something that JSON does not have");
  }
  const DepthGuard depth(runtime, kLevelsOfData);
  SLUICE_TRY(depth.status());
  if (json.is_array()) {
    std::vector<Value> items;
    items.reserve(json.size());
    for (const auto& item : json) {
      SLUICE_ASSIGN(Value value, from_json(runtime, item));
      items.push_back(std::move(value));
    }
    return runtime.list(std::move(items));
  }
  const Ref<DictObject> dict = runtime.heap().make<DictObject>();
  for (const auto& [key, item] : json.get_ref<const nlohmann::ordered_json::object_t&>()) {
    SLUICE_ASSIGN(Value value, from_json(runtime, item));
    dict->set(runtime.string(key), std::move(value));
  }
  return Value::object(Kind::kDict, dict.get());
}

}  // namespace sluice::jinja
