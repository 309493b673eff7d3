// Filters that apply another filter or a test to each item: map, select and their kin; and attr.
#include "tokenizer/template_attribute.h"
#include "tokenizer/template_builtins.h"
#include "tokenizer/template_ops.h"

namespace sluice::jinja {

namespace {

// The arguments behind the first.
Args rest_of(const Args& args) {
  Args rest;
  if (!args.positional.empty()) rest.positional.assign(args.positional.begin() + 1, args.positional.end());
  rest.named = args.named;
  return rest;
}

// What an iterator gives that has computed `items` when `status` came. Python computes lazily: an error is met only by
// a reader. Bounds are not a matter of laziness.
Result<Value> finish(Runtime& runtime, std::vector<Value> items, const Status& status) {
  if (status.ok()) return make_iterator(runtime.heap(), std::move(items));
  if (status.error().code() == ErrorCode::kResource) return status.error();
  return make_failing_iterator(runtime.heap(), std::move(items), status.error());
}

Status map_items(Runtime& runtime, const Value& self, const Args& args, std::vector<Value>& result) {
  AttributeGetter getter;
  const NativeEntry* filter = nullptr;
  Args rest;
  if (args.positional.empty()) {
    SLUICE_ASSIGN(const auto bound, bind("map", args, {"attribute", "default"}));
    if (bound[0].is_missing()) return runtime_error("map requires a filter argument");
    SLUICE_TRY(getter.parse(runtime, bound[0]));
    getter.set_default(bound[1]);
  } else {
    SLUICE_ASSIGN(filter, require_native(find_filter, "filter", args.positional[0]));
    rest = rest_of(args);
  }
  SLUICE_ASSIGN(const std::vector<Value> items, iterate(runtime, self));
  result.reserve(items.size());
  const DepthGuard depth(runtime, 2);  // a map may map
  SLUICE_TRY(depth.status());
  for (const Value& item : items) {
    SLUICE_ASSIGN(Value mapped, filter == nullptr ? getter.get(runtime, item) : filter->function(runtime, item, rest));
    SLUICE_TRY(runtime.spend());
    result.push_back(std::move(mapped));
  }
  return {};
}

Result<Value> filter_map(Runtime& runtime, const Value& self, const Args& args) {
  std::vector<Value> result;
  const Status status = truthy(self) ? map_items(runtime, self, args, result) : Status();
  return finish(runtime, std::move(result), status);
}

// select, reject, selectattr, rejectattr: keeps the items for which the test (without one: truth) gives kKeep.
template <bool kKeep, bool kAttribute>
Status select_items(Runtime& runtime, const Value& self, const Args& args, std::vector<Value>& result) {
  AttributeGetter getter;
  Args rest = args;
  if (kAttribute) {
    if (args.positional.empty()) return runtime_error("Missing parameter for attribute name");
    SLUICE_TRY(getter.parse(runtime, args.positional[0]));
    rest = rest_of(args);
  }
  const NativeEntry* test = nullptr;
  if (!rest.positional.empty()) {
    SLUICE_ASSIGN(test, require_native(find_test, "test", rest.positional[0]));
    rest = rest_of(rest);
  }
  SLUICE_ASSIGN(const std::vector<Value> items, iterate(runtime, self));
  for (const Value& item : items) {
    SLUICE_ASSIGN(Value subject, getter.get(runtime, item));
    if (test != nullptr) {
      SLUICE_ASSIGN(subject, test->function(runtime, subject, rest));
    }
    if (truthy(subject) == kKeep) result.push_back(item);
  }
  return {};
}

template <bool kKeep, bool kAttribute>
Result<Value> filter_select(Runtime& runtime, const Value& self, const Args& args) {
  std::vector<Value> result;
  const Status status = truthy(self) ? select_items<kKeep, kAttribute>(runtime, self, args, result) : Status();
  return finish(runtime, std::move(result), status);
}

// Unlike '.', attr does not look into a mapping.
Result<Value> filter_attr(Runtime& runtime, const Value& self, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("attr", args, {"name"}, 1));
  SLUICE_TRY(require_defined(self));
  if (!bound[0].is_string()) return runtime_error("the name of an attribute must be a string");
  const std::string& name = bound[0].as_string();
  if (self.is_dict() && find_method(self, name) == nullptr) {
    return runtime.undefined("'dict object' has no attribute '" + name + "'");
  }
  return get_attribute(runtime, self, name);
}

constexpr NativeEntry kFilters[] = {
    {"map", filter_map},
    {"select", filter_select<true, false>},
    {"reject", filter_select<false, false>},
    {"selectattr", filter_select<true, true>},
    {"rejectattr", filter_select<false, true>},
    {"attr", filter_attr},
};

}  // namespace

std::span<const NativeEntry> selection_filters() { return kFilters; }

}  // namespace sluice::jinja
