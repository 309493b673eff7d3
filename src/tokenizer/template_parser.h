// Source of a template to its tree.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/template_ast.h"

namespace sluice::jinja {

// Errors: kCorrupt with the line and what was expected, kUnsupported for parts of Jinja2 that are left out, kResource
// for a source that is too long or nested too deeply.
Result<std::unique_ptr<const Program>> parse_template(std::string_view source, const TemplateLimits& limits);

}  // namespace sluice::jinja
