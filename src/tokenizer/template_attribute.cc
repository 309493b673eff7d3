#include "tokenizer/template_attribute.h"

#include <algorithm>

#include "tokenizer/template_number.h"
#include "tokenizer/template_ops.h"
#include "tokenizer/template_unicode.h"

namespace sluice::jinja {

Status AttributeGetter::parse(Runtime& runtime, const Value& attribute) {
  if (attribute.is_missing() || attribute.is_none()) return {};
  if (!attribute.is_string()) {
    parts_.push_back(attribute);
    return {};
  }
  std::string_view rest = attribute.as_string();
  SLUICE_TRY(runtime.spend_bytes(rest.size()));
  while (true) {
    SLUICE_TRY(runtime.spend());
    const std::size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    std::optional<Int> index;
    if (!part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos) index = text_to_int(part);
    parts_.push_back(index ? Value::integer(*index) : runtime.string(std::string(part)));
    if (dot == std::string_view::npos) return {};
    rest.remove_prefix(dot + 1);
  }
}

Result<Value> AttributeGetter::get(Runtime& runtime, const Value& item) const {
  SLUICE_TRY(runtime.spend(1 + parts_.size()));
  Value current = item;
  for (const Value& part : parts_) {
    SLUICE_ASSIGN(current, get_item(runtime, current, part));
    if (current.is_undefined() && !default_.is_missing() && !default_.is_none()) current = default_;
  }
  return current;
}

Result<std::vector<AttributeGetter>> split_attributes(Runtime& runtime, const Value& attributes) {
  std::vector<AttributeGetter> getters;
  std::string_view rest = attributes.as_string();
  while (true) {
    const std::size_t comma = rest.find(',');
    AttributeGetter getter;
    SLUICE_TRY(getter.parse(runtime, runtime.string(std::string(rest.substr(0, comma)))));
    getters.push_back(std::move(getter));
    if (comma == std::string_view::npos) return getters;
    rest.remove_prefix(comma + 1);
  }
}

Result<Value> fold_case(Runtime& runtime, const Value& value) {
  if (!value.is_string()) return value;
  SLUICE_TRY(runtime.spend_bytes(8 * value.as_string().size()));
  return runtime.string(to_lower(value.as_string()));
}

}  // namespace sluice::jinja
