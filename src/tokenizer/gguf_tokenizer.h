// Tokenizers of GGUF files.
#pragma once

#include <memory>

#include "base/result.h"
#include "tokenizer/tokenizer.h"

namespace sluice {

// Reads the keys tokenizer.* of a GGUF checkpoint and makes the tokenizer. Errors: kNotFound if there is none (the
// message names tokenizer.ggml.model), those of the keys' types, those of Tokenizer::from_gguf.
Result<std::shared_ptr<const Tokenizer>> tokenizer_from_metadata(const Checkpoint& checkpoint);

}  // namespace sluice
