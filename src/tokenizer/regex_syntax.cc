#include "tokenizer/regex_syntax.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "tokenizer/utf8.h"

namespace sluice {
namespace {

using unicode::CodePointSet;

constexpr std::size_t kMaxPattern = 64U << 10U;  // bytes; the longest known, DeepSeek's, has 800
constexpr int kMaxDepth = 100;
constexpr std::uint32_t kMaxRepeat = 65535;  // PCRE2's

class Parser {
 public:
  explicit Parser(std::string_view pattern) : pattern_(pattern) {}

  Result<RegexSyntax> parse() {
    if (pattern_.size() > kMaxPattern) {
      return Error(ErrorCode::kResource,
                   fmt::format("the pattern has {} bytes, more than {}", pattern_.size(), kMaxPattern));
    }
    SLUICE_TRY(alternatives());
    if (!at_end()) return fault("an unmatched ')'");
    return std::move(out_);
  }

 private:
  struct Options {
    bool ignore_case = false;
    bool dot_all = false;
  };

  // ---- Input

  bool at_end() const { return at_ >= pattern_.size(); }
  bool looking_at(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }
  bool accept(std::string_view text) {
    if (!looking_at(text)) return false;
    at_ += text.size();
    return true;
  }
  Result<char32_t> next() {
    if (at_end()) return fault("the end of the pattern");
    const unicode::Utf8Char c = unicode::decode_utf8(pattern_, at_);
    if (!c.valid()) return fault("a byte that is not UTF-8");
    at_ += c.size;
    return c.value;
  }
  Error fault(std::string_view found) const {
    return Error(ErrorCode::kCorrupt, fmt::format("malformed at byte {}: found {}", at_, found));
  }
  Error unsupported(std::string_view what) const {
    return Error(ErrorCode::kUnsupported,
                 fmt::format("{} at byte {} is not supported in patterns of tokenizers", what, at_));
  }

  // ---- Output

  void emit(std::string_view syntax) { out_.pieces.push_back({std::string(syntax), RegexSyntax::Piece::kSyntax}); }
  void emit(const CodePointSet& set) {
    const auto found = std::ranges::find(out_.sets, set);
    const auto index = static_cast<std::uint32_t>(std::distance(out_.sets.begin(), found));
    if (found == out_.sets.end()) out_.sets.push_back(set);
    out_.pieces.push_back({{}, index});
  }
  void wrap(std::size_t begin, std::string_view open, std::string_view close) {
    out_.pieces.insert(out_.pieces.begin() + static_cast<std::ptrdiff_t>(begin),
                       {std::string(open), RegexSyntax::Piece::kSyntax});
    emit(close);
  }

  // ---- Grammar

  // Up to the ')' that closes the group, which is left to the caller, or the end.
  Status alternatives() {
    if (++depth_ > kMaxDepth) return Error(ErrorCode::kResource, fmt::format("groups nest deeper than {}", kMaxDepth));
    const Options outer = options_;
    int isolated = 0;  // groups opened by (?i)
    while (!at_end() && !looking_at(")")) {
      if (accept("|")) {
        emit("|");
      } else {
        SLUICE_TRY(term(isolated));
      }
    }
    for (; isolated > 0; --isolated) emit(")");
    options_ = outer;
    --depth_;
    return {};
  }

  Status term(int& isolated) {
    const std::size_t begin = out_.pieces.size();
    bool is_atom = true;
    SLUICE_TRY(atom(isolated, is_atom));
    while (is_atom) {
      bool found = false;
      SLUICE_TRY(quantifier(begin, found));
      if (!found) break;
    }
    return {};
  }

  Status atom(int& isolated, bool& is_atom) {
    if (accept("(")) return group(isolated, is_atom);
    if (accept("[")) {
      CodePointSet set;
      SLUICE_TRY(char_class(set));
      emit(set);
      return {};
    }
    if (accept(".")) {
      emit(options_.dot_all ? CodePointSet(0, unicode::kMaxCodePoint) : ~newline());
      return {};
    }
    if (accept("^")) return line_begin();
    if (accept("$")) return line_end();
    if (looking_at("*") || looking_at("+") || looking_at("?")) return fault("a quantifier without what it repeats");
    if (accept("\\")) return escape();
    SLUICE_ASSIGN(const char32_t c, next());
    emit(folded(CodePointSet(c, c)));
    return {};
  }

  Status group(int& isolated, bool& is_atom) {
    std::string open = "(?:";
    const Options outer = options_;
    if (accept("?")) {
      if (accept("#")) {
        while (!at_end() && !looking_at(")")) ++at_;
        if (!accept(")")) return fault("a comment without end");
        is_atom = false;
        return {};
      }
      if (accept("=")) {
        open = "(?=";
      } else if (accept("!")) {
        open = "(?!";
      } else if (accept(">")) {
        open = "(?>";
      } else if (accept("<=")) {
        open = "(?<=";
      } else if (accept("<!")) {
        open = "(?<!";
      } else if (accept("<") || accept("P<")) {  // a name; nothing refers to it
        while (!at_end() && !looking_at(">")) ++at_;
        if (!accept(">")) return fault("a group's name without end");
      } else if (!accept(":")) {
        SLUICE_TRY(option_letters());
        if (accept(")")) {  // to the end of the group around it, alternatives included
          emit("(?:");
          ++isolated;
          is_atom = false;
          return {};
        }
        if (!accept(":")) return unsupported("this kind of group");
      }
    }
    emit(open);
    SLUICE_TRY(alternatives());
    if (!accept(")")) return fault("the end inside a group");
    emit(")");
    options_ = outer;
    return {};
  }

  Status option_letters() {
    bool value = true;
    while (!at_end() && !looking_at(":") && !looking_at(")")) {
      const char c = pattern_[at_];
      if (c == '-') {
        value = false;
      } else if (c == 'i') {
        options_.ignore_case = value;
      } else if (c == 'm' || c == 's') {
        options_.dot_all = value;
      } else {
        return unsupported("this kind of group");
      }
      ++at_;
    }
    return {};
  }

  Status quantifier(std::size_t begin, bool& found) {
    found = true;
    std::string text;
    bool interval = false;
    bool exact = false;
    if (accept("*")) {
      text = "*";
    } else if (accept("+")) {
      text = "+";
    } else if (accept("?")) {
      text = "?";
    } else if (looking_at("{")) {
      interval = true;
      SLUICE_TRY(interval_text(text, exact));
    }
    if (text.empty()) {
      found = false;
      return {};
    }
    // A second quantifier repeats the repetition.
    if (quantified_begin_ == begin && quantified_end_ == out_.pieces.size()) wrap(begin, "(?:", ")");
    if (interval) {
      // {n,m}? is lazy; {n}? makes the repetition optional and {n,m}+ repeats it: left to the next round.
      if (!exact && accept("?")) text += "?";
    } else if (accept("?")) {
      text += "?";
    } else if (accept("+")) {
      text += "+";
    }
    emit(text);
    quantified_begin_ = begin;
    quantified_end_ = out_.pieces.size();
    return {};
  }

  // {n}, {n,}, {,m} or {n,m}; anything else is a literal '{', and `text` stays empty.
  Status interval_text(std::string& text, bool& exact) {
    std::size_t at = at_ + 1;
    const auto number = [&]() -> std::optional<std::uint32_t> {
      std::optional<std::uint32_t> value;
      for (; at < pattern_.size() && pattern_[at] >= '0' && pattern_[at] <= '9'; ++at) {
        value = std::min(value.value_or(0) * 10 + static_cast<std::uint32_t>(pattern_[at] - '0'), kMaxRepeat + 1);
      }
      return value;
    };
    const std::optional<std::uint32_t> low = number();
    const bool comma = at < pattern_.size() && pattern_[at] == ',';
    if (comma) ++at;
    const std::optional<std::uint32_t> high = comma ? number() : low;
    if (at >= pattern_.size() || pattern_[at] != '}' || (!low && !high)) return {};
    if (low.value_or(0) > kMaxRepeat || high.value_or(0) > kMaxRepeat) {
      return Error(ErrorCode::kResource, fmt::format("a repetition of more than {} at byte {}", kMaxRepeat, at_));
    }
    if (high && low.value_or(0) > *high) return fault("a repetition whose first number is the larger one");
    at_ = at + 1;
    exact = !comma;
    if (!comma) {
      text = fmt::format("{{{}}}", *low);
    } else if (high) {
      text = fmt::format("{{{},{}}}", low.value_or(0), *high);
    } else {
      text = fmt::format("{{{},}}", *low);
    }
    return {};
  }

  // ---- Escapes

  // Behind a backslash, outside of a class.
  Status escape() {
    if (accept("A")) {
      emit("\\A");
      return {};
    }
    if (accept("z")) {
      emit("\\z");
      return {};
    }
    if (accept("Z")) {
      emit("(?=");
      emit(newline());
      emit("?\\z)");
      return {};
    }
    if (accept("b")) return word_boundary(true);
    if (accept("B")) return word_boundary(false);
    if (accept("R")) {
      emit("(?>");
      emit(CodePointSet('\r', '\r'));
      emit(newline());
      emit("|");
      emit(CodePointSet({{'\n', '\r'}, {0x85, 0x85}, {0x2028, 0x2029}}));
      emit(")");
      return {};
    }
    if (!at_end() && pattern_[at_] >= '1' && pattern_[at_] <= '9') return unsupported("a back-reference");
    CodePointSet set;
    bool single = false;
    SLUICE_TRY(escaped_set(set, single));
    emit(folded(set));
    return {};
  }

  // The characters of an escape; `single`: it names one character, which a range may begin or end with.
  Status escaped_set(CodePointSet& set, bool& single) {
    const std::size_t begin = at_;
    SLUICE_ASSIGN(const char32_t c, next());
    const auto property = [](const char* name) { return *unicode::find_property(name); };
    switch (c) {
      case 'd':
        set = property("Nd");
        return {};
      case 'D':
        set = ~property("Nd");
        return {};
      case 's':
        set = property("White_Space");
        return {};
      case 'S':
        set = ~property("White_Space");
        return {};
      case 'w':
        set = property("word");
        return {};
      case 'W':
        set = ~property("word");
        return {};
      case 'h':
        set = property("xdigit");
        return {};
      case 'H':
        set = ~property("xdigit");
        return {};
      case 'p':
        return named_property(set, false);
      case 'P':
        return named_property(set, true);
      default:
        break;
    }
    single = true;
    char32_t value = c;
    switch (c) {
      case 'n':
        value = '\n';
        break;
      case 'r':
        value = '\r';
        break;
      case 't':
        value = '\t';
        break;
      case 'f':
        value = '\f';
        break;
      case 'v':
        value = '\v';
        break;
      case 'a':
        value = '\a';
        break;
      case 'e':
        value = 0x1B;
        break;
      case 'x': {
        const bool braces = accept("{");
        SLUICE_TRY(hexadecimal(value, braces ? 1 : 0, braces ? 8 : 2));
        if (braces && !accept("}")) return fault("\\x{ without its end");
        break;
      }
      case 'u':
        SLUICE_TRY(hexadecimal(value, 4, 4));
        break;
      case '0':
        value = 0;
        for (int i = 0; i < 2 && !at_end() && pattern_[at_] >= '0' && pattern_[at_] <= '7'; ++i) {
          value = value * 8 + static_cast<char32_t>(pattern_[at_++] - '0');
        }
        break;
      default:
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '1' && c <= '9')) {
          at_ = begin;
          return unsupported(fmt::format("\\{}", static_cast<char>(c)));
        }
    }
    set = CodePointSet(value, value);
    return {};
  }

  Status hexadecimal(char32_t& value, int least, int most) {
    value = 0;
    int digits = 0;
    for (; digits < most && !at_end(); ++digits, ++at_) {
      const char c = pattern_[at_];
      if (c >= '0' && c <= '9') {
        value = value * 16 + static_cast<char32_t>(c - '0');
      } else if (c >= 'a' && c <= 'f') {
        value = value * 16 + static_cast<char32_t>(c - 'a' + 10);
      } else if (c >= 'A' && c <= 'F') {
        value = value * 16 + static_cast<char32_t>(c - 'A' + 10);
      } else {
        break;
      }
    }
    if (digits < least || value > unicode::kMaxCodePoint) return fault("a hexadecimal escape that is no character");
    return {};
  }

  // Behind \p or \P: {name}, {^name} or one letter.
  Status named_property(CodePointSet& set, bool negated) {
    const std::size_t begin = at_;
    std::string_view name;
    if (accept("{")) {
      if (accept("^")) negated = !negated;
      const std::size_t end = pattern_.find('}', at_);
      if (end == std::string_view::npos) return fault("\\p{ without its end");
      name = pattern_.substr(at_, end - at_);
      at_ = end + 1;
    } else if (!at_end()) {
      name = pattern_.substr(at_++, 1);
    }
    const std::optional<CodePointSet> found = unicode::find_property(name);
    if (!found) {
      at_ = begin;
      return unsupported(fmt::format("the property \\p{{{}}}", name.substr(0, 40)));
    }
    set = negated ? ~*found : *found;
    return {};
  }

  // ---- Classes

  // Behind the '['. The set is closed over case and negated as the class says.
  Status char_class(CodePointSet& result) {
    if (++depth_ > kMaxDepth) return Error(ErrorCode::kResource, fmt::format("classes nest deeper than {}", kMaxDepth));
    const bool negated = accept("^");
    std::optional<CodePointSet> left;  // what stands before the last &&
    std::vector<unicode::CodePointRange> ranges;
    const auto take = [&] { return CodePointSet(std::exchange(ranges, {})); };
    for (bool first = true;; first = false) {
      if (!first && accept("]")) break;
      if (accept("&&")) {
        left = left ? *left & take() : take();
        continue;
      }
      CodePointSet set;
      bool single = false;
      SLUICE_TRY(class_item(set, single));
      if (single && looking_at("-") && !looking_at("-]") && !looking_at("-[") && !looking_at("-&&")) {
        SLUICE_TRY(range_end(set));
      }
      ranges.insert(ranges.end(), set.ranges().begin(), set.ranges().end());
    }
    result = left ? *left & take() : take();
    result = folded(result);
    if (negated) result = ~result;
    --depth_;
    return {};
  }

  Status class_item(CodePointSet& set, bool& single) {
    if (at_end()) return fault("the end inside a class");
    if (looking_at("[:")) {
      const std::size_t end = pattern_.find(":]", at_ + 2);
      if (end != std::string_view::npos) {
        std::string_view name = pattern_.substr(at_ + 2, end - at_ - 2);
        const bool negated = name.starts_with('^');
        if (negated) name.remove_prefix(1);
        if (const auto found = unicode::find_property(name)) {
          at_ = end + 2;
          set = negated ? ~*found : *found;
          return {};
        }
      }
    }
    if (accept("[")) return char_class(set);
    if (accept("\\")) {
      if (accept("b")) {  // a backspace here
        single = true;
        set = CodePointSet('\b', '\b');
        return {};
      }
      return escaped_set(set, single);
    }
    SLUICE_ASSIGN(const char32_t c, next());
    single = true;
    set = CodePointSet(c, c);
    return {};
  }

  // Behind the first character of a range, at its '-'. A class behind the '-' makes it a plain hyphen.
  Status range_end(CodePointSet& set) {
    const char32_t first = set.ranges().front().first;
    ++at_;
    CodePointSet end;
    bool single = false;
    SLUICE_TRY(class_item(end, single));
    if (!single) {
      set = set | CodePointSet('-', '-') | end;
      return {};
    }
    const char32_t last = end.ranges().front().first;
    if (last < first) return fault("a range whose ends are the wrong way round");
    set = CodePointSet(first, last);
    return {};
  }

  // ---- Assertions

  static CodePointSet newline() { return {'\n', '\n'}; }

  Status line_begin() {
    emit("(?:\\A|(?<=");
    emit(newline());
    emit(")(?!\\z))");
    return {};
  }
  Status line_end() {
    emit("(?:\\z|(?=");
    emit(newline());
    emit("))");
    return {};
  }
  Status word_boundary(bool wanted) {
    const CodePointSet word = *unicode::find_property("word");
    const auto look = [&](const char* behind, const char* ahead) {
      emit(behind);
      emit(word);
      emit(")");
      emit(ahead);
      emit(word);
      emit(")");
    };
    emit("(?:");
    look("(?<=", wanted ? "(?!" : "(?=");
    emit("|");
    look("(?<!", wanted ? "(?=" : "(?!");
    emit(")");
    return {};
  }

  CodePointSet folded(const CodePointSet& set) const {
    return options_.ignore_case ? unicode::close_over_case(set) : set;
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Options options_;
  RegexSyntax out_;
  // The last quantified term: pieces [begin, end).
  std::size_t quantified_begin_ = static_cast<std::size_t>(-1);
  std::size_t quantified_end_ = 0;
};

}  // namespace

Result<RegexSyntax> parse_regex(std::string_view pattern) { return Parser(pattern).parse(); }

}  // namespace sluice
