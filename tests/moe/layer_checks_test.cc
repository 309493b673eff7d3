// A layer is created only with weights that fit its spec and its plan; each fault is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/layer_checks.h"
#include "moe/support/random_layer.h"

namespace sluice::moe {
namespace {

using testing::HasSubstr;

struct LayerFault {
  const char* name;
  void (*apply)(RandomLayer&, Plan&);
  const char* text;
  ErrorCode code = ErrorCode::kInvalidArgument;
};

MoeSpec full_spec() {
  MoeSpec spec = simple_spec(32, 64, 4, 2);
  spec.routing.logit_bias = true;
  spec.routing.selection_bias = true;
  spec.expert_bias = true;
  spec.shared = {.count = 2, .intermediate_size = 128, .gated = true};
  return spec;
}

template <typename Change>
void change_expert(RandomLayer& layer, std::size_t expert, const Change& change) {
  std::vector<ExpertMatrices> experts = layer.experts;
  change(experts[expert]);
  layer.use_experts(std::move(experts));
}

class LayerFaults : public testing::TestWithParam<LayerFault> {};

TEST_P(LayerFaults, AreNamed) {
  RandomLayer layer(full_spec(), 41, {DType::kQ8_0, DType::kQ8_0, DType::kQ8_0, DType::kQ8_0});
  auto plan = make_plan(layer.inputs(Isa::kScalar));
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  ThreadPool pool(1);
  ASSERT_TRUE(FusedMoe::create(layer.spec, layer.weights, *plan, pool).ok());
  GetParam().apply(layer, *plan);
  const auto moe = FusedMoe::create(layer.spec, layer.weights, *plan, pool);
  ASSERT_FALSE(moe.ok());
  EXPECT_EQ(moe.error().code(), GetParam().code) << moe.error().message();
  EXPECT_THAT(moe.error().message(), HasSubstr(GetParam().text));
  EXPECT_EQ(moe.error().message().find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    All, LayerFaults,
    testing::Values(
        LayerFault{"no_router", [](RandomLayer& l, Plan&) { l.weights.router = {}; }, "router is missing"},
        LayerFault{"router_rows", [](RandomLayer& l, Plan&) { l.weights.router.rows = 3; },
                   "router must be [4, 32], it is [3, 32]"},
        LayerFault{"no_logit_bias", [](RandomLayer& l, Plan&) { l.weights.router_bias = nullptr; },
                   "router bias is missing"},
        LayerFault{"no_selection_bias", [](RandomLayer& l, Plan&) { l.weights.selection_bias = nullptr; },
                   "selection bias is missing"},
        LayerFault{"no_store", [](RandomLayer& l, Plan&) { l.weights.experts = nullptr; }, "weights are missing"},
        LayerFault{"store_too_small",
                   [](RandomLayer& l, Plan&) {
                     l.use_experts({l.experts[0], l.experts[1]});
                   },
                   "4 experts are needed, the store holds 2"},
        LayerFault{"gate_shape",
                   [](RandomLayer& l, Plan&) { change_expert(l, 2, [](ExpertMatrices& e) { e.gate.rows = 63; }); },
                   "gate of expert 2 must be [64, 32], it is [63, 32]"},
        LayerFault{"down_missing",
                   [](RandomLayer& l, Plan&) { change_expert(l, 3, [](ExpertMatrices& e) { e.down = {}; }); },
                   "down of expert 3 is missing"},
        LayerFault{
            "up_type",
            [](RandomLayer& l, Plan&) { change_expert(l, 1, [](ExpertMatrices& e) { e.up.dtype = DType::kI32; }); },
            "up of expert 1 has type I32"},
        LayerFault{"unknown_type",
                   [](RandomLayer& l, Plan&) {
                     change_expert(l, 1, [](ExpertMatrices& e) { e.up.dtype = static_cast<DType>(777); });
                   },
                   "type number 777"},
        LayerFault{
            "broken_blocks",
            [](RandomLayer& l, Plan&) { change_expert(l, 0, [](ExpertMatrices& e) { e.gate.dtype = DType::kQ4_K; }); },
            "not a whole number of Q4_K blocks"},
        LayerFault{"overlapping_rows",
                   [](RandomLayer& l, Plan&) { change_expert(l, 0, [](ExpertMatrices& e) { e.gate.row_bytes = 8; }); },
                   "rows 8 bytes apart"},
        LayerFault{"no_expert_bias",
                   [](RandomLayer& l, Plan&) { change_expert(l, 2, [](ExpertMatrices& e) { e.down_bias = nullptr; }); },
                   "down bias of expert 2 is missing"},
        LayerFault{"shared_shape", [](RandomLayer& l, Plan&) { l.weights.shared.up.rows = 64; },
                   "up of the shared experts must be [128, 32]"},
        LayerFault{"no_shared_gate", [](RandomLayer& l, Plan&) { l.weights.shared_gate = {}; },
                   "gate of the shared experts is missing"},
        LayerFault{"plan_of_other_sizes", [](RandomLayer&, Plan& p) { p.hidden_size = 64; }, "made for hidden_size 64",
                   ErrorCode::kUnsupported},
        LayerFault{"plan_of_other_experts", [](RandomLayer&, Plan& p) { p.num_experts = 8; }, "made for num_experts 8",
                   ErrorCode::kUnsupported},
        LayerFault{"plan_of_other_routing", [](RandomLayer&, Plan& p) { p.routing.scale = 2.0F; }, "made for routing",
                   ErrorCode::kUnsupported},
        LayerFault{"plan_with_unknown_kernel", [](RandomLayer&, Plan& p) { p.experts = "cuda"; },
                   "no experts kernel cuda", ErrorCode::kUnsupported},
        LayerFault{"plan_with_unknown_backend", [](RandomLayer&, Plan& p) { p.prepare_finalize = "elastic"; },
                   "no prepare/finalize backend elastic", ErrorCode::kUnsupported}),
    [](const auto& test) { return test.param.name; });

TEST(LayerChecks, DenseFfn) {
  const RandomLayer layer(simple_spec(32, 64, 2, 1), 42);
  ThreadPool pool(1);
  const auto create = [&](std::int64_t hidden, std::int64_t width) {
    return DenseFfn::create(hidden, width, Activation::kSilu, layer.experts[0], Isa::kScalar, pool);
  };
  EXPECT_TRUE(create(32, 64).ok());
  const auto wrong = create(64, 64);
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().message(), HasSubstr("gate of the dense FFN must be [64, 64], it is [64, 32]"));
}

TEST(LayerChecks, ForwardWithoutRows) {
  const RandomLayer layer(simple_spec(32, 64, 2, 1), 43);
  ThreadPool pool(1);
  auto plan = make_plan(layer.inputs(Isa::kScalar));
  ASSERT_TRUE(plan.ok());
  auto moe = FusedMoe::create(layer.spec, layer.weights, *plan, pool);
  ASSERT_TRUE(moe.ok());
  std::vector<float> row(32);
  EXPECT_FALSE((*moe)->forward(nullptr, 1, row.data(), {}).ok());
  EXPECT_FALSE((*moe)->forward(row.data(), 1, nullptr, {}).ok());
  EXPECT_FALSE((*moe)->forward(row.data(), -1, row.data(), {}).ok());
}

}  // namespace
}  // namespace sluice::moe
