#include "kernels/matmul_float_impl.h"
#include "kernels/tables_avx512.h"
#include "kernels/vec_avx512.h"

namespace SLUICE_AVX512_NAMESPACE {

MatmulFn matmul_float_avx512() { return MatmulFloat<Vec16>::matmul; }

}  // namespace SLUICE_AVX512_NAMESPACE
