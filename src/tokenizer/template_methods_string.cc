// Methods of str that cut, search and join.
#include <algorithm>
#include <cstring>
#include <optional>

#include "tokenizer/template_builtins.h"
#include "tokenizer/template_ops.h"
#include "tokenizer/template_text.h"
#include "tokenizer/template_unicode.h"

namespace sluice::jinja {

namespace {

constexpr std::size_t kNotFound = std::string_view::npos;

// Linear time for every pair of texts.
std::size_t find_text(std::string_view text, std::string_view part, std::size_t from = 0) {
  const void* found = memmem(text.data() + from, text.size() - from, part.data(), part.size());
  return found == nullptr ? kNotFound : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

// Work of a backward search, which is not linear.
Status spend_backward(Runtime& runtime, std::string_view text, std::string_view part) {
  return runtime.spend_bytes(text.size() * std::min<std::size_t>(1 + part.size() / 64, 1U << 20));
}

Result<std::string_view> require_text(const Value& value, std::string_view what) {
  SLUICE_TRY(require_defined(value));
  if (value.is_string()) return std::string_view(value.as_string());
  return runtime_error(std::string(what) + " must be a string, not '" + std::string(type_name(value)) + "'");
}

// A count argument: absent, none and negative mean "all".
Result<std::size_t> read_limit(const Value& value, std::string_view what) {
  if (value.is_missing()) return kNotFound;
  SLUICE_ASSIGN(const Int number, require_int(value, what));
  return number < 0 || number > (Int{1} << 62) ? kNotFound : static_cast<std::size_t>(number);
}

// ---- strip

enum class Side : std::uint8_t { kBoth, kLeft, kRight };

std::string_view strip_characters(std::string_view text, std::string_view characters, Side side) {
  const auto among = [&](std::string_view c) {
    for (std::size_t at = 0; at < characters.size();) {
      const std::size_t size = decode_at(characters, at).size;
      if (characters.substr(at, size) == c) return true;
      at += size;
    }
    return false;
  };
  while (side != Side::kRight && !text.empty()) {
    const std::size_t size = decode_at(text, 0).size;
    if (!among(text.substr(0, size))) break;
    text.remove_prefix(size);
  }
  while (side != Side::kLeft && !text.empty()) {
    std::size_t at = text.size() - 1;
    while (at > 0 && text.size() - at < 4 && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80) --at;
    if (at + decode_at(text, at).size != text.size()) at = text.size() - 1;
    if (!among(text.substr(at))) break;
    text.remove_suffix(text.size() - at);
  }
  return text;
}

template <Side kSide>
Result<Value> method_strip(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("strip", args, {"chars"}));
  const std::string& text = self.as_string();
  std::string_view result;
  if (bound[0].is_missing() || bound[0].is_none()) {
    SLUICE_TRY(runtime.spend_bytes(text.size()));
    result = kSide == Side::kBoth   ? strip_space(text)
             : kSide == Side::kLeft ? strip_space_left(text)
                                    : strip_space_right(text);
  } else {
    SLUICE_ASSIGN(const std::string_view characters, require_text(bound[0], "strip argument"));
    SLUICE_TRY(runtime.spend_bytes(text.size() * (1 + std::min<std::size_t>(characters.size(), 1U << 20))));
    result = strip_characters(text, characters, kSide);
  }
  return runtime.string(std::string(result));
}

// ---- split

Result<Value> split_space(Runtime& runtime, std::string_view text, std::size_t limit, bool from_right) {
  std::vector<std::string_view> words;
  std::string_view rest = from_right ? strip_space_right(text) : strip_space_left(text);
  while (!rest.empty() && words.size() < limit) {
    if (from_right) {
      std::size_t at = rest.size();
      while (at > 0) {
        std::size_t previous = at - 1;
        while (previous > 0 && at - previous < 4 && (static_cast<unsigned char>(rest[previous]) & 0xC0U) == 0x80)
          --previous;
        if (is_space(decode_at(rest, previous).value)) break;
        at = previous;
      }
      words.push_back(rest.substr(at));
      rest = strip_space_right(rest.substr(0, at));
    } else {
      std::size_t at = 0;
      while (at < rest.size() && !is_space(decode_at(rest, at).value)) at += decode_at(rest, at).size;
      words.push_back(rest.substr(0, at));
      rest = strip_space_left(rest.substr(at));
    }
  }
  if (!rest.empty()) words.push_back(rest);
  if (from_right) std::reverse(words.begin(), words.end());
  SLUICE_TRY(runtime.spend(words.size()));
  std::vector<Value> items;
  for (const std::string_view word : words) items.push_back(runtime.string(std::string(word)));
  return runtime.list(std::move(items));
}

template <bool kFromRight>
Result<Value> method_split(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind(kFromRight ? "rsplit" : "split", args, {"sep", "maxsplit"}));
  SLUICE_ASSIGN(const std::size_t limit, read_limit(bound[1], "maxsplit"));
  std::string_view text = self.as_string();
  SLUICE_TRY(runtime.spend_bytes(text.size()));
  if (bound[0].is_missing() || bound[0].is_none()) return split_space(runtime, text, limit, kFromRight);
  SLUICE_ASSIGN(const std::string_view separator, require_text(bound[0], "the separator"));
  if (separator.empty()) return runtime_error("empty separator");
  if (kFromRight) SLUICE_TRY(spend_backward(runtime, text, separator));
  std::vector<Value> items;
  while (items.size() < limit) {
    const std::size_t at = kFromRight ? text.rfind(separator) : find_text(text, separator);
    if (at == kNotFound) break;
    items.push_back(runtime.string(std::string(kFromRight ? text.substr(at + separator.size()) : text.substr(0, at))));
    text = kFromRight ? text.substr(0, at) : text.substr(at + separator.size());
    SLUICE_TRY(runtime.spend());
  }
  items.push_back(runtime.string(std::string(text)));
  if (kFromRight) std::reverse(items.begin(), items.end());
  return runtime.list(std::move(items));
}

template <bool kFromRight>
Result<Value> method_partition(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("partition", args, {"sep"}, 1));
  SLUICE_ASSIGN(const std::string_view separator, require_text(bound[0], "the separator"));
  if (separator.empty()) return runtime_error("empty separator");
  const std::string_view text = self.as_string();
  SLUICE_TRY(spend_backward(runtime, text, separator));
  const std::size_t at = kFromRight ? text.rfind(separator) : find_text(text, separator);
  std::string parts[3];
  if (at == kNotFound) {
    parts[kFromRight ? 2 : 0] = text;
  } else {
    parts[0] = text.substr(0, at);
    parts[1] = separator;
    parts[2] = text.substr(at + separator.size());
  }
  std::vector<Value> items;
  for (std::string& part : parts) items.push_back(runtime.string(std::move(part)));
  return make_tuple(runtime.heap(), std::move(items));
}

Result<Value> method_splitlines(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("splitlines", args, {"keepends"}));
  const bool keep = truthy(bound[0]);
  const std::string_view text = self.as_string();
  SLUICE_TRY(runtime.spend_bytes(text.size()));
  std::vector<Value> lines;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = line_break_size(text, at);
    if (size == 0) {
      at += decode_at(text, at).size;
      continue;
    }
    lines.push_back(runtime.string(std::string(text.substr(begin, at - begin + (keep ? size : 0)))));
    SLUICE_TRY(runtime.spend());
    at += size;
    begin = at;
  }
  if (begin < text.size()) lines.push_back(runtime.string(std::string(text.substr(begin))));
  return runtime.list(std::move(lines));
}

// ---- search

struct Window {
  std::string_view text;   // the part searched
  std::size_t offset = 0;  // its first character; kNotFound if the window is past the end
};

// text[start:end] for find, count and the like.
Result<Window> read_window(const Value& self, const Value& start, const Value& end) {
  const std::string_view text = self.as_string();
  const Int size = static_cast<Int>(self.as_string_object().length());
  const auto read = [&](const Value& value, Int otherwise) -> Result<Int> {
    if (value.is_missing() || value.is_none()) return otherwise;
    SLUICE_ASSIGN(Int index, require_int(value, "slice index"));
    if (index < 0) index = std::max<Int>(index + size, 0);
    return index;
  };
  SLUICE_ASSIGN(const Int first, read(start, 0));
  SLUICE_ASSIGN(const Int last, read(end, size));
  if (first > size) return Window{{}, kNotFound};
  const Int stop = std::max(first, std::min(last, size));
  const std::size_t from = byte_offset(text, static_cast<std::size_t>(first));
  const std::size_t bytes = byte_offset(text.substr(from), static_cast<std::size_t>(stop - first));
  // A window that ends before it begins does not even hold the empty text.
  return Window{text.substr(from, bytes), last < first ? kNotFound : static_cast<std::size_t>(first)};
}

template <bool kBackward, bool kMustFind>
Result<Value> method_find(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("find", args, {"sub", "start", "end"}, 1));
  SLUICE_ASSIGN(const std::string_view part, require_text(bound[0], "the text to find"));
  SLUICE_TRY(spend_backward(runtime, self.as_string(), part));
  SLUICE_ASSIGN(const Window window, read_window(self, bound[1], bound[2]));
  std::size_t at = kNotFound;
  if (window.offset != kNotFound) at = kBackward ? window.text.rfind(part) : find_text(window.text, part);
  if (at != kNotFound) {
    return Value::integer(static_cast<Int>(window.offset + count_code_points(window.text.substr(0, at))));
  }
  if (kMustFind) return runtime_error("substring not found");
  return Value::integer(-1);
}

Result<Value> method_count(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("count", args, {"sub", "start", "end"}, 1));
  SLUICE_ASSIGN(const std::string_view part, require_text(bound[0], "the text to count"));
  SLUICE_TRY(runtime.spend_bytes(self.as_string().size()));
  SLUICE_ASSIGN(const Window window, read_window(self, bound[1], bound[2]));
  if (window.offset == kNotFound) return Value::integer(0);
  if (part.empty()) return Value::integer(static_cast<Int>(count_code_points(window.text)) + 1);
  Int count = 0;
  for (std::size_t at = find_text(window.text, part); at != kNotFound;
       at = find_text(window.text, part, at + part.size())) {
    ++count;
  }
  return Value::integer(count);
}

template <bool kEnd>
Result<Value> method_affix(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind(kEnd ? "endswith" : "startswith", args, {"affix", "start", "end"}, 1));
  Window window{self.as_string(), 0};
  if (!bound[1].is_missing() || !bound[2].is_missing()) {
    SLUICE_TRY(runtime.spend_bytes(self.as_string().size()));
    SLUICE_ASSIGN(window, read_window(self, bound[1], bound[2]));
  }
  const auto matches = [&](std::string_view affix) {
    return window.offset != kNotFound && (kEnd ? window.text.ends_with(affix) : window.text.starts_with(affix));
  };
  // Comparing ends at the first difference, but may come to the end.
  if (!bound[0].is_tuple()) {
    SLUICE_ASSIGN(const std::string_view affix, require_text(bound[0], "the argument of startswith and endswith"));
    SLUICE_TRY(runtime.spend_bytes(std::min(affix.size(), window.text.size())));
    return Value::boolean(matches(affix));
  }
  SLUICE_TRY(runtime.spend(bound[0].items().size()));
  for (const Value& item : bound[0].items()) {
    SLUICE_ASSIGN(const std::string_view affix, require_text(item, "each item for startswith and endswith"));
    SLUICE_TRY(runtime.spend_bytes(std::min(affix.size(), window.text.size())));
    if (matches(affix)) return Value::boolean(true);
  }
  return Value::boolean(false);
}

// ---- build

Result<Value> method_replace(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("replace", args, {"old", "new", "count"}, 2));
  SLUICE_ASSIGN(const std::string_view old_text, require_text(bound[0], "the text to replace"));
  SLUICE_ASSIGN(const std::string_view new_text, require_text(bound[1], "the replacement"));
  SLUICE_ASSIGN(const std::size_t limit, read_limit(bound[2], "count"));
  const std::string_view text = self.as_string();
  SLUICE_TRY(runtime.spend_bytes(text.size()));
  std::string result;
  std::size_t done = 0;
  std::size_t at = 0;
  while (done < limit) {
    // The empty text is found before every character and at the end.
    const std::size_t found = old_text.empty() ? at : find_text(text, old_text, at);
    if (found == kNotFound) break;
    result.append(text, at, found - at);
    result += new_text;
    ++done;
    at = found + old_text.size();
    if (old_text.empty()) {
      if (at >= text.size()) break;
      const std::size_t size = decode_at(text, at).size;
      result.append(text, at, size);
      at += size;
    }
    if (result.size() > runtime.limits().max_string) break;
  }
  SLUICE_TRY(runtime.check_string(result.size() + text.size() - at));
  result.append(text, at);
  return runtime.string(std::move(result));
}

Result<Value> method_join(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("join", args, {"iterable"}, 1));
  SLUICE_ASSIGN(const std::vector<Value> items, iterate(runtime, bound[0]));
  std::uint64_t size = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i].is_string()) {
      return runtime_error("sequence item " + std::to_string(i) + ": expected str instance, " +
                           std::string(type_name(items[i])) + " found");
    }
    size += items[i].as_string().size() + (i > 0 ? self.as_string().size() : 0);
  }
  SLUICE_TRY(runtime.check_string(size));
  std::string result;
  result.reserve(size);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) result += self.as_string();
    result += items[i].as_string();
  }
  return runtime.string(std::move(result));
}

Result<Value> method_format(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(std::string text, format_braces(runtime, self.as_string(), args));
  return runtime.string(std::move(text));
}

template <bool kEnd>
Result<Value> method_remove(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind(kEnd ? "removesuffix" : "removeprefix", args, {"affix"}, 1));
  SLUICE_ASSIGN(const std::string_view affix, require_text(bound[0], "the affix"));
  std::string_view text = self.as_string();
  SLUICE_TRY(runtime.spend_bytes(text.size()));
  if (kEnd ? text.ends_with(affix) : text.starts_with(affix)) {
    kEnd ? text.remove_suffix(affix.size()) : text.remove_prefix(affix.size());
  }
  return runtime.string(std::string(text));
}

// ljust, center, rjust
template <char kAlign>
Result<Value> method_justify(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("justify", args, {"width", "fillchar"}, 1));
  SLUICE_ASSIGN(const std::size_t width, require_size(bound[0], "the width"));
  std::string_view fill = " ";
  if (!bound[1].is_missing()) {
    SLUICE_ASSIGN(fill, require_text(bound[1], "the fill character"));
    if (count_code_points(fill) != 1) return runtime_error("The fill character must be exactly one character long");
  }
  const std::size_t length = self.as_string_object().length();
  if (width <= length) return self;
  const std::size_t missing = width - length;
  SLUICE_TRY(runtime.check_string(missing));
  SLUICE_TRY(runtime.check_string(self.as_string().size() + missing * fill.size()));
  // Python's center puts the odd one on the left when the width is odd.
  const std::size_t left = kAlign == '<' ? 0 : kAlign == '>' ? missing : missing / 2 + (missing & width & 1U);
  std::string result;
  for (std::size_t i = 0; i < left; ++i) result += fill;
  result += self.as_string();
  for (std::size_t i = left; i < missing; ++i) result += fill;
  return runtime.string(std::move(result));
}

Result<Value> method_zfill(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("zfill", args, {"width"}, 1));
  SLUICE_ASSIGN(const std::size_t width, require_size(bound[0], "the width"));
  const std::size_t length = self.as_string_object().length();
  if (width <= length) return self;
  SLUICE_TRY(runtime.check_string(self.as_string().size() + (width - length)));
  std::string result = self.as_string();
  const bool sign = result.starts_with('+') || result.starts_with('-');
  result.insert(sign ? 1 : 0, width - length, '0');
  return runtime.string(std::move(result));
}

constexpr NativeEntry kMethods[] = {
    {"strip", method_strip<Side::kBoth>},
    {"split", method_split<false>},
    {"lstrip", method_strip<Side::kLeft>},
    {"rstrip", method_strip<Side::kRight>},
    {"startswith", method_affix<false>},
    {"endswith", method_affix<true>},
    {"replace", method_replace},
    {"join", method_join},
    {"format", method_format},
    {"rsplit", method_split<true>},
    {"splitlines", method_splitlines},
    {"find", method_find<false, false>},
    {"rfind", method_find<true, false>},
    {"index", method_find<false, true>},
    {"rindex", method_find<true, true>},
    {"count", method_count},
    {"partition", method_partition<false>},
    {"rpartition", method_partition<true>},
    {"removeprefix", method_remove<false>},
    {"removesuffix", method_remove<true>},
    {"ljust", method_justify<'<'>},
    {"rjust", method_justify<'>'>},
    {"center", method_justify<'^'>},
    {"zfill", method_zfill},
};

}  // namespace

std::span<const NativeEntry> string_methods() { return kMethods; }

}  // namespace sluice::jinja
