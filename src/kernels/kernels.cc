#include "kernels/kernels.h"

#include "kernels/tables.h"
#include "kernels/tables_avx512.h"

namespace sluice {

const KernelTable& kernels_for(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return table_scalar();
    case Isa::kAvx2:
      return table_avx2();
    case Isa::kAvx512:
      return table_avx512();
    case Isa::kAvx512Vnni:
    case Isa::kAvx512Bf16:  // no kernels of its own yet
      return table_avx512vnni();
  }
  return table_scalar();
}

}  // namespace sluice
