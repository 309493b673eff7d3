// The pieces that the tables are made of. Internal to src/kernels.
//
// Code for an instruction set lives in files named after it (*_avx2.cc, ...), which are compiled with its flags. Each
// exports one getter; the rest is in anonymous namespaces and uses no inline function of a header that is not forced
// inline, because the linker keeps one copy of such a function for the whole program and might keep the AVX one
// (tools/check_isa_symbols.py).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

namespace sluice {

using MatmulFn = decltype(KernelTable::matmul);
using PackFn = void (*)(const float* x, std::int64_t cols, void* out);

// --- every instruction set ---

// Packing for ActFormat::kF32: the floats, the tail up to 64 bytes zero.
std::size_t packed_f32_bytes(std::int64_t cols);
void pack_f32(const float* x, std::int64_t cols, void* out);

// --- scalar ---

void matmul_scalar(const WeightView& weight, const void* x, std::size_t x_stride, std::int64_t rows,
                   std::int64_t n_begin, std::int64_t n_end, float* y, std::int64_t y_stride);
void fill_elementwise_scalar(KernelTable& table);
const KernelTable& table_scalar();

// --- AVX2 ---

MatmulFn matmul_float_avx2();
MatmulFn matmul_q8_avx2();
PackFn pack_q8_avx2();
void fill_elementwise_avx2(KernelTable& table);
const KernelTable& table_avx2();

}  // namespace sluice
