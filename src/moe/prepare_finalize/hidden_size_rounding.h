// Hidden-size rounding: which width a backend wants its rows to have. Pure functions of backend, size and element size.
//
//   deepep_high_throughput, deepep_v2   row bytes rounded up to a multiple of 512 (32 lanes of 16 bytes)
//   deepep_low_latency, nixl_ep         the next entry of kLowLatencyHiddenSizes; more than the last is an error
//   all other backends of vLLM          unchanged
//   Sluice's own: no_ep, allgather_reducescatter, high_throughput, low_latency, elastic
//                                       unchanged: they take any width; slots of theirs that must start at a cache line
//                                       round their stride inside, where no kernel sees it
// Rows are padded with zeros once before dispatch and trimmed once after combine; nobody reads the padding.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"

namespace sluice::moe {

inline constexpr std::int64_t kHighThroughputRowBytes = 512;
// Sizes that the low-latency kernels of DeepEP and NIXL EP are compiled for.
inline constexpr std::array<std::int64_t, 8> kLowLatencyHiddenSizes = {2048, 2560, 3072, 4096, 5120, 6144, 7168, 8192};

// Width of a row on the wire, at least hidden_size. element_bytes: of the activations (1, 2, 4, ...).
// Errors: kInvalidArgument for an unknown backend, a size or element size below 1, an element size that does not divide
// 512 where that rule applies; kUnsupported for a size above the list's maximum, which is named.
Result<std::int64_t> round_hidden_size(std::string_view backend, std::int64_t hidden_size, std::int64_t element_bytes);

// from [rows, hidden_size] -> to [rows, padded_size], the rest of each row zero.
void pad_rows(const float* from, std::int64_t rows, std::int64_t hidden_size, std::int64_t padded_size, float* to);
// from [rows, padded_size] -> to [rows, hidden_size].
void trim_rows(const float* from, std::int64_t rows, std::int64_t padded_size, std::int64_t hidden_size, float* to);

}  // namespace sluice::moe
