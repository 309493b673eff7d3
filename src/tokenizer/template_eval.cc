// Evaluation of expressions.
#include "tokenizer/template_builtins.h"
#include "tokenizer/template_interpreter.h"
#include "tokenizer/template_markup.h"
#include "tokenizer/template_ops.h"
#include "tokenizer/template_text.h"

namespace sluice::jinja {

Result<Value> Interpreter::eval(const Expr& expr) {
  SLUICE_TRY(runtime_.spend());
  const DepthGuard depth(runtime_);
  SLUICE_TRY(depth.status());
  switch (expr.kind) {
    case ExprKind::kLiteral:
      return eval_literal(static_cast<const LiteralExpr&>(expr));
    case ExprKind::kName:
      return eval_name(static_cast<const NameExpr&>(expr));
    case ExprKind::kAttribute:
      return eval_attribute(static_cast<const AttributeExpr&>(expr));
    case ExprKind::kSubscript:
      return eval_subscript(static_cast<const SubscriptExpr&>(expr));
    case ExprKind::kSlice:
      return eval_slice(static_cast<const SliceExpr&>(expr));
    case ExprKind::kCall:
      return eval_call(static_cast<const CallExpr&>(expr), nullptr);
    case ExprKind::kFilter:
      return eval_filter(static_cast<const ApplyExpr&>(expr));
    case ExprKind::kTest:
      return eval_test(static_cast<const ApplyExpr&>(expr));
    case ExprKind::kUnary:
      return eval_unary(static_cast<const UnaryExpr&>(expr));
    case ExprKind::kBinary:
      return eval_binary(static_cast<const BinaryExpr&>(expr));
    case ExprKind::kLogical:
      return eval_logical(static_cast<const LogicalExpr&>(expr));
    case ExprKind::kCompare:
      return eval_compare(static_cast<const CompareExpr&>(expr));
    case ExprKind::kConcat:
      return eval_concat(static_cast<const ItemsExpr&>(expr));
    case ExprKind::kConditional:
      return eval_conditional(static_cast<const ConditionalExpr&>(expr));
    case ExprKind::kList:
    case ExprKind::kTuple:
      return eval_items(static_cast<const ItemsExpr&>(expr));
    case ExprKind::kDict:
      break;
  }
  return eval_dict(static_cast<const DictExpr&>(expr));
}

Value Interpreter::eval_literal(const LiteralExpr& expr) {
  Value& cached = literals_[expr.index];
  if (!cached.is_missing()) return cached;
  if (const bool* truth = std::get_if<bool>(&expr.value)) {
    cached = Value::boolean(*truth);
  } else if (const Int* integer = std::get_if<Int>(&expr.value)) {
    cached = Value::integer(*integer);
  } else if (const double* real = std::get_if<double>(&expr.value)) {
    cached = Value::real(*real);
  } else if (const std::string* text = std::get_if<std::string>(&expr.value)) {
    cached = runtime_.string(*text);
  } else {
    cached = Value::none();
  }
  return cached;
}

Result<Value> Interpreter::eval_name(const NameExpr& expr) {
  SLUICE_ASSIGN(Value value, lookup(expr.name));
  if (!value.is_missing()) return value;
  const std::string& name = program_.names[expr.name];
  if (const std::string_view reason = refused_global(name); !reason.empty()) {
    line_ = expr.line;
    return Error(ErrorCode::kUnsupported, "'" + name + "' is not supported: " + std::string(reason));
  }
  return runtime_.undefined(quote(name) + " is undefined");
}

Result<Value> Interpreter::eval_attribute(const AttributeExpr& expr) {
  SLUICE_ASSIGN(const Value object, eval(*expr.object));
  line_ = expr.line;
  return get_attribute(runtime_, object, expr.name);
}

Result<Value> Interpreter::eval_subscript(const SubscriptExpr& expr) {
  SLUICE_ASSIGN(const Value object, eval(*expr.object));
  SLUICE_ASSIGN(const Value key, eval(*expr.key));
  line_ = expr.line;
  return get_item(runtime_, object, key);
}

Result<Value> Interpreter::eval_slice(const SliceExpr& expr) {
  SLUICE_ASSIGN(const Value object, eval(*expr.object));
  Value parts[3];
  const Expr* const sources[3] = {expr.start.get(), expr.stop.get(), expr.step.get()};
  for (int i = 0; i < 3; ++i) {
    if (sources[i] == nullptr) continue;
    SLUICE_ASSIGN(parts[i], eval(*sources[i]));
  }
  line_ = expr.line;
  return get_slice(runtime_, object, parts[0], parts[1], parts[2]);
}

Result<Args> Interpreter::eval_arguments(const CallArguments& arguments) {
  Args args;
  args.positional.reserve(arguments.positional.size());
  for (const ExprPtr& expr : arguments.positional) {
    SLUICE_ASSIGN(Value value, eval(*expr));
    args.positional.push_back(std::move(value));
  }
  for (const auto& [name, expr] : arguments.named) {
    SLUICE_ASSIGN(Value value, eval(*expr));
    args.named.emplace_back(name, std::move(value));
  }
  if (arguments.star != nullptr) {
    SLUICE_ASSIGN(const Value value, eval(*arguments.star));
    SLUICE_ASSIGN(const std::vector<Value> items, iterate(runtime_, value));
    args.positional.insert(args.positional.end(), items.begin(), items.end());
  }
  if (arguments.double_star != nullptr) {
    SLUICE_ASSIGN(const Value value, eval(*arguments.double_star));
    if (!value.is_dict()) {
      return runtime_error("argument after ** must be a mapping, not " + std::string(type_name(value)));
    }
    for (const auto& [key, item] : value.as_dict().entries()) {
      SLUICE_TRY(runtime_.spend(1 + args.named.size()));
      if (!key.is_string()) return runtime_error("keywords must be strings");
      for (const auto& argument : args.named) {
        if (argument.first == key.as_string()) {
          return runtime_error("got multiple values for keyword argument " + quote(argument.first));
        }
      }
      args.named.emplace_back(key.as_string(), item);
    }
  }
  return args;
}

Result<Value> Interpreter::eval_call(const CallExpr& expr, const Value* caller) {
  Value callee;
  if (expr.callee->kind == ExprKind::kAttribute) {
    // A method is called without making a bound one first.
    const auto& attribute = static_cast<const AttributeExpr&>(*expr.callee);
    SLUICE_ASSIGN(const Value object, eval(*attribute.object));
    line_ = attribute.line;
    SLUICE_TRY(require_defined(object));
    if (const NativeEntry* method = find_method(object, attribute.name)) {
      SLUICE_ASSIGN(Args args, eval_arguments(expr.arguments));
      line_ = expr.line;
      return call_method(runtime_, *method, object, args);
    }
    SLUICE_ASSIGN(callee, get_attribute(runtime_, object, attribute.name));
  } else {
    SLUICE_ASSIGN(callee, eval(*expr.callee));
  }
  SLUICE_ASSIGN(Args args, eval_arguments(expr.arguments));
  if (caller != nullptr) args.named.emplace_back("caller", *caller);
  line_ = expr.line;
  SLUICE_TRY(require_defined(callee));
  if (!callee.is_host()) return runtime_error("'" + std::string(type_name(callee)) + "' object is not callable");
  return callee.as_host().call(runtime_, args);
}

Result<Value> Interpreter::apply(const ApplyExpr& expr, const Value& subject) {
  line_ = expr.line;
  if (expr.native == nullptr) {
    const bool filter = expr.kind == ExprKind::kFilter;
    return runtime_error("no " + std::string(filter ? "filter" : "test") + " named " + quote(expr.name));
  }
  SLUICE_ASSIGN(const Args args, eval_arguments(expr.arguments));
  line_ = expr.line;
  return expr.native->function(runtime_, subject, args);
}

Result<Value> Interpreter::eval_filter(const ApplyExpr& expr) {
  SLUICE_ASSIGN(const Value subject, eval(*expr.subject));
  return apply(expr, subject);
}

Result<Value> Interpreter::eval_test(const ApplyExpr& expr) {
  SLUICE_ASSIGN(const Value subject, eval(*expr.subject));
  SLUICE_ASSIGN(const Value result, apply(expr, subject));
  return Value::boolean(truthy(result) != expr.negated);
}

Result<Value> Interpreter::eval_unary(const UnaryExpr& expr) {
  SLUICE_ASSIGN(const Value operand, eval(*expr.operand));
  line_ = expr.line;
  switch (expr.op) {
    case UnaryOp::kNegate:
      return negate(operand);
    case UnaryOp::kPosit:
      return posit(operand);
    case UnaryOp::kNot:
      break;
  }
  return Value::boolean(!truthy(operand));
}

Result<Value> Interpreter::eval_binary(const BinaryExpr& expr) {
  SLUICE_ASSIGN(Value result, eval(*expr.first));
  for (const auto& [op, operand] : expr.rest) {
    SLUICE_ASSIGN(const Value right, eval(*operand));
    line_ = operand->line;
    SLUICE_ASSIGN(result, binary(runtime_, op, result, right));
  }
  return result;
}

Result<Value> Interpreter::eval_compare(const CompareExpr& expr) {
  SLUICE_ASSIGN(Value left, eval(*expr.first));
  for (const auto& [op, operand] : expr.rest) {
    SLUICE_ASSIGN(Value right, eval(*operand));
    line_ = expr.line;
    SLUICE_ASSIGN(const bool holds, compare(runtime_, op, left, right));
    if (!holds) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Result<Value> Interpreter::eval_logical(const LogicalExpr& expr) {
  Value value;
  for (const ExprPtr& operand : expr.operands) {
    SLUICE_ASSIGN(value, eval(*operand));
    if (truthy(value) != expr.is_and) break;  // the operand that decides is the result
  }
  return value;
}

Result<Value> Interpreter::eval_concat(const ItemsExpr& expr) {
  std::string text;
  for (const ExprPtr& item : expr.items) {
    SLUICE_ASSIGN(const Value value, eval(*item));
    SLUICE_TRY(append_str(runtime_, value, text));
    SLUICE_TRY(runtime_.check_string(text.size()));
  }
  return runtime_.string(std::move(text));
}

Result<Value> Interpreter::eval_conditional(const ConditionalExpr& expr) {
  SLUICE_ASSIGN(const Value condition, eval(*expr.condition));
  if (truthy(condition)) return eval(*expr.then);
  if (expr.otherwise != nullptr) return eval(*expr.otherwise);
  return runtime_.undefined("the inline if-expression on line " + std::to_string(expr.line) +
                            " evaluated to false and no else section was defined.");
}

Result<Value> Interpreter::eval_items(const ItemsExpr& expr) {
  std::vector<Value> items;
  items.reserve(expr.items.size());
  for (const ExprPtr& item : expr.items) {
    SLUICE_ASSIGN(Value value, eval(*item));
    items.push_back(std::move(value));
  }
  return expr.kind == ExprKind::kList ? runtime_.list(std::move(items)) : make_tuple(runtime_.heap(), std::move(items));
}

Result<Value> Interpreter::eval_dict(const DictExpr& expr) {
  const Ref<DictObject> dict = runtime_.heap().make<DictObject>();
  for (const auto& [key_expr, value_expr] : expr.entries) {
    SLUICE_ASSIGN(Value key, eval(*key_expr));
    SLUICE_ASSIGN(Value value, eval(*value_expr));
    line_ = expr.line;
    SLUICE_TRY(require_key(runtime_, key));
    dict->set(std::move(key), std::move(value));
  }
  return Value::object(Kind::kDict, dict.get());
}

}  // namespace sluice::jinja
