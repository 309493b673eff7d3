// Statements, scopes and macros. Expressions are in template_eval.cc.
#include "tokenizer/template_interpreter.h"

#include "tokenizer/template_builtins.h"
#include "tokenizer/template_lexer.h"
#include "tokenizer/template_loop.h"
#include "tokenizer/template_text.h"

namespace sluice::jinja {

// A macro with the scope it was defined in.
class MacroObject : public HostObject {
 public:
  MacroObject(Interpreter& interpreter, const MacroDefinition& definition, Ref<Scope> closure)
      : interpreter_(interpreter), definition_(definition), closure_(std::move(closure)) {}
  void drop_references() override { closure_ = {}; }
  std::string_view type_name() const override { return "Macro"; }
  std::string repr() const override { return "<Macro " + quote(definition_.name) + ">"; }
  Result<Value> call(Runtime&, Args& args) override {
    const Ref<MacroObject> alive(this);  // the body may bind another value to the macro's name
    return interpreter_.call_macro(definition_, closure_, args);
  }
  Value attribute(Runtime& runtime, std::string_view name) override {
    if (name == "name") return runtime.string(definition_.name);
    if (name == "caller") return Value::boolean(definition_.uses_caller);
    if (name == "catch_kwargs") return Value::boolean(definition_.uses_kwargs);
    if (name == "catch_varargs") return Value::boolean(definition_.uses_varargs);
    return {};
  }

 private:
  Interpreter& interpreter_;
  const MacroDefinition& definition_;
  Ref<Scope> closure_;
};

class Interpreter::Capture {
 public:
  explicit Capture(Interpreter& interpreter) : interpreter_(interpreter), outer_(interpreter.out_) {
    interpreter_.out_ = &text_;
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  ~Capture() {
    interpreter_.out_ = outer_;
    interpreter_.pending_ -= text_.size();
  }
  // What was printed so far, which is taken away.
  Result<Value> take() {
    SLUICE_TRY(interpreter_.runtime_.check_string(text_.size()));
    interpreter_.pending_ -= text_.size();
    return interpreter_.runtime_.string(std::exchange(text_, {}));
  }

 private:
  Interpreter& interpreter_;
  std::string* outer_;
  std::string text_;
};

class Interpreter::ScopeChange {
 public:
  ScopeChange(Interpreter& interpreter, Ref<Scope> scope)
      : interpreter_(interpreter), outer_(std::exchange(interpreter.scope_, std::move(scope))) {}
  // A new scope inside the current one.
  explicit ScopeChange(Interpreter& interpreter)
      : ScopeChange(interpreter, interpreter.runtime_.heap().make<Scope>(interpreter.scope_)) {}
  ScopeChange(const ScopeChange&) = delete;
  ScopeChange& operator=(const ScopeChange&) = delete;
  ~ScopeChange() { interpreter_.scope_ = std::move(outer_); }

 private:
  Interpreter& interpreter_;
  Ref<Scope> outer_;
};

void Scope::set(NameId name, Value value) {
  for (auto& [bound, current] : variables) {
    if (bound == name) {
      current = std::move(value);
      return;
    }
  }
  variables.emplace_back(name, std::move(value));
  if (variables.size() <= charged_) return;
  charged_ = variables.size();
  heap().charge(*this, sizeof(variables[0]));
}

Result<std::string> Interpreter::run(const nlohmann::ordered_json& variables, const std::optional<std::tm>& now) {
  if (!variables.is_object()) return Error(ErrorCode::kInvalidArgument, "chat template: the variables are no object");
  if (now) runtime_.set_now(*now);
  const auto with_line = [&](const Error& error) {
    if (runtime_.raised()) return error;  // the template's own words
    return template_error(error.code(), line_, error.message());
  };
  for (NameId name = 0; name < program_.names.size(); ++name) {
    globals_[name] = make_global(runtime_, program_.names[name]);
  }
  for (const auto& [key, json] : variables.get_ref<const nlohmann::ordered_json::object_t&>()) {
    const auto found = program_.name_ids.find(key);
    if (found == program_.name_ids.end()) continue;  // a variable that the template does not mention
    Result<Value> value = from_json(runtime_, json);
    if (!value.ok()) return value.error().with_context("chat template: variable '" + key + "'");
    globals_[found->second] = std::move(value).value();
  }
  const Result<Flow> flow = exec_body(program_.body);
  if (!flow.ok()) return with_line(flow.error());
  return std::move(output_);
}

// ---- Output

Status Interpreter::emit(std::string_view text) {
  pending_ += text.size();
  if (pending_ > runtime_.limits().max_output) {
    return limit_error("the output is longer than the " + std::to_string(runtime_.limits().max_output) +
                       " bytes allowed");
  }
  out_->append(text);
  return runtime_.spend_bytes(text.size());
}

Status Interpreter::print(const Value& value) {
  if (value.is_string()) return emit(value.as_string());
  SLUICE_ASSIGN(const std::string text, to_str(runtime_, value));
  return emit(text);
}

// ---- Names

Result<Value> Interpreter::lookup(NameId name) {
  constexpr std::size_t kNamesPerStep = 32;  // the usual scope has a few
  for (const Scope* scope = scope_.get(); scope != nullptr; scope = scope->parent.get()) {
    for (const auto& [bound, value] : scope->variables) {
      if (bound == name) return value;
    }
    SLUICE_TRY(runtime_.spend(scope->variables.size() / kNamesPerStep));
  }
  return globals_[name];
}

Status Interpreter::bind_name(NameId name, Value value) {
  if (scope_) {
    SLUICE_TRY(runtime_.spend(1 + scope_->variables.size() / 32));
    scope_->set(name, std::move(value));
  } else {
    globals_[name] = std::move(value);
  }
  return {};
}

Status Interpreter::assign(const Target& target, const Value& value) {
  SLUICE_TRY(runtime_.spend());
  line_ = target.line;
  switch (target.kind) {
    case Target::Kind::kName:
      return bind_name(target.name, value);
    case Target::Kind::kNamespace: {
      SLUICE_ASSIGN(const Value holder, lookup(target.name));
      if (holder.kind() != Kind::kNamespace) return runtime_error("cannot assign attribute on non-namespace object");
      holder.as_dict().set(runtime_.string(target.attribute), value);
      return {};
    }
    case Target::Kind::kTuple:
      break;
  }
  SLUICE_ASSIGN(const std::vector<Value> items, iterate(runtime_, value));
  if (items.size() != target.items.size()) {
    const std::string wanted = "values to unpack (expected " + std::to_string(target.items.size());
    if (items.size() > target.items.size()) return runtime_error("too many " + wanted + ")");
    return runtime_error("not enough " + wanted + ", got " + std::to_string(items.size()) + ")");
  }
  for (std::size_t i = 0; i < items.size(); ++i) SLUICE_TRY(assign(target.items[i], items[i]));
  return {};
}

// ---- Statements

Result<Interpreter::Flow> Interpreter::exec_body(const Body& body) {
  const DepthGuard depth(runtime_);
  SLUICE_TRY(depth.status());
  for (const auto& stmt : body) {
    SLUICE_TRY(runtime_.spend());
    SLUICE_ASSIGN(const Flow flow, exec(*stmt));
    if (flow != Flow::kNormal) return flow;
  }
  return Flow::kNormal;
}

Result<Interpreter::Flow> Interpreter::exec(const Stmt& stmt) {
  line_ = stmt.line;
  switch (stmt.kind) {
    case StmtKind::kText:
      SLUICE_TRY(emit(static_cast<const TextStmt&>(stmt).text));
      break;
    case StmtKind::kPrint:
      SLUICE_TRY(exec_print(*static_cast<const PrintStmt&>(stmt).value));
      break;
    case StmtKind::kIf:
      return exec_if(static_cast<const IfStmt&>(stmt));
    case StmtKind::kFor:
      return exec_for(static_cast<const ForStmt&>(stmt));
    case StmtKind::kSet: {
      const auto& set = static_cast<const SetStmt&>(stmt);
      SLUICE_ASSIGN(const Value value, eval(*set.value));
      SLUICE_TRY(assign(set.target, value));
      break;
    }
    case StmtKind::kSetBlock:
    case StmtKind::kFilterBlock:
      return exec_capture(static_cast<const CaptureStmt&>(stmt));
    case StmtKind::kMacro: {
      const auto& macro = static_cast<const MacroStmt&>(stmt);
      SLUICE_TRY(bind_name(macro.name, make_macro(macro.definition)));
      break;
    }
    case StmtKind::kCallBlock:
      SLUICE_TRY(exec_call_block(static_cast<const CallBlockStmt&>(stmt)));
      break;
    case StmtKind::kWith:
      return exec_with(static_cast<const WithStmt&>(stmt));
    case StmtKind::kBreak:
      return Flow::kBreak;
    case StmtKind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNormal;
}

Status Interpreter::exec_print(const Expr& expr) {
  SLUICE_ASSIGN(const Value value, eval(expr));
  return print(value);
}

Result<Interpreter::Flow> Interpreter::exec_if(const IfStmt& stmt) {
  for (const auto& [condition, body] : stmt.branches) {
    SLUICE_ASSIGN(const Value holds, eval(*condition));
    if (truthy(holds)) return exec_body(body);
  }
  return exec_body(stmt.otherwise);
}

// The items of a loop that pass its condition, which does not see the loop itself.
Result<std::vector<Value>> Interpreter::loop_items(const ForStmt& stmt) {
  SLUICE_ASSIGN(const Value iterable, eval(*stmt.iterable));
  line_ = stmt.line;
  SLUICE_ASSIGN(std::vector<Value> items, iterate(runtime_, iterable));
  if (stmt.condition == nullptr) return items;
  std::vector<Value> kept;
  for (Value& item : items) {
    const ScopeChange scope(*this);
    SLUICE_TRY(assign(stmt.target, item));
    SLUICE_ASSIGN(const Value holds, eval(*stmt.condition));
    if (truthy(holds)) kept.push_back(std::move(item));
  }
  return kept;
}

Result<Interpreter::Flow> Interpreter::exec_for(const ForStmt& stmt) {
  SLUICE_ASSIGN(std::vector<Value> items, loop_items(stmt));
  if (items.empty()) return exec_else(stmt.otherwise);
  const Ref<LoopObject> loop = runtime_.heap().make<LoopObject>(std::move(items));
  runtime_.heap().charge(*loop, loop->items().size() * sizeof(Value));
  const ScopeChange scope(*this);
  for (std::size_t i = 0; i < loop->items().size(); ++i) {
    SLUICE_TRY(runtime_.spend());
    if (scope_->shared()) {  // a macro keeps the variables of the last round
      scope_ = runtime_.heap().make<Scope>(scope_->parent);
    } else {
      scope_->clear();
    }
    loop->move_to(i);
    scope_->set(program_.loop, Value::object(Kind::kHost, loop.get()));
    SLUICE_TRY(assign(stmt.target, loop->items()[i]));
    SLUICE_ASSIGN(const Flow flow, exec_body(stmt.body));
    if (flow == Flow::kBreak) break;
  }
  return Flow::kNormal;
}

Result<Interpreter::Flow> Interpreter::exec_else(const Body& body) {
  if (body.empty()) return Flow::kNormal;
  const ScopeChange scope(*this);
  return exec_body(body);
}

Result<Interpreter::Flow> Interpreter::exec_capture(const CaptureStmt& stmt) {
  Value text;
  {
    Capture capture(*this);
    const ScopeChange scope(*this);
    SLUICE_ASSIGN(const Flow flow, exec_body(stmt.body));
    if (flow != Flow::kNormal) return flow;
    SLUICE_ASSIGN(text, capture.take());
  }
  for (const auto& filter : stmt.filters) {
    SLUICE_ASSIGN(text, apply(*filter, text));
  }
  if (stmt.kind == StmtKind::kSetBlock) {
    SLUICE_TRY(assign(stmt.target, text));
  } else {
    SLUICE_TRY(print(text));
  }
  return Flow::kNormal;
}

Result<Interpreter::Flow> Interpreter::exec_with(const WithStmt& stmt) {
  std::vector<Value> values;  // all of them before any is bound
  for (const auto& assignment : stmt.assignments) {
    SLUICE_ASSIGN(Value value, eval(*assignment.second));
    values.push_back(std::move(value));
  }
  const ScopeChange scope(*this);
  for (std::size_t i = 0; i < values.size(); ++i) SLUICE_TRY(assign(stmt.assignments[i].first, values[i]));
  return exec_body(stmt.body);
}

Status Interpreter::exec_call_block(const CallBlockStmt& stmt) {
  const Value caller = make_macro(stmt.definition);
  SLUICE_ASSIGN(const Value result, eval_call(static_cast<const CallExpr&>(*stmt.call), &caller));
  return print(result);
}

// ---- Macros

Value Interpreter::make_macro(const MacroDefinition& definition) {
  return Value::object(Kind::kHost, runtime_.heap().make<MacroObject>(*this, definition, scope_).get());
}

Result<Value> Interpreter::call_macro(const MacroDefinition& definition, const Ref<Scope>& closure, Args& args) {
  const int call_line = line_;
  if (macro_depth_ >= runtime_.limits().max_depth) {
    return limit_error("macros call each other more than " + std::to_string(macro_depth_) + " deep");
  }
  ++macro_depth_;
  const auto run_body = [&]() -> Result<Value> {
    const ScopeChange scope(*this, runtime_.heap().make<Scope>(closure));
    SLUICE_TRY(bind_parameters(definition, args));
    Capture capture(*this);
    SLUICE_ASSIGN(const Flow flow, exec_body(definition.body));
    static_cast<void>(flow);  // the parser lets no break or continue out of a macro
    return capture.take();
  };
  Result<Value> result = run_body();
  --macro_depth_;
  if (result.ok()) line_ = call_line;
  return result;
}

Status Interpreter::bind_parameters(const MacroDefinition& definition, Args& args) {
  const std::size_t count = definition.parameters.size();
  const auto take_named = [&](std::string_view name) {
    for (auto entry = args.named.begin(); entry != args.named.end(); ++entry) {
      if (entry->first != name) continue;
      Value value = std::move(entry->second);
      args.named.erase(entry);
      return value;
    }
    return Value();
  };
  for (std::size_t i = 0; i < count; ++i) {
    const auto& parameter = definition.parameters[i];
    const std::string& name = program_.names[parameter.name];
    Value value = i < args.positional.size() ? args.positional[i] : take_named(name);
    if (value.is_missing()) {
      if (parameter.default_value != nullptr) {
        SLUICE_ASSIGN(value, eval(*parameter.default_value));
      } else {
        value = runtime_.undefined("parameter " + quote(name) + " was not provided");
      }
    }
    scope_->set(parameter.name, std::move(value));
  }
  if (definition.uses_caller) {
    Value caller = take_named("caller");
    if (caller.is_missing()) caller = runtime_.undefined("No caller defined");
    scope_->set(program_.caller, std::move(caller));
  }
  if (definition.uses_kwargs) {
    const Ref<DictObject> rest = runtime_.heap().make<DictObject>();
    for (auto& [name, value] : args.named) rest->set(runtime_.string(name), std::move(value));
    scope_->set(program_.kwargs, Value::object(Kind::kDict, rest.get()));
  } else if (!args.named.empty()) {
    return runtime_error("macro " + quote(definition.name) + " takes no keyword argument " +
                         quote(args.named[0].first));
  }
  if (definition.uses_varargs) {
    std::vector<Value> rest;
    for (std::size_t i = count; i < args.positional.size(); ++i) rest.push_back(args.positional[i]);
    scope_->set(program_.varargs, make_tuple(runtime_.heap(), std::move(rest)));
  } else if (args.positional.size() > count) {
    return runtime_error("macro " + quote(definition.name) + " takes not more than " + std::to_string(count) +
                         " argument(s)");
  }
  return {};
}

}  // namespace sluice::jinja
