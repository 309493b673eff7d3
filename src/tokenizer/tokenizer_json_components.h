// The parts of tokenizer.json that are small JSON objects: normalizer, pre_tokenizer, post_processor, decoder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "tokenizer/detokenizer.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/pre_tokenizer.h"

namespace sluice {

// Each takes the component's value (null: none) and `where`, its place for messages ("tokenizer.json: normalizer").
// Errors: kUnsupported for a type of component that is not known here, naming it and those that are; kCorrupt for a
// field that is missing or of the wrong type; those of the patterns, with the place in front.
Result<std::vector<Normalizer::Step>> read_normalizer(const nlohmann::json& json, const std::string& where);
Result<std::vector<PreTokenizer::Step>> read_pre_tokenizer(const nlohmann::json& json, const std::string& where);
Result<std::vector<Detokenizer::Step>> read_decoder(const nlohmann::json& json, const std::string& where);

// What a post-processor puts around a single text.
struct SpecialAffixes {
  std::vector<std::int32_t> prefix;
  std::vector<std::int32_t> suffix;
};
Result<SpecialAffixes> read_post_processor(const nlohmann::json& json, const std::string& where);

}  // namespace sluice
