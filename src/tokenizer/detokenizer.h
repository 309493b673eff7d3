// From tokens to text: the decoders of tokenizer.json, as a stream. Decoding a list of ids is the stream, run to its
// end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/split_pattern.h"

namespace sluice {

// One running step of decoding. Tokens go in one by one; what comes out are tokens again.
class DecodeStage {
 public:
  virtual ~DecodeStage() = default;
  virtual void push(std::string token, std::vector<std::string>& out) = 0;
  // No more tokens come.
  virtual void finish(std::vector<std::string>& out) { (void)out; }
};

// The steps of decoding. Immutable, thread-safe; each run has its own stages.
class Detokenizer {
 public:
  struct Step {
    enum class Kind : std::uint8_t {
      kJoinWithSpaces,  // tokens with spaces between: a file without a decoder
      kUtf8,            // bytes, cut anywhere, to text; what is no UTF-8 becomes U+FFFD. The tokens become one
      kByteLevel,       // the byte alphabet to bytes, then as kUtf8
      kByteFallback,    // runs of <0x..> to text, or U+FFFD for every byte of a run that is no UTF-8 as a whole
      kFuse,            // all tokens become one
      kReplace,         // matches of `pattern` become `text`
      kStrip,           // up to `start` characters `text` at the begin of each token, up to `stop` at its end
      kMetaspace,       // `text` to spaces; none at the very begin unless `prepend` is kNever
    };
    Kind kind = Kind::kFuse;
    std::string text;
    std::shared_ptr<const SplitPattern> pattern;
    std::uint32_t start = 0;
    std::uint32_t stop = 0;
    PreTokenizer::PrependScheme prepend = PreTokenizer::PrependScheme::kAlways;
  };

  // One decoding under way.
  class Run {
   public:
    // Appends the text that is certain now: no later token can change it.
    void push(std::string token, std::string& text);
    void finish(std::string& text);

   private:
    friend class Detokenizer;
    void feed(std::size_t stage, std::string token, std::string& text);
    std::vector<std::unique_ptr<DecodeStage>> stages_;
  };

  Detokenizer() = default;
  explicit Detokenizer(std::vector<Step> steps) : steps_(std::move(steps)) {}
  Run start() const;

 private:
  std::vector<Step> steps_;
};

}  // namespace sluice
