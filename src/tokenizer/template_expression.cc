#include "tokenizer/template_expression.h"

#include <algorithm>
#include <optional>

#include "tokenizer/template_number.h"

namespace sluice::jinja {

// ---- Tokens

bool ExpressionParser::skip_operator(std::string_view op) {
  if (!at_operator(op)) return false;
  skip();
  return true;
}

bool ExpressionParser::skip_name(std::string_view name) {
  if (!at_name(name)) return false;
  skip();
  return true;
}

Error ExpressionParser::expected(std::string_view what) const {
  return fail("expected " + std::string(what) + ", found " + describe(current()));
}

Status ExpressionParser::expect_operator(std::string_view op) {
  if (skip_operator(op)) return {};
  return expected("'" + std::string(op) + "'");
}

Status ExpressionParser::expect_kind(TokenKind kind, std::string_view what) {
  if (current().kind != kind) return expected(what);
  skip();
  return {};
}

Result<std::string> ExpressionParser::expect_name() {
  if (current().kind != TokenKind::kName) return expected("a name");
  std::string name(current().text);
  skip();
  return name;
}

NameId ExpressionParser::intern(const std::string& name) {
  const auto [entry, added] = program_->name_ids.try_emplace(name, static_cast<NameId>(program_->names.size()));
  if (added) program_->names.push_back(name);
  return entry->second;
}

Status ExpressionParser::Nesting::status() const {
  if (parser_.depth_ <= parser_.limits_.max_depth) return {};
  return template_error(ErrorCode::kResource, parser_.line(),
                        "nested deeper than " + std::to_string(parser_.limits_.max_depth) + " levels");
}

Status ExpressionParser::grow(Expr& expr, std::initializer_list<const Expr*> children) const {
  for (const Expr* child : children) {
    if (child != nullptr) expr.height = std::max(expr.height, child->height + 1);
  }
  if (expr.height <= limits_.max_depth) return {};
  return template_error(ErrorCode::kResource, expr.line,
                        "an expression nested deeper than " + std::to_string(limits_.max_depth) + " levels");
}

Status ExpressionParser::grow(Expr& expr, const CallArguments& arguments) const {
  for (const ExprPtr& argument : arguments.positional) SLUICE_TRY(grow(expr, {argument.get()}));
  for (const auto& argument : arguments.named) SLUICE_TRY(grow(expr, {argument.second.get()}));
  return grow(expr, {arguments.star.get(), arguments.double_star.get()});
}

// ---- Operators

Result<ExprPtr> ExpressionParser::parse_expression() {
  const Nesting nesting(*this);
  SLUICE_TRY(nesting.status());
  const std::size_t unknown_before = unknown_.size();
  SLUICE_ASSIGN(ExprPtr value, parse_or());
  while (at_name("if")) {
    auto conditional = std::make_unique<ConditionalExpr>(line());
    skip();
    conditional->then = std::move(value);
    SLUICE_ASSIGN(conditional->condition, parse_or());
    if (skip_name("else")) {
      SLUICE_ASSIGN(conditional->otherwise, parse_expression());
    }
    SLUICE_TRY(
        grow(*conditional, {conditional->then.get(), conditional->condition.get(), conditional->otherwise.get()}));
    value = std::move(conditional);
    unknown_.resize(unknown_before);  // none of it need be reached
  }
  return value;
}

Result<ExprPtr> ExpressionParser::parse_or() {
  SLUICE_ASSIGN(ExprPtr first, parse_and());
  if (!at_name("or")) return first;
  auto logical = std::make_unique<LogicalExpr>(line());
  SLUICE_TRY(grow(*logical, {first.get()}));
  logical->operands.push_back(std::move(first));
  while (skip_name("or")) {
    SLUICE_ASSIGN(ExprPtr operand, parse_and());
    SLUICE_TRY(grow(*logical, {operand.get()}));
    logical->operands.push_back(std::move(operand));
  }
  return ExprPtr(std::move(logical));
}

Result<ExprPtr> ExpressionParser::parse_and() {
  SLUICE_ASSIGN(ExprPtr first, parse_not());
  if (!at_name("and")) return first;
  auto logical = std::make_unique<LogicalExpr>(line());
  logical->is_and = true;
  SLUICE_TRY(grow(*logical, {first.get()}));
  logical->operands.push_back(std::move(first));
  while (skip_name("and")) {
    SLUICE_ASSIGN(ExprPtr operand, parse_not());
    SLUICE_TRY(grow(*logical, {operand.get()}));
    logical->operands.push_back(std::move(operand));
  }
  return ExprPtr(std::move(logical));
}

Result<ExprPtr> ExpressionParser::parse_not() {
  if (!at_name("not")) return parse_compare();
  const Nesting nesting(*this);
  SLUICE_TRY(nesting.status());
  auto unary = std::make_unique<UnaryExpr>(UnaryOp::kNot, line());
  skip();
  SLUICE_ASSIGN(unary->operand, parse_not());
  SLUICE_TRY(grow(*unary, {unary->operand.get()}));
  return ExprPtr(std::move(unary));
}

Result<ExprPtr> ExpressionParser::parse_compare() {
  const auto read_operator = [&]() -> std::optional<CompareOp> {
    constexpr std::pair<std::string_view, CompareOp> kOperators[] = {
        {"==", CompareOp::kEqual},     {"!=", CompareOp::kNotEqual}, {"<", CompareOp::kLess},
        {"<=", CompareOp::kLessEqual}, {">", CompareOp::kGreater},   {">=", CompareOp::kGreaterEqual}};
    for (const auto& [text, op] : kOperators) {
      if (skip_operator(text)) return op;
    }
    if (skip_name("in")) return CompareOp::kIn;
    if (at_name("not") && next().kind == TokenKind::kName && next().text == "in") {
      skip();
      skip();
      return CompareOp::kNotIn;
    }
    return std::nullopt;
  };
  const int first_line = line();
  SLUICE_ASSIGN(ExprPtr first, parse_binary(0));
  std::unique_ptr<CompareExpr> compare;
  while (const std::optional<CompareOp> op = read_operator()) {
    if (compare == nullptr) {
      compare = std::make_unique<CompareExpr>(first_line);
      SLUICE_TRY(grow(*compare, {first.get()}));
      compare->first = std::move(first);
    }
    SLUICE_ASSIGN(ExprPtr operand, parse_binary(0));
    SLUICE_TRY(grow(*compare, {operand.get()}));
    compare->rest.emplace_back(*op, std::move(operand));
  }
  if (compare != nullptr) return ExprPtr(std::move(compare));
  return first;
}

Result<ExprPtr> ExpressionParser::parse_binary(int level) {
  if (level == 4) return parse_unary(true);
  const int first_line = line();
  SLUICE_ASSIGN(ExprPtr first, parse_binary(level + 1));
  if (level == 1) {
    if (!at_operator("~")) return first;
    auto concat = std::make_unique<ItemsExpr>(ExprKind::kConcat, first_line);
    SLUICE_TRY(grow(*concat, {first.get()}));
    concat->items.push_back(std::move(first));
    while (skip_operator("~")) {
      SLUICE_ASSIGN(ExprPtr item, parse_binary(level + 1));
      SLUICE_TRY(grow(*concat, {item.get()}));
      concat->items.push_back(std::move(item));
    }
    return ExprPtr(std::move(concat));
  }
  const auto read_operator = [&]() -> std::optional<BinaryOp> {
    if (level == 0 && skip_operator("+")) return BinaryOp::kAdd;
    if (level == 0 && skip_operator("-")) return BinaryOp::kSubtract;
    if (level == 2 && skip_operator("*")) return BinaryOp::kMultiply;
    if (level == 2 && skip_operator("/")) return BinaryOp::kDivide;
    if (level == 2 && skip_operator("//")) return BinaryOp::kFloorDivide;
    if (level == 2 && skip_operator("%")) return BinaryOp::kModulo;
    if (level == 3 && skip_operator("**")) return BinaryOp::kPower;
    return std::nullopt;
  };
  std::unique_ptr<BinaryExpr> binary;
  while (const std::optional<BinaryOp> op = read_operator()) {
    if (binary == nullptr) {
      binary = std::make_unique<BinaryExpr>(first_line);
      SLUICE_TRY(grow(*binary, {first.get()}));
      binary->first = std::move(first);
    }
    SLUICE_ASSIGN(ExprPtr operand, parse_binary(level + 1));
    SLUICE_TRY(grow(*binary, {operand.get()}));
    binary->rest.emplace_back(*op, std::move(operand));
  }
  if (binary != nullptr) return ExprPtr(std::move(binary));
  return first;
}

Result<ExprPtr> ExpressionParser::parse_unary(bool with_filters) {
  ExprPtr value;
  if (at_operator("-") || at_operator("+")) {
    const Nesting nesting(*this);
    SLUICE_TRY(nesting.status());
    auto unary = std::make_unique<UnaryExpr>(at_operator("-") ? UnaryOp::kNegate : UnaryOp::kPosit, line());
    skip();
    SLUICE_ASSIGN(unary->operand, parse_unary(false));
    SLUICE_TRY(grow(*unary, {unary->operand.get()}));
    value = std::move(unary);
  } else {
    SLUICE_ASSIGN(value, parse_primary());
  }
  SLUICE_ASSIGN(value, parse_postfix(std::move(value)));
  if (with_filters) return parse_filters(std::move(value));
  return value;
}

// ---- Values

Result<ExprPtr> ExpressionParser::parse_primary() {
  switch (current().kind) {
    case TokenKind::kName:
      return parse_name();
    case TokenKind::kString:
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      return parse_literal();
    default:
      break;
  }
  if (at_operator("(")) return parse_parentheses();
  if (at_operator("[")) return parse_list();
  if (at_operator("{")) return parse_dict();
  return expected("an expression");
}

Result<ExprPtr> ExpressionParser::parse_name() {
  const std::string_view name = current().text;
  const bool is_true = name == "true" || name == "True";
  if (is_true || name == "false" || name == "False" || name == "none" || name == "None") {
    auto literal = std::make_unique<LiteralExpr>(line());
    if (name != "none" && name != "None") literal->value = is_true;
    literal->index = program_->literals++;
    skip();
    return ExprPtr(std::move(literal));
  }
  for (MacroDefinition* macro : macros_) {
    macro->uses_caller = macro->uses_caller || name == "caller";
    macro->uses_varargs = macro->uses_varargs || name == "varargs";
    macro->uses_kwargs = macro->uses_kwargs || name == "kwargs";
  }
  auto expr = std::make_unique<NameExpr>(intern(std::string(name)), line());
  skip();
  return ExprPtr(std::move(expr));
}

Result<ExprPtr> ExpressionParser::parse_literal() {
  auto literal = std::make_unique<LiteralExpr>(line());
  literal->index = program_->literals++;
  if (current().kind == TokenKind::kInteger) {
    literal->value = text_to_int(current().text, 0).value_or(0);
    skip();
  } else if (current().kind == TokenKind::kFloat) {
    literal->value = text_to_float(current().text).value_or(0);
    skip();
  } else {
    std::string text;
    for (; current().kind == TokenKind::kString; skip()) text += current().text;  // adjacent strings are one
    literal->value = std::move(text);
  }
  return ExprPtr(std::move(literal));
}

Result<ExprPtr> ExpressionParser::parse_tuple(bool conditional, std::string_view end) {
  auto tuple = std::make_unique<ItemsExpr>(ExprKind::kTuple, line());
  bool is_tuple = false;
  while (true) {
    const bool at_end = current().kind == TokenKind::kVariableEnd || current().kind == TokenKind::kBlockEnd ||
                        at_operator(")") || (!end.empty() && at_name(end));
    if (at_end) break;
    ExprPtr item;
    if (conditional) {
      SLUICE_ASSIGN(item, parse_expression());
    } else {
      const Nesting nesting(*this);
      SLUICE_TRY(nesting.status());
      SLUICE_ASSIGN(item, parse_or());
    }
    SLUICE_TRY(grow(*tuple, {item.get()}));
    tuple->items.push_back(std::move(item));
    if (!skip_operator(",")) break;
    is_tuple = true;
  }
  if (is_tuple) return ExprPtr(std::move(tuple));
  if (tuple->items.empty()) return expected("an expression");
  return std::move(tuple->items[0]);
}

Result<ExprPtr> ExpressionParser::parse_parentheses() {
  const int open_line = line();
  skip();
  if (skip_operator(")")) return ExprPtr(std::make_unique<ItemsExpr>(ExprKind::kTuple, open_line));
  SLUICE_ASSIGN(ExprPtr value, parse_tuple());
  SLUICE_TRY(expect_operator(")"));
  return value;
}

Result<ExprPtr> ExpressionParser::parse_list() {
  auto list = std::make_unique<ItemsExpr>(ExprKind::kList, line());
  skip();
  while (!at_operator("]")) {
    SLUICE_ASSIGN(ExprPtr item, parse_expression());
    SLUICE_TRY(grow(*list, {item.get()}));
    list->items.push_back(std::move(item));
    if (!skip_operator(",")) break;
  }
  SLUICE_TRY(expect_operator("]"));
  return ExprPtr(std::move(list));
}

Result<ExprPtr> ExpressionParser::parse_dict() {
  auto dict = std::make_unique<DictExpr>(line());
  skip();
  while (!at_operator("}")) {
    SLUICE_ASSIGN(ExprPtr key, parse_expression());
    SLUICE_TRY(expect_operator(":"));
    SLUICE_ASSIGN(ExprPtr value, parse_expression());
    SLUICE_TRY(grow(*dict, {key.get(), value.get()}));
    dict->entries.emplace_back(std::move(key), std::move(value));
    if (!skip_operator(",")) break;
  }
  SLUICE_TRY(expect_operator("}"));
  return ExprPtr(std::move(dict));
}

// ---- What follows a value

Result<ExprPtr> ExpressionParser::parse_postfix(ExprPtr value) {
  while (true) {
    if (at_operator(".") || at_operator("[")) {
      SLUICE_ASSIGN(value, parse_subscript(std::move(value)));
    } else if (at_operator("(")) {
      SLUICE_ASSIGN(value, parse_call(std::move(value)));
    } else {
      return value;
    }
  }
}

Result<ExprPtr> ExpressionParser::parse_subscript(ExprPtr object) {
  const int at_line = line();
  if (skip_operator(".")) {
    if (current().kind == TokenKind::kName) {
      auto attribute = std::make_unique<AttributeExpr>(at_line);
      attribute->object = std::move(object);
      attribute->name = current().text;
      skip();
      SLUICE_TRY(grow(*attribute, {attribute->object.get()}));
      return ExprPtr(std::move(attribute));
    }
    if (current().kind != TokenKind::kInteger) return expected("a name or a number behind '.'");
    auto subscript = std::make_unique<SubscriptExpr>(at_line);
    subscript->object = std::move(object);
    SLUICE_ASSIGN(subscript->key, parse_literal());
    SLUICE_TRY(grow(*subscript, {subscript->object.get()}));
    return ExprPtr(std::move(subscript));
  }
  skip();  // '['
  ExprPtr start;
  if (at_operator("]")) {  // a[] subscripts with the empty tuple
    start = std::make_unique<ItemsExpr>(ExprKind::kTuple, at_line);
  } else if (!at_operator(":")) {
    SLUICE_ASSIGN(start, parse_expression());
    if (at_operator(",")) {  // a[1, 2] subscripts with a tuple
      auto tuple = std::make_unique<ItemsExpr>(ExprKind::kTuple, at_line);
      SLUICE_TRY(grow(*tuple, {start.get()}));
      tuple->items.push_back(std::move(start));
      while (skip_operator(",") && !at_operator("]")) {
        SLUICE_ASSIGN(ExprPtr item, parse_expression());
        SLUICE_TRY(grow(*tuple, {item.get()}));
        tuple->items.push_back(std::move(item));
      }
      start = std::move(tuple);
    }
  }
  if (!at_operator(":")) {
    SLUICE_TRY(expect_operator("]"));
    auto subscript = std::make_unique<SubscriptExpr>(at_line);
    subscript->object = std::move(object);
    subscript->key = std::move(start);
    SLUICE_TRY(grow(*subscript, {subscript->object.get(), subscript->key.get()}));
    return ExprPtr(std::move(subscript));
  }
  auto slice = std::make_unique<SliceExpr>(at_line);
  slice->object = std::move(object);
  slice->start = std::move(start);
  skip();  // ':'
  if (!at_operator(":") && !at_operator("]")) {
    SLUICE_ASSIGN(slice->stop, parse_expression());
  }
  if (skip_operator(":") && !at_operator("]")) {
    SLUICE_ASSIGN(slice->step, parse_expression());
  }
  SLUICE_TRY(expect_operator("]"));
  SLUICE_TRY(grow(*slice, {slice->object.get(), slice->start.get(), slice->stop.get(), slice->step.get()}));
  return ExprPtr(std::move(slice));
}

Result<ExprPtr> ExpressionParser::parse_call(ExprPtr callee) {
  auto call = std::make_unique<CallExpr>(line());
  call->callee = std::move(callee);
  SLUICE_TRY(parse_arguments(call->arguments));
  SLUICE_TRY(grow(*call, {call->callee.get()}));
  SLUICE_TRY(grow(*call, call->arguments));
  return ExprPtr(std::move(call));
}

Status ExpressionParser::parse_arguments(CallArguments& arguments) {
  SLUICE_TRY(expect_operator("("));
  while (!at_operator(")")) {
    if (arguments.double_star != nullptr) return fail("expected ')' behind the argument with '**'");
    if (skip_operator("*")) {
      if (arguments.star != nullptr) return fail("only one argument may have '*'");
      SLUICE_ASSIGN(arguments.star, parse_expression());
    } else if (skip_operator("**")) {
      SLUICE_ASSIGN(arguments.double_star, parse_expression());
    } else if (current().kind == TokenKind::kName && next().kind == TokenKind::kOperator && next().text == "=") {
      std::string name(current().text);
      if (arguments.named.size() == kMaxNamedArguments) return fail("too many arguments");
      for (const auto& argument : arguments.named) {
        if (argument.first == name) return fail("the argument '" + name + "' is given twice");
      }
      skip();
      skip();
      SLUICE_ASSIGN(ExprPtr value, parse_expression());
      arguments.named.emplace_back(std::move(name), std::move(value));
    } else {
      if (!arguments.named.empty() || arguments.star != nullptr) {
        return fail("arguments by position must stand before all others");
      }
      SLUICE_ASSIGN(ExprPtr value, parse_expression());
      arguments.positional.push_back(std::move(value));
    }
    if (!at_operator(")")) SLUICE_TRY(expect_operator(","));
  }
  skip();
  return {};
}

// ---- Filters and tests

Result<ExprPtr> ExpressionParser::parse_filters(ExprPtr value) {
  while (true) {
    if (skip_operator("|")) {
      SLUICE_ASSIGN(std::unique_ptr<ApplyExpr> filter, parse_filter());
      filter->subject = std::move(value);
      SLUICE_TRY(grow(*filter, {filter->subject.get()}));
      value = std::move(filter);
    } else if (at_name("is")) {
      SLUICE_ASSIGN(value, parse_test(std::move(value)));
    } else if (at_operator("(")) {
      SLUICE_ASSIGN(value, parse_call(std::move(value)));
    } else {
      return value;
    }
  }
}

Result<std::string> ExpressionParser::parse_dotted_name() {
  SLUICE_ASSIGN(std::string name, expect_name());
  while (skip_operator(".")) {
    SLUICE_ASSIGN(const std::string part, expect_name());
    name += '.';
    name += part;
  }
  return name;
}

Result<std::unique_ptr<ApplyExpr>> ExpressionParser::parse_filter() {
  auto filter = std::make_unique<ApplyExpr>(ExprKind::kFilter, line());
  SLUICE_ASSIGN(filter->name, parse_dotted_name());
  if (at_operator("(")) SLUICE_TRY(parse_arguments(filter->arguments));
  SLUICE_TRY(grow(*filter, filter->arguments));
  resolve(*filter);
  return filter;
}

Result<ExprPtr> ExpressionParser::parse_test(ExprPtr value) {
  auto test = std::make_unique<ApplyExpr>(ExprKind::kTest, line());
  skip();  // is
  test->negated = skip_name("not");
  SLUICE_ASSIGN(test->name, parse_dotted_name());
  const TokenKind kind = current().kind;
  const bool begins_value = kind == TokenKind::kName || kind == TokenKind::kString || kind == TokenKind::kInteger ||
                            kind == TokenKind::kFloat || at_operator("[") || at_operator("{");
  if (at_operator("(")) {
    SLUICE_TRY(parse_arguments(test->arguments));
  } else if (begins_value && !at_name("else") && !at_name("or") && !at_name("and")) {
    if (at_name("is")) return fail("tests can't be chained with 'is'");
    // One argument without parentheses. Nesting is bounded: [ and { count.
    SLUICE_ASSIGN(ExprPtr argument, parse_primary());
    SLUICE_ASSIGN(argument, parse_postfix(std::move(argument)));
    test->arguments.positional.push_back(std::move(argument));
  }
  test->subject = std::move(value);
  SLUICE_TRY(grow(*test, {test->subject.get()}));
  SLUICE_TRY(grow(*test, test->arguments));
  resolve(*test);
  return ExprPtr(std::move(test));
}

void ExpressionParser::resolve(ApplyExpr& apply) {
  const bool filter = apply.kind == ExprKind::kFilter;
  apply.native = filter ? find_filter(apply.name) : find_test(apply.name);
  if (apply.native != nullptr) return;
  const std::string_view reason = filter ? refused_filter(apply.name) : std::string_view();
  if (reason.empty()) {
    unknown_.push_back({apply.line, ErrorCode::kCorrupt,
                        "no " + std::string(filter ? "filter" : "test") + " named '" + apply.name + "'"});
  } else {
    unknown_.push_back({apply.line, ErrorCode::kUnsupported,
                        "the filter '" + apply.name + "' is not supported: " + std::string(reason)});
  }
}

}  // namespace sluice::jinja
