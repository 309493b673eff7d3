#include "checkpoint/text.h"

#include <cstdint>

#include <fmt/format.h>

namespace sluice {
namespace {

// Length of the UTF-8 sequence that begins text (1 to 4), or 0 if it is not one (RFC 3629: no overlong forms, no
// surrogates, nothing above U+10FFFF).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return 0;
  }
  const std::uint8_t second = byte(1);
  if (first == 0xE0 && second < 0xA0) return 0;
  if (first == 0xED && second > 0x9F) return 0;
  if (first == 0xF0 && second < 0x90) return 0;
  if (first == 0xF4 && second > 0x8F) return 0;
  return length;
}

// C0, DEL, C1, and the separators U+2028 and U+2029, which some terminals and log readers break lines at.
bool is_control(std::string_view sequence) {
  const auto first = static_cast<std::uint8_t>(sequence[0]);
  if (first < 0x20 || first == 0x7F) return true;
  if (first == 0xC2 && static_cast<std::uint8_t>(sequence[1]) < 0xA0) return true;
  return sequence == "\xE2\x80\xA8" || sequence == "\xE2\x80\xA9";
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  std::size_t i = 0;
  while (i < text.size() && out.size() < limit) {
    const std::string_view rest = text.substr(i);
    const std::size_t length = utf8_length(rest);
    if (length != 0 && !is_control(rest.substr(0, length))) {
      out += rest.substr(0, length);
      i += length;
    } else {
      out += fmt::format("\\x{:02X}", static_cast<std::uint8_t>(rest[0]));
      ++i;
    }
  }
  if (i < text.size()) out += "...";
  return out;
}

bool is_clean_name(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0 || is_control(text.substr(0, length))) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace sluice
