// The tree of a template. Built once by the parser, then only read: renders on several threads may share it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "tokenizer/template_builtins.h"
#include "tokenizer/template_ops.h"

namespace sluice::jinja {

// Index of a name in Program::names.
using NameId = std::uint32_t;

enum class ExprKind : std::uint8_t {
  kLiteral,
  kName,
  kAttribute,
  kSubscript,
  kSlice,
  kCall,
  kFilter,
  kTest,
  kUnary,
  kBinary,
  kLogical,
  kCompare,
  kConcat,
  kConditional,
  kList,
  kTuple,
  kDict,
};

struct Expr {
  Expr(ExprKind expr_kind, int expr_line) : kind(expr_kind), line(expr_line) {}
  virtual ~Expr() = default;
  ExprKind kind;
  int line;
  int height = 1;  // of the tree below; the parser bounds it
};
using ExprPtr = std::unique_ptr<Expr>;

struct LiteralExpr : Expr {
  explicit LiteralExpr(int at_line) : Expr(ExprKind::kLiteral, at_line) {}
  // none, bool, integer, float, string; `index` numbers the literals, for caches.
  std::variant<std::monostate, bool, Int, double, std::string> value;
  std::size_t index = 0;
};

struct NameExpr : Expr {
  NameExpr(NameId name_id, int at_line) : Expr(ExprKind::kName, at_line), name(name_id) {}
  NameId name;
};

struct AttributeExpr : Expr {
  explicit AttributeExpr(int at_line) : Expr(ExprKind::kAttribute, at_line) {}
  ExprPtr object;
  std::string name;
};

struct SubscriptExpr : Expr {
  explicit SubscriptExpr(int at_line) : Expr(ExprKind::kSubscript, at_line) {}
  ExprPtr object;
  ExprPtr key;
};

struct SliceExpr : Expr {
  explicit SliceExpr(int at_line) : Expr(ExprKind::kSlice, at_line) {}
  ExprPtr object;
  ExprPtr start, stop, step;  // null where absent
};

struct CallArguments {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr star, double_star;  // *args and **kwargs, or null
};

struct CallExpr : Expr {
  explicit CallExpr(int at_line) : Expr(ExprKind::kCall, at_line) {}
  ExprPtr callee;
  CallArguments arguments;
};

// A filter, or a test with `negated`. `native` is null for a name that does not exist but stands where it may never be
// reached, as Jinja2 allows.
struct ApplyExpr : Expr {
  ApplyExpr(ExprKind expr_kind, int at_line) : Expr(expr_kind, at_line) {}
  ExprPtr subject;  // null for the text of a block
  std::string name;
  const NativeEntry* native = nullptr;
  CallArguments arguments;
  bool negated = false;
};

enum class UnaryOp : std::uint8_t { kNegate, kPosit, kNot };
struct UnaryExpr : Expr {
  UnaryExpr(UnaryOp unary_op, int at_line) : Expr(ExprKind::kUnary, at_line), op(unary_op) {}
  UnaryOp op;
  ExprPtr operand;
};

// first op operand op operand ..., from left to right. A chain is one node, so that long ones are not deep.
struct BinaryExpr : Expr {
  explicit BinaryExpr(int at_line) : Expr(ExprKind::kBinary, at_line) {}
  ExprPtr first;
  std::vector<std::pair<BinaryOp, ExprPtr>> rest;
};

// a < b < c: every pair must hold.
struct CompareExpr : Expr {
  explicit CompareExpr(int at_line) : Expr(ExprKind::kCompare, at_line) {}
  ExprPtr first;
  std::vector<std::pair<CompareOp, ExprPtr>> rest;
};

// a and b and c, or with `or`
struct LogicalExpr : Expr {
  explicit LogicalExpr(int at_line) : Expr(ExprKind::kLogical, at_line) {}
  bool is_and = false;
  std::vector<ExprPtr> operands;
};

// Lists, tuples, and what '~' joins.
struct ItemsExpr : Expr {
  ItemsExpr(ExprKind expr_kind, int at_line) : Expr(expr_kind, at_line) {}
  std::vector<ExprPtr> items;
};

struct DictExpr : Expr {
  explicit DictExpr(int at_line) : Expr(ExprKind::kDict, at_line) {}
  std::vector<std::pair<ExprPtr, ExprPtr>> entries;
};

struct ConditionalExpr : Expr {
  explicit ConditionalExpr(int at_line) : Expr(ExprKind::kConditional, at_line) {}
  ExprPtr condition, then, otherwise;  // otherwise may be null
};

// Where an assignment goes.
struct Target {
  enum class Kind : std::uint8_t { kName, kNamespace, kTuple };
  Kind kind = Kind::kName;
  NameId name = 0;
  std::string attribute;      // kNamespace: name.attribute
  std::vector<Target> items;  // kTuple
  int line = 1;
};

enum class StmtKind : std::uint8_t {
  kText,
  kPrint,
  kIf,
  kFor,
  kSet,
  kSetBlock,
  kMacro,
  kCallBlock,
  kFilterBlock,
  kWith,
  kBreak,
  kContinue,
};

struct Stmt {
  Stmt(StmtKind stmt_kind, int stmt_line) : kind(stmt_kind), line(stmt_line) {}
  virtual ~Stmt() = default;
  StmtKind kind;
  int line;
};
using Body = std::vector<std::unique_ptr<Stmt>>;

struct TextStmt : Stmt {
  explicit TextStmt(int at_line) : Stmt(StmtKind::kText, at_line) {}
  std::string text;
};

struct PrintStmt : Stmt {
  explicit PrintStmt(int at_line) : Stmt(StmtKind::kPrint, at_line) {}
  ExprPtr value;
};

struct IfStmt : Stmt {
  explicit IfStmt(int at_line) : Stmt(StmtKind::kIf, at_line) {}
  std::vector<std::pair<ExprPtr, Body>> branches;  // if and elif
  Body otherwise;
};

struct ForStmt : Stmt {
  explicit ForStmt(int at_line) : Stmt(StmtKind::kFor, at_line) {}
  Target target;
  ExprPtr iterable;
  ExprPtr condition;  // of `if`, or null
  Body body;
  Body otherwise;  // runs if there was no item
};

struct SetStmt : Stmt {
  explicit SetStmt(int at_line) : Stmt(StmtKind::kSet, at_line) {}
  Target target;
  ExprPtr value;
};

// {% set x | filter %}...{% endset %}, {% filter f %}...{% endfilter %} (no target)
struct CaptureStmt : Stmt {
  CaptureStmt(StmtKind stmt_kind, int at_line) : Stmt(stmt_kind, at_line) {}
  Target target;
  std::vector<std::unique_ptr<ApplyExpr>> filters;  // the first is applied first
  Body body;
};

// The parameters and body of a macro or a call block.
struct MacroDefinition {
  std::string name;  // "caller" for a call block
  struct Parameter {
    NameId name;
    ExprPtr default_value;  // or null
  };
  std::vector<Parameter> parameters;
  Body body;
  // Whether the body mentions these names: only then a call may carry what they stand for.
  bool uses_caller = false;
  bool uses_varargs = false;
  bool uses_kwargs = false;
};

struct MacroStmt : Stmt {
  explicit MacroStmt(int at_line) : Stmt(StmtKind::kMacro, at_line) {}
  NameId name = 0;
  MacroDefinition definition;
};

struct CallBlockStmt : Stmt {
  explicit CallBlockStmt(int at_line) : Stmt(StmtKind::kCallBlock, at_line) {}
  ExprPtr call;  // a CallExpr
  MacroDefinition definition;
};

// {% with a = 1 %}; also {% generation %}, which is a scope without variables.
struct WithStmt : Stmt {
  explicit WithStmt(int at_line) : Stmt(StmtKind::kWith, at_line) {}
  std::vector<std::pair<Target, ExprPtr>> assignments;
  Body body;
};

// A whole template.
struct Program {
  Body body;
  std::vector<std::string> names;
  std::unordered_map<std::string, NameId> name_ids;
  std::size_t literals = 0;
  // Names that the interpreter itself binds.
  NameId loop = 0, caller = 0, varargs = 0, kwargs = 0;
};

}  // namespace sluice::jinja
