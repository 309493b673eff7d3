// The AVX-512 pieces of the tables. Internal to src/kernels.
//
// Compiled with SLUICE_EMULATE_AVX512 the same sources make a second set of these functions, in sluice::emulated, out
// of SIMDe's emulation: tests run them on processors without AVX-512.
#pragma once

#include "kernels/tables.h"

#ifdef SLUICE_EMULATE_AVX512
#define SLUICE_AVX512_NAMESPACE sluice::emulated
#else
#define SLUICE_AVX512_NAMESPACE sluice
#endif

namespace SLUICE_AVX512_NAMESPACE {

MatmulFn matmul_float_avx512();
MatmulFn matmul_q8_avx512();      // AVX-512 F, BW, DQ, VL
MatmulFn matmul_q8_avx512vnni();  // and VNNI
void fill_elementwise_avx512(KernelTable& table);
const KernelTable& table_avx512();
const KernelTable& table_avx512vnni();

}  // namespace SLUICE_AVX512_NAMESPACE
