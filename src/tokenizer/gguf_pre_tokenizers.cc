// Sources of the rules: the tokenizer.json (or tokenizer class) that each model's makers published, and, for which name
// stands for which of them, llama.cpp's list of pre-tokenizers. Where llama.cpp rewrites a rule for its own matcher,
// the published rule stands here.
#include "tokenizer/gguf_pre_tokenizers.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "checkpoint/text.h"

namespace sluice {
namespace {

using Text = std::string_view;

// ---- Rules

// GPT-4's (cl100k) with up to three digits together; Qwen's takes single digits.
#define SLUICE_CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define SLUICE_SPACES R"(|\s*[\r\n]+|\s+(?!\S)|\s+)"

constexpr std::array<Text, 1> kGpt2 = {kGpt2Pattern};
constexpr std::array<Text, 2> kDigitsGpt2 = {R"(\p{N})", kGpt2Pattern};
constexpr std::array<Text, 4> kDefault = {R"([\p{P}$+<=>^~|]+)", kGpt2Pattern, R"(\p{N}+)", "[0-9][0-9][0-9]"};
constexpr std::array<Text, 2> kFalcon = {R"([\p{P}$+<=>^~|`]+)", kGpt2Pattern};
// Falcon's rules for digits come behind the byte alphabet, where six bytes show as superscripts and fractions: they
// part from their neighbours as digits do. Odd, but the model learnt it so.
constexpr std::array<Text, 2> kFalconBytes = {R"(\p{N}+)", "[0-9][0-9][0-9]"};
constexpr std::array<Text, 1> kCl100k = {
    SLUICE_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)" SLUICE_SPACES};
constexpr std::array<Text, 1> kQwen2 = {SLUICE_CONTRACTIONS
                                        R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)" SLUICE_SPACES};
constexpr std::array<Text, 1> kQwen35 = {
    SLUICE_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*)" SLUICE_SPACES};

// o200k: words begin with capitals or are all lower case.
#define SLUICE_UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define SLUICE_LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
#define SLUICE_LEAD R"([^\r\n\p{L}\p{N}]?)"
constexpr std::array<Text, 1> kO200k = {
    SLUICE_LEAD SLUICE_UPPER "*" SLUICE_LOWER "+" SLUICE_CONTRACTIONS "?|" SLUICE_LEAD SLUICE_UPPER "+" SLUICE_LOWER
                             "*" SLUICE_CONTRACTIONS R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*)" SLUICE_SPACES};
constexpr std::array<Text, 2> kTinyAya = {R"(\d{1,3}(?=(?:\d{3})*\b))", kO200k[0]};
constexpr std::array<Text, 1> kTekken = {SLUICE_LEAD SLUICE_UPPER
                                         "*" SLUICE_LOWER "+|" SLUICE_LEAD SLUICE_UPPER "+" SLUICE_LOWER
                                         R"(*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*)" SLUICE_SPACES};
// Kimi-K2: o200k's idea with Chinese apart.
#define SLUICE_UPPER_NOT_HAN R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]])"
#define SLUICE_LOWER_NOT_HAN R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]])"
constexpr std::array<Text, 1> kKimiK2 = {R"([\p{Han}]+|)" SLUICE_LEAD SLUICE_UPPER_NOT_HAN "*" SLUICE_LOWER_NOT_HAN
                                         "+" SLUICE_CONTRACTIONS "?|" SLUICE_LEAD SLUICE_UPPER_NOT_HAN
                                         "+" SLUICE_LOWER_NOT_HAN "*" SLUICE_CONTRACTIONS
                                         R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)" SLUICE_SPACES};

// Characters stand as escapes: several look alike, and some would not survive normalisation by an editor.
constexpr Text kCjk = R"([\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+)";
// Letters with case, of the Unicode version that the rule was written with.
constexpr Text kCasedWord =
    R"(\s?[A-Za-z)"
    R"(\u00B5\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u01BA\u01BC-\u01BF\u01C4-\u0293\u0295-\u02AF\u0370-\u0373\u0376)"
    R"(\u0377\u037B-\u037D\u037F\u0386\u0388-\u038A\u038C\u038E-\u03A1\u03A3-\u03F5\u03F7-\u0481\u048A-\u052F)"
    R"(\u0531-\u0556\u10A0-\u10C5\u13A0-\u13F5\u13F8-\u13FD\u1C90-\u1CBA\u1CBD-\u1CBF\u1D00-\u1D2B\u1D6B-\u1D77)"
    R"(\u1D79-\u1D9A\u1E00-\u1F15\u1F18-\u1F1D\u1F20-\u1F45\u1F48-\u1F4D\u1F50-\u1F57\u1F59\u1F5B\u1F5D)"
    R"(\u1F5F-\u1F7D\u1F80-\u1FB4\u1FB6-\u1FBC\u1FBE\u1FC2-\u1FC4\u1FC6-\u1FCC\u1FD0-\u1FD3\u1FD6-\u1FDB)"
    R"(\u1FE0-\u1FEC\u1FF2-\u1FF4\u1FF6-\u1FFC\u2102\u2107\u210A-\u2113\u2115\u2119-\u211D\u2124\u2126\u2128)"
    R"(\u212A-\u212D\u212F-\u2134\u2139\u213C-\u213F\u2145-\u2149\u214E\u2183\u2184\u2C00-\u2C7B\u2C7E-\u2CE4)"
    R"(\u2CEB-\u2CEE\u2CF2\u2CF3\uA640-\uA66D\uA680-\uA69B\uA722-\uA76F\uA771-\uA787\uA78B-\uA78E\uAB70-\uABBF)"
    R"(\uFB00-\uFB06\uFB13-\uFB17\uFF21-\uFF3A\uFF41-\uFF5A\x{10400}-\x{1044F}\x{104B0}-\x{104D3})"
    R"(\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943})"
    R"(]+)";
constexpr std::array<Text, 6> kDeepseekLlm = {
    R"([\r\n])", kCasedWord, R"(\s?[!-/:-~\uFF01-\uFF0F\uFF1A-\uFF5E\u2018-\u201F\u3000-\u3002]+)",
    R"(\s+$)",   kCjk,       R"(\p{N})"};
constexpr std::array<Text, 5> kDeepseekCoder = {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", kCjk, R"(\p{N})"};
constexpr std::array<Text, 3> kDeepseekV3 = {
    R"(\p{N}{1,3})", R"([\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+)",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| "
    "?[\\p{P}\\p{S}]+[\r\n]*" SLUICE_SPACES};

constexpr Text kBloomWord = R"( ?[^(\s|.,!?\u2026\u3002\uFF0C\u3001\u0964\u06D4\u060C)]+)";
constexpr std::array<Text, 1> kBloom = {kBloomWord};
constexpr std::array<Text, 2> kViking = {kBloomWord, R"(\p{N})"};
constexpr std::array<Text, 1> kJais2 = {
    SLUICE_CONTRACTIONS
    R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S))"
    R"(|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})"};
constexpr std::array<Text, 6> kChameleon = {"<sentinel:[0-9]+>",       "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z",
                                            "([\\t\\n]|    |  )",      R"(\p{N})",
                                            R"([\p{P}!-/:-@\[-`{-~])", kGpt2Pattern};
constexpr std::array<Text, 2> kSuperBpe = {R"(\p{N}+)", R"((?=(\d{3})+(?!\d)))"};
constexpr std::array<Text, 1> kBailing = {
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)"};
constexpr std::array<Text, 1> kSeedCoder = {SLUICE_CONTRACTIONS
                                            R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+)" SLUICE_SPACES};
constexpr std::array<Text, 1> kExaoneMoe = {
    SLUICE_CONTRACTIONS
    R"(|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n])"
    R"(|\s+(?!\S)|\s+)"};

#undef SLUICE_CONTRACTIONS
#undef SLUICE_SPACES
#undef SLUICE_UPPER
#undef SLUICE_LOWER
#undef SLUICE_LEAD
#undef SLUICE_UPPER_NOT_HAN
#undef SLUICE_LOWER_NOT_HAN

// ---- Names

constexpr std::array<Text, 1> kDefaultNames = {"default"};
constexpr std::array<Text, 15> kGpt2Names = {"gpt-2",      "gpt2",       "phi-2",    "jina-es",     "jina-de",
                                             "jina-v2-es", "jina-v2-de", "gigachat", "a.x-4.0",     "mellum",
                                             "exaone4",    "trillion",   "jais",     "modern-bert", "granite-docling"};
constexpr std::array<Text, 2> kNeoxNames = {"mpt", "olmo"};
constexpr std::array<Text, 8> kDigitsNames = {"starcoder", "refact",     "smollm",  "codeshell",
                                              "exaone",    "minerva-7b", "minerva", "mellum2"};
constexpr std::array<Text, 1> kCommandRNames = {"command-r"};
constexpr std::array<Text, 1> kFalconNames = {"falcon"};
constexpr std::array<Text, 9> kLlama3Names = {"llama-bpe", "llama3",   "llama-v3", "falcon3",     "falcon-h1",
                                              "pixtral",   "midm-2.0", "lfm2",     "jina-v5-nano"};
constexpr std::array<Text, 4> kCl100kNames = {"dbrx", "smaug-bpe", "glm4", "chatglm-bpe"};
constexpr std::array<Text, 6> kQwen2Names = {"qwen2", "deepseek-r1-qwen", "megrez", "f2llmv2", "kormo", "stablelm2"};
constexpr std::array<Text, 3> kQwen2RawNames = {"hunyuan", "solar-open", "grok-2"};
constexpr std::array<Text, 1> kQwen35Names = {"qwen35"};
constexpr std::array<Text, 4> kO200kNames = {"gpt-4o", "o200k", "llama4", "kanana2"};
constexpr std::array<Text, 1> kMinimaxNames = {"minimax-m2"};
constexpr std::array<Text, 2> kTinyAyaNames = {"tiny_aya", "cohere2moe"};
constexpr std::array<Text, 1> kTekkenNames = {"tekken"};
constexpr std::array<Text, 1> kKimiNames = {"kimi-k2"};
constexpr std::array<Text, 1> kDeepseekLlmNames = {"deepseek-llm"};
constexpr std::array<Text, 1> kDeepseekCoderNames = {"deepseek-coder"};
constexpr std::array<Text, 3> kDeepseekV3Names = {"deepseek-v3", "hunyuan-dense", "joyai-llm"};
constexpr std::array<Text, 3> kBloomNames = {"bloom", "poro-chat", "gpt3-finnish"};
constexpr std::array<Text, 1> kVikingNames = {"viking"};
constexpr std::array<Text, 1> kJais2Names = {"jais-2"};
constexpr std::array<Text, 1> kChameleonNames = {"chameleon"};
constexpr std::array<Text, 1> kSuperBpeNames = {"superbpe"};
constexpr std::array<Text, 3> kBailingNames = {"bailingmoe", "bailingmoe2", "llada-moe"};
constexpr std::array<Text, 1> kSeedCoderNames = {"seed-coder"};
constexpr std::array<Text, 1> kExaoneMoeNames = {"exaone-moe"};

constexpr bool kNfc = true;

constexpr std::array<GgufPreTokenizer, 27> kPreTokenizers = {{
    // names, patterns, nfc, ignore_merges, add_bos
    {kDefaultNames, kDefault},
    {kGpt2Names, kGpt2},
    {kNeoxNames, kGpt2, kNfc},
    {kDigitsNames, kDigitsGpt2},
    {kCommandRNames, kDigitsGpt2, kNfc},
    {kFalconNames, kFalcon, false, false, false, kFalconBytes},
    {kLlama3Names, kCl100k, false, true, true},
    {kCl100kNames, kCl100k},
    {kQwen2Names, kQwen2, kNfc},
    {kQwen2RawNames, kQwen2},
    {kQwen35Names, kQwen35, kNfc},
    {kO200kNames, kO200k, false, true, false},
    {kMinimaxNames, kO200k},
    {kTinyAyaNames, kTinyAya},
    {kTekkenNames, kTekken, false, true, true},
    {kKimiNames, kKimiK2, false, true, false},
    {kDeepseekLlmNames, kDeepseekLlm},
    {kDeepseekCoderNames, kDeepseekCoder},
    {kDeepseekV3Names, kDeepseekV3},
    {kBloomNames, kBloom},
    {kVikingNames, kViking},
    {kJais2Names, kJais2},
    {kChameleonNames, kChameleon, false, false, true},
    {kSuperBpeNames, kSuperBpe},
    {kBailingNames, kBailing},
    {kSeedCoderNames, kSeedCoder},
    {kExaoneMoeNames, kExaoneMoe},
}};

}  // namespace

Result<const GgufPreTokenizer*> find_gguf_pre_tokenizer(std::string_view name) {
  if (name.empty()) name = kDefaultNames[0];
  std::vector<std::string_view> known;
  for (const GgufPreTokenizer& pre : kPreTokenizers) {
    if (std::ranges::find(pre.names, name) != pre.names.end()) return &pre;
    known.insert(known.end(), pre.names.begin(), pre.names.end());
  }
  std::ranges::sort(known);
  return Error(ErrorCode::kUnsupported, fmt::format("tokenizer.ggml.pre: unknown pre-tokenizer \"{}\"; known are {}",
                                                    printable(name, 40), fmt::join(known, ", ")));
}

Result<std::vector<PreTokenizer::Step>> gguf_pre_tokenizer_steps(const GgufPreTokenizer& pre) {
  std::vector<PreTokenizer::Step> steps;
  const auto add = [&](std::span<const std::string_view> patterns) -> Status {
    for (const std::string_view pattern : patterns) {
      PreTokenizer::Step step;
      step.kind = PreTokenizer::Step::Kind::kSplit;
      step.behaviour = PreTokenizer::Behaviour::kIsolated;
      auto compiled = SplitPattern::compile(pattern);
      if (!compiled.ok()) return compiled.error().with_context(fmt::format("pre-tokenizer {}", pre.names.front()));
      step.pattern = std::move(compiled).value();
      steps.push_back(std::move(step));
    }
    return {};
  };
  SLUICE_TRY(add(pre.patterns));
  PreTokenizer::Step bytes;
  bytes.kind = PreTokenizer::Step::Kind::kByteLevel;
  steps.push_back(std::move(bytes));
  SLUICE_TRY(add(pre.byte_patterns));
  return steps;
}

}  // namespace sluice
