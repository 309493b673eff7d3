#include "tokenizer/tokenizer_json_components.h"

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "checkpoint/text.h"
#include "tokenizer/utf8.h"
#include "tokenizer/vocabulary.h"

namespace sluice {
namespace {

using Json = nlohmann::json;
using unicode::NormalForm;

constexpr int kMaxDepth = 16;              // of Sequences in Sequences
constexpr std::size_t kMaxSteps = 1000;    // of one component
constexpr std::size_t kMaxAffix = 10'000;  // special tokens around a text

// A JSON object that describes a component, with its place for messages.
class Component {
 public:
  Component(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  const std::string& where() const { return where_; }

  Result<std::string> type() const {
    if (!json_.is_object()) return wrong("", "an object", json_);
    return string("type");
  }
  Result<std::string> string(const char* name) const {
    const Json* value = member(name);
    if (value == nullptr || !value->is_string()) return wrong(name, "a string", value != nullptr ? *value : Json());
    return value->get<std::string>();
  }
  Result<std::string> string(const char* name, const char* standard) const {
    if (member(name) == nullptr) return std::string(standard);
    return string(name);
  }
  Result<bool> boolean(const char* name, bool standard) const {
    const Json* value = member(name);
    if (value == nullptr) return standard;
    if (!value->is_boolean()) return wrong(name, "true or false", *value);
    return value->get<bool>();
  }
  Result<std::uint32_t> number(const char* name, std::uint32_t standard) const {
    const Json* value = member(name);
    if (value == nullptr) return standard;
    if (!value->is_number_unsigned() || value->get<std::uint64_t>() > UINT32_MAX) {
      return wrong(name, "a whole number below 2^32", *value);
    }
    return value->get<std::uint32_t>();
  }
  Result<const Json*> array(const char* name) const {
    const Json* value = member(name);
    if (value == nullptr || !value->is_array()) return wrong(name, "an array", value != nullptr ? *value : Json());
    return value;
  }
  // {"String": s} or {"Regex": s}.
  Result<std::shared_ptr<const SplitPattern>> pattern() const {
    const Json* value = member("pattern");
    const bool literal = value != nullptr && value->is_object() && value->contains("String");
    const char* key = literal ? "String" : "Regex";
    if (value == nullptr || !value->is_object() || !value->contains(key) || !(*value)[key].is_string()) {
      return wrong("pattern", "an object with String or Regex", value != nullptr ? *value : Json());
    }
    const std::string& text = (*value)[key].get_ref<const std::string&>();
    return compile(text, literal);
  }
  Result<std::shared_ptr<const SplitPattern>> compile(std::string_view text, bool literal) const {
    auto compiled = literal ? SplitPattern::literal(text) : SplitPattern::compile(text);
    if (!compiled.ok()) {
      return compiled.error().with_context(fmt::format("{}.pattern \"{}\"", where_, printable(text, 60)));
    }
    return compiled;
  }
  // Absent and null are the same.
  const Json* member(const char* name) const {
    const auto found = json_.find(name);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }
  Error wrong(const char* name, std::string_view wanted, const Json& found) const {
    return Error(ErrorCode::kCorrupt, fmt::format("{}{}{}: wanted {}, found {}", where_, *name == '\0' ? "" : ".", name,
                                                  wanted, found.is_null() ? "nothing" : found.type_name()));
  }

 private:
  const Json& json_;
  std::string where_;
};

template <std::size_t N>
Error unknown_type(const Component& component, std::string_view type, const std::array<std::string_view, N>& known) {
  return Error(ErrorCode::kUnsupported, fmt::format("{}: unknown type \"{}\"; known are {}", component.where(),
                                                    printable(type, 40), fmt::join(known, ", ")));
}

// Calls read(json, where, depth) for each item of an array of components.
template <typename Read>
Status each_item(const Component& component, const char* name, int depth, const Read& read) {
  if (depth >= kMaxDepth) {
    return Error(ErrorCode::kResource,
                 fmt::format("{}: Sequences nested more than {} deep", component.where(), kMaxDepth));
  }
  SLUICE_ASSIGN(const Json* items, component.array(name));
  for (std::size_t i = 0; i < items->size(); ++i) {
    SLUICE_TRY(read((*items)[i], fmt::format("{}.{}[{}]", component.where(), name, i), depth + 1));
  }
  return {};
}

template <typename Step>
Status check_count(const std::vector<Step>& steps, const Component& component) {
  if (steps.size() <= kMaxSteps) return {};
  return Error(ErrorCode::kResource, fmt::format("{}: more than {} steps", component.where(), kMaxSteps));
}

// ---- Normalizers

constexpr std::array<std::string_view, 11> kNormalizers = {
    "NFC", "NFD", "NFKC", "NFKD", "Prepend", "Replace", "Lowercase", "Strip", "StripAccents", "ByteLevel", "Sequence"};

Status add_normalizer(const Json& json, const std::string& where, int depth, std::vector<Normalizer::Step>& steps) {
  using Kind = Normalizer::Step::Kind;
  const Component component(json, where);
  SLUICE_ASSIGN(const std::string type, component.type());
  SLUICE_TRY(check_count(steps, component));
  Normalizer::Step step;
  if (type == "Sequence") {
    return each_item(component, "normalizers", depth, [&](const Json& item, const std::string& at, int deeper) {
      return add_normalizer(item, at, deeper, steps);
    });
  }
  if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD") {
    step.kind = Kind::kUnicode;
    step.form = type == "NFC"    ? NormalForm::kNfc
                : type == "NFD"  ? NormalForm::kNfd
                : type == "NFKC" ? NormalForm::kNfkc
                                 : NormalForm::kNfkd;
  } else if (type == "Prepend") {
    step.kind = Kind::kPrepend;
    SLUICE_ASSIGN(step.text, component.string("prepend"));
  } else if (type == "Replace") {
    step.kind = Kind::kReplace;
    SLUICE_ASSIGN(step.pattern, component.pattern());
    SLUICE_ASSIGN(step.text, component.string("content"));
  } else if (type == "Lowercase") {
    step.kind = Kind::kLowercase;
  } else if (type == "Strip") {
    step.kind = Kind::kStrip;
    SLUICE_ASSIGN(step.strip_left, component.boolean("strip_left", true));
    SLUICE_ASSIGN(step.strip_right, component.boolean("strip_right", true));
  } else if (type == "StripAccents") {
    step.kind = Kind::kStripAccents;
  } else if (type == "ByteLevel") {
    step.kind = Kind::kByteLevel;
  } else {
    return unknown_type(component, type, kNormalizers);
  }
  steps.push_back(std::move(step));
  return {};
}

// ---- Pre-tokenizers

using Behaviour = PreTokenizer::Behaviour;
using PreStep = PreTokenizer::Step;

constexpr std::array<std::string_view, 10> kPreTokenizers = {
    "Split",           "ByteLevel",        "Metaspace",          "Digits",  "Punctuation", "Whitespace",
    "WhitespaceSplit", "BertPreTokenizer", "CharDelimiterSplit", "Sequence"};

constexpr std::string_view kPunctuation = R"([\p{P}$+<=>^`|~])";

Result<Behaviour> read_behaviour(const Component& component, const char* standard) {
  SLUICE_ASSIGN(const std::string name, component.string("behavior", standard));
  if (name == "Removed" || name == "removed") return Behaviour::kRemoved;
  if (name == "Isolated" || name == "isolated") return Behaviour::kIsolated;
  if (name == "MergedWithPrevious" || name == "merged_with_previous") return Behaviour::kMergedWithPrevious;
  if (name == "MergedWithNext" || name == "merged_with_next") return Behaviour::kMergedWithNext;
  if (name == "Contiguous" || name == "contiguous") return Behaviour::kContiguous;
  return Error(ErrorCode::kCorrupt,
               fmt::format("{}.behavior: wanted Removed, Isolated, MergedWithPrevious, MergedWithNext or "
                           "Contiguous, found \"{}\"",
                           component.where(), printable(name, 40)));
}

Status add_split(const Component& component, std::string_view pattern, Behaviour behaviour, bool invert,
                 std::vector<PreStep>& steps, bool literal = false) {
  PreStep step;
  step.kind = PreStep::Kind::kSplit;
  SLUICE_ASSIGN(step.pattern, component.compile(pattern, literal));
  step.behaviour = behaviour;
  step.invert = invert;
  steps.push_back(std::move(step));
  return {};
}

Result<PreTokenizer::PrependScheme> read_prepend_scheme(const Component& component) {
  using Scheme = PreTokenizer::PrependScheme;
  // Older files have add_prefix_space instead.
  SLUICE_ASSIGN(const bool add, component.boolean("add_prefix_space", true));
  SLUICE_ASSIGN(const std::string name, component.string("prepend_scheme", add ? "always" : "never"));
  if (name == "always") return Scheme::kAlways;
  if (name == "never") return Scheme::kNever;
  if (name == "first") return Scheme::kFirst;
  return Error(ErrorCode::kCorrupt, fmt::format("{}.prepend_scheme: wanted always, never or first, found \"{}\"",
                                                component.where(), printable(name, 40)));
}

Result<std::string> read_replacement(const Component& component) {
  SLUICE_ASSIGN(std::string text, component.string("replacement", "\xE2\x96\x81"));
  if (!text.empty() && unicode::decode_utf8(text, 0).size == text.size()) return text;
  return Error(ErrorCode::kCorrupt, fmt::format("{}.replacement: wanted one character, found \"{}\"", component.where(),
                                                printable(text, 40)));
}

Status add_byte_level(const Component& component, std::vector<PreStep>& steps) {
  SLUICE_ASSIGN(const bool prefix_space, component.boolean("add_prefix_space", true));
  SLUICE_ASSIGN(const bool use_regex, component.boolean("use_regex", true));
  PreStep step;
  if (prefix_space) {
    step.kind = PreStep::Kind::kPrefixSpace;
    steps.push_back(step);
  }
  if (use_regex) SLUICE_TRY(add_split(component, kGpt2Pattern, Behaviour::kIsolated, false, steps));
  step.kind = PreStep::Kind::kByteLevel;
  steps.push_back(step);
  return {};
}

Status add_metaspace(const Component& component, std::vector<PreStep>& steps) {
  PreStep step;
  step.kind = PreStep::Kind::kMetaspace;
  SLUICE_ASSIGN(step.replacement, read_replacement(component));
  SLUICE_ASSIGN(step.prepend, read_prepend_scheme(component));
  SLUICE_ASSIGN(const bool split, component.boolean("split", true));
  const std::string replacement = step.replacement;
  steps.push_back(std::move(step));
  if (!split) return {};
  return add_split(component, replacement, Behaviour::kMergedWithNext, false, steps, true);
}

Status add_pre_tokenizer(const Json& json, const std::string& where, int depth, std::vector<PreStep>& steps) {
  const Component component(json, where);
  SLUICE_ASSIGN(const std::string type, component.type());
  SLUICE_TRY(check_count(steps, component));
  if (type == "Sequence") {
    return each_item(component, "pretokenizers", depth, [&](const Json& item, const std::string& at, int deeper) {
      return add_pre_tokenizer(item, at, deeper, steps);
    });
  }
  if (type == "Split") {
    PreStep step;
    step.kind = PreStep::Kind::kSplit;
    SLUICE_ASSIGN(step.pattern, component.pattern());
    SLUICE_ASSIGN(step.behaviour, read_behaviour(component, "Isolated"));
    SLUICE_ASSIGN(step.invert, component.boolean("invert", false));
    steps.push_back(std::move(step));
    return {};
  }
  if (type == "ByteLevel") return add_byte_level(component, steps);
  if (type == "Metaspace") return add_metaspace(component, steps);
  if (type == "Digits") {
    SLUICE_ASSIGN(const bool individual, component.boolean("individual_digits", false));
    return add_split(component, R"(\p{N})", individual ? Behaviour::kIsolated : Behaviour::kContiguous, false, steps);
  }
  if (type == "Punctuation") {
    SLUICE_ASSIGN(const Behaviour behaviour, read_behaviour(component, "Isolated"));
    return add_split(component, kPunctuation, behaviour, false, steps);
  }
  if (type == "Whitespace") {  // its \w is that of Rust's regex, with the joiners
    return add_split(component, R"([\w\x{200C}\x{200D}]+|[^\w\s\x{200C}\x{200D}]+)", Behaviour::kRemoved, true, steps);
  }
  if (type == "WhitespaceSplit") return add_split(component, R"(\s)", Behaviour::kRemoved, false, steps);
  if (type == "BertPreTokenizer") {
    SLUICE_TRY(add_split(component, R"(\s)", Behaviour::kRemoved, false, steps));
    return add_split(component, kPunctuation, Behaviour::kIsolated, false, steps);
  }
  if (type == "CharDelimiterSplit") {
    SLUICE_ASSIGN(const std::string delimiter, component.string("delimiter"));
    return add_split(component, delimiter, Behaviour::kRemoved, false, steps, true);
  }
  return unknown_type(component, type, kPreTokenizers);
}

// ---- Decoders

constexpr std::array<std::string_view, 7> kDecoders = {"ByteLevel", "ByteFallback", "Fuse",    "Replace",
                                                       "Strip",     "Metaspace",    "Sequence"};

Status add_decoder(const Json& json, const std::string& where, int depth, std::vector<Detokenizer::Step>& steps) {
  using Kind = Detokenizer::Step::Kind;
  const Component component(json, where);
  SLUICE_ASSIGN(const std::string type, component.type());
  SLUICE_TRY(check_count(steps, component));
  Detokenizer::Step step;
  if (type == "Sequence") {
    return each_item(component, "decoders", depth, [&](const Json& item, const std::string& at, int deeper) {
      return add_decoder(item, at, deeper, steps);
    });
  }
  if (type == "ByteLevel") {
    step.kind = Kind::kByteLevel;
  } else if (type == "ByteFallback") {
    step.kind = Kind::kByteFallback;
  } else if (type == "Fuse") {
    step.kind = Kind::kFuse;
  } else if (type == "Replace") {
    step.kind = Kind::kReplace;
    SLUICE_ASSIGN(step.pattern, component.pattern());
    SLUICE_ASSIGN(step.text, component.string("content"));
  } else if (type == "Strip") {
    step.kind = Kind::kStrip;
    SLUICE_ASSIGN(step.text, component.string("content", " "));
    if (step.text.empty() || unicode::decode_utf8(step.text, 0).size != step.text.size()) {
      return Error(ErrorCode::kCorrupt,
                   fmt::format("{}.content: wanted one character, found \"{}\"", where, printable(step.text, 40)));
    }
    SLUICE_ASSIGN(step.start, component.number("start", 0));
    SLUICE_ASSIGN(step.stop, component.number("stop", 0));
  } else if (type == "Metaspace") {
    step.kind = Kind::kMetaspace;
    SLUICE_ASSIGN(step.text, read_replacement(component));
    SLUICE_ASSIGN(step.prepend, read_prepend_scheme(component));
  } else {
    return unknown_type(component, type, kDecoders);
  }
  steps.push_back(std::move(step));
  return {};
}

// ---- Post-processors

constexpr std::array<std::string_view, 5> kPostProcessors = {"TemplateProcessing", "ByteLevel", "RobertaProcessing",
                                                             "BertProcessing", "Sequence"};

Status read_id(const Json& json, const std::string& where, std::vector<std::int32_t>& ids) {
  if (!json.is_number_unsigned() || json.get<std::uint64_t>() > static_cast<std::uint64_t>(Vocabulary::kMaxId)) {
    return Error(ErrorCode::kCorrupt,
                 fmt::format("{}: wanted the id of a token, found {}", where, printable(json.dump(), 40)));
  }
  if (ids.size() >= kMaxAffix)
    return Error(ErrorCode::kResource, fmt::format("{}: more than {} ids", where, kMaxAffix));
  ids.push_back(json.get<std::int32_t>());
  return {};
}

Status add_template(const Component& component, SpecialAffixes& affixes) {
  SLUICE_ASSIGN(const Json* items, component.array("single"));
  SpecialAffixes own;
  bool seen = false;
  for (std::size_t i = 0; i < items->size(); ++i) {
    const Json& item = (*items)[i];
    const std::string where = fmt::format("{}.single[{}]", component.where(), i);
    if (item.is_object() && item.contains("Sequence")) {
      if (seen) return Error(ErrorCode::kUnsupported, fmt::format("{}: the text stands twice in the template", where));
      seen = true;
      continue;
    }
    if (!item.is_object() || !item.contains("SpecialToken") || !item["SpecialToken"].is_object() ||
        !item["SpecialToken"].contains("id") || !item["SpecialToken"]["id"].is_string()) {
      return Error(ErrorCode::kCorrupt, fmt::format("{}: wanted SpecialToken with an id, or Sequence", where));
    }
    const std::string& name = item["SpecialToken"]["id"].get_ref<const std::string&>();
    const Json* tokens = component.member("special_tokens");
    const bool found = tokens != nullptr && tokens->is_object() && tokens->contains(name) &&
                       (*tokens)[name].is_object() && (*tokens)[name].contains("ids") &&
                       (*tokens)[name]["ids"].is_array();
    if (!found) {
      return Error(ErrorCode::kCorrupt,
                   fmt::format("{}: token \"{}\" has no ids in special_tokens", where, printable(name, 40)));
    }
    for (const Json& id : (*tokens)[name]["ids"]) SLUICE_TRY(read_id(id, where, seen ? own.suffix : own.prefix));
  }
  if (!seen) return Error(ErrorCode::kCorrupt, fmt::format("{}.single: the text itself is missing", component.where()));
  affixes.prefix.insert(affixes.prefix.begin(), own.prefix.begin(), own.prefix.end());
  affixes.suffix.insert(affixes.suffix.end(), own.suffix.begin(), own.suffix.end());
  return {};
}

// "cls" and "sep" are pairs of text and id; they go in front of the text and behind it.
Status add_cls_and_sep(const Component& component, SpecialAffixes& affixes) {
  std::vector<std::int32_t> ids;
  for (const char* name : {"cls", "sep"}) {
    SLUICE_ASSIGN(const Json* pair, component.array(name));
    if (pair->size() != 2) return component.wrong(name, "a pair of text and id", *pair);
    SLUICE_TRY(read_id((*pair)[1], fmt::format("{}.{}", component.where(), name), ids));
  }
  affixes.prefix.insert(affixes.prefix.begin(), ids[0]);
  affixes.suffix.push_back(ids[1]);
  return {};
}

Status add_post_processor(const Json& json, const std::string& where, int depth, SpecialAffixes& affixes) {
  const Component component(json, where);
  SLUICE_ASSIGN(const std::string type, component.type());
  if (type == "Sequence") {
    return each_item(component, "processors", depth, [&](const Json& item, const std::string& at, int deeper) {
      return add_post_processor(item, at, deeper, affixes);
    });
  }
  if (type == "ByteLevel") return {};  // changes offsets only
  if (type == "TemplateProcessing") return add_template(component, affixes);
  if (type == "RobertaProcessing" || type == "BertProcessing") return add_cls_and_sep(component, affixes);
  return unknown_type(component, type, kPostProcessors);
}

}  // namespace

Result<std::vector<Normalizer::Step>> read_normalizer(const Json& json, const std::string& where) {
  std::vector<Normalizer::Step> steps;
  if (!json.is_null()) SLUICE_TRY(add_normalizer(json, where, 0, steps));
  return steps;
}

Result<std::vector<PreTokenizer::Step>> read_pre_tokenizer(const Json& json, const std::string& where) {
  std::vector<PreTokenizer::Step> steps;
  if (!json.is_null()) SLUICE_TRY(add_pre_tokenizer(json, where, 0, steps));
  return steps;
}

Result<std::vector<Detokenizer::Step>> read_decoder(const Json& json, const std::string& where) {
  std::vector<Detokenizer::Step> steps;
  if (json.is_null()) {
    Detokenizer::Step join;
    join.kind = Detokenizer::Step::Kind::kJoinWithSpaces;
    steps.push_back(std::move(join));
  } else {
    SLUICE_TRY(add_decoder(json, where, 0, steps));
  }
  return steps;
}

Result<SpecialAffixes> read_post_processor(const Json& json, const std::string& where) {
  SpecialAffixes affixes;
  if (!json.is_null()) SLUICE_TRY(add_post_processor(json, where, 0, affixes));
  return affixes;
}

}  // namespace sluice
