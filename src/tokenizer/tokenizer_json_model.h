// The large part of tokenizer.json: vocabulary, merges and added tokens, read by simdjson without building a tree.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/bpe.h"
#include "tokenizer/vocabulary.h"

namespace sluice {

// What tokenizer.json holds, with its components still as JSON.
struct TokenizerJsonModel {
  std::unique_ptr<Vocabulary> vocabulary = std::make_unique<Vocabulary>();
  std::unique_ptr<MergeBpe> bpe;  // refers to the vocabulary
  std::vector<AddedToken> added;
  // JSON text of the components; "null" where there is none.
  std::string normalizer = "null";
  std::string pre_tokenizer = "null";
  std::string post_processor = "null";
  std::string decoder = "null";
  std::vector<std::string> warnings;
};

// `label` names the source in errors. Errors: kCorrupt (not JSON; a field missing or of the wrong type; merges of
// tokens that the vocabulary lacks), kUnsupported (a model that is not BPE, or BPE with word affixes), kResource (ids
// past Vocabulary::kMaxId, components of more than a megabyte).
Result<TokenizerJsonModel> read_tokenizer_json(std::string_view json, const std::string& label);

}  // namespace sluice
