// Filters on sequences and mappings.
#include <algorithm>

#include "tokenizer/template_attribute.h"
#include "tokenizer/template_builtins.h"
#include "tokenizer/template_ops.h"
#include "tokenizer/template_text.h"

namespace sluice::jinja {

namespace {

Result<Value> filter_length(Runtime&, const Value& self, const Args& args) {
  SLUICE_TRY(bind_none("length", args));
  SLUICE_ASSIGN(const std::size_t size, length(self));
  return Value::integer(static_cast<Int>(size));
}

Result<Value> filter_list(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_TRY(bind_none("list", args));
  SLUICE_ASSIGN(std::vector<Value> items, iterate(runtime, self));
  return runtime.list(std::move(items));
}

Result<Value> filter_first(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_TRY(bind_none("first", args));
  if (self.kind() == Kind::kIterator) {  // takes one and leaves the rest
    IteratorObject& iterator = self.as_iterator();
    if (iterator.next < iterator.items.size()) return std::move(iterator.items[iterator.next++]);
  }
  if (self.is_list() || self.is_tuple()) {
    if (!self.items().empty()) return self.items().front();
  }
  SLUICE_ASSIGN(const std::vector<Value> items, iterate(runtime, self));
  if (items.empty()) return runtime.undefined("No first item, sequence was empty.");
  return items.front();
}

Result<Value> filter_last(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_TRY(bind_none("last", args));
  if (!has_length(self)) return runtime_error("'" + std::string(type_name(self)) + "' object is not reversible");
  if (self.is_list() || self.is_tuple()) {
    if (!self.items().empty()) return self.items().back();
  }
  SLUICE_ASSIGN(const std::vector<Value> items, iterate(runtime, self));
  if (items.empty()) return runtime.undefined("No last item, sequence was empty.");
  return items.back();
}

Result<Value> filter_join(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("join", args, {"d", "attribute"}));
  std::string separator;
  if (!bound[0].is_missing()) {
    SLUICE_ASSIGN(separator, to_str(runtime, bound[0]));
  }
  AttributeGetter getter;
  SLUICE_TRY(getter.parse(runtime, bound[1]));
  SLUICE_ASSIGN(const std::vector<Value> items, iterate(runtime, self));
  std::string result;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) result += separator;
    SLUICE_ASSIGN(const Value item, getter.get(runtime, items[i]));
    SLUICE_TRY(append_str(runtime, item, result));
    SLUICE_TRY(runtime.spend_bytes(separator.size()));
    if (result.size() > runtime.limits().max_string) return runtime.check_string(result.size()).error();
  }
  return runtime.string(std::move(result));
}

Result<Value> filter_reverse(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_TRY(bind_none("reverse", args));
  if (self.is_string()) return get_slice(runtime, self, Value(), Value(), Value::integer(-1));
  if (!is_iterable(self)) return runtime_error("argument must be iterable");
  SLUICE_ASSIGN(std::vector<Value> items, iterate(runtime, self));
  std::reverse(items.begin(), items.end());
  // Python's reversed() gives an iterator; what it can't reverse comes as a list.
  if (self.kind() == Kind::kIterator) return runtime.list(std::move(items));
  return make_iterator(runtime.heap(), std::move(items), self.is_list() ? "list_reverseiterator" : "reversed");
}

Result<Value> filter_sort(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("sort", args, {"reverse", "case_sensitive", "attribute"}));
  const bool fold = !truthy(bound[1]);
  std::vector<AttributeGetter> getters(1);
  if (bound[2].is_string()) {  // "a,b.c" sorts by several
    SLUICE_ASSIGN(getters, split_attributes(runtime, bound[2]));
  } else {
    SLUICE_TRY(getters[0].parse(runtime, bound[2]));
  }
  SLUICE_ASSIGN(std::vector<Value> items, iterate(runtime, self));
  std::vector<Value> keys;
  keys.reserve(items.size());
  for (const Value& item : items) {
    std::vector<Value> parts;
    for (const AttributeGetter& getter : getters) {
      SLUICE_ASSIGN(Value part, getter.get(runtime, item));
      if (fold) {
        SLUICE_ASSIGN(part, fold_case(runtime, part));
      }
      parts.push_back(std::move(part));
    }
    // A list even of one: lists find equal parts first, and so sort undefined ones without an error.
    keys.push_back(runtime.list(std::move(parts)));
  }
  SLUICE_TRY(sort_values(runtime, items, keys, truthy(bound[0])));
  return runtime.list(std::move(items));
}

Result<Value> filter_unique(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("unique", args, {"case_sensitive", "attribute"}));
  AttributeGetter getter;
  SLUICE_TRY(getter.parse(runtime, bound[1]));
  SLUICE_ASSIGN(const std::vector<Value> items, iterate(runtime, self));
  const Ref<DictObject> seen = runtime.heap().make<DictObject>();
  std::vector<Value> result;
  for (const Value& item : items) {
    SLUICE_ASSIGN(Value key, getter.get(runtime, item));
    if (!truthy(bound[0])) {
      SLUICE_ASSIGN(key, fold_case(runtime, key));
    }
    SLUICE_TRY(require_key(runtime, key));
    if (seen->find(key) != nullptr) continue;
    seen->set(std::move(key), Value::none());
    result.push_back(item);
  }
  return make_iterator(runtime.heap(), std::move(result));
}

template <CompareOp kOp>
Result<Value> filter_extreme(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("min and max", args, {"case_sensitive", "attribute"}));
  AttributeGetter getter;
  SLUICE_TRY(getter.parse(runtime, bound[1]));
  SLUICE_ASSIGN(const std::vector<Value> items, iterate(runtime, self));
  if (items.empty()) return runtime.undefined("No aggregated item, sequence was empty.");
  std::size_t best = 0;
  Value best_key;
  for (std::size_t i = 0; i < items.size(); ++i) {
    SLUICE_ASSIGN(Value key, getter.get(runtime, items[i]));
    if (!truthy(bound[0])) {
      SLUICE_ASSIGN(key, fold_case(runtime, key));
    }
    bool better = i == 0;
    if (!better) {
      SLUICE_ASSIGN(better, compare(runtime, kOp, key, best_key));
    }
    if (!better) continue;
    best = i;
    best_key = std::move(key);
  }
  return items[best];
}

Result<Value> filter_sum(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("sum", args, {"attribute", "start"}));
  AttributeGetter getter;
  SLUICE_TRY(getter.parse(runtime, bound[0]));
  SLUICE_ASSIGN(const std::vector<Value> items, iterate(runtime, self));
  Value total = bound[1].is_missing() ? Value::integer(0) : bound[1];
  if (total.is_string()) return runtime_error("sum() can't sum strings [use ''.join(seq) instead]");
  for (const Value& item : items) {
    SLUICE_ASSIGN(const Value part, getter.get(runtime, item));
    SLUICE_ASSIGN(total, binary(runtime, BinaryOp::kAdd, total, part));
  }
  return total;
}

Result<Value> filter_batch(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("batch", args, {"linecount", "fill_with"}, 1));
  SLUICE_ASSIGN(const Int size, require_int(bound[0], "the size of a batch"));
  if (size < 1) return runtime_error("the size of a batch must be at least 1");
  SLUICE_ASSIGN(const std::vector<Value> items, iterate(runtime, self));
  std::vector<Value> batches;
  std::vector<Value> batch;
  for (const Value& item : items) {
    if (static_cast<Int>(batch.size()) == size) batches.push_back(runtime.list(std::exchange(batch, {})));
    batch.push_back(item);
  }
  if (!batch.empty()) {
    if (!bound[1].is_missing() && !bound[1].is_none() && static_cast<Int>(batch.size()) < size) {
      SLUICE_TRY(runtime.check_items(static_cast<std::uint64_t>(std::min<Int>(size, Int{1} << 62))));
      batch.resize(static_cast<std::size_t>(size), bound[1]);
    }
    batches.push_back(runtime.list(std::move(batch)));
  }
  return make_iterator(runtime.heap(), std::move(batches));
}

Result<Value> filter_slice(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("slice", args, {"slices", "fill_with"}, 1));
  SLUICE_ASSIGN(const std::size_t slices, require_size(bound[0], "the number of slices"));
  if (slices == 0) return runtime_error("integer division or modulo by zero");
  SLUICE_TRY(runtime.check_items(slices));
  SLUICE_ASSIGN(const std::vector<Value> items, iterate(runtime, self));
  const std::size_t size = items.size() / slices;
  const std::size_t longer = items.size() % slices;  // the first ones hold one more
  const bool fill = !bound[1].is_missing() && !bound[1].is_none();
  std::vector<Value> result;
  auto next = items.begin();
  for (std::size_t i = 0; i < slices; ++i) {
    const auto end = next + static_cast<std::ptrdiff_t>(size + (i < longer ? 1 : 0));
    std::vector<Value> part(next, end);
    if (fill && i >= longer) part.push_back(bound[1]);
    result.push_back(runtime.list(std::move(part)));
    next = end;
  }
  return make_iterator(runtime.heap(), std::move(result));
}

Result<Value> filter_groupby(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("groupby", args, {"attribute", "default", "case_sensitive"}, 1));
  const bool fold = !truthy(bound[2]);
  AttributeGetter getter;
  SLUICE_TRY(getter.parse(runtime, bound[0]));
  getter.set_default(bound[1]);
  SLUICE_ASSIGN(std::vector<Value> items, iterate(runtime, self));
  std::vector<Value> keys;
  for (const Value& item : items) {
    SLUICE_ASSIGN(Value key, getter.get(runtime, item));
    if (fold) {
      SLUICE_ASSIGN(key, fold_case(runtime, key));
    }
    keys.push_back(std::move(key));
  }
  std::vector<Value> sorted_keys = keys;
  SLUICE_TRY(sort_values(runtime, items, keys, false));
  SLUICE_TRY(sort_values(runtime, sorted_keys, keys, false));
  std::vector<Value> groups;
  for (std::size_t i = 0; i < items.size();) {
    std::vector<Value> members;
    const std::size_t first = i;
    for (; i < items.size(); ++i) {
      SLUICE_ASSIGN(const bool same, equals(runtime, sorted_keys[first], sorted_keys[i]));
      if (!same && i > first) break;
      members.push_back(items[i]);
    }
    SLUICE_ASSIGN(Value grouper, getter.get(runtime, items[first]));  // in its own case
    Value group = make_tuple(runtime.heap(), {std::move(grouper), runtime.list(std::move(members))});
    group.as_list_object().is_group = true;
    groups.push_back(std::move(group));
  }
  return runtime.list(std::move(groups));
}

std::vector<Value> entries_of(Runtime& runtime, const Value& dict) {
  std::vector<Value> entries;
  entries.reserve(dict.as_dict().size());
  for (const auto& [key, value] : dict.as_dict().entries()) entries.push_back(make_tuple(runtime.heap(), {key, value}));
  return entries;
}

Result<Value> filter_items(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_TRY(bind_none("items", args));
  if (self.is_undefined()) return make_iterator(runtime.heap(), {});
  if (!self.is_dict()) {
    return make_failing_iterator(runtime.heap(), {}, runtime_error("Can only get item pairs from a mapping."));
  }
  SLUICE_TRY(runtime.spend(1 + self.as_dict().size()));
  return make_iterator(runtime.heap(), entries_of(runtime, self));
}

Result<Value> filter_dictsort(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("dictsort", args, {"case_sensitive", "by", "reverse"}));
  SLUICE_TRY(require_defined(self));
  if (!self.is_dict()) return runtime_error("'" + std::string(type_name(self)) + "' object has no attribute 'items'");
  std::size_t part = 0;
  if (!bound[1].is_missing()) {
    const std::string by = bound[1].is_string() ? bound[1].as_string() : "";
    if (by != "key" && by != "value") return runtime_error("You can only sort by either \"key\" or \"value\"");
    part = by == "key" ? 0 : 1;
  }
  SLUICE_TRY(runtime.spend(1 + self.as_dict().size()));
  std::vector<Value> entries = entries_of(runtime, self);
  std::vector<Value> keys;
  for (const Value& entry : entries) {
    Value key = entry.items()[part];
    if (!truthy(bound[0])) {
      SLUICE_ASSIGN(key, fold_case(runtime, key));
    }
    keys.push_back(std::move(key));
  }
  SLUICE_TRY(sort_values(runtime, entries, keys, truthy(bound[2])));
  return runtime.list(std::move(entries));
}

constexpr NativeEntry kFilters[] = {
    {"length", filter_length},
    {"count", filter_length},
    {"list", filter_list},
    {"first", filter_first},
    {"last", filter_last},
    {"join", filter_join},
    {"reverse", filter_reverse},
    {"sort", filter_sort},
    {"unique", filter_unique},
    {"min", filter_extreme<CompareOp::kLess>},
    {"max", filter_extreme<CompareOp::kGreater>},
    {"sum", filter_sum},
    {"batch", filter_batch},
    {"slice", filter_slice},
    {"groupby", filter_groupby},
    {"items", filter_items},
    {"dictsort", filter_dictsort},
};

}  // namespace

std::span<const NativeEntry> sequence_filters() { return kFilters; }

}  // namespace sluice::jinja
