#include "kernels/q8.h"
#include "kernels/tables.h"

namespace sluice {
namespace {

ActFormat act_format(DType weight) { return find_q8_unpacker(weight) == nullptr ? ActFormat::kF32 : ActFormat::kQ8; }

std::size_t packed_row_bytes(ActFormat format, std::int64_t cols) {
  return format == ActFormat::kQ8 ? packed_q8_bytes(cols) : packed_f32_bytes(cols);
}

void pack_row(ActFormat format, const float* x, std::int64_t cols, void* out) {
  static const PackFn pack_q8 = pack_q8_avx2();
  format == ActFormat::kQ8 ? pack_q8(x, cols, out) : pack_f32(x, cols, out);
}

void matmul(const WeightView& weight, const void* x, std::size_t x_stride, std::int64_t rows, std::int64_t n_begin,
            std::int64_t n_end, float* y, std::int64_t y_stride) {
  static const MatmulFn matmul_float = matmul_float_avx2();
  static const MatmulFn matmul_q8 = matmul_q8_avx2();
  const bool q8 = act_format(weight.dtype) == ActFormat::kQ8;
  (q8 ? matmul_q8 : matmul_float)(weight, x, x_stride, rows, n_begin, n_end, y, y_stride);
}

KernelTable make_table() {
  KernelTable table{};
  table.isa = Isa::kAvx2;
  table.act_format = act_format;
  table.packed_row_bytes = packed_row_bytes;
  table.pack_row = pack_row;
  table.matmul = matmul;
  fill_elementwise_avx2(table);
  return table;
}

}  // namespace

const KernelTable& table_avx2() {
  static const KernelTable table = make_table();
  return table;
}

}  // namespace sluice
