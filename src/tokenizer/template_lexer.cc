#include "tokenizer/template_lexer.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "tokenizer/template_number.h"
#include "tokenizer/template_unicode.h"

namespace sluice::jinja {

namespace {

// Longest first.
constexpr std::string_view kOperators[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
                                           "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

std::string normalize_newlines(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      text += source[i];
    } else if (i + 1 == source.size() || source[i + 1] != '\n') {
      text += '\n';
    }
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

class Lexer {
 public:
  explicit Lexer(TokenizedSource& result) : result_(result), source_(result.source) {}

  Status run() {
    while (at_ < source_.size()) {
      const std::size_t open = find_open(at_);
      if (open == std::string_view::npos) {
        push_data(source_.substr(at_));
        break;
      }
      SLUICE_TRY(tag(open));
    }
    push(TokenKind::kEnd, {});
    return {};
  }

 private:
  // The next "{{", "{%" or "{#", or npos.
  std::size_t find_open(std::size_t from) const {
    std::size_t i = source_.find('{', from);
    while (i != std::string_view::npos) {
      const char kind = i + 1 < source_.size() ? source_[i + 1] : '\0';
      if (kind == '{' || kind == '%' || kind == '#') return i;
      i = source_.find('{', i + 1);
    }
    return i;
  }

  void push(TokenKind kind, std::string_view text) { result_.tokens.push_back(Token{kind, line_, text}); }

  Error fail(std::string_view message) const { return template_error(ErrorCode::kCorrupt, line_, message); }

  bool at(std::string_view text) const { return source_.substr(at_).starts_with(text); }

  void advance_to(std::size_t end) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    at_ = end;
  }

  std::size_t skip_space(std::size_t from) const {
    while (from < source_.size()) {
      const CodePoint c = decode_at(source_, from);
      if (!is_space(c.value)) break;
      from += c.size;
    }
    return from;
  }

  // Emits text[at_, end of data) and moves to `end`.
  void push_data(std::string_view data) {
    if (!data.empty()) push(TokenKind::kData, data);
  }

  // The data before a tag that begins at `open` with the mark `sign` behind its delimiter.
  std::string_view data_before(std::size_t open, char sign, bool variable) const {
    const std::string_view data = source_.substr(at_, open - at_);
    if (sign == '-') return strip_space_right(data);
    if (sign == '+' || variable) return data;
    // lstrip_blocks: what stands between the beginning of the line and the tag goes if it is only space.
    const std::size_t newline = data.rfind('\n');
    const bool begins_line = newline != std::string_view::npos || at_ == 0 || source_[at_ - 1] == '\n';
    const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
    if (begins_line && strip_space_left(data.substr(begin)).empty()) return data.substr(0, begin);
    return data;
  }

  char sign_at(std::size_t position) const {
    const char c = position < source_.size() ? source_[position] : '\0';
    return c == '-' || c == '+' ? c : '\0';
  }

  // Where the source goes on behind a "%}" or "#}" at `close` (the '-' or '+' before it is at close - 1).
  std::size_t behind_close(std::size_t close, char sign) const {
    const std::size_t end = close + 2;
    if (sign == '-') return skip_space(end);
    return sign != '+' && end < source_.size() && source_[end] == '\n' ? end + 1 : end;
  }

  Status tag(std::size_t open) {
    const char kind = source_[open + 1];
    const char sign = sign_at(open + 2);
    const std::size_t inner = open + 2 + (sign != '\0' ? 1 : 0);
    push_data(data_before(open, sign, kind == '{'));
    if (kind == '#') {
      advance_to(inner);
      return comment();
    }
    if (kind == '%') {
      if (const std::optional<std::size_t> body = raw_begin(inner)) {
        advance_to(*body);
        return raw();
      }
    }
    advance_to(inner);
    const bool variable = kind == '{';
    push(variable ? TokenKind::kVariableBegin : TokenKind::kBlockBegin, {});
    return expression(variable);
  }

  Status comment() {
    const std::size_t close = source_.find("#}", at_);
    if (close == std::string_view::npos) return fail("expected '#}' at the end of the comment, found the end");
    const char sign = close > at_ ? sign_at(close - 1) : '\0';
    advance_to(behind_close(close, sign));
    return {};
  }

  // If the tag whose inside begins at `inner` is {% raw %}: where the raw text begins.
  std::optional<std::size_t> raw_begin(std::size_t inner) const {
    std::size_t i = skip_space(inner);
    if (!source_.substr(i).starts_with("raw")) return std::nullopt;
    i = skip_space(i + 3);
    if (source_.substr(i).starts_with("-%}")) return skip_space(i + 3);
    if (source_.substr(i).starts_with("%}")) return i + 2;
    return std::nullopt;
  }

  Status raw() {
    for (std::size_t open = source_.find("{%", at_); open != std::string_view::npos;
         open = source_.find("{%", open + 2)) {
      const char sign = sign_at(open + 2);
      std::size_t i = skip_space(open + 2 + (sign != '\0' ? 1 : 0));
      if (!source_.substr(i).starts_with("endraw")) continue;
      i = skip_space(i + 6);
      const char end_sign = sign_at(i);
      if (end_sign != '\0') ++i;
      if (!source_.substr(i).starts_with("%}")) continue;
      push_data(data_before(open, sign, false));
      advance_to(behind_close(i, end_sign));
      return {};
    }
    return fail("expected '{% endraw %}', found the end");
  }

  // The tokens inside {{ }} or {% %}, with the end of it.
  Status expression(bool variable) {
    std::string brackets;  // that are open: inside them "}}" and "%}" are operators
    const std::string_view close = variable ? "}}" : "%}";
    while (true) {
      advance_to(skip_space(at_));
      if (at_ >= source_.size()) {
        return fail("expected '" + std::string(close) + "', found the end of the template");
      }
      if (brackets.empty()) {
        const char sign = sign_at(at_);
        const bool marked = sign == '-' || (sign == '+' && !variable);
        if (source_.substr(at_ + (marked ? 1 : 0)).starts_with(close)) {
          const std::size_t end = at_ + (marked ? 1 : 0);
          push(variable ? TokenKind::kVariableEnd : TokenKind::kBlockEnd, {});
          // trim_blocks is for blocks only: a newline behind a variable stays.
          advance_to(variable ? (sign == '-' ? skip_space(end + 2) : end + 2) : behind_close(end, sign));
          return {};
        }
      }
      SLUICE_TRY(token(brackets));
    }
  }

  Status token(std::string& brackets) {
    const char c = source_[at_];
    if (is_ascii_digit(c)) return number();
    if (c == '"' || c == '\'') return string();
    if (is_word(decode_at(source_, at_).value)) return name();
    for (const std::string_view op : kOperators) {
      if (!at(op)) continue;
      if (op == "(") brackets += ')';
      if (op == "[") brackets += ']';
      if (op == "{") brackets += '}';
      if (op == ")" || op == "]" || op == "}") {
        if (brackets.empty()) return fail("unexpected '" + std::string(op) + "'");
        if (brackets.back() != op[0]) {
          return fail("expected '" + std::string(1, brackets.back()) + "', found '" + std::string(op) + "'");
        }
        brackets.pop_back();
      }
      push(TokenKind::kOperator, source_.substr(at_, op.size()));
      advance_to(at_ + op.size());
      return {};
    }
    return fail("unexpected character '" + std::string(source_.substr(at_, decode_at(source_, at_).size)) + "'");
  }

  Status name() {
    std::size_t end = at_;
    bool valid = is_identifier_start(decode_at(source_, at_).value);
    while (end < source_.size()) {
      const CodePoint c = decode_at(source_, end);
      if (!is_word(c.value) && !is_identifier_continue(c.value)) break;
      valid = valid && is_identifier_continue(c.value);
      end += c.size;
    }
    const std::string_view text = source_.substr(at_, end - at_);
    constexpr std::size_t kLongestName = 500;  // bytes
    if (text.size() > kLongestName) return fail("a name longer than 500 bytes");
    if (!valid) return fail("invalid character in the name '" + std::string(text) + "'");
    push(TokenKind::kName, text);
    advance_to(end);
    return {};
  }

  // End of digits from `i`, with '_' allowed between two of them; `i` itself if there is no digit.
  std::size_t digits_end(std::size_t i, int base = 10) const {
    const auto digit = [&](std::size_t position) {
      if (position >= source_.size()) return false;
      const char c = source_[position];
      if (base == 16) return is_ascii_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
      return c >= '0' && c < '0' + base;
    };
    while (digit(i) || (i < source_.size() && source_[i] == '_' && i > at_ && digit(i + 1))) ++i;
    return i;
  }

  Status number() {
    const bool after_dot = at_ > 0 && source_[at_ - 1] == '.';  // x.0.1 is two subscripts
    std::size_t end = digits_end(at_);
    bool real = false;
    if (!after_dot) {
      std::size_t i = end;
      if (i + 1 < source_.size() && source_[i] == '.' && is_ascii_digit(source_[i + 1])) {
        i = digits_end(i + 1);
        real = true;
      }
      if (i < source_.size() && (source_[i] == 'e' || source_[i] == 'E')) {
        std::size_t exponent = i + 1;
        if (sign_at(exponent) != '\0') ++exponent;
        if (exponent < source_.size() && is_ascii_digit(source_[exponent])) {
          i = digits_end(exponent);
          real = true;
        }
      }
      if (real) end = i;
    }
    if (!real && source_[at_] == '0') {
      const char letter = at_ + 1 < source_.size() ? static_cast<char>(source_[at_ + 1] | 0x20) : '\0';
      const int prefixed = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;
      const std::size_t prefixed_end = prefixed == 10 ? at_ + 2 : digits_end(at_ + 2, prefixed);
      if (prefixed_end > at_ + 2) {
        end = prefixed_end;
      } else {
        end = at_;  // a number that begins with 0 is made of zeros
        while (end < source_.size() && (source_[end] == '0' || (source_[end] == '_' && digits_end(end) > end))) ++end;
      }
    }
    const std::string_view text = source_.substr(at_, end - at_);
    if (real ? !text_to_float(text) : !text_to_int(text, 0)) {
      return fail("the number '" + std::string(text) + "' is too large");
    }
    push(real ? TokenKind::kFloat : TokenKind::kInteger, text);
    advance_to(end);
    return {};
  }

  Status string() {
    const char quote = source_[at_];
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) return fail("expected the end of the string that begins with " + std::string(1, quote));
    std::string_view text = source_.substr(at_ + 1, end - at_ - 1);
    if (text.find('\\') != std::string_view::npos) {
      std::string unescaped;
      SLUICE_TRY(unescape(text, unescaped));
      text = result_.strings.emplace_back(std::move(unescaped));
    }
    push(TokenKind::kString, text);
    advance_to(end + 1);
    return {};
  }

  // Python's escapes. A pair of surrogates is one character.
  Status unescape(std::string_view text, std::string& out) const {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '\\') {
        out += text[i];
        continue;
      }
      const char c = text[++i];
      constexpr std::string_view kFrom = "\\'\"abfnrtv";
      constexpr std::string_view kTo = "\\'\"\a\b\f\n\r\t\v";
      if (const std::size_t simple = kFrom.find(c); simple != std::string_view::npos) {
        out += kTo[simple];
      } else if (c == '\n') {
        // an escaped line break joins two lines
      } else if (c >= '0' && c <= '7') {
        char32_t value = 0;
        const std::size_t stop = std::min(i + 3, text.size());
        while (i < stop && text[i] >= '0' && text[i] <= '7') value = value * 8 + static_cast<char32_t>(text[i++] - '0');
        append_code_point(out, value);
        --i;
      } else if (c == 'x' || c == 'u' || c == 'U') {
        SLUICE_ASSIGN(char32_t value, hex_escape(text, i));
        if (value >= 0xD800 && value < 0xDC00 && text.substr(i + 1).starts_with("\\u")) {
          std::size_t next = i + 2;
          SLUICE_ASSIGN(const char32_t low, hex_escape(text, next));
          if (low >= 0xDC00 && low < 0xE000) {
            value = 0x10000 + ((value - 0xD800) << 10U) + (low - 0xDC00);
            i = next;
          }
        }
        if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return fail("an escape that is no character");
        append_code_point(out, value);
      } else if (c == 'N') {
        return fail("names of characters (\\N{...}) are not supported: write \\u and the number");
      } else {
        out += '\\';
        out += c;
      }
    }
    return {};
  }

  // The number behind the x, u or U at `i`; `i` moves to its last digit.
  Result<char32_t> hex_escape(std::string_view text, std::size_t& i) const {
    const std::size_t size = text[i] == 'x' ? 2 : text[i] == 'u' ? 4 : 8;
    const std::string_view digits = text.substr(i + 1, size);
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.size() != size || error != std::errc() || end != digits.data() + size) {
      return fail("expected " + std::to_string(size) + " hexadecimal digits behind '\\" + std::string(1, text[i]) +
                  "'");
    }
    i += size;
    return static_cast<char32_t>(value);
  }

  TokenizedSource& result_;
  std::string_view source_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

Error template_error(ErrorCode code, int line, std::string_view message) {
  return Error(code, "chat template, line " + std::to_string(line) + ": " + std::string(message));
}

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kData:
      return "text";
    case TokenKind::kVariableBegin:
      return "'{{'";
    case TokenKind::kVariableEnd:
      return "'}}'";
    case TokenKind::kBlockBegin:
      return "'{%'";
    case TokenKind::kBlockEnd:
      return "'%}'";
    case TokenKind::kString:
      return "a string";
    case TokenKind::kEnd:
      return "the end of the template";
    case TokenKind::kName:
    case TokenKind::kInteger:
    case TokenKind::kFloat:
    case TokenKind::kOperator:
      break;
  }
  return "'" + std::string(token.text) + "'";
}

Result<std::unique_ptr<const TokenizedSource>> tokenize(std::string_view source) {
  auto result = std::make_unique<TokenizedSource>();
  result->source = normalize_newlines(source);
  SLUICE_TRY(Lexer(*result).run());
  return std::unique_ptr<const TokenizedSource>(std::move(result));
}

}  // namespace sluice::jinja
