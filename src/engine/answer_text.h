// The text of an answer, token by token, as a continuation of its prompt.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "tokenizer/tokenizer.h"

namespace sluice {

// A decoder that starts at the answer would take its first word for the beginning of a text: SentencePiece-style
// vocabularies drop the space there. So decoding starts in the prompt, and what belongs to the prompt is left out:
// pieces and flush() together are decode(prompt + answer) without decode(prompt) at its front.
class AnswerText {
 public:
  // `before`: the tokens that the answer continues. Special tokens are left out of the text.
  AnswerText(const Tokenizer& tokenizer, std::span<const std::int32_t> before);

  // The text that is certain now; see Tokenizer::Stream.
  std::string push(std::int32_t token);
  std::string flush();

 private:
  // Takes the prompt's part off the front of `text`.
  std::string without_prompt(std::string text);

  std::unique_ptr<Tokenizer::Stream> stream_;
  std::string owed_;  // the prompt's text that the decoder holds back until it sees what follows
  std::string held_;  // text that may still be the prompt's
};

}  // namespace sluice
