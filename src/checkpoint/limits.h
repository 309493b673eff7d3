// Bounds of what a file may make the reader allocate. Real files stay far below; hostile ones are refused by name.
#pragma once

#include <cstddef>
#include <cstdint>

#include "checkpoint/checkpoint.h"

namespace sluice {

// No allocation that a file causes is larger than this.
inline constexpr std::size_t kMaxAllocation = std::size_t{64} << 20U;

// Tensors of one checkpoint, all files together. The largest known (per-expert names with scales) has about 210 000.
inline constexpr std::size_t kMaxTensors = std::size_t{1} << 19U;
static_assert(kMaxTensors * sizeof(TensorInfo) <= kMaxAllocation);

// Array elements in the metadata of one GGUF file, all arrays together: an element takes at most a string_view. The
// largest known vocabularies have 262 144 tokens (three arrays) and 500 000 merges.
inline constexpr std::size_t kMaxArrayElements = std::size_t{1} << 22U;
static_assert(kMaxArrayElements * sizeof(std::string_view) <= kMaxAllocation);

// Header of a safetensors file, and its index. JSON tokens are copied into buffers that double in size. (The format
// itself allows 100 MB; 60 000 tensors take 8 MB.)
inline constexpr std::size_t kMaxHeaderBytes = std::size_t{48} << 20U;

// config.json and the like: a value takes up to 16 bytes of memory in a row for 2 bytes of text.
inline constexpr std::size_t kMaxJsonBytes = std::size_t{4} << 20U;
// Nesting of any JSON: copying and printing nlohmann's values recurses.
inline constexpr int kMaxJsonDepth = 64;

// Dimensions of a safetensors tensor.
inline constexpr std::size_t kMaxRank = 8;

}  // namespace sluice
