#include "tokenizer/template_loop.h"

#include "tokenizer/template_ops.h"
#include "tokenizer/template_runtime.h"

namespace sluice::jinja {

void LoopObject::drop_references() {
  items_.clear();
  last_changed_.clear();
}

std::string LoopObject::repr() const {
  return "<LoopContext " + std::to_string(index_ + 1) + "/" + std::to_string(items_.size()) + ">";
}

Result<Value> LoopObject::call(Runtime&, Args&) {
  return runtime_error("The loop must have the 'recursive' marker to be called recursively.");
}

Value LoopObject::attribute(Runtime& runtime, std::string_view name) {
  const auto number = [](std::size_t value) { return Value::integer(static_cast<Int>(value)); };
  const auto method = [&](std::string_view method_name, NativeFunction function) {
    const Value self = Value::object(Kind::kHost, this);
    return Value::object(Kind::kHost,
                         runtime.heap().make<NativeObject>(NativeEntry{method_name, function}, self).get());
  };
  if (name == "index") return number(index_ + 1);
  if (name == "index0") return number(index_);
  if (name == "first") return Value::boolean(index_ == 0);
  if (name == "last") return Value::boolean(index_ + 1 == items_.size());
  if (name == "length") return number(items_.size());
  if (name == "revindex") return number(items_.size() - index_);
  if (name == "revindex0") return number(items_.size() - index_ - 1);
  if (name == "depth") return number(1);
  if (name == "depth0") return number(0);
  if (name == "previtem") {
    return index_ > 0 ? items_[index_ - 1] : runtime.undefined("there is no previous item");
  }
  if (name == "nextitem") {
    return index_ + 1 < items_.size() ? items_[index_ + 1] : runtime.undefined("there is no next item");
  }
  if (name == "cycle") return method("cycle", cycle);
  if (name == "changed") return method("changed", changed);
  return {};
}

Result<Value> LoopObject::cycle(Runtime&, const Value& self, const Args& args) {
  if (args.positional.empty()) return runtime_error("no items for cycling given");
  return args.positional[static_cast<LoopObject&>(self.as_host()).index_ % args.positional.size()];
}

Result<Value> LoopObject::changed(Runtime& runtime, const Value& self, const Args& args) {
  auto& loop = static_cast<LoopObject&>(self.as_host());
  bool same = loop.ever_changed_ && loop.last_changed_.size() == args.positional.size();
  for (std::size_t i = 0; same && i < args.positional.size(); ++i) {
    SLUICE_ASSIGN(same, equals(runtime, loop.last_changed_[i], args.positional[i]));
  }
  loop.ever_changed_ = true;
  if (!same) loop.last_changed_ = args.positional;
  return Value::boolean(!same);
}

}  // namespace sluice::jinja
