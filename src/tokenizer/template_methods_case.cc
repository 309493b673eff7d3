// Methods of str that change the case of characters or ask for their class.
#include "tokenizer/template_builtins.h"
#include "tokenizer/template_ops.h"
#include "tokenizer/template_text.h"
#include "tokenizer/template_unicode.h"

namespace sluice::jinja {

namespace {

template <std::string (*kMap)(std::string_view)>
Result<Value> method_map(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_TRY(bind_none("the method", args));
  SLUICE_TRY(runtime.spend_bytes(8 * self.as_string().size()));
  return runtime.string(kMap(self.as_string()));
}

// True if the text is not empty and `matches` holds for each character.
template <bool (*kMatches)(char32_t)>
Result<Value> method_all(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_TRY(bind_none("the method", args));
  const std::string_view text = self.as_string();
  SLUICE_TRY(runtime.spend_bytes(8 * text.size()));
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_at(text, at);
    if (!kMatches(c.value)) return Value::boolean(false);
    at += c.size;
  }
  return Value::boolean(!text.empty());
}

bool is_alphanumeric(char32_t c) { return is_alpha(c) || is_digit(c) || is_numeric(c); }
bool is_ascii(char32_t c) { return c < 0x80; }

// isupper and islower: at least one cased character, and none of another case.
template <bool (*kMatches)(char32_t), bool (*kOther)(char32_t)>
Result<Value> method_case(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_TRY(bind_none("the method", args));
  const std::string_view text = self.as_string();
  SLUICE_TRY(runtime.spend_bytes(8 * text.size()));
  bool found = false;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_at(text, at);
    if (kOther(c.value) || is_title(c.value)) return Value::boolean(false);
    found = found || kMatches(c.value);
    at += c.size;
  }
  return Value::boolean(found);
}

Result<Value> method_istitle(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_TRY(bind_none("istitle", args));
  const std::string_view text = self.as_string();
  SLUICE_TRY(runtime.spend_bytes(8 * text.size()));
  bool found = false;
  bool in_word = false;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_at(text, at);
    const bool starts = is_upper(c.value) || is_title(c.value);
    const bool goes_on = is_lower(c.value);
    if ((starts && in_word) || (goes_on && !in_word)) return Value::boolean(false);
    in_word = starts || goes_on;
    found = found || in_word;
    at += c.size;
  }
  return Value::boolean(found);
}

Result<Value> method_isidentifier(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_TRY(bind_none("isidentifier", args));
  const std::string_view text = self.as_string();
  SLUICE_TRY(runtime.spend_bytes(8 * text.size()));
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_at(text, at);
    if (at == 0 ? !is_identifier_start(c.value) : !is_identifier_continue(c.value)) return Value::boolean(false);
    at += c.size;
  }
  return Value::boolean(!text.empty());
}

// Of the empty text these two are true, unlike the others.
template <bool (*kMatches)(char32_t)>
Result<Value> method_all_or_empty(Runtime& runtime, const Value& self, const Args& args) {
  if (self.as_string().empty()) {
    SLUICE_TRY(bind_none("the method", args));
    return Value::boolean(true);
  }
  return method_all<kMatches>(runtime, self, args);
}

Result<Value> method_expandtabs(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("expandtabs", args, {"tabsize"}));
  std::size_t size = 8;
  if (!bound[0].is_missing()) {
    SLUICE_ASSIGN(size, require_size(bound[0], "the tab size"));
  }
  const std::string_view text = self.as_string();
  SLUICE_TRY(runtime.spend_bytes(text.size()));
  SLUICE_TRY(runtime.check_string(size));
  std::string result;
  std::size_t column = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = decode_at(text, at).size;
    if (text[at] == '\t') {
      const std::size_t spaces = size == 0 ? 0 : size - column % size;
      result.append(spaces, ' ');
      column += spaces;
      SLUICE_TRY(runtime.check_string(result.size()));
    } else {
      result.append(text, at, bytes);
      column = text[at] == '\n' || text[at] == '\r' ? 0 : column + 1;
    }
    at += bytes;
  }
  return runtime.string(std::move(result));
}

constexpr NativeEntry kMethods[] = {
    {"upper", method_map<to_upper>},
    {"lower", method_map<to_lower>},
    {"title", method_map<to_title>},
    {"capitalize", method_map<capitalize>},
    {"swapcase", method_map<swap_case>},
    {"casefold", method_map<case_fold>},
    {"isupper", method_case<is_upper, is_lower>},
    {"islower", method_case<is_lower, is_upper>},
    {"istitle", method_istitle},
    {"isalpha", method_all<is_alpha>},
    {"isdigit", method_all<is_digit>},
    {"isdecimal", method_all<is_decimal>},
    {"isnumeric", method_all<is_numeric>},
    {"isalnum", method_all<is_alphanumeric>},
    {"isspace", method_all<is_space>},
    {"isascii", method_all_or_empty<is_ascii>},
    {"isprintable", method_all_or_empty<is_printable>},
    {"isidentifier", method_isidentifier},
    {"expandtabs", method_expandtabs},
};

}  // namespace

std::span<const NativeEntry> string_class_methods() { return kMethods; }

}  // namespace sluice::jinja
