#include "kernels/tables.h"

namespace sluice {
namespace {

ActFormat act_format(DType /*weight*/) { return ActFormat::kF32; }

std::size_t packed_row_bytes(ActFormat /*format*/, std::int64_t cols) { return packed_f32_bytes(cols); }

void pack_row(ActFormat /*format*/, const float* x, std::int64_t cols, void* out) { pack_f32(x, cols, out); }

KernelTable make_table() {
  KernelTable table{};
  table.isa = Isa::kScalar;
  table.act_format = act_format;
  table.packed_row_bytes = packed_row_bytes;
  table.pack_row = pack_row;
  table.matmul = matmul_scalar;
  fill_elementwise_scalar(table);
  return table;
}

}  // namespace

const KernelTable& table_scalar() {
  static const KernelTable table = make_table();
  return table;
}

}  // namespace sluice
