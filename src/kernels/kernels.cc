#include "kernels/kernels.h"

#include "kernels/tables.h"

namespace sluice {

const KernelTable& kernels_for(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return table_scalar();
    case Isa::kAvx2:
    case Isa::kAvx512:
    case Isa::kAvx512Vnni:
    case Isa::kAvx512Bf16:
      return table_avx2();
  }
  return table_scalar();
}

}  // namespace sluice
