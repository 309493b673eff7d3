#include "kernels/tables_avx512.h"

namespace SLUICE_AVX512_NAMESPACE {
namespace {

void matmul(const WeightView& weight, const void* x, std::size_t x_stride, std::int64_t rows, std::int64_t n_begin,
            std::int64_t n_end, float* y, std::int64_t y_stride) {
  static const MatmulFn matmul_float = matmul_float_avx512();
  static const MatmulFn matmul_q8 = matmul_q8_avx512vnni();
  const bool q8 = table_avx2().act_format(weight.dtype) == ActFormat::kQ8;
  (q8 ? matmul_q8 : matmul_float)(weight, x, x_stride, rows, n_begin, n_end, y, y_stride);
}

KernelTable make_table() {
  KernelTable table = table_avx512();
  table.isa = Isa::kAvx512Vnni;
  table.matmul = matmul;
  return table;
}

}  // namespace

const KernelTable& table_avx512vnni() {
  static const KernelTable table = make_table();
  return table;
}

}  // namespace SLUICE_AVX512_NAMESPACE
