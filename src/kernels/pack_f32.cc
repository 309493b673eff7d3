#include <cstring>

#include "kernels/tables.h"

namespace sluice {

std::size_t packed_f32_bytes(std::int64_t cols) {
  return (static_cast<std::size_t>(cols) * sizeof(float) + 63) / 64 * 64;
}

void pack_f32(const float* x, std::int64_t cols, void* out) {
  const std::size_t bytes = static_cast<std::size_t>(cols) * sizeof(float);
  if (bytes == 0) return;
  std::memcpy(out, x, bytes);
  std::memset(static_cast<std::byte*>(out) + bytes, 0, packed_f32_bytes(cols) - bytes);
}

}  // namespace sluice
