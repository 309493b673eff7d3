// Filters on text, and those that turn values into text.
#include <algorithm>

#include "tokenizer/template_builtins.h"
#include "tokenizer/template_markup.h"
#include "tokenizer/template_ops.h"
#include "tokenizer/template_text.h"
#include "tokenizer/template_unicode.h"

namespace sluice::jinja {

namespace {

// soft_str of Jinja2: a string stays what it is, marked or not; all else becomes text.
Result<Value> soft_string(Runtime& runtime, const Value& value) {
  if (value.is_string()) return value;
  SLUICE_ASSIGN(std::string text, to_str(runtime, value));
  return runtime.string(std::move(text));
}

// The method of str of that name, applied to the text of self.
template <const char* kMethod>
Result<Value> filter_by_method(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const Value text, soft_string(runtime, self));
  return call_method(runtime, *find_method(text, kMethod), text, args);
}
constexpr char kUpper[] = "upper";
constexpr char kLower[] = "lower";
constexpr char kCapitalize[] = "capitalize";
constexpr char kStrip[] = "strip";

Result<Value> filter_replace(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("replace", args, {"old", "new", "count"}, 2));
  SLUICE_ASSIGN(std::string text, to_str(runtime, self));
  Args inner;
  for (int i = 0; i < 2; ++i) {
    SLUICE_ASSIGN(std::string part, to_str(runtime, bound[i]));
    inner.positional.push_back(runtime.string(std::move(part)));
  }
  if (!bound[2].is_missing() && !bound[2].is_none()) inner.positional.push_back(bound[2]);
  const Value subject = runtime.string(std::move(text));
  return find_method(subject, "replace")->function(runtime, subject, inner);
}

// Jinja2's title differs from str.title: words begin after space and -({[< only.
Result<Value> filter_title(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_TRY(bind_none("title", args));
  SLUICE_ASSIGN(const std::string text, to_str(runtime, self));
  SLUICE_TRY(runtime.spend_bytes(8 * text.size()));
  const auto separates = [](char32_t c) {
    return is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
  };
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    // A word or a run of separators: its first character upper, the rest lower.
    const CodePoint first = decode_at(text, at);
    std::size_t end = at + first.size;
    while (end < text.size() && separates(decode_at(text, end).value) == separates(first.value)) {
      end += decode_at(text, end).size;
    }
    const std::string_view word = std::string_view(text).substr(at, end - at);
    result += to_upper(word.substr(0, first.size));
    result += to_lower(word.substr(first.size));
    at = end;
  }
  return runtime.string(std::move(result));
}

Result<Value> filter_string(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_TRY(bind_none("string", args));
  return soft_string(runtime, self);
}

Result<Value> filter_safe(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_TRY(bind_none("safe", args));
  SLUICE_ASSIGN(std::string text, to_str(runtime, self));
  return make_markup(runtime.heap(), std::move(text));
}

template <bool kForce>
Result<Value> filter_escape(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_TRY(bind_none("escape", args));
  Value subject = self;
  if (kForce && is_markup(self)) subject = runtime.string(self.as_string());
  SLUICE_ASSIGN(std::string text, escaped_str(runtime, subject));
  return make_markup(runtime.heap(), std::move(text));
}

Result<Value> filter_indent(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("indent", args, {"width", "first", "blank"}));
  SLUICE_TRY(require_defined(self));
  if (!self.is_string()) return runtime_error("indent needs a string, not '" + std::string(type_name(self)) + "'");
  std::string indention(4, ' ');
  if (bound[0].is_string()) {
    indention = bound[0].as_string();
  } else if (!bound[0].is_missing()) {
    SLUICE_ASSIGN(const std::size_t width, require_size(bound[0], "the width of indent"));
    SLUICE_TRY(runtime.check_string(width));
    indention.assign(width, ' ');
  }
  const bool blank = truthy(bound[2]);
  const std::string text = self.as_string() + "\n";
  SLUICE_TRY(runtime.spend_bytes(text.size()));
  std::string result = truthy(bound[1]) ? indention : "";
  bool first_line = true;
  for (std::size_t begin = 0, at = 0; at < text.size();) {
    const std::size_t size = line_break_size(text, at);
    if (size == 0) {
      at += decode_at(text, at).size;
      continue;
    }
    if (!first_line) result += '\n';
    if (!first_line && (blank || at > begin)) result += indention;
    result.append(text, begin, at - begin);
    SLUICE_TRY(runtime.check_string(result.size()));
    first_line = false;
    at += size;
    begin = at;
  }
  return is_markup(self) ? make_markup(runtime.heap(), std::move(result)) : runtime.string(std::move(result));
}

Result<Value> filter_format(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const Value text, soft_string(runtime, self));
  if (!args.positional.empty() && !args.named.empty()) {
    return runtime_error("format can't handle positional and keyword arguments at the same time");
  }
  Value arguments = make_tuple(runtime.heap(), args.positional);
  if (!args.named.empty()) {
    const Ref<DictObject> dict = runtime.heap().make<DictObject>();
    for (const auto& [name, value] : args.named) dict->set(runtime.string(name), value);
    arguments = Value::object(Kind::kDict, dict.get());
  }
  return binary(runtime, BinaryOp::kModulo, text, arguments);
}

Result<Value> filter_center(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("center", args, {"width"}));
  SLUICE_ASSIGN(const Value subject, soft_string(runtime, self));
  Args inner;
  inner.positional.push_back(bound[0].is_missing() ? Value::integer(80) : bound[0]);
  return call_method(runtime, *find_method(subject, "center"), subject, inner);
}

Result<Value> filter_wordcount(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_TRY(bind_none("wordcount", args));
  SLUICE_ASSIGN(const std::string text, to_str(runtime, self));
  SLUICE_TRY(runtime.spend_bytes(8 * text.size()));
  Int count = 0;
  bool in_word = false;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_at(text, at);
    const bool word = is_word(c.value);
    if (word && !in_word) ++count;
    in_word = word;
    at += c.size;
  }
  return Value::integer(count);
}

Result<Value> filter_truncate(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("truncate", args, {"length", "killwords", "end", "leeway"}));
  std::size_t length = 255;
  std::size_t leeway = 5;
  Value end = runtime.string("...");
  if (!bound[0].is_missing()) {
    SLUICE_ASSIGN(length, require_size(bound[0], "the length of truncate"));
  }
  if (!bound[2].is_missing()) {
    SLUICE_ASSIGN(end, soft_string(runtime, bound[2]));
  }
  if (!bound[3].is_missing() && !bound[3].is_none()) {
    SLUICE_ASSIGN(leeway, require_size(bound[3], "the leeway of truncate"));
  }
  const std::size_t end_length = end.as_string_object().length();
  if (length < end_length) return runtime_error("truncate needs a length of at least that of its end");
  SLUICE_ASSIGN(const std::size_t size, jinja::length(self));
  if (size <= length + leeway) return self;  // whatever it is, as long as it has a length
  if (!self.is_string()) return runtime_error("truncate needs a string, not '" + std::string(type_name(self)) + "'");
  const std::string_view text = self.as_string();
  SLUICE_TRY(runtime.spend_bytes(text.size()));
  std::string_view kept = text.substr(0, byte_offset(text, length - end_length));
  if (!truthy(bound[1])) kept = kept.substr(0, kept.rfind(' '));
  const std::string part(kept);
  return binary(runtime, BinaryOp::kAdd, is_markup(self) ? make_markup(runtime.heap(), part) : runtime.string(part),
                end);
}

void append_url(std::string_view text, bool query, std::string& out) {
  constexpr char kHex[] = "0123456789ABCDEF";
  for (const char c : text) {
    const bool letter = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (letter || c == '_' || c == '.' || c == '-' || c == '~' || (c == '/' && !query)) {
      out += c;
    } else if (c == ' ' && query) {
      out += '+';
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', kHex[byte >> 4U], kHex[byte & 15U]};
    }
  }
}

Result<Value> filter_urlencode(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_TRY(bind_none("urlencode", args));
  std::string result;
  if (self.is_string() || !is_iterable(self)) {
    SLUICE_ASSIGN(const std::string text, to_str(runtime, self));
    append_url(text, false, result);
  } else {
    std::vector<Value> pairs;
    if (self.is_dict()) {
      for (const auto& [key, value] : self.as_dict().entries())
        pairs.push_back(make_tuple(runtime.heap(), {key, value}));
    } else {
      SLUICE_ASSIGN(pairs, iterate(runtime, self));
    }
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      SLUICE_ASSIGN(const std::vector<Value> pair, iterate(runtime, pairs[i]));
      if (pair.size() != 2) return runtime_error("urlencode needs pairs of a name and a value");
      if (i > 0) result += '&';
      for (std::size_t part = 0; part < 2; ++part) {
        SLUICE_ASSIGN(const std::string text, to_str(runtime, pair[part]));
        if (part == 1) result += '=';
        append_url(text, true, result);
      }
      SLUICE_TRY(runtime.check_string(result.size()));
    }
  }
  SLUICE_TRY(runtime.check_string(result.size()));
  return runtime.string(std::move(result));
}

// The tojson of Hugging Face: json.dumps with these parameters in this order, not Jinja2's for HTML.
Result<Value> filter_tojson(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("tojson", args, {"ensure_ascii", "indent", "separators", "sort_keys"}));
  JsonFormat format;
  format.ensure_ascii = truthy(bound[0]);
  format.sort_keys = truthy(bound[3]);
  if (!bound[1].is_missing() && !bound[1].is_none()) {
    format.pretty = true;
    format.item_separator = ",";
    if (bound[1].is_string()) {
      format.indent = bound[1].as_string();
    } else {
      SLUICE_ASSIGN(const std::size_t width, require_size(bound[1], "the indent of tojson"));
      SLUICE_TRY(runtime.check_string(width));
      format.indent.assign(width, ' ');
    }
  }
  if (!bound[2].is_missing() && !bound[2].is_none()) {
    SLUICE_ASSIGN(const std::vector<Value> separators, iterate(runtime, bound[2]));
    if (separators.size() != 2 || !separators[0].is_string() || !separators[1].is_string()) {
      return runtime_error("separators of tojson must be two strings: between items, and after a key");
    }
    format.item_separator = separators[0].as_string();
    format.key_separator = separators[1].as_string();
  }
  std::string text;
  SLUICE_TRY(append_json(runtime, self, format, text));
  SLUICE_TRY(runtime.check_string(text.size()));
  return runtime.string(std::move(text));
}

// Not Jinja2's, but some published templates expect their engine to have it.
Result<Value> filter_from_json(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_TRY(bind_none("from_json", args));
  SLUICE_TRY(require_defined(self));
  if (!self.is_string()) return runtime_error("from_json needs a string, not '" + std::string(type_name(self)) + "'");
  // The parser's own values are some 30 times as large as the text and not on the heap.
  if (self.as_string().size() > runtime.limits().max_memory / 64) return limit_error("text for from_json is too long");
  SLUICE_TRY(runtime.spend_bytes(16 * self.as_string().size()));
  const auto json = nlohmann::ordered_json::parse(self.as_string(), nullptr, false);
  if (json.is_discarded()) return runtime_error("from_json was given text that is no JSON");
  return from_json(runtime, json);
}

constexpr NativeEntry kFilters[] = {
    {"upper", filter_by_method<kUpper>},
    {"lower", filter_by_method<kLower>},
    {"capitalize", filter_by_method<kCapitalize>},
    {"trim", filter_by_method<kStrip>},
    {"replace", filter_replace},
    {"title", filter_title},
    {"string", filter_string},
    {"safe", filter_safe},
    {"escape", filter_escape<false>},
    {"e", filter_escape<false>},
    {"forceescape", filter_escape<true>},
    {"indent", filter_indent},
    {"format", filter_format},
    {"center", filter_center},
    {"wordcount", filter_wordcount},
    {"truncate", filter_truncate},
    {"urlencode", filter_urlencode},
    {"tojson", filter_tojson},
    {"from_json", filter_from_json},
};

}  // namespace

std::span<const NativeEntry> text_filters() { return kFilters; }

}  // namespace sluice::jinja
