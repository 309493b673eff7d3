// UTF-8 as the tokenizer reads it: texts may hold any bytes; what is not UTF-8 is kept, byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::unicode {

// One character of a text, or one byte that belongs to no character.
struct Utf8Char {
  static constexpr char32_t kInvalid = 0xFFFFFFFF;

  char32_t value = kInvalid;
  std::uint32_t size = 1;  // bytes

  bool valid() const { return value != kInvalid; }
};

// How many bytes a sequence that starts with `lead` has, and which second bytes it allows (Unicode, table 3-7: no
// overlong forms, no surrogates, nothing above U+10FFFF). size 0: no sequence starts so.
struct Utf8Lead {
  std::uint32_t size = 0;
  unsigned char second_first = 0x80;
  unsigned char second_last = 0xBF;
};

constexpr Utf8Lead utf8_lead(unsigned char lead) {
  if (lead < 0x80) return {1};
  if (lead < 0xC2) return {0};
  if (lead < 0xE0) return {2};
  if (lead == 0xE0) return {3, 0xA0, 0xBF};
  if (lead == 0xED) return {3, 0x80, 0x9F};
  if (lead < 0xF0) return {3};
  if (lead == 0xF0) return {4, 0x90, 0xBF};
  if (lead < 0xF4) return {4};
  if (lead == 0xF4) return {4, 0x80, 0x8F};
  return {0};
}

// The character at byte `at`, which must lie inside the text.
inline Utf8Char decode_utf8(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const Utf8Lead lead = utf8_lead(first);
  if (lead.size == 0 || text.size() - at < lead.size) return {};
  if (byte(1) < lead.second_first || byte(1) > lead.second_last) return {};
  char32_t value = first & (0x7FU >> lead.size);
  for (std::uint32_t i = 1; i < lead.size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    value = value << 6U | (byte(i) & 0x3FU);
  }
  return {value, lead.size};
}

// Appends a code point; surrogates and values past U+10FFFF become U+FFFD.
inline void append_utf8(std::string& out, char32_t c) {
  if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) c = 0xFFFD;
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0U | c >> 6U);
    out += static_cast<char>(0x80U | (c & 0x3FU));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0U | c >> 12U);
    out += static_cast<char>(0x80U | (c >> 6U & 0x3FU));
    out += static_cast<char>(0x80U | (c & 0x3FU));
  } else {
    out += static_cast<char>(0xF0U | c >> 18U);
    out += static_cast<char>(0x80U | (c >> 12U & 0x3FU));
    out += static_cast<char>(0x80U | (c >> 6U & 0x3FU));
    out += static_cast<char>(0x80U | (c & 0x3FU));
  }
}

// The last character of a text that is not empty.
inline Utf8Char last_utf8(std::string_view text) {
  for (std::size_t size = 1; size <= 4 && size <= text.size(); ++size) {
    const Utf8Char c = decode_utf8(text, text.size() - size);
    if (c.valid() && c.size == size) return c;
  }
  return {};
}

}  // namespace sluice::unicode
