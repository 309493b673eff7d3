#include "tokenizer/pipeline_tokenizer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

namespace sluice {
namespace {

// Offsets of text are 32 bits wide, and byte-level text takes up to twice the bytes.
constexpr std::size_t kMaxText = std::size_t{1} << 30U;

// U+2581, which SentencePiece writes for a space.
constexpr std::string_view kMetaspace = "\xE2\x96\x81";

class PipelineTokenizer final : public Tokenizer, public std::enable_shared_from_this<PipelineTokenizer> {
 public:
  explicit PipelineTokenizer(TokenizerParts parts) : parts_(std::move(parts)), end_ids_(find_end_ids(parts_)) {
    size_ = parts_.vocabulary->size();
    for (const AddedToken& token : parts_.added.all()) size_ = std::max(size_, token.id + 1);
  }

  Result<std::vector<std::int32_t>> encode(std::string_view text, bool add_special) const override {
    if (text.size() > kMaxText) {
      return Error(ErrorCode::kResource, fmt::format("the text has {} bytes, more than {} can be encoded at once: "
                                                     "encode it in parts",
                                                     text.size(), kMaxText));
    }
    Scratch scratch;
    std::vector<std::int32_t> ids;
    if (add_special) ids = parts_.prefix;
    std::vector<TextSegment> segments;
    parts_.added.in_raw_text().split(text, segments);
    for (const TextSegment& segment : segments) {
      if (segment.id >= 0) {
        ids.push_back(segment.id);
      } else {
        SLUICE_TRY(encode_raw(segment.span.in(text), segment.span.begin == 0, scratch, ids));
      }
    }
    if (add_special) ids.insert(ids.end(), parts_.suffix.begin(), parts_.suffix.end());
    return ids;
  }

  std::string decode(std::span<const std::int32_t> ids, bool skip_special) const override {
    std::string text;
    Detokenizer::Run run = parts_.detokenizer.start();
    for (const std::int32_t id : ids) push(run, id, skip_special, text);
    run.finish(text);
    return text;
  }

  std::int32_t vocab_size() const override { return size_; }

  std::string_view token_text(std::int32_t id) const override {
    const AddedToken* added = parts_.added.find(id);
    return added != nullptr ? std::string_view(added->text) : parts_.vocabulary->text(id);
  }

  bool is_special(std::int32_t id) const override {
    const AddedToken* added = parts_.added.find(id);
    return added != nullptr && added->special;
  }

  std::optional<std::int32_t> bos() const override { return parts_.bos; }
  std::optional<std::int32_t> eos() const override { return parts_.eos; }
  std::span<const std::int32_t> end_ids() const override { return end_ids_; }

  std::optional<std::int32_t> find(std::string_view token) const override {
    if (const AddedToken* added = parts_.added.find(token)) return added->id;
    return parts_.vocabulary->find(token);
  }

  std::string_view chat_template() const override { return parts_.chat_template; }
  std::span<const std::string> warnings() const override { return parts_.warnings; }

  std::unique_ptr<Stream> stream(bool skip_special) const override {
    return std::make_unique<PipelineStream>(shared_from_this(), skip_special);
  }

 private:
  class PipelineStream final : public Stream {
   public:
    PipelineStream(std::shared_ptr<const PipelineTokenizer> tokenizer, bool skip_special)
        : tokenizer_(std::move(tokenizer)), run_(tokenizer_->parts_.detokenizer.start()), skip_special_(skip_special) {}

    std::string push(std::int32_t id) override {
      std::string text;
      tokenizer_->push(run_, id, skip_special_, text);
      return text;
    }
    std::string flush() override {
      std::string text;
      run_.finish(text);
      run_ = tokenizer_->parts_.detokenizer.start();
      return text;
    }

   private:
    std::shared_ptr<const PipelineTokenizer> tokenizer_;
    Detokenizer::Run run_;
    bool skip_special_;
  };

  struct Scratch {
    MatchScratch match;
    Pieces pieces;
    BpeScratch bpe;
    std::vector<TextSegment> segments;
    std::string normalized;
  };

  // Text between tokens that were found in the raw text.
  Status encode_raw(std::string_view text, bool at_start, Scratch& scratch, std::vector<std::int32_t>& ids) const {
    if (!parts_.normalizer.empty()) {
      scratch.normalized = text;
      SLUICE_TRY(parts_.normalizer.apply(scratch.normalized, scratch.match));
      text = scratch.normalized;
    }
    scratch.segments.clear();
    parts_.added.in_normalized_text().split(text, scratch.segments);
    for (const TextSegment& segment : scratch.segments) {
      if (segment.id >= 0) {
        ids.push_back(segment.id);
        continue;
      }
      scratch.pieces.reset(segment.span.in(text), at_start && segment.span.begin == 0);
      SLUICE_TRY(parts_.pre_tokenizer.apply(scratch.pieces, scratch.match));
      for (const TextSpan& piece : scratch.pieces.spans) {
        parts_.encoder->encode(piece.in(scratch.pieces.text), scratch.bpe, ids);
      }
    }
    return {};
  }

  // Feeds one token to a decoding under way.
  void push(Detokenizer::Run& run, std::int32_t id, bool skip_special, std::string& text) const {
    const AddedToken* added = parts_.added.find(id);
    if (added == nullptr && !parts_.vocabulary->has(id)) return;
    if (added != nullptr && added->special && skip_special) return;
    const std::string_view token = added != nullptr ? std::string_view(added->text) : parts_.vocabulary->text(id);
    std::string surface;
    if (added != nullptr || parts_.surface == TokenizerParts::Surface::kVocabulary) {
      surface = token;
    } else if (parts_.surface == TokenizerParts::Surface::kByteLevel) {
      append_byte_level_decoded(surface, token);
    } else if (const auto byte = byte_token(token)) {
      surface = static_cast<char>(*byte);
    } else {
      for (std::size_t at = 0; at < token.size();) {
        const bool space = token.substr(at).starts_with(kMetaspace);
        surface += space ? ' ' : token[at];
        at += space ? kMetaspace.size() : 1;
      }
    }
    run.push(std::move(surface), text);
  }

  TokenizerParts parts_;
  std::vector<std::int32_t> end_ids_;
  std::int32_t size_ = 0;
};

// Texts of tokens that end an answer or a turn in the public models.
constexpr std::array<std::string_view, 27> kEndTexts = {
    "</s>",
    "<eos>",
    "<|im_end|>",  // ChatML: Qwen, OLMoE-like tunes, ...
    "<|eot_id|>",  // Llama 3
    "<|eom_id|>",
    "<|eot|>",     // Llama 4
    "<|end|>",     // Phi; not where it only ends a message, see below
    "<|return|>",  // gpt-oss
    "<|call|>",
    "<|endoftext|>",
    "<|end_of_text|>",  // Granite, Llama 3 base
    "<end_of_turn>",    // Gemma
    "<turn|>",
    "<|end_of_turn|>",
    "<|endofturn|>",
    "<|END_OF_TURN_TOKEN|>",  // Command R
    "<|END_RESPONSE|>",
    "<｜end▁of▁sentence｜>",  // DeepSeek
    "<|EOT|>",                // DeepSeek Coder
    "<EOT>",
    "[EOT]",  // Kimi
    "[EOS]",
    "<end_of_utterance>",
    "<|flush|>",  // Solar
    "<|calls|>",
    "<|role_end|>",  // Ling
    "[e~[",          // MiniMax
};

}  // namespace

bool is_end_text(std::string_view text) { return std::ranges::find(kEndTexts, text) != kEndTexts.end(); }

std::vector<std::int32_t> find_end_ids(const TokenizerParts& parts) {
  std::vector<std::int32_t> ids;
  if (parts.eos) ids.push_back(*parts.eos);
  if (parts.eot) ids.push_back(*parts.eot);
  const auto has = [&](std::string_view text) { return parts.added.find(text) != nullptr; };
  // In these formats <|end|> closes one message of several, and others end the answer.
  const bool end_is_message = (has("<|return|>") && has("<|call|>")) || (has("<|flush|>") && has("<|calls|>"));
  for (const std::string_view text : kEndTexts) {
    if (text == "<|end|>" && end_is_message) continue;
    if (const AddedToken* token = parts.added.find(text)) ids.push_back(token->id);
  }
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

std::shared_ptr<const Tokenizer> make_tokenizer(TokenizerParts parts) {
  return std::make_shared<PipelineTokenizer>(std::move(parts));
}

}  // namespace sluice
