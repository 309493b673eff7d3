// text % arguments: Python's printf-style formatting.
#include <algorithm>
#include <optional>

#include "tokenizer/template_number.h"
#include "tokenizer/template_ops.h"
#include "tokenizer/template_spec.h"
#include "tokenizer/template_text.h"
#include "tokenizer/template_unicode.h"

namespace sluice::jinja {

namespace {

class PercentFormatter {
 public:
  PercentFormatter(Runtime& runtime, std::string_view text, const Value& arguments)
      : runtime_(runtime), text_(text), arguments_(arguments) {}

  Result<std::string> run() {
    SLUICE_TRY(runtime_.spend_bytes(text_.size()));
    while (at_ < text_.size()) {
      const std::size_t percent = text_.find('%', at_);
      out_.append(text_, at_, percent - at_);
      if (percent == std::string_view::npos) break;
      at_ = percent + 1;
      SLUICE_TRY(field());
      SLUICE_TRY(runtime_.check_string(out_.size()));
    }
    const std::size_t given = arguments_.is_tuple() ? arguments_.items().size() : 1;
    if (next_ < given && !by_name_ && !(arguments_.is_dict() || arguments_.is_list())) {
      return runtime_error("not all arguments converted during string formatting");
    }
    return std::move(out_);
  }

 private:
  Result<Value> take() {
    const bool many = arguments_.is_tuple();
    if (next_ >= (many ? arguments_.items().size() : 1)) return runtime_error("not enough arguments for format string");
    ++next_;
    return many ? arguments_.items()[next_ - 1] : arguments_;
  }

  // A width or precision: digits, or '*' for an argument.
  Status size_field(std::size_t& size, bool& left) {
    if (at_ >= text_.size() || text_[at_] != '*') return read_number(runtime_, text_, at_, size);
    ++at_;
    SLUICE_ASSIGN(const Value argument, take());
    SLUICE_ASSIGN(const Int number, require_int(argument, "the argument for *"));
    left = left || number < 0;
    const Int magnitude = number < 0 ? -number : number;
    if (magnitude > (Int{1} << 62)) return limit_error("a field is too wide");
    size = static_cast<std::size_t>(magnitude);
    return runtime_.check_string(size);
  }

  Status field() {
    Spec spec;
    spec.align = '>';
    std::optional<Value> named;
    if (at_ < text_.size() && text_[at_] == '(') {
      if (!arguments_.is_dict()) return runtime_error("format requires a mapping");
      const std::size_t close = text_.find(')', at_);
      if (close == std::string_view::npos) return runtime_error("incomplete format key");
      const std::string_view key = text_.substr(at_ + 1, close - at_ - 1);
      const Value* found = arguments_.as_dict().find(key);
      if (found == nullptr) return runtime_error("the mapping has no key " + quote(key));
      named = *found;
      by_name_ = true;
      at_ = close + 1;
    }
    bool left = false;
    bool zero = false;
    for (; at_ < text_.size(); ++at_) {
      const char flag = text_[at_];
      if (flag == '-') {
        left = true;
      } else if (flag == '+' || (flag == ' ' && spec.sign != '+')) {
        spec.sign = flag;
      } else if (flag == '0') {
        zero = true;
      } else if (flag == '#') {
        spec.alternate = true;
      } else if (flag != ' ') {
        break;
      }
    }
    SLUICE_TRY(size_field(spec.width, left));
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      std::size_t precision = 0;
      bool negative = false;
      SLUICE_TRY(size_field(precision, negative));
      spec.precision = negative ? 0 : precision;
    }
    if (at_ < text_.size() && (text_[at_] == 'l' || text_[at_] == 'h' || text_[at_] == 'L')) ++at_;
    if (at_ >= text_.size()) return runtime_error("incomplete format");
    spec.type = text_[at_++];
    if (spec.type == '%') {
      out_ += '%';
      return {};
    }
    Value value;
    if (named) {
      value = *named;
    } else {
      SLUICE_ASSIGN(value, take());
    }
    const bool number = std::string_view("diuxXoeEfFgG").find(spec.type) != std::string_view::npos;
    if (left) {
      spec.align = '<';
    } else if (zero && number) {
      spec.align = '=';
      spec.fill = "0";
    }
    SLUICE_ASSIGN(const std::string text, convert(value, spec));
    out_ += text;
    return {};
  }

  Result<std::string> convert(const Value& value, Spec spec) {
    std::string text;
    switch (spec.type) {
      case 's':
        SLUICE_TRY(append_str(runtime_, value, text));
        break;
      case 'r':
      case 'a':
        SLUICE_TRY(append_repr(runtime_, value, text));
        if (spec.type == 'a') text = escape_non_ascii(text);
        break;
      case 'c':
        return character(value, spec);
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        return integer(value, spec);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        SLUICE_TRY(require_defined(value));
        if (!value.is_number()) {
          return runtime_error("must be real number, not " + std::string(type_name(value)));
        }
        return format_float(runtime_, value.as_double(), spec);
      default:
        return runtime_error("unsupported format character '" + std::string(1, spec.type) + "'");
    }
    if (spec.precision) text.resize(byte_offset(text, *spec.precision));
    return pad(runtime_, std::move(text), spec, spec.align);
  }

  Result<std::string> integer(const Value& value, Spec spec) {
    SLUICE_TRY(require_defined(value));
    std::optional<Int> number;
    if (value.is_integral()) {
      number = value.as_int();
    } else if (value.is_float() && (spec.type == 'd' || spec.type == 'i' || spec.type == 'u')) {
      number = truncate_to_int(value.as_double());
    }
    if (!number) {
      return runtime_error("%" + std::string(1, spec.type) + " format: a number is required, not " +
                           std::string(type_name(value)));
    }
    if (!spec.precision) return format_int(runtime_, *number, spec);
    // A precision is a minimum of digits.
    Spec digits = spec;
    digits.align = '=';
    digits.fill = "0";
    digits.width = *spec.precision + (*number < 0 || spec.sign != '-' ? 1 : 0);
    SLUICE_ASSIGN(std::string text, format_int(runtime_, *number, digits));
    return pad(runtime_, std::move(text), spec, spec.align);
  }

  Result<std::string> character(const Value& value, const Spec& spec) {
    std::string text;
    if (value.is_integral() && value.as_int() >= 0 && value.as_int() <= 0x10FFFF) {
      append_code_point(text, static_cast<char32_t>(value.as_int()));
    } else if (value.is_string() && value.as_string_object().length() == 1) {
      text = value.as_string();
    } else {
      return runtime_error("%c requires int or char");
    }
    return pad(runtime_, std::move(text), spec, spec.align);
  }

  Runtime& runtime_;
  std::string_view text_;
  const Value& arguments_;
  std::size_t at_ = 0;
  std::size_t next_ = 0;
  bool by_name_ = false;
  std::string out_;
};

}  // namespace

Result<std::string> format_percent(Runtime& runtime, std::string_view text, const Value& arguments) {
  return PercentFormatter(runtime, text, arguments).run();
}

}  // namespace sluice::jinja
