#include "tokenizer/unicode_data.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <unordered_map>

#include "tokenizer/unicode_tables.inc"

namespace sluice::unicode {
namespace {

using Numbers = std::span<const std::uint32_t>;

// Value of the run that holds c.
std::uint8_t run_value(Numbers runs, char32_t c) {
  const auto after = std::ranges::upper_bound(runs, c << 8U | 0xFFU);
  return static_cast<std::uint8_t>(*std::prev(after) & 0xFFU);
}

template <typename Wanted>
CodePointSet runs_where(Numbers runs, Wanted wanted) {
  std::vector<CodePointRange> ranges;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!wanted(runs[i] & 0xFFU)) continue;
    const char32_t last = i + 1 < runs.size() ? (runs[i + 1] >> 8U) - 1 : kMaxCodePoint;
    ranges.push_back({runs[i] >> 8U, last});
  }
  return CodePointSet(std::move(ranges));
}

CodePointSet from_ranges(Numbers flat) {
  std::vector<CodePointRange> ranges;
  for (std::size_t i = 0; i + 1 < flat.size(); i += 2) ranges.push_back({flat[i], flat[i + 1]});
  return CodePointSet(std::move(ranges));
}

bool in_ranges(Numbers flat, char32_t c) {
  std::size_t low = 0;
  std::size_t high = flat.size() / 2;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (flat[2 * middle + 1] < c) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return 2 * low < flat.size() && flat[2 * low] <= c;
}

// Second number of the pair that begins with `key`, or nullptr.
const std::uint32_t* find_pair(Numbers flat, char32_t key) {
  std::size_t low = 0;
  std::size_t high = flat.size() / 2;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (flat[2 * middle] < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return 2 * low < flat.size() && flat[2 * low] == key ? &flat[2 * low + 1] : nullptr;
}

constexpr std::string_view kCategoryNames = "CnLuLlLtLmLoMnMcMeNdNlNoPcPdPsPePiPfPoSmScSkSoZsZlZpCcCfCsCo";

// Long names of the general categories (UAX #44), without what loose matching ignores, and their short ones.
constexpr std::array<std::array<std::string_view, 2>, 43> kLongCategories = {{
    {"letter", "l"},
    {"casedletter", "lc"},
    {"uppercaseletter", "lu"},
    {"lowercaseletter", "ll"},
    {"titlecaseletter", "lt"},
    {"modifierletter", "lm"},
    {"otherletter", "lo"},
    {"mark", "m"},
    {"combiningmark", "m"},
    {"nonspacingmark", "mn"},
    {"spacingmark", "mc"},
    {"spacecombiningmark", "mc"},
    {"enclosingmark", "me"},
    {"number", "n"},
    {"decimalnumber", "nd"},
    {"decimaldigitnumber", "nd"},
    {"letternumber", "nl"},
    {"othernumber", "no"},
    {"punctuation", "p"},
    {"connectorpunctuation", "pc"},
    {"dashpunctuation", "pd"},
    {"openpunctuation", "ps"},
    {"closepunctuation", "pe"},
    {"initialpunctuation", "pi"},
    {"initialquotepunctuation", "pi"},
    {"finalpunctuation", "pf"},
    {"finalquotepunctuation", "pf"},
    {"otherpunctuation", "po"},
    {"symbol", "s"},
    {"mathsymbol", "sm"},
    {"currencysymbol", "sc"},
    {"modifiersymbol", "sk"},
    {"othersymbol", "so"},
    {"separator", "z"},
    {"spaceseparator", "zs"},
    {"lineseparator", "zl"},
    {"paragraphseparator", "zp"},
    {"other", "c"},
    {"control", "cc"},
    {"format", "cf"},
    {"surrogate", "cs"},
    {"privateuse", "co"},
    {"unassigned", "cn"},
}};

std::string loose(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == ' ' || c == '_' || c == '-') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

std::optional<CodePointSet> find_category(const std::string& name) {
  std::string_view wanted = name;
  for (const auto& [long_name, short_name] : kLongCategories) {
    if (wanted == long_name) wanted = short_name;
  }
  if (wanted == "lc" || wanted == "l&") {
    return runs_where(kCategoryRuns, [](std::uint32_t v) { return v >= 1 && v <= 3; });
  }
  if (wanted.empty() || wanted.size() > 2) return std::nullopt;
  std::uint32_t mask = 0;
  for (std::size_t i = 0; i < kCategoryNames.size() / 2; ++i) {
    const std::string each = loose(kCategoryNames.substr(2 * i, 2));
    if (std::string_view(each).starts_with(wanted)) mask |= 1U << i;
  }
  if (mask == 0) return std::nullopt;
  return runs_where(kCategoryRuns, [mask](std::uint32_t v) { return (mask >> v & 1U) != 0; });
}

std::optional<CodePointSet> find_script(const std::string& name) {
  for (std::size_t i = 0; i < std::size(kScriptNames); ++i) {
    if (loose(kScriptNames[i][0]) == name || loose(kScriptNames[i][1]) == name) {
      return runs_where(kScriptRuns, [i](std::uint32_t v) { return v == i; });
    }
  }
  return std::nullopt;
}

std::optional<CodePointSet> find_binary(const std::string& name) {
  const auto category = [](const char* each) { return *find_category(each); };
  if (name == "any") return CodePointSet(0, kMaxCodePoint);
  if (name == "ascii") return CodePointSet(0, 0x7F);
  if (name == "assigned") return ~category("cn");
  if (name == "whitespace" || name == "space" || name == "wspace") return from_ranges(kWhiteSpace);
  if (name == "alphabetic" || name == "alpha") return from_ranges(kAlphabetic);
  if (name == "uppercase" || name == "upper") return from_ranges(kUppercase);
  if (name == "lowercase" || name == "lower") return from_ranges(kLowercase);
  if (name == "joincontrol") return from_ranges(kJoinControl);
  if (name == "digit") return category("nd");
  if (name == "cntrl") return category("cc");
  if (name == "alnum") return from_ranges(kAlphabetic) | category("nd");
  if (name == "word") return from_ranges(kAlphabetic) | category("m") | category("nd") | category("pc");
  if (name == "blank") return category("zs") | CodePointSet('\t', '\t');
  if (name == "xdigit") return CodePointSet({{'0', '9'}, {'A', 'F'}, {'a', 'f'}});
  if (name == "punct") {
    return category("p") |
           CodePointSet({{'$', '$'}, {'+', '+'}, {'<', '>'}, {'^', '^'}, {'`', '`'}, {'|', '|'}, {'~', '~'}});
  }
  const auto graph = [&] { return ~(from_ranges(kWhiteSpace) | category("cc") | category("cn") | category("cs")); };
  if (name == "graph") return graph();
  if (name == "print") return graph() | category("zs");
  return std::nullopt;
}

struct Orbits {
  // Every character that takes part in case folding -> all characters that fold alike.
  std::unordered_map<char32_t, std::vector<char32_t>> members;  // by folded character
  Orbits() {
    for (std::size_t i = 0; i < std::size(kSimpleFolding); i += 2) {
      auto& orbit = members[kSimpleFolding[i + 1]];
      if (orbit.empty()) orbit.push_back(kSimpleFolding[i + 1]);
      orbit.push_back(kSimpleFolding[i]);
    }
  }
};

struct Compositions {
  std::unordered_map<std::uint64_t, char32_t> composite;
  Compositions() {
    for (std::size_t i = 0; i < std::size(kDecompositions); i += 2) {
      const std::uint32_t entry = kDecompositions[i + 1];
      if ((entry & 3U) != 0) continue;
      const std::uint32_t* parts = &kDecompositionPool[entry >> 8U];
      composite.emplace(std::uint64_t{parts[0]} << 32U | parts[1], kDecompositions[i]);
    }
  }
};

}  // namespace

CodePointSet::CodePointSet(std::vector<CodePointRange> ranges) {
  std::ranges::sort(ranges, {}, &CodePointRange::first);
  for (const CodePointRange& range : ranges) {
    if (range.first > range.last) continue;
    if (!ranges_.empty() && range.first <= ranges_.back().last + 1) {
      ranges_.back().last = std::max(ranges_.back().last, range.last);
    } else {
      ranges_.push_back(range);
    }
  }
}

bool CodePointSet::contains(char32_t c) const {
  const auto at = std::ranges::lower_bound(ranges_, c, {}, &CodePointRange::last);
  return at != ranges_.end() && at->first <= c;
}

CodePointSet CodePointSet::operator|(const CodePointSet& other) const {
  std::vector<CodePointRange> both = ranges_;
  both.insert(both.end(), other.ranges_.begin(), other.ranges_.end());
  return CodePointSet(std::move(both));
}

CodePointSet CodePointSet::operator~() const {
  CodePointSet out;
  char32_t next = 0;
  for (const CodePointRange& range : ranges_) {
    if (range.first > next) out.ranges_.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kMaxCodePoint) out.ranges_.push_back({next, kMaxCodePoint});
  return out;
}

CodePointSet CodePointSet::operator&(const CodePointSet& other) const { return ~(~*this | ~other); }

GeneralCategory general_category(char32_t c) { return static_cast<GeneralCategory>(run_value(kCategoryRuns, c)); }

bool is_white_space(char32_t c) { return in_ranges(kWhiteSpace, c); }

bool is_numeric(char32_t c) {
  const GeneralCategory category = general_category(c);
  return category >= GeneralCategory::kNd && category <= GeneralCategory::kNo;
}

bool is_punctuation(char32_t c) {
  if (c < 0x80)
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
  const GeneralCategory category = general_category(c);
  return category >= GeneralCategory::kPc && category <= GeneralCategory::kPo;
}

bool is_word(char32_t c) {
  const GeneralCategory category = general_category(c);
  return category == GeneralCategory::kNd || category == GeneralCategory::kPc || is_mark(c) ||
         in_ranges(kAlphabetic, c);
}

bool is_mark(char32_t c) {
  const GeneralCategory category = general_category(c);
  return category >= GeneralCategory::kMn && category <= GeneralCategory::kMe;
}

std::uint8_t combining_class(char32_t c) { return c < 0x300 ? std::uint8_t{0} : run_value(kCombiningRuns, c); }

std::optional<CodePointSet> find_property(std::string_view name) {
  const std::string key = loose(name.substr(0, 64));
  const std::size_t equals = key.find('=');
  if (equals != std::string::npos) {
    const std::string property = key.substr(0, equals);
    const std::string value = key.substr(equals + 1);
    if (property == "gc" || property == "generalcategory") return find_category(value);
    if (property == "sc" || property == "script") return find_script(value);
    return std::nullopt;
  }
  if (auto set = find_category(key)) return set;
  if (auto set = find_binary(key)) return set;
  return find_script(key);
}

CodePointSet close_over_case(const CodePointSet& set) {
  static const Orbits orbits;
  std::vector<CodePointRange> ranges = set.ranges();
  for (const auto& [folded, members] : orbits.members) {
    if (std::ranges::none_of(members, [&](char32_t c) { return set.contains(c); })) continue;
    for (const char32_t c : members) ranges.push_back({c, c});
  }
  return CodePointSet(std::move(ranges));
}

char32_t simple_lowercase(char32_t c) {
  const std::uint32_t* lower = find_pair(kSimpleLowercase, c);
  return lower != nullptr ? *lower : c;
}

Decomposition decompose_once(char32_t c, bool compatibility) {
  const std::uint32_t* entry = find_pair(kDecompositions, c);
  if (entry == nullptr || ((*entry & 3U) == 2 && !compatibility)) return {};
  return {&kDecompositionPool[*entry >> 8U], *entry >> 2U & 0x3FU};
}

char32_t compose_pair(char32_t first, char32_t second) {
  static const Compositions compositions;
  const auto found = compositions.composite.find(std::uint64_t{first} << 32U | second);
  return found != compositions.composite.end() ? found->second : 0;
}

}  // namespace sluice::unicode
