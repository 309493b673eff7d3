// Runs the tree of a template: one interpreter, one render.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "tokenizer/template_ast.h"
#include "tokenizer/template_runtime.h"

namespace sluice::jinja {

// Variables of a loop, macro, or other block that has its own. The outermost ones are the interpreter's globals.
struct Scope : Object {
  explicit Scope(Ref<Scope> outer) : parent(std::move(outer)) {}
  void drop_references() override {
    parent = {};
    variables.clear();
  }
  void set(NameId name, Value value);
  void clear() { variables.clear(); }

  Ref<Scope> parent;  // null inside the globals
  std::vector<std::pair<NameId, Value>> variables;

 private:
  std::size_t charged_ = 0;  // variables that the heap knows of
};

class Interpreter {
 public:
  // `program` and `limits` must outlive the interpreter.
  Interpreter(const Program& program, const TemplateLimits& limits)
      : program_(program), runtime_(limits), globals_(program.names.size()), literals_(program.literals) {}

  // Renders once; errors as ChatTemplate::render gives them.
  Result<std::string> run(const nlohmann::ordered_json& variables, const std::optional<std::tm>& now);

 private:
  friend class MacroObject;
  enum class Flow : std::uint8_t { kNormal, kBreak, kContinue };

  // While it lives, what is printed goes to a string of its own.
  class Capture;
  // While it lives, names are bound in another scope.
  class ScopeChange;

  // ---- Statements
  Result<Flow> exec_body(const Body& body);
  Result<Flow> exec(const Stmt& stmt);
  Result<Flow> exec_if(const IfStmt& stmt);
  Result<Flow> exec_for(const ForStmt& stmt);
  Result<Flow> exec_else(const Body& body);
  Result<Flow> exec_capture(const CaptureStmt& stmt);
  Result<Flow> exec_with(const WithStmt& stmt);
  Status exec_print(const Expr& expr);
  Status exec_call_block(const CallBlockStmt& stmt);
  Result<std::vector<Value>> loop_items(const ForStmt& stmt);
  Status assign(const Target& target, const Value& value);
  Status emit(std::string_view text);
  // Prints str(value).
  Status print(const Value& value);

  // ---- Names
  Result<Value> lookup(NameId name);  // kMissing if not bound
  Status bind_name(NameId name, Value value);
  Value make_macro(const MacroDefinition& definition);
  Result<Value> call_macro(const MacroDefinition& definition, const Ref<Scope>& closure, Args& args);
  Status bind_parameters(const MacroDefinition& definition, Args& args);

  // ---- Expressions
  Result<Value> eval(const Expr& expr);
  Value eval_literal(const LiteralExpr& expr);
  Result<Value> eval_name(const NameExpr& expr);
  Result<Value> eval_attribute(const AttributeExpr& expr);
  Result<Value> eval_subscript(const SubscriptExpr& expr);
  Result<Value> eval_slice(const SliceExpr& expr);
  Result<Value> eval_call(const CallExpr& expr, const Value* caller);
  Result<Value> eval_filter(const ApplyExpr& expr);
  Result<Value> eval_test(const ApplyExpr& expr);
  Result<Value> eval_unary(const UnaryExpr& expr);
  Result<Value> eval_binary(const BinaryExpr& expr);
  Result<Value> eval_compare(const CompareExpr& expr);
  Result<Value> eval_logical(const LogicalExpr& expr);
  Result<Value> eval_concat(const ItemsExpr& expr);
  Result<Value> eval_conditional(const ConditionalExpr& expr);
  Result<Value> eval_items(const ItemsExpr& expr);
  Result<Value> eval_dict(const DictExpr& expr);
  // A filter or test on a value.
  Result<Value> apply(const ApplyExpr& expr, const Value& subject);
  Result<Args> eval_arguments(const CallArguments& arguments);

  const Program& program_;
  Runtime runtime_;              // before all values: they live on its heap
  std::vector<Value> globals_;   // by NameId
  std::vector<Value> literals_;  // by index, made when first met
  Ref<Scope> scope_;             // innermost; null at the top
  std::string output_;
  std::string* out_ = &output_;  // output_, or that of the innermost capture
  std::size_t pending_ = 0;      // bytes in all outputs together
  int macro_depth_ = 0;
  int line_ = 1;  // of what is being evaluated, for errors
};

}  // namespace sluice::jinja
