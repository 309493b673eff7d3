#include "tokenizer/tokenizer_json_model.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <simdjson.h>

#include "checkpoint/text.h"

namespace sluice {
namespace {

namespace od = simdjson::ondemand;

constexpr std::size_t kMaxComponent = 1U << 20U;  // bytes of JSON of a normalizer and the like
constexpr std::size_t kMaxMerges = 1U << 22U;     // gpt-oss has 446 189
constexpr std::size_t kMaxWarnings = 20;

// Reads one document. Methods return an Error as soon as something is wrong.
class Reader {
 public:
  explicit Reader(const std::string& label) : label_(label) {}

  Result<TokenizerJsonModel> read(std::string_view json) {
    const simdjson::padded_string text(json);
    od::parser parser;
    od::document document;
    od::object root;
    if (auto error = parser.iterate(text).get(document)) return syntax(error);
    if (auto error = document.get_object().get(root)) return syntax(error);
    bool has_model = false;
    for (auto field : root) {
      std::string_view key;
      od::value value;
      if (auto error = field.unescaped_key().get(key)) return syntax(error);
      if (auto error = field.value().get(value)) return syntax(error);
      if (key == "model") {
        has_model = true;
        SLUICE_TRY(read_model(value));
      } else if (key == "added_tokens") {
        SLUICE_TRY(read_added(value));
      } else if (key == "normalizer") {
        SLUICE_TRY(read_component(value, key, out_.normalizer));
      } else if (key == "pre_tokenizer") {
        SLUICE_TRY(read_component(value, key, out_.pre_tokenizer));
      } else if (key == "post_processor") {
        SLUICE_TRY(read_component(value, key, out_.post_processor));
      } else if (key == "decoder") {
        SLUICE_TRY(read_component(value, key, out_.decoder));
      }
    }
    const char* behind = nullptr;  // an error means the end
    if (document.current_location().get(behind) == simdjson::SUCCESS) {
      return corrupt("", "not valid JSON: wanted one object, found more text behind it");
    }
    if (!has_model) return corrupt("model", "wanted an object, found nothing");
    return std::move(out_);
  }

 private:
  struct ModelOptions {
    std::string unk;
    bool has_unk = false;
    MergeBpe::Options bpe;
  };

  Error corrupt(std::string_view where, std::string_view what) const {
    return Error(ErrorCode::kCorrupt, fmt::format("{}: {}{}{}", label_, where, where.empty() ? "" : ": ", what));
  }
  Error syntax(simdjson::error_code error) const {
    return corrupt("", fmt::format("not valid JSON: {}", simdjson::error_message(error)));
  }
  Error wanted(std::string_view where, std::string_view what) const {
    return corrupt(where, fmt::format("wanted {}", what));
  }
  void warn(std::string text) {
    if (out_.warnings.size() < kMaxWarnings) out_.warnings.push_back(fmt::format("{}: {}", label_, text));
  }

  // simdjson's get() of one type, with our errors.
  template <typename T, typename Value>
  Result<T> get(Value&& value, std::string_view where, std::string_view what) const {
    T out;
    const simdjson::error_code error = std::forward<Value>(value).get(out);
    if (error == simdjson::SUCCESS) return out;
    if (error == simdjson::INCORRECT_TYPE || error == simdjson::NUMBER_ERROR ||
        error == simdjson::NUMBER_OUT_OF_RANGE) {
      return wanted(where, what);
    }
    return syntax(error);
  }

  Status read_component(od::value value, std::string_view name, std::string& out) const {
    std::string_view raw;
    od::json_type type;
    if (auto error = value.type().get(type)) return syntax(error);
    if (type == od::json_type::null) {
      out = "null";
      return {};
    }
    if (type != od::json_type::object) return wanted(name, "an object or null");
    od::object object;
    if (auto error = value.get_object().get(object)) return syntax(error);
    if (auto error = object.raw_json().get(raw)) return syntax(error);
    if (raw.size() > kMaxComponent) {
      return Error(ErrorCode::kResource, fmt::format("{}: {}: more than {} bytes", label_, name, kMaxComponent));
    }
    out = raw;
    return {};
  }

  // ---- Model

  Status read_model(od::value value) {
    SLUICE_ASSIGN(od::object model, get<od::object>(value, "model", "an object"));
    ModelOptions options;
    bool has_vocabulary = false;
    bool merges_wait = false;
    std::optional<std::string> type;
    for (auto field : model) {
      std::string_view key;
      od::value each;
      if (auto error = field.unescaped_key().get(key)) return syntax(error);
      if (auto error = field.value().get(each)) return syntax(error);
      if (key == "type") {
        SLUICE_ASSIGN(const auto name, get<std::string_view>(each, "model.type", "a string"));
        type = std::string(name);
        SLUICE_TRY(check_type(*type));
      } else if (key == "vocab") {
        if (!type)
          type = "BPE";  // files of before 2021 have none; what else it could be shows in the vocabulary's form
        SLUICE_TRY(read_vocabulary(each));
        has_vocabulary = true;
      } else if (key == "merges") {
        if (!has_vocabulary) {
          merges_wait = true;
          continue;
        }
        SLUICE_TRY(read_merges(each));
      } else {
        SLUICE_TRY(read_option(key, each, options));
      }
    }
    if (!has_vocabulary) return wanted("model.vocab", "an object of tokens and their ids, found nothing");
    if (merges_wait) {  // they stood in front of the vocabulary
      od::value merges;
      if (auto error = model.reset().error()) return syntax(error);
      if (auto error = model.find_field_unordered("merges").get(merges)) return syntax(error);
      SLUICE_TRY(read_merges(merges));
    }
    if (!merges_) return wanted("model.merges", "an array, found nothing");
    return make_bpe(options);
  }

  Status check_type(const std::string& type) const {
    if (type == "BPE") return {};
    return Error(ErrorCode::kUnsupported,
                 fmt::format("{}: model.type: unknown type \"{}\"; known is BPE", label_, printable(type, 40)));
  }

  Status read_option(std::string_view key, od::value value, ModelOptions& options) {
    od::json_type type;
    if (auto error = value.type().get(type)) return syntax(error);
    if (type == od::json_type::null) return {};
    const std::string where = fmt::format("model.{}", printable(key, 40));
    if (key == "unk_token") {
      SLUICE_ASSIGN(const auto text, get<std::string_view>(value, where, "a string or null"));
      options.unk = text;
      options.has_unk = true;
    } else if (key == "byte_fallback") {
      SLUICE_ASSIGN(options.bpe.unknown.byte_fallback, get<bool>(value, where, "true or false"));
    } else if (key == "fuse_unk") {
      SLUICE_ASSIGN(options.bpe.unknown.fuse_unk, get<bool>(value, where, "true or false"));
    } else if (key == "ignore_merges") {
      SLUICE_ASSIGN(options.bpe.ignore_merges, get<bool>(value, where, "true or false"));
    } else if (key == "continuing_subword_prefix" || key == "end_of_word_suffix") {
      SLUICE_ASSIGN(const auto text, get<std::string_view>(value, where, "a string or null"));
      if (!text.empty()) {
        return Error(ErrorCode::kUnsupported, fmt::format("{}: {} is \"{}\": word affixes are not supported", label_,
                                                          where, printable(text, 40)));
      }
    } else if (key == "dropout") {
      SLUICE_ASSIGN(const double dropout, get<double>(value, where, "a number or null"));
      if (dropout != 0.0) warn(fmt::format("model.dropout is {}: merges are not dropped here", dropout));
    }
    return {};
  }

  Status read_vocabulary(od::value value) {
    SLUICE_ASSIGN(od::object tokens, get<od::object>(value, "model.vocab", "an object of tokens and their ids"));
    for (auto field : tokens) {
      std::string_view token;
      if (auto error = field.unescaped_key().get(token)) return syntax(error);
      SLUICE_ASSIGN(const std::int64_t id, get<std::int64_t>(field.value(), "model.vocab", "whole numbers as ids"));
      SLUICE_TRY(check_id(id, "model.vocab", token));
      if (!out_.vocabulary->add(token, static_cast<std::int32_t>(id))) {
        warn(fmt::format("model.vocab: token \"{}\" or its id {} stands there twice", printable(token, 40), id));
      }
    }
    return {};
  }

  Status check_id(std::int64_t id, std::string_view where, std::string_view token) const {
    if (id >= 0 && id <= Vocabulary::kMaxId) return {};
    return Error(id < 0 ? ErrorCode::kCorrupt : ErrorCode::kResource,
                 fmt::format("{}: {}: token \"{}\" has id {}, wanted 0 to {}", label_, where, printable(token, 40), id,
                             Vocabulary::kMaxId));
  }

  // The encoder can be made only when all options are known: the merges wait in a table.
  Status make_bpe(ModelOptions& options) {
    if (options.has_unk) {
      options.bpe.unknown.unk = out_.vocabulary->find(options.unk);
      if (!options.bpe.unknown.unk) {
        return corrupt("model.unk_token", fmt::format("\"{}\" is not in the vocabulary", printable(options.unk, 40)));
      }
    }
    out_.bpe = std::make_unique<MergeBpe>(*out_.vocabulary, options.bpe, std::move(*merges_));
    return {};
  }

  // Each merge is a pair of tokens, or a string with one space between them.
  Status read_merges(od::value value) {
    SLUICE_ASSIGN(od::array merges, get<od::array>(value, "model.merges", "an array"));
    if (merges_) return corrupt("model.merges", "stands there twice");
    // About one merge makes each token; SentencePiece's have several.
    merges_.emplace(static_cast<std::size_t>(out_.vocabulary->size()) * 2);
    MergeReader reader(*out_.vocabulary, *merges_, true);
    std::uint32_t rank = 0;
    for (auto item : merges) {
      if (rank >= kMaxMerges) {
        return Error(ErrorCode::kResource, fmt::format("{}: model.merges: more than {} merges", label_, kMaxMerges));
      }
      od::value merge;
      od::json_type type;
      if (auto error = item.get(merge)) return syntax(error);
      if (auto error = merge.type().get(type)) return syntax(error);
      std::string_view left;
      std::string_view right;
      if (type == od::json_type::string) {
        std::string_view text;
        if (auto error = merge.get_string().get(text)) return syntax(error);
        const std::size_t space = text.find(' ');
        if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
          return wanted(fmt::format("model.merges[{}]", rank), "two tokens with one space between");
        }
        left = text.substr(0, space);
        right = text.substr(space + 1);
      } else {
        SLUICE_TRY(read_pair(merge, rank, left, right));
      }
      reader.add(left, right, rank++);  // the texts lie in the parser's buffer
    }
    reader.flush();
    if (reader.unknown() == 0) return {};
    return corrupt(fmt::format("model.merges[{}]", reader.first_unknown()),
                   "the two tokens and what they join into must be in the vocabulary");
  }

  Status read_pair(od::value merge, std::uint32_t rank, std::string_view& left, std::string_view& right) const {
    od::array pair;
    int count = 0;
    simdjson::error_code error = merge.get_array().get(pair);
    if (error == simdjson::SUCCESS) {
      for (auto each : pair) {
        std::string_view text;
        error = each.get_string().get(text);
        if (error != simdjson::SUCCESS) break;
        if (count == 0) left = text;
        if (count == 1) right = text;
        ++count;
      }
    }
    if (error == simdjson::SUCCESS && count == 2) return {};
    if (error != simdjson::SUCCESS && error != simdjson::INCORRECT_TYPE) return syntax(error);
    return wanted(fmt::format("model.merges[{}]", rank), "a pair of tokens");
  }

  // ---- Added tokens

  Status read_added(od::value value) {
    SLUICE_ASSIGN(od::array tokens, get<od::array>(value, "added_tokens", "an array"));
    for (auto item : tokens) {
      const std::string where = fmt::format("added_tokens[{}]", out_.added.size());
      SLUICE_ASSIGN(od::object object, get<od::object>(item, where, "an object"));
      AddedToken token;
      bool has_content = false;
      std::optional<bool> normalized;
      for (auto field : object) {
        std::string_view key;
        od::value each;
        if (auto error = field.unescaped_key().get(key)) return syntax(error);
        if (auto error = field.value().get(each)) return syntax(error);
        if (key == "id") {
          SLUICE_ASSIGN(const auto id, get<std::int64_t>(each, where + ".id", "a whole number"));
          SLUICE_TRY(check_id(id, where, token.text));
          token.id = static_cast<std::int32_t>(id);
        } else if (key == "content") {
          SLUICE_ASSIGN(const auto text, get<std::string_view>(each, where + ".content", "a string"));
          token.text = text;
          has_content = true;
        } else if (key == "normalized") {
          SLUICE_ASSIGN(normalized, get<bool>(each, where + ".normalized", "true or false"));
        } else if (bool* flag = flag_of(token, key)) {
          SLUICE_ASSIGN(*flag, get<bool>(each, where, "true or false as flags"));
        }
      }
      if (!has_content || token.id < 0) return wanted(where, "an id and a content");
      token.normalized = normalized.value_or(!token.special);
      out_.added.push_back(std::move(token));
    }
    return {};
  }

  static bool* flag_of(AddedToken& token, std::string_view key) {
    if (key == "single_word") return &token.single_word;
    if (key == "lstrip") return &token.lstrip;
    if (key == "rstrip") return &token.rstrip;
    if (key == "special") return &token.special;
    return nullptr;
  }

  const std::string& label_;
  TokenizerJsonModel out_;
  std::optional<MergeTable> merges_;
};

}  // namespace

Result<TokenizerJsonModel> read_tokenizer_json(std::string_view json, const std::string& label) {
  return Reader(label).read(json);
}

}  // namespace sluice
