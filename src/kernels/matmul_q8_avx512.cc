#include "kernels/matmul_q8_avx512_impl.h"
#include "kernels/tables_avx512.h"

namespace sluice {
namespace {

// Without VNNI: pairs in int16 (q8.h: they fit), then fours in int32.
struct Int8DotBw {
  SLUICE_INLINE static __m512i dot(__m512i a, __m512i b) {
    return _mm512_madd_epi16(_mm512_maddubs_epi16(a, b), _mm512_set1_epi16(1));
  }
};

}  // namespace
}  // namespace sluice

namespace SLUICE_AVX512_NAMESPACE {

MatmulFn matmul_q8_avx512() { return MatmulQ8<DotAvx512<Int8DotBw>>::matmul; }

}  // namespace SLUICE_AVX512_NAMESPACE
