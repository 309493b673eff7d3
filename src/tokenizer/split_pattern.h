// A compiled pattern that finds its matches in texts: pre-tokenizers, normalizers and decoders share it.
//
// PCRE2 does the matching, but never sees Unicode: the sets of a pattern cut all characters into a few classes (rarely
// more than 20), a text is written down as one class per character, and the pattern is compiled over these bytes. So
// the Unicode version is ours whatever library is installed, every set is a bitmap of 256 bits for the JIT, and Chinese
// text costs no more than English.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice {

// A part [begin, end) of a text, in bytes. Texts are shorter than 4 GiB.
struct TextSpan {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  std::uint32_t size() const { return end - begin; }
  std::string_view in(std::string_view text) const { return text.substr(begin, size()); }
  bool operator==(const TextSpan&) const = default;
};

// Buffers of matching. One per thread at a time; reused from text to text.
class MatchScratch {
 public:
  MatchScratch();
  ~MatchScratch();
  MatchScratch(const MatchScratch&) = delete;
  MatchScratch& operator=(const MatchScratch&) = delete;

 private:
  friend class SplitPattern;
  struct State;
  std::unique_ptr<State> state_;
};

// Immutable; may be used by many threads, each with its own scratch.
class SplitPattern {
 public:
  // Errors: those of parse_regex; kResource if the pattern tells more than 256 classes of characters apart.
  static Result<std::shared_ptr<const SplitPattern>> compile(std::string_view pattern);
  // Finds `literal` as it is.
  static Result<std::shared_ptr<const SplitPattern>> literal(std::string_view literal);
  virtual ~SplitPattern() = default;

  // Appends the matches in `text` from left to right. They do not overlap; an empty match is one between characters,
  // but not at the end of the match before it. A byte that is not UTF-8 counts as U+FFFD.
  // Errors: kResource if a pathological pattern would search without end.
  virtual Status find_all(std::string_view text, MatchScratch& scratch, std::vector<TextSpan>& matches) const = 0;

 protected:
  static MatchScratch::State& state(MatchScratch& scratch) { return *scratch.state_; }
};

}  // namespace sluice
