#include "moe/prepare_finalize/hidden_size_rounding.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "moe/prepare_finalize/backends.h"

namespace sluice::moe {
namespace {

Result<std::int64_t> round_row_bytes(std::string_view backend, std::int64_t hidden_size, std::int64_t element_bytes) {
  if (kHighThroughputRowBytes % element_bytes != 0) {
    return Error(ErrorCode::kInvalidArgument, fmt::format("{}: elements of {} bytes do not fill rows of {}-byte units",
                                                          backend, element_bytes, kHighThroughputRowBytes));
  }
  const std::int64_t unit = kHighThroughputRowBytes / element_bytes;
  return (hidden_size + unit - 1) / unit * unit;
}

Result<std::int64_t> round_to_list(std::string_view backend, std::int64_t hidden_size) {
  const auto* size = std::ranges::lower_bound(kLowLatencyHiddenSizes, hidden_size);
  if (size == kLowLatencyHiddenSizes.end()) {
    return Error(ErrorCode::kUnsupported,
                 fmt::format("{}: hidden_size {} is above the maximum of {}; use another backend", backend, hidden_size,
                             kLowLatencyHiddenSizes.back()));
  }
  return *size;
}

}  // namespace

Result<std::int64_t> round_hidden_size(std::string_view backend, std::int64_t hidden_size, std::int64_t element_bytes) {
  SLUICE_ASSIGN(const BackendName* name, find_backend(backend));
  if (hidden_size < 1 || hidden_size > std::numeric_limits<std::int32_t>::max() || element_bytes < 1) {
    return Error(ErrorCode::kInvalidArgument, fmt::format("{}: hidden_size {} with elements of {} bytes is impossible",
                                                          backend, hidden_size, element_bytes));
  }
  switch (name->rounding) {
    case HiddenRounding::kNone:
      return hidden_size;
    case HiddenRounding::kRowBytes:
      return round_row_bytes(backend, hidden_size, element_bytes);
    case HiddenRounding::kList:
      return round_to_list(backend, hidden_size);
  }
  return hidden_size;
}

void pad_rows(const float* from, std::int64_t rows, std::int64_t hidden_size, std::int64_t padded_size, float* to) {
  for (std::int64_t r = 0; r < rows; ++r) {
    float* row = to + r * padded_size;
    std::memcpy(row, from + r * hidden_size, static_cast<std::size_t>(hidden_size) * sizeof(float));
    std::fill(row + hidden_size, row + padded_size, 0.0F);
  }
}

void trim_rows(const float* from, std::int64_t rows, std::int64_t padded_size, std::int64_t hidden_size, float* to) {
  for (std::int64_t r = 0; r < rows; ++r) {
    std::memcpy(to + r * hidden_size, from + r * padded_size, static_cast<std::size_t>(hidden_size) * sizeof(float));
  }
}

}  // namespace sluice::moe
