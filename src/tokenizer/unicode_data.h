// Unicode 16 for tokenizers: sets of code points, properties by name, case. The tables are generated
// (tools/gen_unicode_tables.py), so that results do not depend on the Unicode version of a library.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sluice::unicode {

inline constexpr char32_t kMaxCodePoint = 0x10FFFF;

struct CodePointRange {
  char32_t first = 0;
  char32_t last = 0;

  bool operator==(const CodePointRange&) const = default;
};

// A set of code points: sorted ranges with gaps between them.
class CodePointSet {
 public:
  CodePointSet() = default;
  CodePointSet(char32_t first, char32_t last) : ranges_{{first, last}} {}
  // Ranges in any order; they may overlap.
  explicit CodePointSet(std::vector<CodePointRange> ranges);

  const std::vector<CodePointRange>& ranges() const { return ranges_; }
  bool empty() const { return ranges_.empty(); }
  bool contains(char32_t c) const;

  CodePointSet operator|(const CodePointSet& other) const;
  CodePointSet operator&(const CodePointSet& other) const;
  // Complement in U+0000-U+10FFFF.
  CodePointSet operator~() const;
  bool operator==(const CodePointSet&) const = default;

 private:
  std::vector<CodePointRange> ranges_;
};

// Values as in the generated table.
enum class GeneralCategory : std::uint8_t {
  kCn,
  kLu,
  kLl,
  kLt,
  kLm,
  kLo,
  kMn,
  kMc,
  kMe,
  kNd,
  kNl,
  kNo,
  kPc,
  kPd,
  kPs,
  kPe,
  kPi,
  kPf,
  kPo,
  kSm,
  kSc,
  kSk,
  kSo,
  kZs,
  kZl,
  kZp,
  kCc,
  kCf,
  kCs,
  kCo,
};

GeneralCategory general_category(char32_t c);
bool is_white_space(char32_t c);  // White_Space
bool is_numeric(char32_t c);      // general category N
bool is_punctuation(char32_t c);  // general category P, or an ASCII character that ispunct() takes
bool is_word(char32_t c);         // \w: Alphabetic, M, Nd, Pc
bool is_mark(char32_t c);         // general category M
std::uint8_t combining_class(char32_t c);

// The code points of a property as patterns name it: a general category ("L", "Lu", "Letter", "gc=L"), a script ("Han",
// "sc=Hani", "Script=Han"), one of White_Space, Alphabetic, Uppercase, Lowercase, Join_Control, Any, Assigned, ASCII,
// or a POSIX class ("alpha", "punct", "word" ...). Case, spaces, '-' and '_' do not count. nullopt: no such name.
std::optional<CodePointSet> find_property(std::string_view name);

// The set with all characters that differ from one of it only in case (simple case folding: "s" brings U+017F, "k" the
// Kelvin sign; foldings to several characters, as of U+00DF, are left out).
CodePointSet close_over_case(const CodePointSet& set);

// Lower case of one character without context; U+0130 is the only one that becomes two (i, U+0307).
char32_t simple_lowercase(char32_t c);

// One step of decomposition; an empty view if there is none. `compatibility`: also the compatibility mappings. Hangul
// syllables are not in the table.
struct Decomposition {
  const std::uint32_t* parts = nullptr;
  std::size_t size = 0;
};
Decomposition decompose_once(char32_t c, bool compatibility);
// The primary composite of a pair, or 0. Without Hangul.
char32_t compose_pair(char32_t first, char32_t second);

}  // namespace sluice::unicode
