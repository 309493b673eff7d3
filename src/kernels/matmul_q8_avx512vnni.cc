#include "kernels/matmul_q8_avx512_impl.h"
#include "kernels/tables_avx512.h"

namespace sluice {
namespace {

struct Int8DotVnni {
  SLUICE_INLINE static __m512i dot(__m512i a, __m512i b) { return _mm512_dpbusd_epi32(_mm512_setzero_si512(), a, b); }
};

}  // namespace
}  // namespace sluice

namespace SLUICE_AVX512_NAMESPACE {

MatmulFn matmul_q8_avx512vnni() { return MatmulQ8<DotAvx512<Int8DotVnni>>::matmul; }

}  // namespace SLUICE_AVX512_NAMESPACE
