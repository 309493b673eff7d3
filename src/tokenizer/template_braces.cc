// str.format: replacement fields in braces.
#include <algorithm>
#include <optional>

#include "tokenizer/template_number.h"
#include "tokenizer/template_ops.h"
#include "tokenizer/template_spec.h"
#include "tokenizer/template_text.h"
#include "tokenizer/template_unicode.h"

namespace sluice::jinja {

namespace {

class BraceFormatter {
 public:
  BraceFormatter(Runtime& runtime, const Args& args) : runtime_(runtime), args_(args) {}

  // `nested` is the format of a field inside a format specification, where no further fields may stand.
  Result<std::string> run(std::string_view text, bool nested) {
    SLUICE_TRY(runtime_.spend_bytes(text.size()));
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const char c = text[at];
      if (c != '{' && c != '}') {
        const std::size_t end = std::min(text.find_first_of("{}", at), text.size());
        out.append(text, at, end - at);
        at = end;
        continue;
      }
      if (!nested && at + 1 < text.size() && text[at + 1] == c) {
        out += c;
        at += 2;
        continue;
      }
      if (c == '}') return runtime_error("Single '}' encountered in format string");
      // Find the brace that closes the field, over the fields in its specification.
      std::size_t end = at + 1;
      for (int open = 1; end < text.size(); ++end) {
        if (text[end] == '{') ++open;
        if (text[end] == '}' && --open == 0) break;
      }
      if (end >= text.size()) return runtime_error("expected '}' before end of string");
      SLUICE_ASSIGN(const std::string piece, field(text.substr(at + 1, end - at - 1), nested));
      out += piece;
      SLUICE_TRY(runtime_.check_string(out.size()));
      at = end + 1;
    }
    return out;
  }

 private:
  Result<std::string> field(std::string_view text, bool nested) {
    std::size_t end = 0;  // of the name; a ':' or '!' inside [] belongs to the name
    for (bool bracket = false; end < text.size(); ++end) {
      if (text[end] == '[') bracket = true;
      if (text[end] == ']') bracket = false;
      if (!bracket && (text[end] == ':' || text[end] == '!')) break;
    }
    SLUICE_ASSIGN(Value value, lookup(text.substr(0, end)));
    text.remove_prefix(end);
    if (text.starts_with('!')) {
      if (text.size() < 2 || (text.size() > 2 && text[2] != ':')) {
        return runtime_error("expected ':' after conversion specifier");
      }
      std::string converted;
      if (text[1] == 's') {
        SLUICE_TRY(append_str(runtime_, value, converted));
      } else if (text[1] == 'r' || text[1] == 'a') {
        SLUICE_TRY(append_repr(runtime_, value, converted));
        if (text[1] == 'a') converted = escape_non_ascii(converted);
      } else {
        return runtime_error("Unknown conversion specifier '" + std::string(1, text[1]) + "'");
      }
      value = runtime_.string(std::move(converted));
      text.remove_prefix(2);
    }
    if (text.starts_with(':')) text.remove_prefix(1);
    std::string spec(text);
    if (text.find_first_of("{}") != std::string_view::npos) {
      if (nested) return runtime_error("Max string recursion exceeded");
      SLUICE_ASSIGN(spec, run(text, true));
    }
    return format_value(runtime_, value, spec);
  }

  Result<Value> lookup(std::string_view name) {
    const std::size_t end = std::min(name.find_first_of(".["), name.size());
    const std::string_view first = name.substr(0, end);
    Value value;
    const bool number = first.find_first_not_of("0123456789") == std::string_view::npos;
    if (number) {
      if (first.empty() ? numbered_ : automatic_) {
        return runtime_error("cannot switch between manual and automatic field numbering");
      }
      (first.empty() ? automatic_ : numbered_) = true;
      const std::optional<Int> index = first.empty() ? Int(next_++) : text_to_int(first);
      if (!index || *index >= static_cast<Int>(args_.positional.size())) {
        return runtime_error("Replacement index " + std::string(first) + " out of range for positional args tuple");
      }
      value = args_.positional[static_cast<std::size_t>(*index)];
    } else {
      const auto found = std::find_if(args_.named.begin(), args_.named.end(),
                                      [&](const auto& argument) { return argument.first == first; });
      if (found == args_.named.end()) return runtime_error("format() has no argument " + quote(first));
      value = found->second;
    }
    for (std::size_t at = end; at < name.size();) {
      if (name[at] == '.') {
        const std::size_t stop = std::min(name.find_first_of(".[", at + 1), name.size());
        SLUICE_ASSIGN(value, get_attribute(runtime_, value, name.substr(at + 1, stop - at - 1)));
        at = stop;
        continue;
      }
      const std::size_t close = name.find(']', at);
      if (name[at] != '[' || close == std::string_view::npos) return runtime_error("Missing ']' in format string");
      const std::string_view key = name.substr(at + 1, close - at - 1);
      const std::optional<Int> index =
          key.find_first_not_of("0123456789") == std::string_view::npos ? text_to_int(key) : std::nullopt;
      SLUICE_ASSIGN(value,
                    get_item(runtime_, value, index ? Value::integer(*index) : runtime_.string(std::string(key))));
      at = close + 1;
    }
    return value;
  }

  Runtime& runtime_;
  const Args& args_;
  std::size_t next_ = 0;
  bool automatic_ = false;
  bool numbered_ = false;
};

}  // namespace

Result<std::string> format_braces(Runtime& runtime, std::string_view text, const Args& args) {
  return BraceFormatter(runtime, args).run(text, false);
}

}  // namespace sluice::jinja
