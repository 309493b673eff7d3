// Unicode normalisation (UAX #15) with the data of Unicode 16. Debian's utf8proc knows Unicode 14, where the composites
// and combining classes of newer scripts are missing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::unicode {

enum class NormalForm : std::uint8_t { kNfc, kNfd, kNfkc, kNfkd };

// Bytes that are not UTF-8 are kept as they are. Linear time but for the sorting of runs of combining marks.
std::string normalize(std::string_view text, NormalForm form);

}  // namespace sluice::unicode
