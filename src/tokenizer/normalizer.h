// Normalizers of tokenizer.json: what is done to a text before it is cut into words.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tokenizer/normalization.h"
#include "tokenizer/split_pattern.h"

namespace sluice {

// Steps that are applied in order. Immutable, thread-safe.
class Normalizer {
 public:
  struct Step {
    enum class Kind : std::uint8_t {
      kUnicode,       // normalize(form)
      kPrepend,       // `text` in front, but not to an empty text
      kReplace,       // matches of `pattern` become `text`
      kLowercase,     // character by character, without context
      kStrip,         // White_Space at the ends
      kStripAccents,  // all marks
      kByteLevel,     // bytes as characters of the byte alphabet
    };
    Kind kind = Kind::kUnicode;
    unicode::NormalForm form = unicode::NormalForm::kNfc;
    std::string text;
    std::shared_ptr<const SplitPattern> pattern;
    bool strip_left = false;
    bool strip_right = false;
  };

  Normalizer() = default;
  explicit Normalizer(std::vector<Step> steps) : steps_(std::move(steps)) {}

  bool empty() const { return steps_.empty(); }
  // Bytes that are not UTF-8 pass through. Errors: kResource (see SplitPattern; texts past 4 GiB).
  Status apply(std::string& text, MatchScratch& scratch) const;

 private:
  std::vector<Step> steps_;
};

// `text` with the matches of `pattern` replaced.
Status replace_matches(std::string& text, const SplitPattern& pattern, const std::string& by, MatchScratch& scratch);

}  // namespace sluice
