#include "tokenizer/vocabulary.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "tokenizer/utf8.h"

namespace sluice {
namespace {

// FNV-like over eight bytes at a time, mixed at the end: tokens are short, and the table lives only in this process.
std::uint32_t hash_text(std::string_view text) {
  constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15;
  std::uint64_t hash = text.size() * kMultiplier;
  const char* data = text.data();
  std::size_t left = text.size();
  for (; left >= 8; left -= 8, data += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data, 8);
    hash = (hash ^ word) * kMultiplier;
    hash ^= hash >> 32U;
  }
  if (left > 0) {
    std::uint64_t word = 0;
    std::memcpy(&word, data, left);
    hash = (hash ^ word) * kMultiplier;
    hash ^= hash >> 32U;
  }
  hash *= kMultiplier;
  return static_cast<std::uint32_t>(hash >> 32U);
}

struct Alphabet {
  std::array<char32_t, 256> to_char = {};
  std::array<std::int16_t, 0x144> to_byte = {};
};

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  for (auto& each : alphabet.to_byte) each = -1;
  char32_t next = 0x100;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const bool visible = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    const char32_t c = visible ? static_cast<char32_t>(byte) : next++;
    alphabet.to_char[byte] = c;
    alphabet.to_byte[c] = static_cast<std::int16_t>(byte);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

void Vocabulary::reserve(std::size_t tokens, std::size_t bytes) {
  arena_.reserve(bytes);
  entries_.reserve(tokens);
  std::size_t slots = 16;
  while (slots < 2 * tokens) slots *= 2;
  if (slots > slots_.size() && used_ == 0) slots_.assign(slots, {});
}

bool Vocabulary::add(std::string_view text, std::int32_t id) {
  if (has(id)) return false;
  if (slots_.empty() || 2 * (used_ + 1) > slots_.size()) grow();
  const std::uint32_t hash = hash_text(text);
  Slot& slot = slots_[slot_of(text, hash)];
  if (slot.id >= 0) return false;
  slot = {hash, id, {static_cast<std::uint32_t>(arena_.size()), static_cast<std::uint32_t>(text.size())}};
  ++used_;
  const auto index = static_cast<std::size_t>(id);
  if (entries_.size() <= index) entries_.resize(index + 1);
  entries_[index] = slot.entry;
  arena_ += text;
  longest_ = std::max(longest_, text.size());
  return true;
}

std::optional<std::int32_t> Vocabulary::find(std::string_view text) const {
  if (slots_.empty()) return std::nullopt;
  const Slot& slot = slots_[slot_of(text, hash_text(text))];
  if (slot.id < 0) return std::nullopt;
  return slot.id;
}

void Vocabulary::find_all(std::span<const std::string_view> texts, std::span<std::int32_t> ids) const {
  std::ranges::fill(ids, -1);
  if (slots_.empty()) return;
  constexpr std::size_t kBatch = 64;
  std::array<std::uint32_t, kBatch> hashes;
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t begin = 0; begin < texts.size(); begin += kBatch) {
    const std::size_t count = std::min(kBatch, texts.size() - begin);
    for (std::size_t i = 0; i < count; ++i) {
      hashes[i] = hash_text(texts[begin + i]);
      __builtin_prefetch(&slots_[hashes[i] & mask]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      const Slot& slot = slots_[hashes[i] & mask];
      if (slot.id >= 0) __builtin_prefetch(arena_.data() + slot.entry.begin);
    }
    for (std::size_t i = 0; i < count; ++i) ids[begin + i] = slots_[slot_of(texts[begin + i], hashes[i])].id;
  }
}

std::string_view Vocabulary::text(std::int32_t id) const {
  if (!has(id)) return {};
  return view(entries_[static_cast<std::size_t>(id)]);
}

bool Vocabulary::has(std::int32_t id) const {
  return id >= 0 && id < size() && entries_[static_cast<std::size_t>(id)].begin != Entry::kAbsent;
}

std::size_t Vocabulary::slot_of(std::string_view text, std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at].id >= 0) {
    if (slots_[at].hash == hash && view(slots_[at].entry) == text) break;
    at = (at + 1) & mask;
  }
  return at;
}

void Vocabulary::grow() {
  std::vector<Slot> old(std::max<std::size_t>(16, 2 * slots_.size()));
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id < 0) continue;
    std::size_t at = slot.hash & mask;
    while (slots_[at].id >= 0) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

char32_t byte_to_char(unsigned char byte) { return kAlphabet.to_char[byte]; }

std::optional<unsigned char> char_to_byte(char32_t c) {
  if (c >= kAlphabet.to_byte.size() || kAlphabet.to_byte[c] < 0) return std::nullopt;
  return static_cast<unsigned char>(kAlphabet.to_byte[c]);
}

void append_byte_level(std::string& out, std::string_view bytes) {
  for (const char byte : bytes) unicode::append_utf8(out, byte_to_char(static_cast<unsigned char>(byte)));
}

void append_byte_level_decoded(std::string& out, std::string_view token) {
  const std::size_t before = out.size();
  for (std::size_t at = 0; at < token.size();) {
    const unicode::Utf8Char c = unicode::decode_utf8(token, at);
    const std::optional<unsigned char> byte = c.valid() ? char_to_byte(c.value) : std::nullopt;
    if (!byte) {
      out.resize(before);
      out += token;
      return;
    }
    out += static_cast<char>(*byte);
    at += c.size;
  }
}

std::optional<unsigned char> byte_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || !token.ends_with('>')) return std::nullopt;
  unsigned value = 0;
  for (const char c : token.substr(3, 2)) {
    value *= 16;
    if (c >= '0' && c <= '9') {
      value += static_cast<unsigned>(c - '0');
    } else if (c >= 'A' && c <= 'F') {
      value += static_cast<unsigned>(c - 'A' + 10);
    } else if (c >= 'a' && c <= 'f') {
      value += static_cast<unsigned>(c - 'a' + 10);
    } else {
      return std::nullopt;
    }
  }
  return static_cast<unsigned char>(value);
}

std::string byte_token_text(unsigned char byte) { return fmt::format("<0x{:02X}>", byte); }

}  // namespace sluice
