// Expert ids. Local and global ids are different types so that a map between them cannot be forgotten.
#pragma once

#include <cstdint>

namespace sluice::moe {

// Id of an expert in the model: 0 .. num_experts - 1, shared experts fused into the routing follow at num_experts ...
enum class GlobalExpert : std::int32_t {};
// Slot of an expert among those that this rank holds.
enum class LocalExpert : std::int32_t {};

constexpr std::int32_t index(GlobalExpert id) { return static_cast<std::int32_t>(id); }
constexpr std::int32_t index(LocalExpert id) { return static_cast<std::int32_t>(id); }
// "No expert": a top-k slot that is not used (padding rows, masked ranks).
inline constexpr GlobalExpert kNoGlobalExpert{-1};
inline constexpr LocalExpert kNoLocalExpert{-1};

}  // namespace sluice::moe
