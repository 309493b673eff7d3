#include "kernels/matmul_float_impl.h"
#include "kernels/vec_avx2.h"

namespace sluice {

MatmulFn matmul_float_avx2() { return MatmulFloat<Vec8>::matmul; }

}  // namespace sluice
