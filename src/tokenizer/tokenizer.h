// Text <-> token ids. Byte-level BPE and SentencePiece-style BPE with byte fallback, from tokenizer.json (Hugging Face)
// or from GGUF metadata.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice {

class Checkpoint;
class Env;

// What GGUF metadata says of a vocabulary; views must outlive the call only.
struct GgufVocabulary {
  std::string_view model;  // tokenizer.ggml.model: "gpt2" or "llama"
  std::string_view pre;    // tokenizer.ggml.pre, may be empty
  std::vector<std::string_view> tokens;
  std::vector<float> scores;             // may be empty
  std::vector<std::int32_t> types;       // may be empty; 1 normal 2 unknown 3 control 4 user 5 unused 6 byte
  std::vector<std::string_view> merges;  // may be empty
  std::optional<std::uint64_t> bos, eos, eot, unk, pad;
  std::optional<bool> add_bos, add_eos, add_space_prefix;
  std::string_view chat_template;  // may be empty
};

// Immutable after loading; all methods are const and thread-safe.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // tokenizer.json (uncompressed text) and tokenizer_config.json (may be empty). `label` names the source in errors.
  static Result<std::shared_ptr<const Tokenizer>> from_json(std::string_view tokenizer_json,
                                                            std::string_view tokenizer_config_json,
                                                            std::string_view chat_template_jinja,
                                                            std::string_view label);
  static Result<std::shared_ptr<const Tokenizer>> from_gguf(const GgufVocabulary& vocabulary, std::string_view label);
  // Picks the source: GGUF metadata, or the folder's tokenizer.json(.gz).
  static Result<std::shared_ptr<const Tokenizer>> from_checkpoint(const Checkpoint& checkpoint);
  // A folder that may hold only tokenizer.json(.gz) and tokenizer_config.json, or a checkpoint's path.
  static Result<std::shared_ptr<const Tokenizer>> from_path(Env& env, const std::string& path);

  // Special and added tokens in the text are always recognised. add_special adds BOS/EOS as the model's files say.
  // Errors: kInvalidArgument for text that is not UTF-8 is NOT raised: invalid bytes are encoded as bytes where the
  // vocabulary can, else as U+FFFD.
  virtual Result<std::vector<std::int32_t>> encode(std::string_view text, bool add_special) const = 0;
  // Ids without a token are skipped.
  virtual std::string decode(std::span<const std::int32_t> ids, bool skip_special) const = 0;

  virtual std::int32_t vocab_size() const = 0;                     // highest id + 1
  virtual std::string_view token_text(std::int32_t id) const = 0;  // the raw vocabulary entry; empty if none
  virtual bool is_special(std::int32_t id) const = 0;
  virtual std::optional<std::int32_t> bos() const = 0;
  virtual std::optional<std::int32_t> eos() const = 0;
  // All ids that end an answer (eos, end-of-turn, ...).
  virtual std::span<const std::int32_t> end_ids() const = 0;
  virtual std::optional<std::int32_t> find(std::string_view token) const = 0;
  // Jinja source of the chat template; empty if the model has none.
  virtual std::string_view chat_template() const = 0;
  virtual std::span<const std::string> warnings() const = 0;

  // Decodes a stream: feed ids one by one, get text that is complete. Never half a character, never text that a later
  // token would change. The concatenation of all pieces and of flush() equals decode() of all ids.
  class Stream {
   public:
    virtual ~Stream() = default;
    virtual std::string push(std::int32_t id) = 0;
    virtual std::string flush() = 0;
  };
  virtual std::unique_ptr<Stream> stream(bool skip_special) const = 0;
};

}  // namespace sluice
