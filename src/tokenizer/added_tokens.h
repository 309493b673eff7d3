// Added and special tokens: they are found in the text before anything else is done to it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/split_pattern.h"

namespace sluice {

struct AddedToken {
  std::string text;
  std::int32_t id = -1;
  bool single_word = false;  // only where no word character touches it
  bool lstrip = false;       // takes the white space on its left with it
  bool rstrip = false;       // and on its right
  bool normalized = false;   // sought in the normalized text, else in the raw one
  bool special = false;      // left out by skip_special
};

// A part of a text: an added token, or text between (id -1).
struct TextSegment {
  TextSpan span;
  std::int32_t id = -1;
};

// Finds a set of tokens: the leftmost match, of those the longest.
class TokenMatcher {
 public:
  // `pattern` is what to look for: the token's text, or its normalized form. Empty patterns are left out.
  void add(std::string pattern, const AddedToken& token);
  // Call once after the last add().
  void finish();

  bool empty() const { return patterns_.empty(); }
  // Appends the parts of a text. A text without tokens is one part, an empty text none.
  void split(std::string_view text, std::vector<TextSegment>& segments) const;

 private:
  struct Pattern {
    std::string text;
    AddedToken token;
  };
  // Longest pattern that `text` begins with, or nullptr.
  const Pattern* longest_prefix(std::string_view text) const;

  std::vector<Pattern> patterns_;  // sorted by text
  struct Range {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };
  std::array<Range, 256> by_first_byte_ = {};
};

// All added tokens of a model. Immutable after finish(), thread-safe.
class AddedTokens {
 public:
  // A second token of the same id or text takes the place of the first.
  void add(AddedToken token);
  // Errors: those of the normalizer.
  Status finish(const Normalizer& normalizer);

  const AddedToken* find(std::int32_t id) const;
  const AddedToken* find(std::string_view text) const;
  const std::vector<AddedToken>& all() const { return tokens_; }

  const TokenMatcher& in_raw_text() const { return raw_; }
  const TokenMatcher& in_normalized_text() const { return normalized_; }

 private:
  std::vector<AddedToken> tokens_;
  std::unordered_map<std::int32_t, std::size_t> by_id_;
  std::unordered_map<std::string, std::size_t> by_text_;
  TokenMatcher raw_;
  TokenMatcher normalized_;
};

}  // namespace sluice
