#include "kernels/elementwise_impl.h"
#include "kernels/tables_avx512.h"
#include "kernels/vec_avx512.h"

namespace SLUICE_AVX512_NAMESPACE {

void fill_elementwise_avx512(KernelTable& table) { Elementwise<Vec16>::fill(table); }

}  // namespace SLUICE_AVX512_NAMESPACE
