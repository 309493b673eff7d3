#include "moe/packed_rows.h"

namespace sluice::moe {

Result<PackedRows> packed_buffers(const KernelTable& kernels, Workspace& workspace, std::int64_t rows,
                                  std::int64_t hidden_size, ActFormatSet formats) {
  PackedRows packed;
  for (std::size_t f = 0; f < kActFormatCount; ++f) {
    const auto format = static_cast<ActFormat>(f);
    if (!formats.has(format)) continue;
    packed.stride[f] = kernels.packed_row_bytes(format, hidden_size);
    const auto slot = format == ActFormat::kF32 ? Workspace::Slot::kPackedF32 : Workspace::Slot::kPackedQ8;
    SLUICE_ASSIGN(packed.data[f], workspace.get(slot, static_cast<std::size_t>(rows) * packed.stride[f]));
  }
  return packed;
}

void pack_row(const KernelTable& kernels, const float* x, std::int64_t hidden_size, ActFormatSet formats,
              const PackedRows& packed, std::int64_t to) {
  formats.for_each([&](ActFormat format) { kernels.pack_row(format, x, hidden_size, packed.row(format, to)); });
}

}  // namespace sluice::moe
