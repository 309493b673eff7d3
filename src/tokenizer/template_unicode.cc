#include "tokenizer/template_unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace sluice::jinja {

namespace {

utf8proc_category_t category(char32_t c) {
  return c > 0x10FFFF ? UTF8PROC_CATEGORY_CN : utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool in_ranges(char32_t c, const char32_t (*ranges)[2], std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (c >= ranges[i][0] && c <= ranges[i][1]) return true;
  }
  return false;
}

// Numeric_Type=Digit, from DerivedNumericType.txt: superscripts, circled digits and the like.
constexpr char32_t kDigits[][2] = {
    {0xB2, 0xB3},     {0xB9, 0xB9},       {0x1369, 0x1371},   {0x19DA, 0x19DA},   {0x2070, 0x2070},
    {0x2074, 0x2079}, {0x2080, 0x2089},   {0x2460, 0x2468},   {0x2474, 0x247C},   {0x2488, 0x2490},
    {0x24EA, 0x24EA}, {0x24F5, 0x24FD},   {0x24FF, 0x24FF},   {0x2776, 0x277E},   {0x2780, 0x2788},
    {0x278A, 0x2792}, {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A},
};

// Other_Lowercase and Other_Uppercase, from PropList.txt.
constexpr char32_t kOtherLower[][2] = {
    {0xAA, 0xAA},     {0xBA, 0xBA},     {0x2B0, 0x2B8},     {0x2C0, 0x2C1},     {0x2E0, 0x2E4},     {0x345, 0x345},
    {0x37A, 0x37A},   {0x1D2C, 0x1D6A}, {0x1D78, 0x1D78},   {0x1D9B, 0x1DBF},   {0x2071, 0x2071},   {0x207F, 0x207F},
    {0x2090, 0x209C}, {0x2170, 0x217F}, {0x24D0, 0x24E9},   {0x2C7C, 0x2C7D},   {0xA69C, 0xA69D},   {0xA770, 0xA770},
    {0xA7F8, 0xA7F9}, {0xAB5C, 0xAB5F}, {0x10780, 0x10780}, {0x10783, 0x10785}, {0x10787, 0x107B0}, {0x107B2, 0x107BA},
};
constexpr char32_t kOtherUpper[][2] = {
    {0x2160, 0x216F}, {0x24B6, 0x24CF}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189},
};

// Mappings to several characters, from SpecialCasing.txt; U+1F80 to U+1FAF follow a rule and are not listed.
struct SpecialCase {
  char32_t from;
  std::u32string_view upper;
  std::u32string_view title;
};
constexpr SpecialCase kSpecialCases[] = {
    {0x00DF, U"\u0053\u0053", U"\u0053\u0073"},
    {0x0149, U"\u02BC\u004E", U"\u02BC\u004E"},
    {0x01F0, U"\u004A\u030C", U"\u004A\u030C"},
    {0x0390, U"\u0399\u0308\u0301", U"\u0399\u0308\u0301"},
    {0x03B0, U"\u03A5\u0308\u0301", U"\u03A5\u0308\u0301"},
    {0x0587, U"\u0535\u0552", U"\u0535\u0582"},
    {0x1E96, U"\u0048\u0331", U"\u0048\u0331"},
    {0x1E97, U"\u0054\u0308", U"\u0054\u0308"},
    {0x1E98, U"\u0057\u030A", U"\u0057\u030A"},
    {0x1E99, U"\u0059\u030A", U"\u0059\u030A"},
    {0x1E9A, U"\u0041\u02BE", U"\u0041\u02BE"},
    {0x1F50, U"\u03A5\u0313", U"\u03A5\u0313"},
    {0x1F52, U"\u03A5\u0313\u0300", U"\u03A5\u0313\u0300"},
    {0x1F54, U"\u03A5\u0313\u0301", U"\u03A5\u0313\u0301"},
    {0x1F56, U"\u03A5\u0313\u0342", U"\u03A5\u0313\u0342"},
    {0x1FB2, U"\u1FBA\u0399", U"\u1FBA\u0345"},
    {0x1FB3, U"\u0391\u0399", U"\u1FBC"},
    {0x1FB4, U"\u0386\u0399", U"\u0386\u0345"},
    {0x1FB6, U"\u0391\u0342", U"\u0391\u0342"},
    {0x1FB7, U"\u0391\u0342\u0399", U"\u0391\u0342\u0345"},
    {0x1FBC, U"\u0391\u0399", U"\u1FBC"},
    {0x1FC2, U"\u1FCA\u0399", U"\u1FCA\u0345"},
    {0x1FC3, U"\u0397\u0399", U"\u1FCC"},
    {0x1FC4, U"\u0389\u0399", U"\u0389\u0345"},
    {0x1FC6, U"\u0397\u0342", U"\u0397\u0342"},
    {0x1FC7, U"\u0397\u0342\u0399", U"\u0397\u0342\u0345"},
    {0x1FCC, U"\u0397\u0399", U"\u1FCC"},
    {0x1FD2, U"\u0399\u0308\u0300", U"\u0399\u0308\u0300"},
    {0x1FD3, U"\u0399\u0308\u0301", U"\u0399\u0308\u0301"},
    {0x1FD6, U"\u0399\u0342", U"\u0399\u0342"},
    {0x1FD7, U"\u0399\u0308\u0342", U"\u0399\u0308\u0342"},
    {0x1FE2, U"\u03A5\u0308\u0300", U"\u03A5\u0308\u0300"},
    {0x1FE3, U"\u03A5\u0308\u0301", U"\u03A5\u0308\u0301"},
    {0x1FE4, U"\u03A1\u0313", U"\u03A1\u0313"},
    {0x1FE6, U"\u03A5\u0342", U"\u03A5\u0342"},
    {0x1FE7, U"\u03A5\u0308\u0342", U"\u03A5\u0308\u0342"},
    {0x1FF2, U"\u1FFA\u0399", U"\u1FFA\u0345"},
    {0x1FF3, U"\u03A9\u0399", U"\u1FFC"},
    {0x1FF4, U"\u038F\u0399", U"\u038F\u0345"},
    {0x1FF6, U"\u03A9\u0342", U"\u03A9\u0342"},
    {0x1FF7, U"\u03A9\u0342\u0399", U"\u03A9\u0342\u0345"},
    {0x1FFC, U"\u03A9\u0399", U"\u1FFC"},
    {0xFB00, U"\u0046\u0046", U"\u0046\u0066"},
    {0xFB01, U"\u0046\u0049", U"\u0046\u0069"},
    {0xFB02, U"\u0046\u004C", U"\u0046\u006C"},
    {0xFB03, U"\u0046\u0046\u0049", U"\u0046\u0066\u0069"},
    {0xFB04, U"\u0046\u0046\u004C", U"\u0046\u0066\u006C"},
    {0xFB05, U"\u0053\u0054", U"\u0053\u0074"},
    {0xFB06, U"\u0053\u0054", U"\u0053\u0074"},
    {0xFB13, U"\u0544\u0546", U"\u0544\u0576"},
    {0xFB14, U"\u0544\u0535", U"\u0544\u0565"},
    {0xFB15, U"\u0544\u053B", U"\u0544\u056B"},
    {0xFB16, U"\u054E\u0546", U"\u054E\u0576"},
    {0xFB17, U"\u0544\u053D", U"\u0544\u056D"},
};

const SpecialCase* find_special(char32_t c) {
  const auto* found = std::lower_bound(std::begin(kSpecialCases), std::end(kSpecialCases), c,
                                       [](const SpecialCase& entry, char32_t value) { return entry.from < value; });
  return found != std::end(kSpecialCases) && found->from == c ? found : nullptr;
}

char32_t simple(utf8proc_int32_t (*map)(utf8proc_int32_t), char32_t c) {
  return static_cast<char32_t>(map(static_cast<utf8proc_int32_t>(c)));
}

void append_upper(std::string& out, char32_t c) {
  if (c >= 0x1F80 && c <= 0x1FAF) {  // Greek with iota subscript: the capital without it, then a capital iota
    const char32_t row = (c & 0xFF0U) == 0xF80 ? 0x1F08 : (c & 0xFF0U) == 0xF90 ? 0x1F28 : 0x1F68;
    append_code_point(out, row + (c & 7U));
    append_code_point(out, 0x0399);
    return;
  }
  if (const SpecialCase* special = find_special(c)) {
    for (const char32_t part : special->upper) append_code_point(out, part);
    return;
  }
  append_code_point(out, simple(utf8proc_toupper, c));
}

void append_title(std::string& out, char32_t c) {
  if (const SpecialCase* special = find_special(c)) {
    for (const char32_t part : special->title) append_code_point(out, part);
    return;
  }
  append_code_point(out, simple(utf8proc_totitle, c));
}

bool is_cased(char32_t c) { return is_upper(c) || is_lower(c) || is_title(c); }

bool is_case_ignorable(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:  // Word_Break = MidLetter, MidNumLet, Single_Quote
      return c == '\'' || c == '.' || c == ':' || c == 0xB7 || c == 0x387 || c == 0x55F || c == 0x5F4 || c == 0x2018 ||
             c == 0x2019 || c == 0x2024 || c == 0x2027 || c == 0xFE13 || c == 0xFE52 || c == 0xFE55 || c == 0xFF07 ||
             c == 0xFF0E || c == 0xFF1A;
  }
}

// Final_Sigma of the Unicode standard, section 3.13.
bool is_final_sigma(std::string_view text, std::size_t at) {
  bool before = false;
  for (std::size_t i = at; i > 0;) {
    do --i;
    while (i > 0 && (static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80);
    const char32_t c = decode_at(text, i).value;
    if (is_case_ignorable(c)) continue;
    before = is_cased(c);
    break;
  }
  if (!before) return false;
  for (std::size_t i = at + decode_at(text, at).size; i < text.size();) {
    const CodePoint c = decode_at(text, i);
    if (!is_case_ignorable(c.value)) return !is_cased(c.value);
    i += c.size;
  }
  return true;
}

void append_lower(std::string& out, std::string_view text, std::size_t at, char32_t c) {
  if (c == 0x130) {  // I with dot above keeps its dot
    append_code_point(out, 'i');
    append_code_point(out, 0x307);
  } else if (c == 0x3A3) {
    append_code_point(out, is_final_sigma(text, at) ? 0x3C2 : 0x3C3);
  } else {
    append_code_point(out, simple(utf8proc_tolower, c));
  }
}

// Maps every character with `append(out, at, c)`; bytes that are no UTF-8 stay.
template <typename Append>
std::string map_text(std::string_view text, const Append& append) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_at(text, at);
    if (c.value == kInvalid) {
      out += text[at];
    } else {
      append(out, at, c.value);
    }
    at += c.size;
  }
  return out;
}

}  // namespace

CodePoint decode_at(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return {lead, 1};
  utf8proc_int32_t c = 0;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data() + at);
  const utf8proc_ssize_t size = utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size() - at), &c);
  if (size <= 0) return {kInvalid, 1};
  return {static_cast<char32_t>(c), static_cast<std::size_t>(size)};
}

void append_code_point(std::string& text, char32_t c) {
  if (c < 0x80) {
    text += static_cast<char>(c);
    return;
  }
  if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) c = 0xFFFD;
  std::array<utf8proc_uint8_t, 4> bytes;
  const utf8proc_ssize_t size = utf8proc_encode_char(static_cast<utf8proc_int32_t>(c), bytes.data());
  text.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(size));
}

std::size_t count_code_points(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); at += decode_at(text, at).size) ++count;
  return count;
}

std::size_t byte_offset(std::string_view text, std::size_t index) {
  std::size_t at = 0;
  while (index > 0 && at < text.size()) {
    at += decode_at(text, at).size;
    --index;
  }
  return std::min(at, text.size());
}

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_alpha(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return true;
    default:
      return false;
  }
}

bool is_decimal(char32_t c) { return category(c) == UTF8PROC_CATEGORY_ND; }
bool is_digit(char32_t c) { return is_decimal(c) || in_ranges(c, kDigits, std::size(kDigits)); }

bool is_numeric(char32_t c) {
  const utf8proc_category_t kind = category(c);
  return kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL || kind == UTF8PROC_CATEGORY_NO;
}

bool is_upper(char32_t c) {
  return category(c) == UTF8PROC_CATEGORY_LU || in_ranges(c, kOtherUpper, std::size(kOtherUpper));
}
bool is_lower(char32_t c) {
  return category(c) == UTF8PROC_CATEGORY_LL || in_ranges(c, kOtherLower, std::size(kOtherLower));
}
bool is_title(char32_t c) { return category(c) == UTF8PROC_CATEGORY_LT; }

bool is_printable(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    case UTF8PROC_CATEGORY_ZS:
      return c == ' ';
    default:
      return true;
  }
}

bool is_word(char32_t c) { return c == '_' || is_alpha(c) || is_numeric(c); }

bool is_identifier_start(char32_t c) { return c == '_' || is_alpha(c) || category(c) == UTF8PROC_CATEGORY_NL; }

bool is_identifier_continue(char32_t c) {
  if (is_identifier_start(c)) return true;
  const utf8proc_category_t kind = category(c);
  return kind == UTF8PROC_CATEGORY_MN || kind == UTF8PROC_CATEGORY_MC || kind == UTF8PROC_CATEGORY_ND ||
         kind == UTF8PROC_CATEGORY_PC;
}

std::string_view strip_space_left(std::string_view text) {
  while (!text.empty()) {
    const CodePoint c = decode_at(text, 0);
    if (!is_space(c.value)) break;
    text.remove_prefix(c.size);
  }
  return text;
}

std::string_view strip_space_right(std::string_view text) {
  while (!text.empty()) {
    std::size_t at = text.size() - 1;
    while (at > 0 && text.size() - at < 4 && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80) --at;
    const CodePoint c = decode_at(text, at);
    if (at + c.size != text.size() || !is_space(c.value)) break;
    text.remove_suffix(c.size);
  }
  return text;
}

std::string_view strip_space(std::string_view text) { return strip_space_left(strip_space_right(text)); }

std::size_t line_break_size(std::string_view text, std::size_t at) {
  const CodePoint c = decode_at(text, at);
  if (c.value == '\r') return at + 1 < text.size() && text[at + 1] == '\n' ? 2 : 1;
  const bool breaks = (c.value >= 0x0A && c.value <= 0x0C) || (c.value >= 0x1C && c.value <= 0x1E) || c.value == 0x85 ||
                      c.value == 0x2028 || c.value == 0x2029;
  return breaks ? c.size : 0;
}

std::string to_upper(std::string_view text) {
  return map_text(text, [](std::string& out, std::size_t, char32_t c) { append_upper(out, c); });
}

std::string to_lower(std::string_view text) {
  return map_text(text, [&](std::string& out, std::size_t at, char32_t c) { append_lower(out, text, at, c); });
}

std::string to_title(std::string_view text) {
  bool in_word = false;
  return map_text(text, [&](std::string& out, std::size_t at, char32_t c) {
    if (in_word) {
      append_lower(out, text, at, c);
    } else {
      append_title(out, c);
    }
    in_word = is_cased(c);
  });
}

std::string capitalize(std::string_view text) {
  return map_text(text, [&](std::string& out, std::size_t at, char32_t c) {
    if (at == 0) {
      append_title(out, c);
    } else {
      append_lower(out, text, at, c);
    }
  });
}

std::string swap_case(std::string_view text) {
  return map_text(text, [&](std::string& out, std::size_t at, char32_t c) {
    if (is_upper(c)) {
      append_lower(out, text, at, c);
    } else if (is_lower(c)) {
      append_upper(out, c);
    } else {
      append_code_point(out, c);
    }
  });
}

std::string case_fold(std::string_view text) {
  return map_text(text, [](std::string& out, std::size_t, char32_t c) {
    std::array<utf8proc_int32_t, 8> folded;
    int boundary = 0;
    const utf8proc_ssize_t size =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), folded.data(),
                                static_cast<utf8proc_ssize_t>(folded.size()), UTF8PROC_CASEFOLD, &boundary);
    for (utf8proc_ssize_t i = 0; i < size && i < static_cast<utf8proc_ssize_t>(folded.size()); ++i) {
      append_code_point(out, static_cast<char32_t>(folded[static_cast<std::size_t>(i)]));
    }
  });
}

}  // namespace sluice::jinja
