// Decoding of a piece of a weight row, for kernels that work on floats.
#pragma once

#include <cstdint>

#include "quant/weight_view.h"

namespace sluice {

// Decodes W[n, first .. first + count) with all scales applied: the values of decode_row(), bit for bit. `first` is a
// multiple of 256 (whole blocks of every format, whole squares of FP8 scales); `count` as well,
// unless the piece ends the row.
void decode_span(const WeightView& weight, std::int64_t n, std::int64_t first, std::int64_t count, float* out);

}  // namespace sluice
