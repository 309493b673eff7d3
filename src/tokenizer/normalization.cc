#include "tokenizer/normalization.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tokenizer/unicode_data.h"
#include "tokenizer/utf8.h"

namespace sluice::unicode {
namespace {

// Hangul syllables are composed and decomposed by arithmetic (The Unicode Standard, 3.12).
constexpr char32_t kHangulBase = 0xAC00;
constexpr char32_t kLeadBase = 0x1100;
constexpr char32_t kVowelBase = 0x1161;
constexpr char32_t kTrailBase = 0x11A7;  // one before the first trailing consonant
constexpr char32_t kLeads = 19;
constexpr char32_t kVowels = 21;
constexpr char32_t kTrails = 28;

// A byte that is no character travels through as a value above all code points.
constexpr char32_t kRawByte = 0x80000000;

struct Item {
  char32_t value;
  std::uint8_t combining;
};

void decompose(char32_t c, bool compatibility, std::vector<Item>& out) {
  if (c < 0xA0) {
    out.push_back({c, 0});
    return;
  }
  if (c >= kHangulBase && c < kHangulBase + kLeads * kVowels * kTrails) {
    const char32_t index = c - kHangulBase;
    out.push_back({kLeadBase + index / (kVowels * kTrails), 0});
    out.push_back({kVowelBase + index % (kVowels * kTrails) / kTrails, 0});
    if (index % kTrails != 0) out.push_back({kTrailBase + index % kTrails, 0});
    return;
  }
  const Decomposition parts = decompose_once(c, compatibility);
  if (parts.size == 0) {
    out.push_back({c, combining_class(c)});
    return;
  }
  // The table has one step; chains are at most a few steps long.
  for (std::size_t i = 0; i < parts.size; ++i) decompose(parts.parts[i], compatibility, out);
}

char32_t compose(char32_t first, char32_t second) {
  if (first >= kLeadBase && first < kLeadBase + kLeads && second >= kVowelBase && second < kVowelBase + kVowels) {
    return kHangulBase + ((first - kLeadBase) * kVowels + (second - kVowelBase)) * kTrails;
  }
  if (first >= kHangulBase && first < kHangulBase + kLeads * kVowels * kTrails &&
      (first - kHangulBase) % kTrails == 0 && second > kTrailBase && second < kTrailBase + kTrails) {
    return first + (second - kTrailBase);
  }
  return compose_pair(first, second);
}

// Orders runs of combining marks by class (canonical ordering).
void order(std::vector<Item>& items) {
  for (std::size_t begin = 0; begin < items.size();) {
    if (items[begin].combining == 0) {
      ++begin;
      continue;
    }
    std::size_t end = begin;
    while (end < items.size() && items[end].combining != 0) ++end;
    std::stable_sort(items.begin() + static_cast<std::ptrdiff_t>(begin),
                     items.begin() + static_cast<std::ptrdiff_t>(end),
                     [](const Item& a, const Item& b) { return a.combining < b.combining; });
    begin = end;
  }
}

// Puts composites together, in place.
void recompose(std::vector<Item>& items) {
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t kept = 0;
  std::size_t starter = kNone;
  std::uint8_t last_class = 0;  // of the last character kept behind the starter
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Item item = items[i];
    // Blocked by a character between of the same or a higher class, or by another starter.
    const bool adjacent = starter != kNone && kept == starter + 1;
    if (starter != kNone && (adjacent || (last_class != 0 && last_class < item.combining))) {
      if (const char32_t composite = compose(items[starter].value, item.value); composite != 0) {
        items[starter].value = composite;
        continue;
      }
    }
    if (item.combining == 0) starter = kept;
    last_class = item.combining;
    items[kept++] = item;
  }
  items.resize(kept);
}

}  // namespace

std::string normalize(std::string_view text, NormalForm form) {
  const bool compatibility = form == NormalForm::kNfkc || form == NormalForm::kNfkd;
  const bool composed = form == NormalForm::kNfc || form == NormalForm::kNfkc;
  // Below this byte nothing changes: for NFC the lead bytes of U+0300 and above begin at 0xCC.
  const unsigned char quiet = form == NormalForm::kNfc ? 0xCC : 0x80;
  if (std::ranges::all_of(text, [&](char c) { return static_cast<unsigned char>(c) < quiet; }))
    return std::string(text);

  std::vector<Item> items;
  items.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    if (c.valid()) {
      decompose(c.value, compatibility, items);
    } else {
      items.push_back({kRawByte | static_cast<unsigned char>(text[at]), 0});
    }
    at += c.size;
  }
  order(items);
  if (composed) recompose(items);

  std::string out;
  out.reserve(text.size());
  for (const Item& item : items) {
    if ((item.value & kRawByte) != 0) {
      out += static_cast<char>(item.value & 0xFFU);
    } else {
      append_utf8(out, item.value);
    }
  }
  return out;
}

}  // namespace sluice::unicode
