// Tokenizer::from_json: tokenizer.json and tokenizer_config.json put together.
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "checkpoint/json_text.h"
#include "checkpoint/text.h"
#include "tokenizer/pipeline_tokenizer.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_json_components.h"
#include "tokenizer/tokenizer_json_model.h"

namespace sluice {
namespace {

using Json = nlohmann::json;

Result<Json> parse_object(std::string_view text, const std::string& label) {
  return parse_json_object(std::as_bytes(std::span<const char>(text)), label);
}

Result<Json> parse_component(const std::string& text, const std::string& label) {
  if (text == "null") return Json();
  return parse_object(text, label);
}

// Makes the added tokens known, with the ids that the vocabulary has for their texts.
Status add_tokens(std::vector<AddedToken> tokens, const Vocabulary& vocabulary, const std::string& label,
                  const Normalizer& normalizer, TokenizerParts& parts) {
  for (AddedToken& token : tokens) {
    const std::string name = printable(token.text, 40);
    if (const auto id = vocabulary.find(token.text)) {
      if (*id != token.id) {
        parts.warnings.push_back(
            fmt::format("{}: added_tokens: \"{}\" has id {} here and {} in the vocabulary, which counts", label, name,
                        token.id, *id));
      }
      token.id = *id;
    } else if (vocabulary.has(token.id)) {
      return Error(ErrorCode::kCorrupt,
                   fmt::format("{}: added_tokens: \"{}\" has id {}, which is \"{}\" in the vocabulary", label, name,
                               token.id, printable(vocabulary.text(token.id), 40)));
    }
    parts.added.add(std::move(token));
  }
  return parts.added.finish(normalizer);
}

// tokenizer_config.json, as far as it matters here.
class Config {
 public:
  explicit Config(Json json) : json_(std::move(json)) {}

  // "bos_token" and the like: a string, or an object with the string as its content. Empty: null or absent.
  std::string token(const char* name) const {
    const Json* value = member(name);
    if (value != nullptr && value->is_object() && value->contains("content")) value = &(*value)["content"];
    return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
  }
  std::optional<bool> flag(const char* name) const {
    const Json* value = member(name);
    if (value == nullptr || !value->is_boolean()) return std::nullopt;
    return value->get<bool>();
  }
  // A string, or a list of named templates of which "default" is the one for chats.
  std::string chat_template() const {
    const Json* value = member("chat_template");
    if (value == nullptr) return {};
    if (value->is_string()) return value->get<std::string>();
    std::string first;
    if (!value->is_array()) return {};
    for (const Json& each : *value) {
      if (!each.is_object() || !each.contains("template") || !each["template"].is_string()) continue;
      const bool is_default = each.contains("name") && each["name"] == "default";
      if (is_default) return each["template"].get<std::string>();
      if (first.empty()) first = each["template"].get<std::string>();
    }
    return first;
  }
  // Classes of transformers that put BOS and EOS where add_bos_token and add_eos_token say, whatever the post-processor
  // of tokenizer.json does. All others leave it to the post-processor.
  bool flags_rule() const {
    constexpr std::array<std::string_view, 6> kClasses = {"LlamaTokenizer",     "LlamaTokenizerFast",
                                                          "CodeLlamaTokenizer", "CodeLlamaTokenizerFast",
                                                          "GemmaTokenizer",     "GemmaTokenizerFast"};
    return std::ranges::find(kClasses, token("tokenizer_class")) != kClasses.end();
  }

 private:
  const Json* member(const char* name) const {
    const auto found = json_.find(name);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }
  Json json_;
};

std::optional<std::int32_t> find_id(const TokenizerParts& parts, const std::string& text) {
  if (text.empty()) return std::nullopt;
  if (const AddedToken* added = parts.added.find(std::string_view(text))) return added->id;
  return parts.vocabulary->find(text);
}

void apply_config(const Config& config, const std::string& label, TokenizerParts& parts) {
  const auto named = [&](const char* name) {
    const std::string text = config.token(name);
    const auto id = find_id(parts, text);
    if (!text.empty() && !id) {
      parts.warnings.push_back(
          fmt::format("{}: tokenizer_config.json: {} \"{}\" is not a token", label, name, printable(text, 40)));
    }
    return id;
  };
  parts.bos = named("bos_token");
  parts.eos = named("eos_token");
  parts.eot = named("eot_token");
  const auto apply = [&](const char* name, std::optional<std::int32_t> id, bool standard, bool in_front) {
    if (!id) return;
    std::vector<std::int32_t>& affix = in_front ? parts.prefix : parts.suffix;
    const auto at = in_front ? affix.begin() : affix.empty() ? affix.end() : affix.end() - 1;
    const bool there = at != affix.end() && *at == *id;
    std::optional<bool> wanted = config.flag(name);
    if (!wanted && config.flags_rule() && standard) wanted = true;
    if (!wanted) return;
    if (*wanted && !there) {
      affix.insert(in_front ? affix.begin() : affix.end(), *id);
    } else if (!*wanted && there && config.flags_rule()) {
      affix.erase(at);
    }
  };
  apply("add_bos_token", parts.bos, true, true);
  apply("add_eos_token", parts.eos, false, false);
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> Tokenizer::from_json(std::string_view tokenizer_json,
                                                              std::string_view tokenizer_config_json,
                                                              std::string_view chat_template_jinja,
                                                              std::string_view label) {
  const std::string name(label);
  SLUICE_ASSIGN(TokenizerJsonModel model, read_tokenizer_json(tokenizer_json, name));
  TokenizerParts parts;
  parts.vocabulary = std::move(model.vocabulary);
  parts.encoder = std::move(model.bpe);
  parts.warnings = std::move(model.warnings);

  SLUICE_ASSIGN(const Json normalizer, parse_component(model.normalizer, name + ": normalizer"));
  SLUICE_ASSIGN(auto normalizer_steps, read_normalizer(normalizer, name + ": normalizer"));
  parts.normalizer = Normalizer(std::move(normalizer_steps));
  SLUICE_ASSIGN(const Json pre_tokenizer, parse_component(model.pre_tokenizer, name + ": pre_tokenizer"));
  SLUICE_ASSIGN(auto pre_tokenizer_steps, read_pre_tokenizer(pre_tokenizer, name + ": pre_tokenizer"));
  parts.pre_tokenizer = PreTokenizer(std::move(pre_tokenizer_steps));
  SLUICE_ASSIGN(const Json decoder, parse_component(model.decoder, name + ": decoder"));
  SLUICE_ASSIGN(auto decoder_steps, read_decoder(decoder, name + ": decoder"));
  parts.detokenizer = Detokenizer(std::move(decoder_steps));
  SLUICE_ASSIGN(const Json post_processor, parse_component(model.post_processor, name + ": post_processor"));
  SLUICE_ASSIGN(SpecialAffixes affixes, read_post_processor(post_processor, name + ": post_processor"));
  parts.prefix = std::move(affixes.prefix);
  parts.suffix = std::move(affixes.suffix);
  SLUICE_TRY(add_tokens(std::move(model.added), *parts.vocabulary, name, parts.normalizer, parts));

  if (!tokenizer_config_json.empty()) {
    SLUICE_ASSIGN(Json json, parse_object(tokenizer_config_json, name + ": tokenizer_config.json"));
    const Config config(std::move(json));
    apply_config(config, name, parts);
    parts.chat_template = config.chat_template();
  } else if (!parts.prefix.empty()) {
    parts.bos = parts.prefix.front();  // what the post-processor puts in front is the only hint
  }
  if (!chat_template_jinja.empty()) parts.chat_template = chat_template_jinja;
  return make_tokenizer(std::move(parts));
}

}  // namespace sluice
