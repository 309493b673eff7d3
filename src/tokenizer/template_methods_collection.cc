// Methods of list, tuple and dict.
#include <algorithm>

#include "tokenizer/template_builtins.h"
#include "tokenizer/template_ops.h"
#include "tokenizer/template_text.h"

namespace sluice::jinja {

namespace {

// A Python index for insert and pop, as an offset that may be out of range.
Int wrap(Int index, std::size_t size) { return index < 0 ? index + static_cast<Int>(size) : index; }

Result<Value> list_append(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("append", args, {"item"}, 1));
  SLUICE_TRY(runtime.spend());
  self.as_list_object().push(bound[0]);
  return Value::none();
}

Result<Value> list_extend(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("extend", args, {"iterable"}, 1));
  SLUICE_ASSIGN(std::vector<Value> items, iterate(runtime, bound[0]));
  for (Value& item : items) self.as_list_object().push(std::move(item));
  return Value::none();
}

Result<Value> list_insert(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("insert", args, {"index", "item"}, 2));
  SLUICE_ASSIGN(const Int index, require_int(bound[0], "the index"));
  ListObject& list = self.as_list_object();
  SLUICE_TRY(runtime.spend(1 + list.items.size()));
  const Int at = std::clamp<Int>(wrap(index, list.items.size()), 0, static_cast<Int>(list.items.size()));
  list.push(bound[1]);
  std::rotate(list.items.begin() + static_cast<std::ptrdiff_t>(at), list.items.end() - 1, list.items.end());
  return Value::none();
}

Result<Value> list_pop(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("pop", args, {"index"}));
  Int index = -1;
  if (!bound[0].is_missing()) {
    SLUICE_ASSIGN(index, require_int(bound[0], "the index"));
  }
  const std::vector<Value>& items = self.items();
  SLUICE_TRY(runtime.spend(1 + items.size() / 16));
  if (items.empty()) return runtime_error("pop from empty list");
  const Int at = wrap(index, items.size());
  if (at < 0 || at >= static_cast<Int>(items.size())) return runtime_error("pop index out of range");
  return self.as_list_object().take(static_cast<std::size_t>(at));
}

Result<Value> sequence_index(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("index", args, {"item", "start", "stop"}, 1));
  const auto read = [&](const Value& value, Int otherwise) -> Result<Int> {
    if (value.is_missing()) return otherwise;
    SLUICE_ASSIGN(const Int index, require_int(value, "the index"));
    return std::clamp<Int>(wrap(index, self.items().size()), 0, static_cast<Int>(self.items().size()));
  };
  SLUICE_ASSIGN(const Int start, read(bound[1], 0));
  SLUICE_ASSIGN(const Int stop, read(bound[2], static_cast<Int>(self.items().size())));
  for (auto i = static_cast<std::size_t>(start); i < static_cast<std::size_t>(stop); ++i) {
    SLUICE_ASSIGN(const bool same, equals(runtime, self.items()[i], bound[0]));
    if (same) return Value::integer(static_cast<Int>(i));
  }
  std::string text;
  SLUICE_TRY(append_repr(runtime, bound[0], text));
  return runtime_error(text + " is not in " + std::string(type_name(self)));
}

Result<Value> sequence_count(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("count", args, {"item"}, 1));
  Int count = 0;
  for (const Value& item : self.items()) {
    SLUICE_ASSIGN(const bool same, equals(runtime, item, bound[0]));
    if (same) ++count;
  }
  return Value::integer(count);
}

Result<Value> list_remove(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("remove", args, {"item"}, 1));
  for (std::size_t i = 0; i < self.items().size(); ++i) {
    SLUICE_ASSIGN(const bool same, equals(runtime, self.items()[i], bound[0]));
    if (!same) continue;
    self.as_list_object().take(i);
    return Value::none();
  }
  return runtime_error("list.remove(x): x not in list");
}

Result<Value> list_reverse(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_TRY(bind_none("reverse", args));
  std::vector<Value>& items = self.as_list_object().items;
  SLUICE_TRY(runtime.spend(1 + items.size()));
  std::reverse(items.begin(), items.end());
  return Value::none();
}

Result<Value> list_sort(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("sort", args, {"reverse"}));
  std::vector<Value>& items = self.as_list_object().items;
  const std::vector<Value> keys = items;
  SLUICE_TRY(sort_values(runtime, items, keys, truthy(bound[0])));
  return Value::none();
}

Result<Value> list_copy(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_TRY(bind_none("copy", args));
  SLUICE_TRY(runtime.spend(1 + self.items().size()));
  return runtime.list(self.items());
}

Result<Value> list_clear(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_TRY(bind_none("clear", args));
  SLUICE_TRY(runtime.spend());
  ListObject& list = self.as_list_object();
  runtime.heap().refund(list, list.items.size() * sizeof(Value));
  const std::vector<Value> dropped = std::exchange(list.items, {});
  return Value::none();
}

// ---- dict

template <ViewPart kPart>
Result<Value> dict_view(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_TRY(bind_none("the view of a dict", args));
  const Ref<DictViewObject> view = runtime.heap().make<DictViewObject>(Ref<DictObject>(&self.as_dict()), kPart);
  return Value::object(Kind::kDictView, view.get());
}

Result<Value> dict_get(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(auto bound, bind("get", args, {"key", "default"}, 1));
  SLUICE_TRY(require_key(runtime, bound[0]));
  if (const Value* found = self.as_dict().find(bound[0])) return *found;
  return bound[1].is_missing() ? Value::none() : std::move(bound[1]);
}

Error missing_key(Runtime& runtime, const Value& key) {
  std::string text;
  const Status status = append_repr(runtime, key, text);
  return status.ok() ? runtime_error("the dict has no key " + text) : status.error();
}

Result<Value> dict_pop(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(auto bound, bind("pop", args, {"key", "default"}, 1));
  SLUICE_TRY(require_key(runtime, bound[0]));
  SLUICE_TRY(runtime.spend(1 + self.as_dict().size()));
  Value taken = self.as_dict().take(bound[0]);
  if (!taken.is_missing()) return taken;
  if (!bound[1].is_missing()) return std::move(bound[1]);
  return missing_key(runtime, bound[0]);
}

Result<Value> dict_popitem(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_TRY(bind_none("popitem", args));
  DictObject& dict = self.as_dict();
  if (dict.size() == 0) return runtime_error("popitem(): dictionary is empty");
  SLUICE_TRY(runtime.spend(1 + dict.size()));
  Value key = dict.entries().back().first;
  Value value = dict.take(key);
  return make_tuple(runtime.heap(), {std::move(key), std::move(value)});
}

Result<Value> dict_setdefault(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("setdefault", args, {"key", "default"}, 1));
  SLUICE_TRY(require_key(runtime, bound[0]));
  SLUICE_TRY(runtime.spend());
  if (const Value* found = self.as_dict().find(bound[0])) return *found;
  Value value = bound[1].is_missing() ? Value::none() : bound[1];
  self.as_dict().set(bound[0], value);
  return value;
}

Result<Value> dict_update(Runtime& runtime, const Value& self, const Args& args) {
  if (args.positional.size() > 1) return runtime_error("update expected at most 1 argument");
  if (!args.positional.empty()) SLUICE_TRY(merge_into(runtime, self.as_dict(), args.positional[0]));
  for (const auto& [name, value] : args.named) {
    SLUICE_TRY(runtime.spend());
    self.as_dict().set(runtime.string(name), value);
  }
  return Value::none();
}

Result<Value> dict_copy(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_TRY(bind_none("copy", args));
  const Ref<DictObject> copy = runtime.heap().make<DictObject>();
  SLUICE_TRY(merge_into(runtime, *copy, self));
  return Value::object(Kind::kDict, copy.get());
}

Result<Value> dict_clear(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_TRY(bind_none("clear", args));
  SLUICE_TRY(runtime.spend());
  self.as_dict().clear();
  return Value::none();
}

constexpr NativeEntry kListMethods[] = {
    {"append", list_append},   {"extend", list_extend},   {"insert", list_insert}, {"pop", list_pop},
    {"index", sequence_index}, {"count", sequence_count}, {"remove", list_remove}, {"reverse", list_reverse},
    {"sort", list_sort},       {"copy", list_copy},       {"clear", list_clear},
};
constexpr NativeEntry kTupleMethods[] = {{"index", sequence_index}, {"count", sequence_count}};
constexpr NativeEntry kDictMethods[] = {
    {"get", dict_get},
    {"items", dict_view<ViewPart::kItems>},
    {"keys", dict_view<ViewPart::kKeys>},
    {"values", dict_view<ViewPart::kValues>},
    {"update", dict_update},
    {"pop", dict_pop},
    {"popitem", dict_popitem},
    {"setdefault", dict_setdefault},
    {"copy", dict_copy},
    {"clear", dict_clear},
};

}  // namespace

Status merge_into(Runtime& runtime, DictObject& dict, const Value& source) {
  SLUICE_TRY(require_defined(source));
  if (source.is_dict() || source.kind() == Kind::kNamespace) {
    SLUICE_TRY(runtime.spend(1 + source.as_dict().size()));
    const auto entries = source.as_dict().entries();  // a copy: the dict may be merged into itself
    for (const auto& [key, value] : entries) {
      SLUICE_TRY(require_key(runtime, key));
      dict.set(key, value);
    }
    return {};
  }
  SLUICE_ASSIGN(const std::vector<Value> pairs, iterate(runtime, source));
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    SLUICE_ASSIGN(const std::vector<Value> pair, iterate(runtime, pairs[i]));
    if (pair.size() != 2) {
      return runtime_error("dictionary update sequence element #" + std::to_string(i) + " has length " +
                           std::to_string(pair.size()) + "; 2 is required");
    }
    SLUICE_TRY(require_key(runtime, pair[0]));
    dict.set(pair[0], pair[1]);
  }
  return {};
}

std::span<const NativeEntry> list_methods() { return kListMethods; }
std::span<const NativeEntry> tuple_methods() { return kTupleMethods; }
std::span<const NativeEntry> dict_methods() { return kDictMethods; }

}  // namespace sluice::jinja
