// Token rows packed for the kernels: once per token, whatever the number of experts that read them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "kernels/kernels.h"
#include "moe/workspace.h"

namespace sluice::moe {

inline constexpr std::size_t kActFormatCount = 2;  // of sluice::ActFormat

// A set of packings (sluice::ActFormat): the mixed-type layers of some quantisations need both.
class ActFormatSet {
 public:
  void add(ActFormat format) { bits_ = static_cast<std::uint8_t>(bits_ | (1U << static_cast<unsigned>(format))); }
  bool has(ActFormat format) const { return ((bits_ >> static_cast<unsigned>(format)) & 1U) != 0; }
  bool empty() const { return bits_ == 0; }
  bool contains(ActFormatSet other) const { return (other.bits_ & ~bits_) == 0; }
  // Calls visit(format) for each.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (std::size_t i = 0; i < kActFormatCount; ++i) {
      if (has(static_cast<ActFormat>(i))) visit(static_cast<ActFormat>(i));
    }
  }

 private:
  std::uint8_t bits_ = 0;
};

// The same rows packed for the kernels, per format; null where not packed. Strides in bytes.
struct PackedRows {
  std::array<std::byte*, kActFormatCount> data{};
  std::array<std::size_t, kActFormatCount> stride{};

  std::byte* row(ActFormat format, std::int64_t i) const {
    const auto f = static_cast<std::size_t>(format);
    return data[f] + static_cast<std::size_t>(i) * stride[f];
  }
  bool has(ActFormat format) const { return data[static_cast<std::size_t>(format)] != nullptr; }
};

// Workspace for `rows` packed rows of hidden_size inputs in these formats, not filled.
Result<PackedRows> packed_buffers(const KernelTable& kernels, Workspace& workspace, std::int64_t rows,
                                  std::int64_t hidden_size, ActFormatSet formats);
// Packs one row into row `to` of each of the formats.
void pack_row(const KernelTable& kernels, const float* x, std::int64_t hidden_size, ActFormatSet formats,
              const PackedRows& packed, std::int64_t to);

}  // namespace sluice::moe
