#include "tokenizer/gguf_tokenizer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/text.h"
#include "tokenizer/gguf_pre_tokenizers.h"
#include "tokenizer/pipeline_tokenizer.h"

namespace sluice {
namespace {

// Values of tokenizer.ggml.token_type.
enum class TokenType : std::int32_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6
};

constexpr std::string_view kMetaspace = "\xE2\x96\x81";

class Loader {
 public:
  Loader(const GgufVocabulary& source, std::string_view label) : source_(source), label_(label) {}

  Result<std::shared_ptr<const Tokenizer>> load() {
    const bool byte_level = source_.model == "gpt2";
    if (!byte_level && source_.model != "llama") {
      return Error(ErrorCode::kUnsupported,
                   fmt::format("{}: tokenizer.ggml.model: unknown tokenizer \"{}\"; known are gpt2, llama", label_,
                               printable(source_.model, 40)));
    }
    SLUICE_TRY(read_tokens());
    SLUICE_TRY(read_types());
    read_ids(byte_level);
    parts_.chat_template = source_.chat_template;
    SLUICE_TRY(byte_level ? make_byte_level() : make_sentencepiece());
    add_tokens(byte_level);
    SLUICE_TRY(parts_.added.finish(parts_.normalizer));
    return make_tokenizer(std::move(parts_));
  }

 private:
  Error corrupt(std::string_view key, std::string_view what) const {
    return Error(ErrorCode::kCorrupt, fmt::format("{}: tokenizer.ggml.{}: {}", label_, key, what));
  }
  void warn(std::string_view key, std::string_view what) {
    parts_.warnings.push_back(fmt::format("{}: tokenizer.ggml.{}: {}", label_, key, what));
  }
  std::size_t count() const { return source_.tokens.size(); }

  Status read_tokens() {
    if (source_.tokens.empty()) return corrupt("tokens", "wanted the tokens, found none");
    if (count() > static_cast<std::size_t>(Vocabulary::kMaxId) + 1) {
      return Error(ErrorCode::kResource, fmt::format("{}: tokenizer.ggml.tokens: {} tokens, more than {}", label_,
                                                     count(), Vocabulary::kMaxId + 1));
    }
    std::size_t bytes = 0;
    for (const std::string_view token : source_.tokens) bytes += token.size();
    if (bytes > std::numeric_limits<std::uint32_t>::max()) return corrupt("tokens", "more than 4 GiB of text");
    parts_.vocabulary->reserve(count(), bytes);
    for (std::size_t i = 0; i < count(); ++i) {
      const std::string_view token = source_.tokens[i];
      if (token.empty()) continue;  // a hole in the ids: nothing is encoded to it, it decodes to nothing
      if (parts_.vocabulary->add(token, static_cast<std::int32_t>(i))) continue;
      return corrupt("tokens", fmt::format("token {} repeats token {}, \"{}\"", i, *parts_.vocabulary->find(token),
                                           printable(token, 40)));
    }
    return {};
  }

  Status read_types() {
    if (source_.types.empty()) {
      types_.assign(count(), TokenType::kNormal);
      return {};
    }
    if (source_.types.size() < count()) {
      return corrupt("token_type",
                     fmt::format("wanted a type for each of {} tokens, found {}", count(), source_.types.size()));
    }
    if (source_.types.size() > count()) {
      warn("token_type", fmt::format("{} types for {} tokens: the rest is ignored", source_.types.size(), count()));
    }
    for (std::size_t i = 0; i < count(); ++i) types_.push_back(static_cast<TokenType>(source_.types[i]));
    return {};
  }

  void read_ids(bool byte_level) {
    const auto id = [&](const char* key, std::optional<std::uint64_t> value,
                        std::optional<std::int32_t> standard) -> std::optional<std::int32_t> {
      if (standard && static_cast<std::size_t>(*standard) >= count()) standard.reset();
      if (!value) return standard;
      if (*value < count()) return static_cast<std::int32_t>(*value);
      warn(key, fmt::format("{} is not one of the {} tokens: ignored", *value, count()));
      return standard;
    };
    // SentencePiece's own defaults; files of the first years leave the keys out.
    const auto standard = [&](std::int32_t value) { return byte_level ? std::nullopt : std::optional(value); };
    unk_ = id("unknown_token_id", source_.unk, standard(0));
    parts_.bos = id("bos_token_id", source_.bos, standard(1));
    parts_.eos = id("eos_token_id", source_.eos, standard(2));
    parts_.eot = id("eot_token_id", source_.eot, std::nullopt);
  }

  void add_bos_and_eos(bool bos, bool eos) {
    if (source_.add_bos.value_or(bos)) {
      if (parts_.bos) {
        parts_.prefix.push_back(*parts_.bos);
      } else {
        warn("add_bos_token", "true, but there is no bos_token_id: nothing is added");
      }
    }
    if (source_.add_eos.value_or(eos)) {
      if (parts_.eos) {
        parts_.suffix.push_back(*parts_.eos);
      } else {
        warn("add_eos_token", "true, but there is no eos_token_id: nothing is added");
      }
    }
  }

  // ---- Byte-level BPE

  Status make_byte_level() {
    auto found = find_gguf_pre_tokenizer(source_.pre);
    if (!found.ok()) return found.error().with_context(label_);
    const GgufPreTokenizer& pre = **found;
    if (source_.pre.empty())
      warn("pre", "missing: \"default\" is taken, which may split text in another way than the model's own");
    SLUICE_ASSIGN(auto steps, gguf_pre_tokenizer_steps(pre));
    parts_.pre_tokenizer = PreTokenizer(std::move(steps));
    if (pre.nfc) parts_.normalizer = Normalizer({Normalizer::Step{}});
    add_bos_and_eos(pre.add_bos, false);

    MergeBpe::Options options;
    options.ignore_merges = pre.ignore_merges;
    SLUICE_ASSIGN(MergeTable merges, read_merges());
    parts_.encoder = std::make_unique<MergeBpe>(*parts_.vocabulary, options, std::move(merges));
    parts_.surface = TokenizerParts::Surface::kByteLevel;
    Detokenizer::Step utf8;
    utf8.kind = Detokenizer::Step::Kind::kUtf8;
    parts_.detokenizer = Detokenizer({utf8});
    return {};
  }

  Result<MergeTable> read_merges() {
    // Vocabularies of single bytes have none; a file that lost its merges still decodes.
    if (source_.merges.empty()) warn("merges", "none: text becomes single bytes");
    MergeTable merges(source_.merges.size());
    MergeReader reader(*parts_.vocabulary, merges, false);
    std::size_t malformed = 0;
    std::size_t first_malformed = 0;
    for (std::size_t i = 0; i < source_.merges.size(); ++i) {
      const std::string_view merge = source_.merges[i];
      // A token can begin with a space, never with nothing.
      const std::size_t space = merge.find(' ', 1);
      if (space == std::string_view::npos || space + 1 == merge.size()) {
        if (malformed++ == 0) first_malformed = i;
        continue;
      }
      reader.add(merge.substr(0, space), merge.substr(space + 1), static_cast<std::uint32_t>(i));
    }
    reader.flush();
    const auto report = [&](std::size_t faults, std::size_t first, std::string_view what) {
      if (faults == 0) return;
      warn("merges", fmt::format("{} of {} {} (the first is number {}, \"{}\"): ignored", faults, source_.merges.size(),
                                 what, first, printable(source_.merges[first], 40)));
    };
    report(malformed, first_malformed, "are not two tokens with a space between");
    report(reader.unknown(), reader.first_unknown(), "name tokens that do not exist");
    return merges;
  }

  // ---- SentencePiece with scores

  Status make_sentencepiece() {
    if (source_.scores.size() < count()) {
      return corrupt("scores",
                     fmt::format("wanted a score for each of {} tokens, found {}", count(), source_.scores.size()));
    }
    std::vector<float> scores(source_.scores.begin(), source_.scores.begin() + static_cast<std::ptrdiff_t>(count()));
    if (std::ranges::any_of(scores, [](float score) { return std::isnan(score); })) {
      return corrupt("scores", "a score that is no number");
    }
    if (source_.types.empty()) guess_types();
    std::vector<ScoreBpe::Role> roles;
    for (std::size_t i = 0; i < count(); ++i) {
      switch (types_[i]) {
        case TokenType::kUnknown:
        case TokenType::kControl:
        case TokenType::kByte:
          roles.push_back(ScoreBpe::Role::kNever);
          break;
        case TokenType::kUnused:
          roles.push_back(ScoreBpe::Role::kUnused);
          break;
        case TokenType::kNormal:
        case TokenType::kUserDefined:
        default:
          roles.push_back(ScoreBpe::Role::kNormal);
          break;
      }
    }
    UnknownPolicy unknown;
    unknown.byte_fallback = true;
    unknown.unk = unk_;
    unknown.fuse_unk = true;
    parts_.encoder = std::make_unique<ScoreBpe>(*parts_.vocabulary, unknown, scores, std::move(roles));

    const bool prefix = source_.add_space_prefix.value_or(true);
    std::vector<Normalizer::Step> steps(prefix ? 2 : 1);
    if (prefix) {
      steps[0].kind = Normalizer::Step::Kind::kPrepend;
      steps[0].text = kMetaspace;
    }
    steps.back().kind = Normalizer::Step::Kind::kReplace;
    SLUICE_ASSIGN(steps.back().pattern, SplitPattern::literal(" "));
    steps.back().text = kMetaspace;
    parts_.normalizer = Normalizer(std::move(steps));

    parts_.surface = TokenizerParts::Surface::kSentencePiece;
    std::vector<Detokenizer::Step> decode(prefix ? 2 : 1);
    decode[0].kind = Detokenizer::Step::Kind::kUtf8;
    if (prefix) {
      decode[1].kind = Detokenizer::Step::Kind::kStrip;
      decode[1].text = " ";
      decode[1].start = 1;
    }
    parts_.detokenizer = Detokenizer(std::move(decode));
    add_bos_and_eos(true, false);
    return {};
  }

  // Files of the first years have no types: the texts tell.
  void guess_types() {
    for (std::size_t i = 0; i < count(); ++i) {
      const std::string_view token = source_.tokens[i];
      if (byte_token(token)) types_[i] = TokenType::kByte;
      if (token == "<s>" || token == "</s>") types_[i] = TokenType::kControl;
      if (token == "<unk>") types_[i] = TokenType::kUnknown;
    }
  }

  // ---- Tokens that are found in the text

  void add_tokens(bool byte_level) {
    for (std::size_t i = 0; i < count(); ++i) {
      const auto id = static_cast<std::int32_t>(i);
      const std::string_view text = source_.tokens[i];
      bool special = types_[i] == TokenType::kControl || types_[i] == TokenType::kUnknown;
      if (types_[i] == TokenType::kNormal) {
        // Some files give the tokens that end an answer no type of their own.
        const bool named = id == parts_.bos || id == parts_.eos || id == parts_.eot;
        special = text.size() > 2 && (text.front() == '<' || text.front() == '[') &&
                  (named || (byte_level && is_end_text(text)));
      }
      if (!special && types_[i] != TokenType::kUserDefined) continue;
      AddedToken token;
      token.text = text;
      token.id = id;
      token.special = special;
      parts_.added.add(std::move(token));
    }
  }

  const GgufVocabulary& source_;
  std::string label_;
  TokenizerParts parts_;
  std::vector<TokenType> types_;
  std::optional<std::int32_t> unk_;
};

// The value of a key as a list of another element type. Integers of any width and floats are taken for each other as
// far as they fit.
template <typename To>
Result<std::vector<To>> numbers(const Checkpoint& checkpoint, std::string_view key) {
  std::vector<To> out;
  const MetaValue* value = checkpoint.get(key);
  if (value == nullptr) return out;
  const auto* array = std::get_if<MetaArray>(&value->value);
  const auto copy = [&](const auto& from) {
    out.reserve(from.size());
    for (const auto each : from) out.push_back(static_cast<To>(each));
  };
  if (array != nullptr) {
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(array)) {
      copy(*list);
      return out;
    }
    if (const auto* list = std::get_if<std::vector<std::uint64_t>>(array)) {
      copy(*list);
      return out;
    }
    if (const auto* list = std::get_if<std::vector<double>>(array); list != nullptr && std::is_floating_point_v<To>) {
      copy(*list);
      return out;
    }
  }
  return Error(ErrorCode::kCorrupt,
               fmt::format("{}: {}: wanted an array of numbers, found {}", checkpoint.path(), key, value->type_name()));
}

Result<std::vector<std::string_view>> strings(const Checkpoint& checkpoint, std::string_view key) {
  const MetaValue* value = checkpoint.get(key);
  if (value == nullptr) return std::vector<std::string_view>();
  if (const auto* array = std::get_if<MetaArray>(&value->value)) {
    if (const auto* list = std::get_if<std::vector<std::string_view>>(array)) return *list;
  }
  return Error(ErrorCode::kCorrupt,
               fmt::format("{}: {}: wanted an array of strings, found {}", checkpoint.path(), key, value->type_name()));
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> Tokenizer::from_gguf(const GgufVocabulary& vocabulary,
                                                              std::string_view label) {
  return Loader(vocabulary, label).load();
}

Result<std::shared_ptr<const Tokenizer>> tokenizer_from_metadata(const Checkpoint& checkpoint) {
  GgufVocabulary vocabulary;
  SLUICE_ASSIGN(const auto model, checkpoint.get_string("tokenizer.ggml.model"));
  if (!model) {
    return Error(ErrorCode::kNotFound,
                 fmt::format("{}: no tokenizer: the key tokenizer.ggml.model is missing; only token ids "
                             "can be used with this file",
                             checkpoint.path()));
  }
  vocabulary.model = *model;
  SLUICE_ASSIGN(const auto pre, checkpoint.get_string("tokenizer.ggml.pre"));
  vocabulary.pre = pre.value_or(std::string_view());
  SLUICE_ASSIGN(vocabulary.tokens, strings(checkpoint, "tokenizer.ggml.tokens"));
  SLUICE_ASSIGN(vocabulary.merges, strings(checkpoint, "tokenizer.ggml.merges"));
  SLUICE_ASSIGN(vocabulary.scores, numbers<float>(checkpoint, "tokenizer.ggml.scores"));
  SLUICE_ASSIGN(vocabulary.types, numbers<std::int32_t>(checkpoint, "tokenizer.ggml.token_type"));
  SLUICE_ASSIGN(vocabulary.bos, checkpoint.get_uint("tokenizer.ggml.bos_token_id"));
  SLUICE_ASSIGN(vocabulary.eos, checkpoint.get_uint("tokenizer.ggml.eos_token_id"));
  SLUICE_ASSIGN(vocabulary.eot, checkpoint.get_uint("tokenizer.ggml.eot_token_id"));
  SLUICE_ASSIGN(vocabulary.unk, checkpoint.get_uint("tokenizer.ggml.unknown_token_id"));
  SLUICE_ASSIGN(vocabulary.pad, checkpoint.get_uint("tokenizer.ggml.padding_token_id"));
  SLUICE_ASSIGN(vocabulary.add_bos, checkpoint.get_bool("tokenizer.ggml.add_bos_token"));
  SLUICE_ASSIGN(vocabulary.add_eos, checkpoint.get_bool("tokenizer.ggml.add_eos_token"));
  SLUICE_ASSIGN(vocabulary.add_space_prefix, checkpoint.get_bool("tokenizer.ggml.add_space_prefix"));
  SLUICE_ASSIGN(const auto chat_template, checkpoint.get_string("tokenizer.chat_template"));
  vocabulary.chat_template = chat_template.value_or(std::string_view());
  return Tokenizer::from_gguf(vocabulary, checkpoint.path());
}

}  // namespace sluice
