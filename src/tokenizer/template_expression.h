// Parser of expressions, with Jinja2's precedence: or, and, not, comparisons, + -, ~, * / // %, **, unary, then what
// follows a value (attributes, calls), then filters and tests.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/template_ast.h"
#include "tokenizer/template_lexer.h"

namespace sluice::jinja {

class ExpressionParser {
 public:
  ExpressionParser(const TokenizedSource& source, const TemplateLimits& limits)
      : limits_(limits), tokens_(source.tokens), program_(std::make_unique<Program>()) {}

 protected:
  // Of a call and a macro: looking for a name among them is linear.
  static constexpr std::size_t kMaxNamedArguments = 1000;

  // ---- Tokens

  const Token& current() const { return tokens_[at_]; }
  const Token& next() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  int line() const { return current().line; }
  bool at_operator(std::string_view op) const { return current().kind == TokenKind::kOperator && current().text == op; }
  bool at_name(std::string_view name) const { return current().kind == TokenKind::kName && current().text == name; }
  void skip() { at_ += at_ + 1 < tokens_.size() ? 1 : 0; }
  bool skip_operator(std::string_view op);
  bool skip_name(std::string_view name);
  Status expect_operator(std::string_view op);
  Status expect_kind(TokenKind kind, std::string_view what);
  Result<std::string> expect_name();
  Error fail(std::string_view message) const { return template_error(ErrorCode::kCorrupt, line(), message); }
  Error expected(std::string_view what) const;

  // ---- Expressions

  Result<ExprPtr> parse_expression();
  // One expression, or several with commas between, which make a tuple. `conditional`: may be `a if b`; a tuple ends
  // before the name `end` too.
  Result<ExprPtr> parse_tuple(bool conditional = true, std::string_view end = {});
  Result<std::unique_ptr<ApplyExpr>> parse_filter();
  NameId intern(const std::string& name);

  // Counts nesting; released with the guard.
  class Nesting {
   public:
    explicit Nesting(ExpressionParser& parser) : parser_(parser) { ++parser_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    ~Nesting() { --parser_.depth_; }
    Status status() const;

   private:
    ExpressionParser& parser_;
  };

  // A filter or test that does not exist. An error, unless it stands where it may never be reached.
  struct Unknown {
    int line;
    ErrorCode code;
    std::string message;
  };

  const TemplateLimits& limits_;
  const std::vector<Token>& tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::unique_ptr<Program> program_;
  std::vector<Unknown> unknown_;
  std::vector<MacroDefinition*> macros_;  // that are being parsed

 private:
  Result<ExprPtr> parse_or();
  Result<ExprPtr> parse_and();
  Result<ExprPtr> parse_not();
  Result<ExprPtr> parse_compare();
  // `level`: 0 for + and -, 1 for ~, 2 for * / // %, 3 for **
  Result<ExprPtr> parse_binary(int level);
  Result<ExprPtr> parse_unary(bool with_filters);
  Result<ExprPtr> parse_primary();
  Result<ExprPtr> parse_name();
  Result<ExprPtr> parse_literal();
  Result<ExprPtr> parse_parentheses();
  Result<ExprPtr> parse_list();
  Result<ExprPtr> parse_dict();
  Result<ExprPtr> parse_postfix(ExprPtr value);
  Result<ExprPtr> parse_filters(ExprPtr value);
  Result<ExprPtr> parse_test(ExprPtr value);
  Result<ExprPtr> parse_call(ExprPtr callee);
  Result<ExprPtr> parse_subscript(ExprPtr object);
  Result<std::string> parse_dotted_name();
  Status parse_arguments(CallArguments& arguments);
  void resolve(ApplyExpr& apply);
  // Sets the height of a node from those below it, and checks it.
  Status grow(Expr& expr, std::initializer_list<const Expr*> children) const;
  Status grow(Expr& expr, const CallArguments& arguments) const;
};

}  // namespace sluice::jinja
