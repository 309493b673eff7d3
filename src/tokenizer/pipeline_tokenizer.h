// The one implementation of Tokenizer: a pipeline put together from a model's files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/bpe.h"
#include "tokenizer/detokenizer.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/vocabulary.h"

namespace sluice {

// What a loader puts together.
struct TokenizerParts {
  // How a token's text is handed to the detokenizer.
  enum class Surface : std::uint8_t {
    kVocabulary,     // as it stands in the vocabulary: tokenizer.json has decoders for the rest
    kByteLevel,      // GGUF: the bytes that it stands for; added tokens as they are
    kSentencePiece,  // GGUF: U+2581 as a space, <0x..> as its byte; added tokens as they are
  };

  std::unique_ptr<Vocabulary> vocabulary = std::make_unique<Vocabulary>();
  std::unique_ptr<WordEncoder> encoder;  // refers to the vocabulary
  AddedTokens added;                     // finished
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  Detokenizer detokenizer;
  Surface surface = Surface::kVocabulary;
  std::vector<std::int32_t> prefix;  // what add_special puts around a text
  std::vector<std::int32_t> suffix;
  std::optional<std::int32_t> bos, eos, eot;
  std::string chat_template;
  std::vector<std::string> warnings;
};

std::shared_ptr<const Tokenizer> make_tokenizer(TokenizerParts parts);

// The ids that end an answer: eos, eot, and the added tokens whose text says so ("<|im_end|>", ...). Sorted.
std::vector<std::int32_t> find_end_ids(const TokenizerParts& parts);
// Whether a token of this text ends an answer or a turn in some public model.
bool is_end_text(std::string_view text);

}  // namespace sluice
