// Source of a template to tokens, with Jinja2's rules for white space: trim_blocks and lstrip_blocks are on, the '-'
// and
// '+' marks work, one newline at the end of the source is dropped, and every line break becomes "\n".
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice::jinja {

enum class TokenKind : std::uint8_t {
  kData,           // text to print as it is
  kVariableBegin,  // {{
  kVariableEnd,
  kBlockBegin,  // {%
  kBlockEnd,
  kName,
  kString,  // unescaped
  kInteger,
  kFloat,
  kOperator,  // text is the operator
  kEnd,       // of the source; always the last token
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  int line = 1;
  std::string_view text;  // into the source; of strings without quotes and escapes
};

// The tokens of a template and the texts that they point into.
struct TokenizedSource {
  std::string source;
  std::deque<std::string> strings;  // those that had escapes
  std::vector<Token> tokens;
};

// Errors: kCorrupt, with the line. Numbers are checked: those of tokens can be read with text_to_int (base 0) and
// text_to_float.
Result<std::unique_ptr<const TokenizedSource>> tokenize(std::string_view source);

// An error at a line of the template.
Error template_error(ErrorCode code, int line, std::string_view message);
// What a token is called in messages.
std::string describe(const Token& token);

}  // namespace sluice::jinja
