// Unicode for the template language: characters of UTF-8 text, their classes and cases, as Python's str has them.
// Texts may hold invalid bytes: each counts as one character without class, and is kept as it is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::jinja {

struct CodePoint {
  char32_t value = 0;    // kInvalid for a byte that is no UTF-8
  std::size_t size = 1;  // bytes
};
inline constexpr char32_t kInvalid = 0xFFFFFFFF;

// The character at byte `at`, which must be inside the text.
CodePoint decode_at(std::string_view text, std::size_t at);
// Appends in UTF-8; surrogates and values past U+10FFFF become U+FFFD.
void append_code_point(std::string& text, char32_t c);
std::size_t count_code_points(std::string_view text);
// Byte at which character `index` begins, or the size if the text is shorter. Linear time.
std::size_t byte_offset(std::string_view text, std::size_t index);

// Python's str.isspace of one character; the same set as \s in its regular expressions.
bool is_space(char32_t c);
bool is_alpha(char32_t c);
bool is_decimal(char32_t c);
bool is_digit(char32_t c);
bool is_numeric(char32_t c);
bool is_upper(char32_t c);
bool is_lower(char32_t c);
bool is_title(char32_t c);
bool is_printable(char32_t c);
// \w of Python's regular expressions.
bool is_word(char32_t c);
bool is_identifier_start(char32_t c);
bool is_identifier_continue(char32_t c);

// str.strip() and its sides.
std::string_view strip_space_left(std::string_view text);
std::string_view strip_space_right(std::string_view text);
std::string_view strip_space(std::string_view text);
// Ends of lines as str.splitlines sees them: bytes of the line break at `at`, or 0 if there is none.
std::size_t line_break_size(std::string_view text, std::size_t at);

// Full case mappings ("ß" to "SS", final sigma); one character can become three.
std::string to_upper(std::string_view text);
std::string to_lower(std::string_view text);
std::string to_title(std::string_view text);
std::string capitalize(std::string_view text);
std::string swap_case(std::string_view text);
std::string case_fold(std::string_view text);

}  // namespace sluice::jinja
