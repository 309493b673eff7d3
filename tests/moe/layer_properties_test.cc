// What must hold for every layer, whatever its weights: properties, most of them to the last bit.
#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "moe/support/copy_backend.h"
#include "moe/support/random_layer.h"
#include "moe/support/reference.h"

namespace sluice::moe {
namespace {

class LayerProperties : public testing::TestWithParam<Isa> {
 protected:
  Isa isa() const { return GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(All, LayerProperties, testing::ValuesIn(available_isas()),
                         [](const auto& test) { return std::string(isa_name(test.param)); });

std::vector<float> dense_output(const ExpertMatrices& weights, std::int64_t hidden, std::int64_t intermediate, Isa isa,
                                std::span<const float> x) {
  ThreadPool pool(2);
  auto ffn = DenseFfn::create(hidden, intermediate, Activation::kSilu, weights, isa, pool);
  std::vector<float> out(x.size());
  if (!ffn.ok()) {
    ADD_FAILURE() << ffn.error().message();
    return out;
  }
  const Status status = (*ffn)->forward(x.data(), static_cast<std::int64_t>(x.size()) / hidden, out.data());
  EXPECT_TRUE(status.ok()) << status.error().message();
  return out;
}

// Layers that differ in what may depend on the batch or on a tile's place: types, odd sizes, shared experts.
std::vector<RandomLayer> varied_layers() {
  std::vector<RandomLayer> layers;
  layers.emplace_back(simple_spec(72, 56, 8, 3), 11);
  layers.emplace_back(simple_spec(37, 29, 8, 3), 12);
  layers.emplace_back(simple_spec(256, 256, 8, 3), 13, LayerTypes{DType::kQ4_K, DType::kQ4_K, DType::kQ6_K});
  layers.emplace_back(simple_spec(64, 96, 8, 3), 14, LayerTypes{DType::kQ8_0, DType::kBF16, DType::kMXFP4});
  MoeSpec shared = simple_spec(64, 32, 8, 3);
  shared.shared = {.count = 2, .intermediate_size = 64, .gated = true};
  layers.emplace_back(shared, 15);
  return layers;
}

TEST_P(LayerProperties, EqualExpertsGiveTheDenseFfnWhateverTheRouterSays) {
  for (const Score score : {Score::kSoftmax, Score::kSigmoid}) {
    MoeSpec spec = simple_spec(64, 48, 8, 3);
    spec.routing.score = score;
    RandomLayer layer(spec, 21);
    layer.use_experts(std::vector<ExpertMatrices>(8, layer.experts[5]));
    const std::vector<float> x = layer.rows(19, 1);
    const std::vector<float> want = dense_output(layer.experts[5], 64, 48, isa(), x);
    EXPECT_LT(relative_error(run_layer(layer, isa(), x).out, std::span<const float>(want)), 2e-6);
  }
}

TEST_P(LayerProperties, ColumnsOfADenseFfnWithWeightOneGiveTheDenseFfn) {
  constexpr std::int32_t kSlices = 4;
  MoeSpec spec = simple_spec(64, 16, kSlices, kSlices);
  spec.routing.scale = kSlices;  // equal logits: each weight is 1 / 4
  RandomLayer layer(spec, 22);
  const std::vector<float> no_preference(kSlices * 64, 0.0F);
  layer.weights.router.data = reinterpret_cast<const std::byte*>(no_preference.data());
  layer.weights.router.row_bytes = 64 * sizeof(float);

  const RandomMatrix gate(DType::kF32, 16 * kSlices, 64, 1);
  const RandomMatrix up(DType::kF32, 16 * kSlices, 64, 2);
  const RandomMatrix down(DType::kF32, 64, 16 * kSlices, 3);
  std::vector<ExpertMatrices> slices;
  for (std::int64_t i = 0; i < kSlices; ++i) {
    ExpertMatrices slice{
        .gate = gate.view.slice_rows(16 * i, 16), .up = up.view.slice_rows(16 * i, 16), .down = down.view};
    slice.down.data += 16 * i * static_cast<std::int64_t>(sizeof(float));
    slice.down.cols = 16;
    slices.push_back(slice);
  }
  layer.use_experts(slices);
  const std::vector<float> x = layer.rows(9, 2);
  const LayerRun run = run_layer(layer, isa(), x);
  for (const float w : run.weights) EXPECT_EQ(w, 1.0F);
  const std::vector<float> want =
      dense_output({.gate = gate.view, .up = up.view, .down = down.view}, 64, 16 * kSlices, isa(), x);
  EXPECT_LT(relative_error(run.out, std::span<const float>(want)), 2e-6);
}

TEST_P(LayerProperties, NumberingOfExpertsDoesNotMatter) {
  RandomLayer layer(simple_spec(48, 32, 12, 4), 23);
  const std::vector<float> x = layer.rows(25, 3);
  const LayerRun before = run_layer(layer, isa(), x);

  std::vector<std::int32_t> order(12);  // new id -> old id
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(7));
  std::vector<ExpertMatrices> experts;
  std::vector<float> router(12 * 48);
  for (std::size_t e = 0; e < 12; ++e) {
    experts.push_back(layer.experts[static_cast<std::size_t>(order[e])]);
    decode_row(layer.weights.router, order[e], router.data() + e * 48);
  }
  layer.use_experts(experts);
  layer.weights.router.data = reinterpret_cast<const std::byte*>(router.data());
  const LayerRun after = run_layer(layer, isa(), x);
  EXPECT_EQ(before.out, after.out);
  EXPECT_EQ(before.weights, after.weights);
  for (std::size_t i = 0; i < before.ids.size(); ++i) {
    EXPECT_EQ(before.ids[i], order[static_cast<std::size_t>(after.ids[i])]);
  }
}

TEST_P(LayerProperties, BatchOrTokenByTokenGiveTheSameBits) {
  for (const RandomLayer& layer : varied_layers()) {
    const std::vector<float> x = layer.rows(53, 4);
    const LayerRun whole = run_layer(layer, isa(), x);
    for (const std::int64_t batch : {1, 7, 32}) {
      const LayerRun parts = run_layer(layer, isa(), x, {.batch = batch});
      EXPECT_EQ(whole.out, parts.out) << "batches of " << batch;
      EXPECT_EQ(whole.ids, parts.ids);
      EXPECT_EQ(whole.weights, parts.weights);
    }
  }
}

TEST_P(LayerProperties, NumberOfThreadsDoesNotMatter) {
  for (const RandomLayer& layer : varied_layers()) {
    for (const std::int64_t tokens : {1, 40}) {
      const std::vector<float> x = layer.rows(tokens, 5);
      const LayerRun one = run_layer(layer, isa(), x, {.threads = 1});
      for (const int threads : {2, 3, 7}) {
        EXPECT_EQ(one.out, run_layer(layer, isa(), x, {.threads = threads}).out) << threads << " threads";
      }
    }
  }
}

TEST_P(LayerProperties, SizeOfTheWorkspaceDoesNotMatter) {
  for (const RandomLayer& layer : varied_layers()) {
    const std::vector<float> x = layer.rows(70, 6);
    const LayerRun whole = run_layer(layer, isa(), x);
    for (const std::int64_t bytes : {1, 4096, 40000}) {
      const LayerRun chunks = run_layer(layer, isa(), x, {.chunk_bytes = bytes});
      EXPECT_EQ(whole.out, chunks.out) << "chunks of " << bytes << " bytes";
      EXPECT_EQ(whole.ids, chunks.ids);
    }
  }
}

TEST_P(LayerProperties, AllTokensAtOneExpert) {
  MoeSpec spec = simple_spec(40, 24, 16, 2);
  spec.routing.logit_bias = true;
  RandomLayer layer(spec, 24);
  std::vector<float> bias(16, 0.0F);
  bias[11] = 50.0F;
  layer.weights.router_bias = bias.data();
  const std::vector<float> x = layer.rows(300, 7);
  const LayerRun run = run_layer(layer, isa(), x, {.threads = 3});
  for (std::size_t t = 0; t < 300; ++t) EXPECT_EQ(run.ids[2 * t], 11);
  EXPECT_EQ(run.out, run_layer(layer, isa(), x, {.batch = 1}).out);
}

TEST_P(LayerProperties, OneBrokenTokenLeavesTheOthersAlone) {
  const RandomLayer layer(simple_spec(48, 32, 8, 3), 25);
  std::vector<float> x = layer.rows(20, 8);
  const LayerRun good = run_layer(layer, isa(), x);
  x[5 * 48 + 3] = std::numeric_limits<float>::quiet_NaN();
  const LayerRun run = run_layer(layer, isa(), x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i / 48 == 5) {
      EXPECT_TRUE(std::isnan(run.out[i])) << "column " << i % 48;
    } else {
      EXPECT_EQ(run.out[i], good.out[i]);
    }
  }
}

TEST_P(LayerProperties, OneSharedExpertBesideOrFusedGivesTheSameBits) {
  for (const bool gated : {false, true}) {
    MoeSpec spec = simple_spec(48, 32, 8, 3);
    spec.shared = {.count = 1, .intermediate_size = 32, .gated = gated};
    spec.routing.scale = 2.5F;
    const RandomLayer layer(spec, 26);
    const std::vector<float> x = layer.rows(35, 9);
    const LayerRun beside = run_layer(layer, isa(), x, {.shared = "beside"});
    const LayerRun fused = run_layer(layer, isa(), x, {.shared = "fused"});
    EXPECT_EQ(beside.out, fused.out) << "gated " << gated;
    EXPECT_EQ(beside.ids, fused.ids);
    EXPECT_EQ(beside.weights, fused.weights);
  }
}

TEST_P(LayerProperties, SeveralSharedExpertsBesideOrFusedGiveTheSameResult) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kQ8_0, DType::kF8_E4M3}) {
    for (const bool gated : {false, true}) {
      MoeSpec spec = simple_spec(64, 128, 8, 3);
      spec.shared = {.count = 3, .intermediate_size = 3 * 128, .gated = gated};
      const RandomLayer layer(spec, 27, {dtype, dtype, dtype, dtype});
      const std::vector<float> x = layer.rows(12, 10);
      const LayerRun beside = run_layer(layer, isa(), x, {.shared = "beside"});
      const LayerRun fused = run_layer(layer, isa(), x, {.shared = "fused"});
      // The sum over the shared width is cut in three: only its rounding differs.
      EXPECT_LT(relative_error(fused.out, std::span<const float>(beside.out)), 1e-5)
          << dtype_name(dtype) << " gated " << gated;
    }
  }
}

TEST_P(LayerProperties, EveryBackendFormGivesTheSameBits) {
  const RandomLayer layer(simple_spec(48, 32, 8, 3), 28);
  const std::vector<float> x = layer.rows(31, 11);
  const LayerRun want = run_layer(layer, isa(), x);
  for (const ActivationFormat format : {ActivationFormat::kStandard, ActivationFormat::kBatched}) {
    for (const WeightAndReduce form : {WeightAndReduce::kByExperts, WeightAndReduce::kByFinalize}) {
      if (format == ActivationFormat::kBatched && form == WeightAndReduce::kByExperts) continue;  // not a contract
      for (const std::int64_t width : {48, 64}) {
        const RunOptions options = {.backend =
                                        [&](const PrepareFinalize::Shape& shape) {
                                          return std::make_unique<CopyBackend>(
                                              shape, CopyBackend::Options{format, form, 48, isa() == Isa::kScalar});
                                        },
                                    .padded_hidden_size = width};
        const LayerRun run = run_layer(layer, isa(), x, options);
        EXPECT_EQ(run.out, want.out) << name_of(format) << " rows of " << width << ", weighted by " << name_of(form);
      }
    }
  }
}

TEST_P(LayerProperties, SharedExpertsApartFromCopiedRowsGiveTheSameResult) {
  MoeSpec spec = simple_spec(48, 32, 8, 3);
  spec.shared = {.count = 2, .intermediate_size = 80, .gated = true};
  const RandomLayer layer(spec, 29);
  const std::vector<float> x = layer.rows(31, 12);
  const LayerRun want = run_layer(layer, isa(), x);
  const RunOptions options = {.backend =
                                  [&](const PrepareFinalize::Shape& shape) {
                                    return std::make_unique<CopyBackend>(
                                        shape,
                                        CopyBackend::Options{.used_columns = 48, .exact = isa() == Isa::kScalar});
                                  },
                              .padded_hidden_size = 64};
  EXPECT_LT(relative_error(run_layer(layer, isa(), x, options).out, std::span<const float>(want.out)), 1e-6);
}

TEST(Layer, FewParallelRegions) {
  MoeSpec spec = simple_spec(64, 48, 8, 2);
  spec.shared = {.count = 1, .intermediate_size = 96, .gated = true};
  const RandomLayer layer(spec, 30);
  for (const std::int64_t tokens : {1, 100}) {
    ThreadPool pool(2);
    auto plan = make_plan(layer.inputs(Isa::kScalar));
    ASSERT_TRUE(plan.ok());
    auto moe = FusedMoe::create(layer.spec, layer.weights, *plan, pool);
    ASSERT_TRUE(moe.ok()) << moe.error().message();
    const std::vector<float> x = layer.rows(tokens, 13);
    std::vector<float> out(x.size());
    ASSERT_TRUE((*moe)->forward(x.data(), tokens, out.data(), {}).ok());
    std::uint64_t regions = 0;
    for (const RegionStats& region : pool.stats()) regions += region.calls;
    EXPECT_LE(regions, 4U) << tokens << " tokens";
    EXPECT_GE(regions, 3U);
  }
}

TEST(Layer, WorkspaceStaysBounded) {
  const RandomLayer layer(simple_spec(16, 64, 8, 2), 31);
  ThreadPool pool(2);
  auto plan = make_plan(layer.inputs(Isa::kScalar));
  ASSERT_TRUE(plan.ok());
  const auto workspace = std::make_shared<Workspace>(std::int64_t{64} << 10);
  auto moe = FusedMoe::create(layer.spec, layer.weights, *plan, pool, workspace);
  ASSERT_TRUE(moe.ok());
  std::size_t small = 0;
  for (const std::int64_t tokens : {500, 4000}) {
    const std::vector<float> x = layer.rows(tokens, 14);
    std::vector<float> out(x.size());
    ASSERT_TRUE((*moe)->forward(x.data(), tokens, out.data(), {}).ok());
    if (small == 0) small = workspace->allocated();
  }
  // Only ids and weights (8 bytes a slot) may grow with the batch.
  EXPECT_LT(workspace->allocated(), small + 3500 * 2 * 8 * 2);
}

TEST(Layer, SecondForwardAtTheSameTimeIsAnError) {
  const RandomLayer layer(simple_spec(16, 8, 4, 2), 32);
  ThreadPool pool(1);
  auto plan = make_plan(layer.inputs(Isa::kScalar));
  ASSERT_TRUE(plan.ok());
  auto moe = FusedMoe::create(layer.spec, layer.weights, *plan, pool);
  ASSERT_TRUE(moe.ok());
  const std::vector<float> x = layer.rows(1, 15);
  std::vector<float> out(x.size());
  Status inner;
  const auto again = [&](std::int64_t, std::int32_t, const GlobalExpert*, const float*) {
    inner = (*moe)->forward(x.data(), 1, out.data(), {});
  };
  EXPECT_TRUE((*moe)->forward(x.data(), 1, out.data(), again).ok());
  ASSERT_FALSE(inner.ok());
  EXPECT_EQ(inner.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_TRUE((*moe)->forward(x.data(), 1, out.data(), {}).ok());
}

}  // namespace
}  // namespace sluice::moe
