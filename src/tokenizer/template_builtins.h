// The tables of filters, tests, methods and global functions.
#pragma once

#include <span>
#include <string_view>

#include "tokenizer/template_objects.h"
#include "tokenizer/template_runtime.h"

namespace sluice::jinja {

// nullptr if there is none of that name.
const NativeEntry* find_filter(std::string_view name);
// Tests give a bool.
const NativeEntry* find_test(std::string_view name);
// Methods of str, dict, list, tuple and float; nullptr if the type has none of that name.
const NativeEntry* find_method(const Value& self, std::string_view name);
// range, namespace, dict, cycler, joiner, raise_exception, strftime_now; kMissing for any other name.
Value make_global(Runtime& runtime, std::string_view name);

// Why a filter or global function of Jinja2 is left out; empty for all other names.
std::string_view refused_filter(std::string_view name);
std::string_view refused_global(std::string_view name);

// The same by a name that the template computed (map, select ...). `what` is "filter" or "test" in the error.
Result<const NativeEntry*> require_native(const NativeEntry* (*find)(std::string_view), std::string_view what,
                                          const Value& name);

// dict.update(source) for a mapping or a sequence of pairs.
Status merge_into(Runtime& runtime, DictObject& dict, const Value& source);

// ---- The parts of the tables, one per file.

std::span<const NativeEntry> text_filters();
std::span<const NativeEntry> number_filters();
std::span<const NativeEntry> sequence_filters();
std::span<const NativeEntry> selection_filters();
std::span<const NativeEntry> native_tests();
std::span<const NativeEntry> string_methods();
std::span<const NativeEntry> string_class_methods();
std::span<const NativeEntry> list_methods();
std::span<const NativeEntry> tuple_methods();
std::span<const NativeEntry> dict_methods();
std::span<const NativeEntry> global_functions();

}  // namespace sluice::jinja
