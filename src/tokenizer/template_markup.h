// Markup: strings that the filters `safe` and `escape` have marked as HTML. Auto-escaping is off in chat templates, but
// a marked string still escapes what is joined to it with + or %, and published templates show the effect in their
// output. The rules are those of the package MarkupSafe.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "tokenizer/template_runtime.h"

namespace sluice::jinja {

bool is_markup(const Value& value);
Value make_markup(Heap& heap, std::string text);

// & < > ' " as entities.
std::string escape_html(std::string_view text);
// str(value), escaped unless it is marked.
Result<std::string> escaped_str(Runtime& runtime, const Value& value);
// The arguments of %: tuples and dicts item by item; numbers stay numbers.
Result<Value> escape_arguments(Runtime& runtime, const Value& arguments);

// Calls a method of `self`. On a marked string the result is marked too, and what is put into it is escaped.
Result<Value> call_method(Runtime& runtime, const NativeEntry& method, const Value& self, const Args& args);

}  // namespace sluice::jinja
