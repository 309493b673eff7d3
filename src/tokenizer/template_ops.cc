#include "tokenizer/template_ops.h"

#include <algorithm>

#include "tokenizer/template_builtins.h"
#include "tokenizer/template_markup.h"
#include "tokenizer/template_text.h"
#include "tokenizer/template_unicode.h"

namespace sluice::jinja {

std::string_view type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::kMissing:
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return "str";
    case Kind::kList:
      return "list";
    case Kind::kTuple:
      return "tuple";
    case Kind::kDict:
      return "dict";
    case Kind::kNamespace:
      return "Namespace";
    case Kind::kDictView:
      switch (value.as_view().part) {
        case ViewPart::kKeys:
          return "dict_keys";
        case ViewPart::kValues:
          return "dict_values";
        case ViewPart::kItems:
          break;
      }
      return "dict_items";
    case Kind::kRange:
      return "range";
    case Kind::kIterator:
      return value.as_iterator().type_name;
    case Kind::kHost:
      break;
  }
  return value.as_host().type_name();
}

std::string type_description(const Value& value) {
  if (value.is_none()) return "None";
  return std::string(type_name(value)) + " object";
}

bool truthy(const Value& value) {
  switch (value.kind()) {
    case Kind::kMissing:
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
    case Kind::kInt:
      return value.as_int() != 0;
    case Kind::kFloat:
      return value.as_double() != 0;
    case Kind::kString:
      return !value.as_string().empty();
    case Kind::kList:
    case Kind::kTuple:
      return !value.items().empty();
    case Kind::kDict:
      return value.as_dict().size() != 0;
    case Kind::kDictView:
      return value.as_view().dict->size() != 0;
    case Kind::kRange:
      return value.as_range().count != 0;
    case Kind::kNamespace:
    case Kind::kIterator:
    case Kind::kHost:
      break;
  }
  return true;
}

Status require_defined(const Value& value) {
  if (value.is_undefined()) return runtime_error(value.as_string());
  return {};
}

bool has_length(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kString:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kDictView:
    case Kind::kRange:
      return true;
    default:
      return false;
  }
}

Result<std::size_t> length(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return std::size_t{0};
    case Kind::kString:
      return value.as_string_object().length();
    case Kind::kList:
    case Kind::kTuple:
      return value.items().size();
    case Kind::kDict:
      return value.as_dict().size();
    case Kind::kDictView:
      return value.as_view().dict->size();
    case Kind::kRange:
      return static_cast<std::size_t>(value.as_range().count);
    default:
      return runtime_error("object of type '" + std::string(type_name(value)) + "' has no length");
  }
}

bool is_iterable(const Value& value) { return has_length(value) || value.kind() == Kind::kIterator; }

Result<std::vector<Value>> characters(Runtime& runtime, const Value& text) {
  const std::string& bytes = text.as_string();
  SLUICE_TRY(runtime.spend(bytes.size()));
  std::vector<Value> result;
  result.reserve(text.as_string_object().length());
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t size = decode_at(bytes, at).size;
    result.push_back(runtime.string(bytes.substr(at, size)));
    if ((result.size() & 0xFFFU) == 0) SLUICE_TRY(runtime.spend());  // each is an object: watch the memory
    at += size;
  }
  return result;
}

Result<std::vector<Value>> iterate(Runtime& runtime, const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return std::vector<Value>{};
    case Kind::kString:
      return characters(runtime, value);
    case Kind::kList:
    case Kind::kTuple:
      SLUICE_TRY(runtime.spend(1 + value.items().size()));
      return value.items();
    case Kind::kDict: {
      SLUICE_TRY(runtime.spend(1 + value.as_dict().size()));
      std::vector<Value> keys;
      keys.reserve(value.as_dict().size());
      for (const auto& entry : value.as_dict().entries()) keys.push_back(entry.first);
      return keys;
    }
    case Kind::kDictView: {
      const DictViewObject& view = value.as_view();
      SLUICE_TRY(runtime.spend(1 + view.dict->size()));
      std::vector<Value> items;
      items.reserve(view.dict->size());
      for (std::size_t i = 0; i < view.dict->size(); ++i) items.push_back(view.at(i));
      return items;
    }
    case Kind::kRange: {
      const RangeObject& range = value.as_range();
      SLUICE_TRY(runtime.spend(1 + static_cast<std::uint64_t>(range.count)));
      std::vector<Value> items;
      items.reserve(static_cast<std::size_t>(range.count));
      for (Int i = 0; i < range.count; ++i) items.push_back(Value::integer(range.at(i)));
      return items;
    }
    case Kind::kIterator: {
      IteratorObject& iterator = value.as_iterator();
      SLUICE_TRY(runtime.spend(1 + iterator.items.size()));
      std::vector<Value> items = std::move(iterator.items);
      items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(iterator.next));
      iterator.items.clear();
      iterator.next = 0;
      if (iterator.error) return *iterator.error;
      return items;
    }
    default:
      return runtime_error("'" + std::string(type_name(value)) + "' object is not iterable");
  }
}

namespace {

// A part of a string: marked as the whole is.
Value substring(Runtime& runtime, const Value& whole, std::string part) {
  return is_markup(whole) ? make_markup(runtime.heap(), std::move(part)) : runtime.string(std::move(part));
}

// The item of a sequence at a Python index, or kMissing.
Value item_at(Runtime& runtime, const Value& value, Int index) {
  const Int size = static_cast<Int>(length(value).value());
  if (index < 0) index += size;
  if (index < 0 || index >= size) return {};
  const auto i = static_cast<std::size_t>(index);
  if (value.kind() == Kind::kRange) return Value::integer(value.as_range().at(index));
  if (!value.is_string()) return value.items()[i];
  const std::string& text = value.as_string();
  const std::size_t at = value.as_string_object().is_ascii() ? i : byte_offset(text, i);
  return substring(runtime, value, text.substr(at, decode_at(text, at).size));
}

// A name in a message: cut if it is long.
std::string brief(std::string_view name) {
  constexpr std::size_t kLongest = 80;
  return name.size() <= kLongest ? quote(name) : quote(std::string(name.substr(0, kLongest)) + "...");
}

// What Python finds as an attribute, or kMissing.
Result<Value> find_attribute(Runtime& runtime, const Value& value, std::string_view name) {
  if (value.kind() == Kind::kNamespace) {
    const Value* found = value.as_dict().find(name);
    return found != nullptr ? *found : Value();
  }
  if (value.is_host()) return value.as_host().attribute(runtime, name);
  if (value.is_tuple() && value.as_list_object().is_group) {
    if (name == "grouper") return value.items()[0];
    if (name == "list") return value.items()[1];
  }
  const NativeEntry* method = find_method(value, name);
  if (method == nullptr) return Value();
  const Ref<NativeObject> bound = runtime.heap().make<NativeObject>(*method, value);
  return Value::object(Kind::kHost, bound.get());
}

// What Python finds by subscription, or kMissing. A wrong type of key is not found either, as in Jinja2.
Result<Value> find_item(Runtime& runtime, const Value& value, const Value& key) {
  switch (value.kind()) {
    case Kind::kDict: {
      if (key_status(key) != KeyStatus::kOk) return Value();
      SLUICE_TRY(require_key(runtime, key));
      const Value* found = value.as_dict().find(key);
      return found != nullptr ? *found : Value();
    }
    case Kind::kString:
      SLUICE_TRY(runtime.spend_bytes(value.as_string_object().is_ascii() ? 0 : value.as_string().size()));
      [[fallthrough]];
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kRange:
      if (key.is_integral()) return item_at(runtime, value, key.as_int());
      return Value();
    default:
      return Value();
  }
}

}  // namespace

Result<Value> get_attribute(Runtime& runtime, const Value& value, std::string_view name) {
  SLUICE_TRY(require_defined(value));
  SLUICE_ASSIGN(Value found, find_attribute(runtime, value, name));
  if (!found.is_missing()) return found;
  if (value.is_dict()) {
    if (const Value* item = value.as_dict().find(name)) return *item;
  }
  return runtime.undefined(quote(type_description(value)) + " has no attribute " + brief(name));
}

Result<Value> get_item(Runtime& runtime, const Value& value, const Value& key) {
  SLUICE_TRY(require_defined(value));
  SLUICE_ASSIGN(Value found, find_item(runtime, value, key));
  if (!found.is_missing()) return found;
  if (key.is_string()) {
    SLUICE_ASSIGN(Value attribute, find_attribute(runtime, value, key.as_string()));
    if (!attribute.is_missing()) return attribute;
    return runtime.undefined(quote(type_description(value)) + " has no attribute " + brief(key.as_string()));
  }
  std::string message = type_description(value) + " has no element ";
  SLUICE_TRY(append_repr(runtime, key, message));
  return runtime.undefined(std::move(message));
}

Result<Value> get_slice(Runtime& runtime, const Value& value, const Value& start, const Value& stop,
                        const Value& step) {
  SLUICE_TRY(require_defined(value));
  switch (value.kind()) {
    case Kind::kString:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kRange:
      break;
    case Kind::kDict:
      return runtime_error("a dict can't be sliced");
    default:
      return runtime_error("'" + std::string(type_name(value)) + "' object can't be sliced");
  }
  for (const Value* part : {&start, &stop, &step}) {
    if (!part->is_missing() && !part->is_none() && !part->is_integral()) {
      return runtime_error("slice indices must be integers or none, not '" + std::string(type_name(*part)) + "'");
    }
  }
  const Int size = static_cast<Int>(length(value).value());
  // No text is longer than 2^62: the clamp changes nothing but keeps the sums below in range.
  constexpr Int kFar = Int{1} << 62;
  const Int stride = step.is_integral() ? std::clamp(step.as_int(), -kFar, kFar) : 1;
  if (stride == 0) return runtime_error("slice step cannot be zero");
  // Python's rule: clamp both ends to what the direction can reach.
  const Int lowest = stride > 0 ? 0 : -1;
  const Int highest = stride > 0 ? size : size - 1;
  const auto clamp_end = [&](const Value& end, Int otherwise) {
    if (!end.is_integral()) return otherwise;
    const Int index = end.as_int() < 0 ? end.as_int() + size : end.as_int();
    return std::clamp(index, lowest, highest);
  };
  const Int first = clamp_end(start, stride > 0 ? lowest : highest);
  const Int last = clamp_end(stop, stride > 0 ? highest : lowest);
  const Int span = stride > 0 ? last - first : first - last;
  const Int magnitude = stride > 0 ? stride : -stride;
  const Int count = span > 0 ? (span - 1) / magnitude + 1 : 0;
  if (value.kind() == Kind::kRange) {
    const RangeObject& range = value.as_range();
    const Int new_step = count > 1 ? range.step * stride : range.step;
    const Ref<RangeObject> result = runtime.heap().make<RangeObject>(range.at(first), new_step, count);
    return Value::object(Kind::kRange, result.get());
  }
  if (!value.is_string()) {
    SLUICE_TRY(runtime.spend(1 + static_cast<std::uint64_t>(count)));
    std::vector<Value> items;
    items.reserve(static_cast<std::size_t>(count));
    for (Int i = 0; i < count; ++i) items.push_back(value.items()[static_cast<std::size_t>(first + i * stride)]);
    return value.is_list() ? runtime.list(std::move(items)) : make_tuple(runtime.heap(), std::move(items));
  }
  const std::string& text = value.as_string();
  SLUICE_TRY(runtime.spend_bytes(text.size()));
  if (count == 0) return substring(runtime, value, "");
  if (stride == 1) {
    const auto from = static_cast<std::size_t>(first);
    if (value.as_string_object().is_ascii())
      return substring(runtime, value, text.substr(from, static_cast<std::size_t>(count)));

    const std::size_t begin = byte_offset(text, from);
    const std::string_view rest = std::string_view(text).substr(begin);
    return substring(runtime, value, std::string(rest.substr(0, byte_offset(rest, static_cast<std::size_t>(count)))));
  }
  std::vector<std::size_t> offsets;
  offsets.reserve(static_cast<std::size_t>(size) + 1);
  for (std::size_t at = 0; at < text.size(); at += decode_at(text, at).size) offsets.push_back(at);
  offsets.push_back(text.size());
  std::string result;
  for (Int i = 0; i < count; ++i) {
    const auto index = static_cast<std::size_t>(first + i * stride);
    result.append(text, offsets[index], offsets[index + 1] - offsets[index]);
  }
  return substring(runtime, value, std::move(result));
}

Result<Int> require_int(const Value& value, std::string_view what) {
  SLUICE_TRY(require_defined(value));
  if (value.is_integral()) return value.as_int();
  return runtime_error(std::string(what) + " must be an integer, not '" + std::string(type_name(value)) + "'");
}

Result<std::size_t> require_size(const Value& value, std::string_view what) {
  SLUICE_ASSIGN(const Int number, require_int(value, what));
  return static_cast<std::size_t>(std::clamp<Int>(number, 0, Int{1} << 62));
}

Status require_key(Runtime& runtime, const Value& key) {
  if (key.is_string()) return runtime.spend_bytes(key.as_string().size());
  if (key.is_tuple()) SLUICE_TRY(runtime.spend(1 + key.items().size()));
  switch (key_status(key)) {
    case KeyStatus::kOk:
      return {};
    case KeyStatus::kUnhashable:
      return runtime_error("unhashable type: '" + std::string(type_name(key)) + "' can't be the key of a dict");
    case KeyStatus::kNested:
      break;
  }
  return Error(ErrorCode::kUnsupported, "a tuple that holds a tuple can't be the key of a dict");
}

}  // namespace sluice::jinja
