#include "tokenizer/template_parser.h"

#include <algorithm>
#include <initializer_list>

#include "tokenizer/template_expression.h"

namespace sluice::jinja {

namespace {

class TemplateParser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Result<std::unique_ptr<const Program>> run() {
    program_->loop = intern("loop");
    program_->caller = intern("caller");
    program_->varargs = intern("varargs");
    program_->kwargs = intern("kwargs");
    SLUICE_TRY(parse_body(program_->body, {}));
    if (!unknown_.empty()) return template_error(unknown_[0].code, unknown_[0].line, unknown_[0].message);
    return std::unique_ptr<const Program>(std::move(program_));
  }

 private:
  using Ends = std::initializer_list<std::string_view>;

  // Statements up to the tag of one of the names `ends`, whose name is then the current token; without ends, up to the
  // end of the template.
  Status parse_body(Body& body, Ends ends) {
    const Nesting nesting(*this);
    SLUICE_TRY(nesting.status());
    while (true) {
      switch (current().kind) {
        case TokenKind::kData: {
          auto text = std::make_unique<TextStmt>(line());
          text->text = current().text;
          skip();
          body.push_back(std::move(text));
          break;
        }
        case TokenKind::kVariableBegin: {
          auto print = std::make_unique<PrintStmt>(line());
          skip();
          SLUICE_ASSIGN(print->value, parse_tuple());
          SLUICE_TRY(expect_kind(TokenKind::kVariableEnd, "'}}'"));
          body.push_back(std::move(print));
          break;
        }
        case TokenKind::kBlockBegin:
          skip();
          if (std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return at_name(end); })) return {};
          SLUICE_TRY(parse_statement(body, ends));
          SLUICE_TRY(expect_kind(TokenKind::kBlockEnd, "'%}'"));
          break;
        default:
          if (ends.size() == 0) return {};
          return expected(list_of(ends));
      }
    }
  }

  static std::string list_of(Ends ends) {
    std::string text;
    for (const std::string_view end : ends) {
      if (!text.empty()) text += " or ";
      text.append("'").append(end).append("'");
    }
    return text;
  }

  // The "%}" of an opening tag, then its body and the name of the tag that ends it.
  Result<std::string> parse_block(Body& body, Ends ends) {
    skip_operator(":");
    SLUICE_TRY(expect_kind(TokenKind::kBlockEnd, "'%}'"));
    SLUICE_TRY(parse_body(body, ends));
    return expect_name();
  }

  Status parse_statement(Body& body, Ends ends) {
    if (current().kind != TokenKind::kName) return expected("the name of a tag");
    const std::string tag(current().text);
    if (tag == "if") return parse_if(body);
    if (tag == "for") return parse_for(body);
    if (tag == "set") return parse_set(body);
    if (tag == "macro") return parse_macro(body);
    if (tag == "call") return parse_call_block(body);
    if (tag == "filter") return parse_filter_block(body);
    if (tag == "with") return parse_with(body);
    if (tag == "generation") return parse_generation(body);
    if (tag == "print") return parse_print(body);
    if (tag == "break" || tag == "continue") {
      if (loops_ == 0) return fail("'" + tag + "' outside of a loop");
      body.push_back(std::make_unique<Stmt>(tag == "break" ? StmtKind::kBreak : StmtKind::kContinue, line()));
      skip();
      return {};
    }
    for (const std::string_view known :
         {"autoescape", "block", "debug", "do", "extends", "from", "import", "include", "trans"}) {
      if (tag == known) {
        return template_error(ErrorCode::kUnsupported, line(), "the tag '" + tag + "' is not supported here");
      }
    }
    if (ends.size() == 0) return fail("unknown tag '" + tag + "'");
    return fail("unknown tag '" + tag + "'; a block that is open expects " + list_of(ends));
  }

  Status parse_if(Body& body) {
    auto statement = std::make_unique<IfStmt>(line());
    const std::size_t unknown_before = unknown_.size();
    std::string end = "elif";
    skip();
    while (end == "elif") {
      auto& branch = statement->branches.emplace_back();
      SLUICE_ASSIGN(branch.first, parse_tuple(false));
      SLUICE_ASSIGN(end, parse_block(branch.second, {"elif", "else", "endif"}));
    }
    if (end == "else") SLUICE_TRY(close(parse_block(statement->otherwise, {"endif"})));
    unknown_.resize(unknown_before);  // none of it need be reached
    body.push_back(std::move(statement));
    return {};
  }

  // Drops the name of the end tag.
  static Status close(const Result<std::string>& end) { return end.ok() ? Status() : Status(end.error()); }

  Status parse_for(Body& body) {
    auto statement = std::make_unique<ForStmt>(line());
    skip();
    SLUICE_ASSIGN(statement->target, parse_target(false));
    if (!skip_name("in")) return expected("'in'");
    SLUICE_ASSIGN(statement->iterable, parse_tuple(false, "recursive"));
    if (skip_name("if")) {
      SLUICE_ASSIGN(statement->condition, parse_expression());
    }
    if (at_name("recursive")) {
      return template_error(ErrorCode::kUnsupported, line(),
                            "recursive loops are not supported: write a macro that calls itself");
    }
    ++loops_;
    SLUICE_ASSIGN(const std::string end, parse_block(statement->body, {"endfor", "else"}));
    --loops_;
    if (end == "else") SLUICE_TRY(close(parse_block(statement->otherwise, {"endfor"})));
    body.push_back(std::move(statement));
    return {};
  }

  // What an assignment goes to: a name, name.attribute if `attributes`, or several of them with commas between.
  Result<Target> parse_target(bool attributes) {
    Target tuple;
    tuple.kind = Target::Kind::kTuple;
    tuple.line = line();
    bool is_tuple = false;
    while (true) {
      SLUICE_ASSIGN(Target item, parse_single_target(attributes));
      tuple.items.push_back(std::move(item));
      if (!skip_operator(",")) break;
      is_tuple = true;
      if (at_name("in") || at_operator("=") || at_operator(")") || current().kind == TokenKind::kBlockEnd) break;
    }
    if (!is_tuple) return std::move(tuple.items[0]);
    return tuple;
  }

  Result<Target> parse_single_target(bool attributes) {
    if (skip_operator("(")) {
      const Nesting nesting(*this);
      SLUICE_TRY(nesting.status());
      SLUICE_ASSIGN(Target inner, parse_target(attributes));
      SLUICE_TRY(expect_operator(")"));
      return inner;
    }
    Target target;
    target.line = line();
    for (const std::string_view constant : {"true", "false", "none", "True", "False", "None"}) {
      if (at_name(constant)) return fail("can't assign to '" + std::string(constant) + "'");
    }
    if (current().kind != TokenKind::kName) return expected("the name of a variable");
    if (!attributes && at_name("loop")) return fail("can't assign to special loop variable in for-loop target");
    target.name = intern(std::string(current().text));
    skip();
    if (attributes && skip_operator(".")) {
      target.kind = Target::Kind::kNamespace;
      SLUICE_ASSIGN(target.attribute, expect_name());
    }
    return target;
  }

  Status parse_set(Body& body) {
    const int set_line = line();
    skip();
    SLUICE_ASSIGN(Target target, parse_target(true));
    if (skip_operator("=")) {
      auto statement = std::make_unique<SetStmt>(set_line);
      statement->target = std::move(target);
      SLUICE_ASSIGN(statement->value, parse_tuple());
      body.push_back(std::move(statement));
      return {};
    }
    auto statement = std::make_unique<CaptureStmt>(StmtKind::kSetBlock, set_line);
    statement->target = std::move(target);
    while (skip_operator("|")) {
      SLUICE_ASSIGN(auto filter, parse_filter());
      statement->filters.push_back(std::move(filter));
    }
    if (!at_operator(":") && current().kind != TokenKind::kBlockEnd) return expected("'=' or '%}'");
    SLUICE_TRY(close(parse_block(statement->body, {"endset"})));
    body.push_back(std::move(statement));
    return {};
  }

  Status parse_filter_block(Body& body) {
    auto statement = std::make_unique<CaptureStmt>(StmtKind::kFilterBlock, line());
    skip();
    do {
      SLUICE_ASSIGN(auto filter, parse_filter());
      statement->filters.push_back(std::move(filter));
    } while (skip_operator("|"));
    SLUICE_TRY(close(parse_block(statement->body, {"endfilter"})));
    body.push_back(std::move(statement));
    return {};
  }

  Status parse_parameters(MacroDefinition& definition) {
    SLUICE_TRY(expect_operator("("));
    while (!at_operator(")")) {
      SLUICE_ASSIGN(const std::string name, expect_name());
      if (definition.parameters.size() == kMaxNamedArguments) return fail("too many parameters");
      auto& parameter = definition.parameters.emplace_back();
      parameter.name = intern(name);
      if (skip_operator("=")) {
        SLUICE_ASSIGN(parameter.default_value, parse_expression());
      } else if (definition.parameters.size() > 1 && (&parameter)[-1].default_value != nullptr) {
        return fail("a parameter without default follows one with a default");
      }
      if (!at_operator(")")) SLUICE_TRY(expect_operator(","));
    }
    skip();
    return {};
  }

  // Body of a macro or call block, up to the tag `end`. Loops outside can't be left from inside.
  Status parse_definition(MacroDefinition& definition, std::string_view end) {
    macros_.push_back(&definition);
    const int outer_loops = loops_;
    loops_ = 0;
    SLUICE_TRY(close(parse_block(definition.body, {end})));
    loops_ = outer_loops;
    macros_.pop_back();
    for (const auto& parameter : definition.parameters) {
      if (parameter.name == program_->caller) definition.uses_caller = false;
      if (parameter.name == program_->varargs) definition.uses_varargs = false;
      if (parameter.name == program_->kwargs) definition.uses_kwargs = false;
    }
    return {};
  }

  Status parse_macro(Body& body) {
    auto statement = std::make_unique<MacroStmt>(line());
    skip();
    SLUICE_ASSIGN(statement->definition.name, expect_name());
    statement->name = intern(statement->definition.name);
    SLUICE_TRY(parse_parameters(statement->definition));
    SLUICE_TRY(parse_definition(statement->definition, "endmacro"));
    body.push_back(std::move(statement));
    return {};
  }

  Status parse_call_block(Body& body) {
    auto statement = std::make_unique<CallBlockStmt>(line());
    skip();
    statement->definition.name = "caller";
    if (at_operator("(")) SLUICE_TRY(parse_parameters(statement->definition));
    SLUICE_ASSIGN(statement->call, parse_expression());
    if (statement->call->kind != ExprKind::kCall) return expected("the call of a macro before it");
    SLUICE_TRY(parse_definition(statement->definition, "endcall"));
    body.push_back(std::move(statement));
    return {};
  }

  Status parse_with(Body& body) {
    auto statement = std::make_unique<WithStmt>(line());
    skip();
    while (current().kind != TokenKind::kBlockEnd) {
      if (!statement->assignments.empty()) SLUICE_TRY(expect_operator(","));
      SLUICE_ASSIGN(Target target, parse_target(false));
      SLUICE_TRY(expect_operator("="));
      SLUICE_ASSIGN(ExprPtr value, parse_expression());
      statement->assignments.emplace_back(std::move(target), std::move(value));
    }
    SLUICE_TRY(close(parse_block(statement->body, {"endwith"})));
    body.push_back(std::move(statement));
    return {};
  }

  // Hugging Face's mark around what the assistant says: a scope of its own that prints its body.
  Status parse_generation(Body& body) {
    auto statement = std::make_unique<WithStmt>(line());
    skip();
    const int outer_loops = loops_;
    loops_ = 0;
    SLUICE_TRY(close(parse_block(statement->body, {"endgeneration"})));
    loops_ = outer_loops;
    body.push_back(std::move(statement));
    return {};
  }

  Status parse_print(Body& body) {
    skip();
    for (bool first = true; current().kind != TokenKind::kBlockEnd; first = false) {
      if (!first) SLUICE_TRY(expect_operator(","));
      auto print = std::make_unique<PrintStmt>(line());
      SLUICE_ASSIGN(print->value, parse_expression());
      body.push_back(std::move(print));
    }
    return {};
  }

  int loops_ = 0;  // around the current statement, within its macro
};

}  // namespace

Result<std::unique_ptr<const Program>> parse_template(std::string_view source, const TemplateLimits& limits) {
  if (source.size() > limits.max_source) {
    return Error(ErrorCode::kResource, "chat template: its " + std::to_string(source.size()) +
                                           " bytes are more than the " + std::to_string(limits.max_source) +
                                           " allowed");
  }
  SLUICE_ASSIGN(const std::unique_ptr<const TokenizedSource> tokens, tokenize(source));
  return TemplateParser(*tokens, limits).run();
}

}  // namespace sluice::jinja
