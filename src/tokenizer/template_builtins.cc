#include "tokenizer/template_builtins.h"

#include <initializer_list>

#include "tokenizer/template_ops.h"
#include "tokenizer/template_text.h"

namespace sluice::jinja {

namespace {

const NativeEntry* find_in(std::initializer_list<std::span<const NativeEntry>> tables, std::string_view name) {
  for (const std::span<const NativeEntry> table : tables) {
    for (const NativeEntry& entry : table) {
      if (entry.name == name) return &entry;
    }
  }
  return nullptr;
}

}  // namespace

const NativeEntry* find_filter(std::string_view name) {
  return find_in({text_filters(), number_filters(), sequence_filters(), selection_filters()}, name);
}

const NativeEntry* find_test(std::string_view name) { return find_in({native_tests()}, name); }

const NativeEntry* find_method(const Value& self, std::string_view name) {
  switch (self.kind()) {
    case Kind::kString:
      return find_in({string_methods(), string_class_methods()}, name);
    case Kind::kList:
      return find_in({list_methods()}, name);
    case Kind::kTuple:
      return find_in({tuple_methods()}, name);
    case Kind::kDict:
      return find_in({dict_methods()}, name);
    default:
      return nullptr;
  }
}

Value make_global(Runtime& runtime, std::string_view name) {
  const NativeEntry* entry = find_in({global_functions()}, name);
  if (entry == nullptr) return {};
  return Value::object(Kind::kHost, runtime.heap().make<NativeObject>(*entry, Value()).get());
}

std::string_view refused_filter(std::string_view name) {
  if (name == "random") return "its result would differ from run to run";
  if (name == "pprint" || name == "urlize" || name == "wordwrap" || name == "xmlattr" || name == "striptags") {
    return "it lays out web pages, which chat templates do not";
  }
  return {};
}

std::string_view refused_global(std::string_view name) {
  if (name == "lipsum") return "its result would differ from run to run";
  return {};
}

Result<const NativeEntry*> require_native(const NativeEntry* (*find)(std::string_view), std::string_view what,
                                          const Value& name) {
  if (!name.is_string()) return runtime_error("the name of a " + std::string(what) + " must be a string");
  if (const NativeEntry* entry = find(name.as_string())) return entry;
  return runtime_error("no " + std::string(what) + " named " + quote(name.as_string()));
}

}  // namespace sluice::jinja
