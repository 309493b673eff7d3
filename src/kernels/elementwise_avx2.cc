#include "kernels/elementwise_impl.h"
#include "kernels/vec_avx2.h"

namespace sluice {

void fill_elementwise_avx2(KernelTable& table) { Elementwise<Vec8>::fill(table); }

}  // namespace sluice
