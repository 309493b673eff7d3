// Compute kernels behind one table per instruction set. The scalar table is always built and is the oracle:
// fp32 activations, every sum in fp64. All others are held to it by tests.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/isa.h"
#include "quant/weight_view.h"

namespace sluice {

// How activations are laid out for a product. Chosen by (instruction set, weight type); one packing serves all
// weights of the same ActFormat, so a token is quantised once, not once per expert.
enum class ActFormat : std::uint8_t {
  kF32 = 0,  // plain floats
  kQ8 = 1,   // int8 with one fp32 scale and one int16/int32 sum per 32 inputs; layout private to the table
};

// A table of kernels for one instruction set. Stateless and thread-safe. Shapes: x [rows, cols], y [rows, W.rows].
struct KernelTable {
  Isa isa;

  // The packing that matmul() wants for this weight type.
  ActFormat (*act_format)(DType weight);
  // Bytes of one packed row of `cols` inputs (a multiple of 64).
  std::size_t (*packed_row_bytes)(ActFormat format, std::int64_t cols);
  // Packs one row of cols floats. cols need not be a multiple of anything; the tail is zero-filled.
  void (*pack_row)(ActFormat format, const float* x, std::int64_t cols, void* out);

  // y[r * y_stride + n] = sum_k W[n, k] x[r, k] for n in [n_begin, n_end), r in [0, rows). `x` holds rows packed as
  // act_format(W.dtype), x_stride bytes apart. Row r's result does not depend on the other rows nor on the split of n.
  void (*matmul)(const WeightView& weight, const void* x, std::size_t x_stride, std::int64_t rows, std::int64_t n_begin,
                 std::int64_t n_end, float* y, std::int64_t y_stride);

  // out[i] = weight[i] * x[i] / sqrt(mean(x^2) + eps); weight may be null (all ones). out may alias x.
  void (*rms_norm)(const float* x, const float* weight, std::int64_t n, float eps, float* out);
  float (*dot)(const float* a, const float* b, std::int64_t n);
  // y[i] += a * x[i]
  void (*axpy)(float a, const float* x, std::int64_t n, float* y);
  // y[i] += x[i]
  void (*add)(const float* x, std::int64_t n, float* y);
  // In place softmax over n logits, numerically safe; `sink` (may be null) is one more logit, dropped afterwards.
  void (*softmax)(float* x, std::int64_t n, const float* sink);
  // out[i] = silu(gate[i]) * up[i]. out may alias gate.
  void (*silu_mul)(const float* gate, const float* up, std::int64_t n, float* out);
  // gpt-oss: g = min(gate, limit), u = clamp(up, -limit, limit); out = g * sigmoid(alpha * g) * (u + 1).
  void (*swiglu_oai)(const float* gate, const float* up, std::int64_t n, float alpha, float limit, float* out);
  // One query against cached rows: scores[j] = scale * dot(q, k + j * stride), j in [0, n).
  void (*attend_scores)(const float* q, const float* k, std::int64_t stride, std::int64_t n, std::int64_t dim,
                        float scale, float* scores);
  // out[d] = sum_j p[j] * v[j * stride + d], d in [0, dim).
  void (*attend_values)(const float* p, const float* v, std::int64_t stride, std::int64_t n, std::int64_t dim,
                        float* out);
};

// The table for a level; levels without kernels of their own share the next lower one's functions.
// REQUIRES: isa_available(isa), except in tests that compile a table against an emulation.
const KernelTable& kernels_for(Isa isa);

}  // namespace sluice
