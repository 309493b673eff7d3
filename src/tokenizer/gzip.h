// Reading gzip-compressed files of bounded size.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice {

// Inflates a whole gzip file (of one or more members). `label` names it in errors. Errors: kCorrupt (not gzip, damaged
// or cut off), kResource (more than max_bytes come out).
Result<std::string> gunzip(std::string_view compressed, std::size_t max_bytes, const std::string& label);

}  // namespace sluice
