#include "tokenizer/template_text.h"

#include <fmt/format.h>

#include "tokenizer/template_markup.h"
#include "tokenizer/template_number.h"
#include "tokenizer/template_ops.h"
#include "tokenizer/template_unicode.h"

namespace sluice::jinja {

namespace {

void append_quoted(std::string_view text, std::string& out) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  out += quote;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_at(text, at);
    if (c.value == kInvalid) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(text[at]));
    } else if (c.value == '\n') {
      out += "\\n";
    } else if (c.value == '\r') {
      out += "\\r";
    } else if (c.value == '\t') {
      out += "\\t";
    } else if (c.value == '\\' || c.value == static_cast<char32_t>(quote)) {
      out += '\\';
      out += static_cast<char>(c.value);
    } else if (is_printable(c.value)) {
      out.append(text, at, c.size);
    } else {
      const auto number = static_cast<std::uint32_t>(c.value);
      if (number < 0x100) {
        fmt::format_to(std::back_inserter(out), "\\x{:02x}", number);
      } else if (number < 0x10000) {
        fmt::format_to(std::back_inserter(out), "\\u{:04x}", number);
      } else {
        fmt::format_to(std::back_inserter(out), "\\U{:08x}", number);
      }
    }
    at += c.size;
  }
  out += quote;
}

// "a, b, c" of sequences.
Status append_items(Runtime& runtime, const std::vector<Value>& items, std::string& out) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ", ";
    SLUICE_TRY(append_repr(runtime, items[i], out));
  }
  return {};
}

Status append_dict(Runtime& runtime, DictObject& dict, std::string& out) {
  out += '{';
  bool first = true;
  for (const auto& [key, value] : dict.entries()) {
    if (!first) out += ", ";
    first = false;
    SLUICE_TRY(append_repr(runtime, key, out));
    out += ": ";
    SLUICE_TRY(append_repr(runtime, value, out));
  }
  out += '}';
  return {};
}

std::string range_text(const RangeObject& range) {
  // Python shows the stop that was given; this is the nearest that gives the same numbers.
  const Int stop = range.start + range.count * range.step;
  std::string text = "range(" + int_to_text(range.start) + ", " + int_to_text(stop);
  if (range.step != 1) text += ", " + int_to_text(range.step);
  return text + ")";
}

}  // namespace

std::string quote(std::string_view text) {
  std::string out;
  append_quoted(text, out);
  return out;
}

Status append_repr(Runtime& runtime, const Value& value, std::string& out) {
  SLUICE_TRY(runtime.spend());
  if (out.size() > runtime.limits().max_string) return runtime.check_string(out.size());
  switch (value.kind()) {
    case Kind::kMissing:
    case Kind::kUndefined:
      out += "Undefined";
      return {};
    case Kind::kNone:
      out += "None";
      return {};
    case Kind::kBool:
      out += value.as_bool() ? "True" : "False";
      return {};
    case Kind::kInt:
      out += int_to_text(value.as_int());
      return {};
    case Kind::kFloat:
      out += float_to_text(value.as_double());
      return {};
    case Kind::kString:
      SLUICE_TRY(runtime.spend_bytes(value.as_string().size()));
      if (is_markup(value)) out += "Markup(";
      append_quoted(value.as_string(), out);
      if (is_markup(value)) out += ')';
      return {};
    case Kind::kRange:
      out += range_text(value.as_range());
      return {};
    case Kind::kIterator:
      out.append("<").append(value.as_iterator().type_name).append(" object>");
      return {};
    case Kind::kHost:
      out += value.as_host().repr();
      return {};
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kDictView:
    case Kind::kNamespace:
      break;
  }
  const DepthGuard depth(runtime, kLevelsOfData);
  SLUICE_TRY(depth.status());
  switch (value.kind()) {
    case Kind::kList:
      out += '[';
      SLUICE_TRY(append_items(runtime, value.items(), out));
      out += ']';
      return {};
    case Kind::kTuple:
      out += '(';
      SLUICE_TRY(append_items(runtime, value.items(), out));
      out += value.items().size() == 1 ? ",)" : ")";
      return {};
    case Kind::kDict:
      return append_dict(runtime, value.as_dict(), out);
    case Kind::kDictView: {
      out.append(type_name(value)).append("([");
      SLUICE_ASSIGN(const std::vector<Value> items, iterate(runtime, value));
      SLUICE_TRY(append_items(runtime, items, out));
      out += "])";
      return {};
    }
    default:
      out += "<Namespace ";
      SLUICE_TRY(append_dict(runtime, value.as_dict(), out));
      out += '>';
      return {};
  }
}

Status append_str(Runtime& runtime, const Value& value, std::string& out) {
  if (value.is_string()) {
    SLUICE_TRY(runtime.spend_bytes(value.as_string().size()));
    out += value.as_string();
    return {};
  }
  if (value.is_undefined()) return {};
  return append_repr(runtime, value, out);
}

Result<std::string> to_str(Runtime& runtime, const Value& value) {
  std::string text;
  SLUICE_TRY(append_str(runtime, value, text));
  SLUICE_TRY(runtime.check_string(text.size()));
  return text;
}

}  // namespace sluice::jinja
