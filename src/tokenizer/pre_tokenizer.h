// Pre-tokenizers: a text is cut into the words that byte-pair encoding never looks beyond.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tokenizer/split_pattern.h"

namespace sluice {

// A text and the pieces it is cut into so far, in order, none of them empty.
struct Pieces {
  Pieces() = default;
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

  // Starts over with one piece. `at_start`: the piece begins the whole input. `whole` must stay valid.
  void reset(std::string_view whole, bool at_start);

  std::string_view text;  // what the spans refer to: the caller's text or `rewritten`
  std::vector<TextSpan> spans;
  bool first_at_start = false;  // spans.front() begins the whole input
  std::string rewritten;

  // Scratch of the steps.
  std::string next_text;
  std::vector<TextSpan> next_spans;
  std::vector<TextSpan> matches;
};

// Steps that are applied in order. Immutable, thread-safe.
class PreTokenizer {
 public:
  // What becomes of the matches of a split.
  enum class Behaviour : std::uint8_t { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };
  enum class PrependScheme : std::uint8_t { kAlways, kNever, kFirst };

  struct Step {
    enum class Kind : std::uint8_t {
      kSplit,
      kPrefixSpace,  // a space in front of every piece that has none
      kByteLevel,    // bytes as characters of the byte alphabet
      kMetaspace,    // spaces become `replacement`, which is also put in front as `prepend` says
    };
    Kind kind = Kind::kSplit;
    std::shared_ptr<const SplitPattern> pattern;
    Behaviour behaviour = Behaviour::kIsolated;
    bool invert = false;  // the pattern is what is between the matches
    std::string replacement;
    PrependScheme prepend = PrependScheme::kAlways;
  };

  PreTokenizer() = default;
  explicit PreTokenizer(std::vector<Step> steps) : steps_(std::move(steps)) {}

  // Errors: kResource (see SplitPattern; texts past 4 GiB).
  Status apply(Pieces& pieces, MatchScratch& scratch) const;

 private:
  std::vector<Step> steps_;
};

// The rule by which GPT-2 splits, and with it every ByteLevel with use_regex.
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

}  // namespace sluice
