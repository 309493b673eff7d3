#include "tokenizer/added_tokens.h"

#include <algorithm>
#include <utility>

#include "tokenizer/unicode_data.h"
#include "tokenizer/utf8.h"

namespace sluice {
namespace {

// A zero-width joiner counts as part of a word here, unlike in patterns.
bool is_word(unicode::Utf8Char c) {
  return c.valid() && (unicode::is_word(c.value) || c.value == 0x200C || c.value == 0x200D);
}

std::size_t spaces_at_end(std::string_view text) {
  const std::size_t size = text.size();
  while (!text.empty()) {
    const unicode::Utf8Char c = unicode::last_utf8(text);
    if (!c.valid() || !unicode::is_white_space(c.value)) break;
    text.remove_suffix(c.size);
  }
  return size - text.size();
}

std::size_t spaces_at_begin(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const unicode::Utf8Char c = unicode::decode_utf8(text, at);
    if (!c.valid() || !unicode::is_white_space(c.value)) break;
    at += c.size;
  }
  return at;
}

}  // namespace

void TokenMatcher::add(std::string pattern, const AddedToken& token) {
  if (!pattern.empty()) patterns_.push_back({std::move(pattern), token});
}

void TokenMatcher::finish() {
  std::ranges::stable_sort(patterns_, {}, &Pattern::text);
  // Two tokens that normalize to the same text: the first one is found.
  // (std::ranges::unique would do, but clang 14 cannot compile it against GCC 12's library.)
  const auto same = [](const Pattern& a, const Pattern& b) { return a.text == b.text; };
  patterns_.erase(std::unique(patterns_.begin(), patterns_.end(), same), patterns_.end());
  for (std::uint32_t i = 0; i < patterns_.size(); ++i) {
    Range& range = by_first_byte_[static_cast<unsigned char>(patterns_[i].text[0])];
    if (range.end == 0) range.begin = i;
    range.end = i + 1;
  }
}

const TokenMatcher::Pattern* TokenMatcher::longest_prefix(std::string_view text) const {
  const Pattern* found = nullptr;
  Range range = by_first_byte_[static_cast<unsigned char>(text[0])];
  // The sorted patterns are a trie: those that share the bytes read so far are neighbours, the shortest one first.
  for (std::size_t depth = 1; range.begin < range.end; ++depth) {
    const Pattern& first = patterns_[range.begin];
    if (first.text.size() == depth) {
      found = &first;
      ++range.begin;
    }
    if (depth == text.size()) break;
    const auto byte = static_cast<unsigned char>(text[depth]);
    const auto begin = patterns_.begin();
    const auto [low, high] =
        std::equal_range(begin + range.begin, begin + range.end, byte, [depth](const auto& a, const auto& b) {
          const auto at = [depth](const auto& side) {
            if constexpr (std::is_same_v<std::decay_t<decltype(side)>, Pattern>) {
              return static_cast<unsigned char>(side.text[depth]);
            } else {
              return side;
            }
          };
          return at(a) < at(b);
        });
    range = {static_cast<std::uint32_t>(low - begin), static_cast<std::uint32_t>(high - begin)};
  }
  return found;
}

void TokenMatcher::split(std::string_view text, std::vector<TextSegment>& segments) const {
  std::size_t done = 0;  // text before belongs to a segment
  for (std::size_t at = 0; !patterns_.empty() && at < text.size();) {
    if (by_first_byte_[static_cast<unsigned char>(text[at])].end == 0) {
      ++at;
      continue;
    }
    const Pattern* pattern = longest_prefix(text.substr(at));
    if (pattern == nullptr) {
      ++at;
      continue;
    }
    const AddedToken& token = pattern->token;
    std::size_t begin = at;
    std::size_t end = at + pattern->text.size();
    at = end;  // a match that is passed over is not looked into
    if (token.single_word) {
      const bool left_free = begin == 0 || !is_word(unicode::last_utf8(text.substr(0, begin)));
      const bool right_free = end == text.size() || !is_word(unicode::decode_utf8(text, end));
      if (!left_free || !right_free) continue;
    }
    // An rstrip before may have taken white space that this token begins with.
    begin = std::max(begin, done);
    if (token.lstrip) begin -= std::min(spaces_at_end(text.substr(0, begin)), begin - done);
    if (token.rstrip) end += spaces_at_begin(text.substr(end));
    // Nothing is left of a token between spaces that the one before took, unless it must have its own text.
    if (token.lstrip && begin >= end) continue;
    const auto span = [](std::size_t from, std::size_t to) {
      return TextSpan{static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to)};
    };
    if (begin > done) segments.push_back({span(done, begin), -1});
    segments.push_back({span(begin, std::max(begin, end)), token.id});
    done = std::max(begin, end);
  }
  if (done < text.size()) {
    segments.push_back({{static_cast<std::uint32_t>(done), static_cast<std::uint32_t>(text.size())}, -1});
  }
}

void AddedTokens::add(AddedToken token) {
  if (token.text.empty()) return;
  std::size_t place = tokens_.size();
  if (const auto same = by_text_.find(token.text); same != by_text_.end()) {
    place = same->second;
  } else if (const auto taken = by_id_.find(token.id); taken != by_id_.end()) {
    place = taken->second;
  }
  if (place < tokens_.size()) {
    by_text_.erase(tokens_[place].text);
    by_id_.erase(tokens_[place].id);
    tokens_[place] = std::move(token);
  } else {
    tokens_.push_back(std::move(token));
  }
  by_text_[tokens_[place].text] = place;
  by_id_[tokens_[place].id] = place;
}

Status AddedTokens::finish(const Normalizer& normalizer) {
  MatchScratch scratch;
  for (const AddedToken& token : tokens_) {
    if (!token.normalized) {
      raw_.add(token.text, token);
      continue;
    }
    std::string pattern = token.text;
    SLUICE_TRY(normalizer.apply(pattern, scratch));
    normalized_.add(std::move(pattern), token);
  }
  raw_.finish();
  normalized_.finish();
  return {};
}

const AddedToken* AddedTokens::find(std::int32_t id) const {
  const auto found = by_id_.find(id);
  return found != by_id_.end() ? &tokens_[found->second] : nullptr;
}

const AddedToken* AddedTokens::find(std::string_view text) const {
  const auto found = by_text_.find(std::string(text));
  return found != by_text_.end() ? &tokens_[found->second] : nullptr;
}

}  // namespace sluice
