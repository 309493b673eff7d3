// Text from files in messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice {

// `text` fit for one line of a message: control characters, line separators and bytes that are not UTF-8 appear as
// \xNN, and what exceeds `limit` bytes is cut ("..."). The result is valid UTF-8 without a line break.
std::string printable(std::string_view text, std::size_t limit = 96);

// Whether `text` is valid UTF-8 without control characters: what a name of a key, a tensor or a file must be, since it
// is shown, compared and written to JSON later.
bool is_clean_name(std::string_view text);

}  // namespace sluice
