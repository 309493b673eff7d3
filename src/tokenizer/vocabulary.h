// The tokens of a model: text <-> id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// Texts in one arena and an open hash table over them: 200 000 tokens load in a few milliseconds.
class Vocabulary {
 public:
  // Ids are small numbers in every model; a larger one in a file would make tables of its size. The largest
  // vocabularies of today have 262 144 tokens.
  static constexpr std::int32_t kMaxId = (1 << 22) - 1;

  void reserve(std::size_t tokens, std::size_t bytes);
  // False if the text or the id is there already (nothing changes then). `id` must be in [0, kMaxId].
  bool add(std::string_view text, std::int32_t id);

  std::optional<std::int32_t> find(std::string_view text) const;
  // The same for many texts: ids[i] of texts[i], -1 if there is none. Looks up in an order that hides the latency of
  // memory, which is what loading merges would wait for.
  void find_all(std::span<const std::string_view> texts, std::span<std::int32_t> ids) const;
  // Empty if there is no such token (which text() alone cannot tell from a token of no characters).
  std::string_view text(std::int32_t id) const;
  bool has(std::int32_t id) const;
  // Highest id + 1.
  std::int32_t size() const { return static_cast<std::int32_t>(entries_.size()); }
  // Bytes of the longest token.
  std::size_t longest() const { return longest_; }

 private:
  struct Entry {
    static constexpr std::uint32_t kAbsent = UINT32_MAX;
    std::uint32_t begin = kAbsent;
    std::uint32_t length = 0;
  };
  struct Slot {
    std::uint32_t hash = 0;
    std::int32_t id = -1;
    Entry entry;  // as in entries_: spares a look there
  };

  void grow();
  std::size_t slot_of(std::string_view text, std::uint32_t hash) const;  // of the text, or the free one for it
  std::string_view view(const Entry& entry) const { return {arena_.data() + entry.begin, entry.length}; }

  std::string arena_;
  std::vector<Entry> entries_;  // by id
  std::vector<Slot> slots_;     // a power of two, at most half full
  std::size_t used_ = 0;
  std::size_t longest_ = 0;
};

// The alphabet of byte-level BPE (GPT-2): every byte is written as one visible character, so that vocabularies and
// merges are plain text. Printable Latin-1 stands for itself, the other 68 bytes are U+0100 to U+0143.
char32_t byte_to_char(unsigned char byte);
// nullopt: the character is not in the alphabet.
std::optional<unsigned char> char_to_byte(char32_t c);
// Writes every byte of the text as its character.
void append_byte_level(std::string& out, std::string_view bytes);
// Reads a token's bytes. A token with a character outside of the alphabet stands for itself.
void append_byte_level_decoded(std::string& out, std::string_view token);

// "<0x0A>" -> 0x0A: how SentencePiece writes the token of a byte.
std::optional<unsigned char> byte_token(std::string_view token);
std::string byte_token_text(unsigned char byte);

}  // namespace sluice
