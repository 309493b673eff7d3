// The pre-tokenizers that GGUF files name (tokenizer.ggml.pre).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/pre_tokenizer.h"

namespace sluice {

// One rule of splitting, which several names share.
struct GgufPreTokenizer {
  std::span<const std::string_view> names;
  std::span<const std::string_view> patterns;            // one after the other; matches and what is between are pieces
  bool nfc = false;                                      // the models' own tokenizers normalize first
  bool ignore_merges = false;                            // a word that is a token is taken whole
  bool add_bos = false;                                  // unless tokenizer.ggml.add_bos_token says otherwise
  std::span<const std::string_view> byte_patterns = {};  // applied to the text in the byte alphabet
};

// Empty name: "default". Errors: kUnsupported, naming the name and those that are known.
Result<const GgufPreTokenizer*> find_gguf_pre_tokenizer(std::string_view name);
// The steps, from text to words in the byte alphabet.
Result<std::vector<PreTokenizer::Step>> gguf_pre_tokenizer_steps(const GgufPreTokenizer& pre);

}  // namespace sluice
