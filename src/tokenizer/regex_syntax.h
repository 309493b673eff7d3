// Reads the regular expressions of tokenizer files: the dialect is Oniguruma's, which the tokenizers library uses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/unicode_data.h"

namespace sluice {

// A pattern taken apart: syntax that PCRE2 reads the same way, and between it sets of characters. Every character,
// class and escape of the pattern has become a set, with case folding and Unicode properties resolved.
struct RegexSyntax {
  struct Piece {
    static constexpr std::uint32_t kSyntax = UINT32_MAX;

    std::string syntax;           // when set is kSyntax
    std::uint32_t set = kSyntax;  // place in `sets`
  };

  std::vector<Piece> pieces;
  std::vector<unicode::CodePointSet> sets;  // without duplicates
};

// Dialect: as Oniguruma's default syntax. ^ and $ are the ends of lines, "." is all but \n, {n,m}+ repeats {n,m}, \d \s
// \w are Unicode's, \h is a hexadecimal digit, classes nest and intersect (&&), (?i) reaches to the end of the group
// around it. Beyond it: \p{Script=...}, (?s).
// Errors: kCorrupt for a pattern that is not well-formed, kUnsupported for what patterns of tokenizers have no use for
// (back-references, \K, \X, conditionals, recursion); the text names the place and what was found.
Result<RegexSyntax> parse_regex(std::string_view pattern);

}  // namespace sluice
