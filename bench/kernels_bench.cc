// Speed of the products by instruction set, format and number of rows, on all cores; and of what runs between them.
//
//   sluice_bench_kernels --benchmark_filter='matmul/avx2/Q4_K/.*'
//
// "GOPS" counts a multiply-add as two operations. The matrix is 2048 x 2048: it stays in the cache, so this is the
// arithmetic's limit and not the memory's ("stream" below walks 1 GiB of weights and reports bytes read).
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "cpu/thread_pool.h"
#include "kernels/kernels.h"
#include "kernels/random_matrix.h"

namespace sluice {
namespace {

ThreadPool& pool() {
  static ThreadPool pool;
  return pool;
}

std::vector<float> gaussian(std::int64_t count) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

struct FreeAligned {
  void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{64}); }
};
using AlignedBytes = std::unique_ptr<std::byte[], FreeAligned>;

AlignedBytes pack(const KernelTable& table, DType dtype, std::int64_t rows, std::int64_t cols) {
  const ActFormat format = table.act_format(dtype);
  const std::size_t stride = table.packed_row_bytes(format, cols);
  AlignedBytes bytes(new (std::align_val_t{64}) std::byte[stride * static_cast<std::size_t>(rows)]);
  const std::vector<float> x = gaussian(rows * cols);
  for (std::int64_t r = 0; r < rows; ++r) {
    table.pack_row(format, x.data() + r * cols, cols, bytes.get() + static_cast<std::size_t>(r) * stride);
  }
  return bytes;
}

void BM_matmul(benchmark::State& state, Isa isa, DType dtype, std::int64_t rows) {
  constexpr std::int64_t kSize = 2048;
  const KernelTable& table = kernels_for(isa);
  const RandomMatrix matrix(dtype, kSize, kSize, 1);
  const AlignedBytes x = pack(table, dtype, rows, kSize);
  const std::size_t stride = table.packed_row_bytes(table.act_format(dtype), kSize);
  std::vector<float> y(static_cast<std::size_t>(rows * kSize));
  for (auto _ : state) {
    pool().parallel_for("matmul", kSize, 64, [&](std::int64_t begin, std::int64_t end, int) {
      table.matmul(matrix.view, x.get(), stride, rows, begin, end, y.data(), kSize);
    });
  }
  state.counters["GOPS"] = benchmark::Counter(2e-9 * static_cast<double>(kSize * kSize * rows),
                                              benchmark::Counter::kIsIterationInvariantRate);
}

// One row against many matrices in turn: reads weights from memory.
void BM_stream(benchmark::State& state, Isa isa, DType dtype) {
  constexpr std::int64_t kCols = 2048, kBlockRows = 1024;
  const KernelTable& table = kernels_for(isa);
  const RandomMatrix pattern(dtype, kBlockRows, kCols, 1);
  const std::size_t block_bytes = kBlockRows * pattern.view.row_bytes;
  const std::size_t blocks = (std::size_t{1} << 30) / block_bytes;
  AlignedBytes weights(new (std::align_val_t{64}) std::byte[blocks * block_bytes]);
  for (std::size_t b = 0; b < blocks; ++b) {
    std::copy_n(pattern.view.data, block_bytes, weights.get() + b * block_bytes);
  }
  WeightView view = pattern.view;
  view.data = weights.get();
  view.rows = static_cast<std::int64_t>(blocks) * kBlockRows;
  const AlignedBytes x = pack(table, dtype, 1, kCols);
  std::vector<float> y(static_cast<std::size_t>(view.rows));
  for (auto _ : state) {
    pool().parallel_for("stream", view.rows, 256, [&](std::int64_t begin, std::int64_t end, int) {
      table.matmul(view, x.get(), 0, 1, begin, end, y.data(), view.rows);
    });
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * blocks * block_bytes));
}

void BM_pack(benchmark::State& state, Isa isa) {
  constexpr std::int64_t kCols = 2048;
  const KernelTable& table = kernels_for(isa);
  const ActFormat format = table.act_format(DType::kQ4_K);
  const std::vector<float> x = gaussian(kCols);
  std::vector<std::byte> out(table.packed_row_bytes(format, kCols));
  for (auto _ : state) table.pack_row(format, x.data(), kCols, out.data());
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * kCols);
}

void BM_softmax(benchmark::State& state, Isa isa) {
  const KernelTable& table = kernels_for(isa);
  std::vector<float> x = gaussian(4096);
  for (auto _ : state) table.softmax(x.data(), 4096, nullptr);
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * 4096);
}

// One head over 256 cached rows of 128 values: scores and values.
void BM_attend(benchmark::State& state, Isa isa) {
  constexpr std::int64_t kRows = 256, kDim = 128;
  const KernelTable& table = kernels_for(isa);
  const std::vector<float> rows = gaussian(kRows * kDim);
  std::vector<float> scores(kRows), out(kDim);
  for (auto _ : state) {
    table.attend_scores(rows.data(), rows.data(), kDim, kRows, kDim, 0.1F, scores.data());
    table.attend_values(scores.data(), rows.data(), kDim, kRows, kDim, out.data());
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * 4 * kRows * kDim);
}

void register_all() {
  for (int level = 0; level < kIsaCount; ++level) {
    const auto isa = static_cast<Isa>(level);
    if (!isa_available(isa)) continue;
    const std::string name(isa_name(isa));
    for (const DType dtype : weight_types()) {
      const std::string type(dtype_name(dtype));
      for (const std::int64_t rows : {1, 4, 32, 128}) {
        if (isa == Isa::kScalar && rows > 4) continue;
        benchmark::RegisterBenchmark(("matmul/" + name + "/" + type + "/" + std::to_string(rows)).c_str(), BM_matmul,
                                     isa, dtype, rows)
            ->UseRealTime();
      }
      if (isa != Isa::kScalar) {
        benchmark::RegisterBenchmark(("stream/" + name + "/" + type).c_str(), BM_stream, isa, dtype)->UseRealTime();
      }
    }
    benchmark::RegisterBenchmark(("pack/" + name).c_str(), BM_pack, isa);
    benchmark::RegisterBenchmark(("softmax/" + name).c_str(), BM_softmax, isa);
    benchmark::RegisterBenchmark(("attend/" + name).c_str(), BM_attend, isa);
  }
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  sluice::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
