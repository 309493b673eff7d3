// The plan: what is chosen, what is refused and why, and that all ranks can compare it.
#include <algorithm>
#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/oracle.h"
#include "moe/plan.h"
#include "moe/prepare_finalize/no_ep.h"
#include "moe/support/random_layer.h"

namespace sluice::moe {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

PlanInputs usual(Isa isa = Isa::kAvx2) {
  PlanInputs inputs;
  inputs.spec = simple_spec(2048, 768, 128, 8);
  inputs.gate_dtype = inputs.up_dtype = DType::kQ4_K;
  inputs.down_dtype = DType::kQ6_K;
  inputs.wishes.isa = isa;
  return inputs;
}

PlanInputs with_shared(std::int32_t count, std::int64_t width) {
  PlanInputs inputs = usual();
  inputs.spec.shared = {.count = count, .intermediate_size = width, .gated = false};
  return inputs;
}

Plan plan_of(const PlanInputs& inputs) {
  auto plan = make_plan(inputs);
  if (!plan.ok()) {
    ADD_FAILURE() << plan.error().message();
    return {};
  }
  return *plan;
}

void expect_error(const PlanInputs& inputs, ErrorCode code, const std::vector<std::string>& texts) {
  const auto plan = make_plan(inputs);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code(), code) << plan.error().message();
  for (const std::string& text : texts) EXPECT_THAT(plan.error().message(), HasSubstr(text));
  EXPECT_EQ(plan.error().message().find('\n'), std::string::npos);
}

std::string reason_of(const Plan& plan, std::string_view candidate) {
  const auto refusal = std::ranges::find(plan.refusals, candidate, &Refusal::candidate);
  return refusal == plan.refusals.end() ? "" : refusal->reason;
}

TEST(Plan, ChoosesTheKernelOfTheInstructionSet) {
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Vnni, Isa::kAvx512Bf16}) {
    const Plan plan = plan_of(usual(isa));
    EXPECT_EQ(plan.experts, isa_name(isa));
    EXPECT_EQ(plan.isa, isa);
    EXPECT_EQ(plan.prepare_finalize, "no_ep");
    EXPECT_EQ(plan.hidden_size, 2048);
    EXPECT_EQ(plan.padded_hidden_size, 2048);
    EXPECT_EQ(plan.num_local_experts, 128);
    EXPECT_EQ(plan.shared_experts, SharedExpertsMode::kNone);
    EXPECT_TRUE(plan.notes.empty());
  }
}

TEST(Plan, NamesEveryOtherCandidateWithItsReason) {
  const Plan plan = plan_of(usual(Isa::kAvx2));
  EXPECT_THAT(reason_of(plan, "experts/avx512vnni"), HasSubstr("needs avx512vnni"));
  EXPECT_EQ(reason_of(plan, "experts/scalar"), "avx2 comes first");
  EXPECT_THAT(reason_of(plan, "experts/cuda"), HasSubstr("not built yet"));
  EXPECT_THAT(reason_of(plan, "experts/hip"), HasSubstr("not built yet"));
  EXPECT_THAT(reason_of(plan, "experts/amx"), HasSubstr("not built yet"));
  for (const char* later : {"allgather_reducescatter", "high_throughput", "low_latency", "elastic"}) {
    EXPECT_THAT(reason_of(plan, std::string("prepare_finalize/") + later), HasSubstr("not built yet"));
  }
  // Each candidate is either the choice or refused, exactly once.
  EXPECT_EQ(plan.refusals.size(), experts_registry().size() - 1 + backend_registry().size() - 1);
  for (const Refusal& refusal : plan.refusals) EXPECT_FALSE(refusal.reason.empty()) << refusal.candidate;
}

TEST(Plan, ExplicitKernel) {
  PlanInputs inputs = usual(Isa::kAvx2);
  inputs.wishes.experts = "scalar";
  const Plan plan = plan_of(inputs);
  EXPECT_EQ(plan.experts, "scalar");
  EXPECT_EQ(plan.isa, Isa::kScalar);
  EXPECT_EQ(reason_of(plan, "experts/avx2"), "scalar was asked for");

  inputs.wishes.experts = "avx512vnni";
  expect_error(inputs, ErrorCode::kUnsupported, {"avx512vnni cannot be used", "avx2"});
  inputs.wishes.experts = "cuda";
  expect_error(inputs, ErrorCode::kUnsupported, {"cuda", "not built yet"});
  inputs.wishes.experts = "triton";
  expect_error(inputs, ErrorCode::kInvalidArgument,
               {"unknown experts kernel 'triton'", "auto", "avx512vnni", "scalar"});
}

TEST(Plan, UnknownWeightTypeIsRefusedByEveryKernel) {
  PlanInputs inputs = usual();
  inputs.down_dtype = DType::kI8;
  expect_error(inputs, ErrorCode::kUnsupported,
               {"no experts kernel serves this layer", "experts/scalar (no kernel for weights of type I8)",
                "experts/avx2", "experts/cuda (not built yet"});
}

TEST(Plan, BackendWishWithoutEffectIsNoted) {
  PlanInputs inputs = usual();
  inputs.wishes.all2all_backend = "deepep_low_latency";
  const Plan plan = plan_of(inputs);
  EXPECT_EQ(plan.prepare_finalize, "no_ep");
  EXPECT_THAT(plan.notes, Contains(AllOf(HasSubstr("deepep_low_latency"), HasSubstr("low_latency takes its place"))));
  EXPECT_THAT(plan.notes, Contains(HasSubstr("no effect: there is one rank")));
  EXPECT_EQ(plan.padded_hidden_size, 2048);

  inputs.wishes.all2all_backend = "no_ep";
  EXPECT_TRUE(plan_of(inputs).notes.empty());
  inputs.wishes.all2all_backend = "deep_ep";
  expect_error(inputs, ErrorCode::kInvalidArgument, {"unknown all2all backend 'deep_ep'", "deepep_v2", "elastic"});
}

TEST(Plan, NamesOfVllmAreAnsweredWithTheClassHere) {
  PlanInputs inputs = usual();
  inputs.ep_size = 2;
  const std::vector<std::pair<const char*, const char*>> names = {
      {"deepep_high_throughput", "high_throughput"},
      {"deepep_v2", "high_throughput"},
      {"mori_high_throughput", "high_throughput"},
      {"flashinfer_nvlink_two_sided", "high_throughput"},
      {"flashinfer_all2allv", "high_throughput"},
      {"deepep_low_latency", "low_latency"},
      {"mori_low_latency", "low_latency"},
      {"flashinfer_nvlink_one_sided", "low_latency"},
      {"nixl_ep", "elastic"},
      {"naive", "allgather_reducescatter"},
      {"pplx", "allgather_reducescatter"},
      {"Allgather-ReduceScatter", "allgather_reducescatter"},
  };
  for (const auto& [wish, here] : names) {
    inputs.wishes.all2all_backend = wish;
    expect_error(inputs, ErrorCode::kUnsupported, {std::string("all2all backend ") + here, "not built yet"});
  }
  inputs.wishes.all2all_backend = "nixl_ep";
  expect_error(inputs, ErrorCode::kUnsupported, {"takes the place of nixl_ep"});
}

TEST(Plan, SeveralRanksAreRefusedWithAllReasons) {
  PlanInputs inputs = usual();
  inputs.ep_size = 4;
  inputs.ep_rank = 3;
  expect_error(inputs, ErrorCode::kUnsupported,
               {"no prepare/finalize backend serves this layer", "no_ep (serves 1 rank, there are 4)",
                "allgather_reducescatter (not built yet", "high_throughput", "low_latency", "elastic"});
  inputs.wishes.all2all_backend = "no_ep";
  expect_error(inputs, ErrorCode::kUnsupported, {"no_ep cannot be used", "there are 4"});
}

TEST(Plan, SharedExperts) {
  EXPECT_EQ(plan_of(with_shared(2, 1536)).shared_experts, SharedExpertsMode::kBeside);
  PlanInputs inputs = with_shared(2, 1536);
  inputs.wishes.shared_experts = "fused";
  const Plan fused = plan_of(inputs);
  EXPECT_EQ(fused.shared_experts, SharedExpertsMode::kFused);
  EXPECT_EQ(fused.num_local_experts, 130);
  EXPECT_EQ(fused.num_experts, 130);
  inputs.wishes.shared_experts = "beside";
  EXPECT_EQ(plan_of(inputs).num_experts, 128);
  EXPECT_EQ(reason_of(plan_of(inputs), "shared_experts/fused"), "beside was asked for");

  inputs = with_shared(1, 5632);
  EXPECT_THAT(reason_of(plan_of(inputs), "shared_experts/fused"), HasSubstr("5632 wide"));
  inputs.wishes.shared_experts = "fused";
  expect_error(inputs, ErrorCode::kUnsupported, {"cannot be fused", "5632", "768", "beside"});
  inputs.wishes.shared_experts = "inside";
  expect_error(inputs, ErrorCode::kInvalidArgument, {"'inside'", "auto, beside, fused"});

  inputs = usual();
  inputs.wishes.shared_experts = "fused";
  const Plan none = plan_of(inputs);
  EXPECT_EQ(none.shared_experts, SharedExpertsMode::kNone);
  EXPECT_THAT(none.notes, Contains(HasSubstr("no effect: the layer has none")));
}

TEST(Plan, SharedExpertsWhoseColumnsCannotBeToldApart) {
  PlanInputs inputs = with_shared(2, 2 * 64);
  inputs.spec.intermediate_size = 64;
  inputs.gate_dtype = inputs.up_dtype = inputs.down_dtype = DType::kQ8_0;
  inputs.wishes.shared_experts = "fused";
  for (const DType splittable : {DType::kF32, DType::kBF16, DType::kQ8_0, DType::kMXFP4}) {
    inputs.shared_dtype = splittable;
    EXPECT_EQ(plan_of(inputs).shared_experts, SharedExpertsMode::kFused);
  }
  for (const DType coarse : {DType::kQ4_K, DType::kF8_E4M3}) {
    inputs.shared_dtype = coarse;
    expect_error(inputs, ErrorCode::kUnsupported, {"cannot be fused", "cannot be split"});
  }
  inputs.spec.shared = {.count = 1, .intermediate_size = 64, .gated = false};
  EXPECT_EQ(plan_of(inputs).shared_experts, SharedExpertsMode::kFused) << "one alone needs no split";
}

TEST(Plan, ImpossibleLayersAreErrors) {
  const auto broken = [](const auto& break_it) {
    PlanInputs inputs = usual();
    break_it(inputs);
    return inputs;
  };
  expect_error(broken([](PlanInputs& i) { i.spec.hidden_size = 0; }), ErrorCode::kInvalidArgument,
               {"hidden_size is 0"});
  expect_error(broken([](PlanInputs& i) { i.spec.intermediate_size = -4; }), ErrorCode::kInvalidArgument,
               {"intermediate_size is -4"});
  expect_error(broken([](PlanInputs& i) { i.spec.hidden_size = std::int64_t{1} << 40; }), ErrorCode::kInvalidArgument,
               {"hidden_size"});
  expect_error(broken([](PlanInputs& i) { i.spec.routing.top_k = 129; }), ErrorCode::kInvalidArgument,
               {"top_k is 129"});
  expect_error(broken([](PlanInputs& i) { i.spec.routing.score = Score::kSqrtSoftplus; }), ErrorCode::kUnsupported,
               {"program E"});
  expect_error(broken([](PlanInputs& i) { i.spec.shared.count = -1; }), ErrorCode::kInvalidArgument, {"-1"});
  expect_error(broken([](PlanInputs& i) { i.spec.shared = {.count = 2, .intermediate_size = 0, .gated = false}; }),
               ErrorCode::kInvalidArgument, {"intermediate_size of the shared experts is 0"});
  expect_error(broken([](PlanInputs& i) { i.spec.shared.gated = true; }), ErrorCode::kInvalidArgument, {"gate"});
  expect_error(broken([](PlanInputs& i) { i.ep_size = 0; }), ErrorCode::kInvalidArgument, {"0 ranks"});
  expect_error(broken([](PlanInputs& i) { i.ep_rank = 1; }), ErrorCode::kInvalidArgument, {"rank 1 of 1"});
}

TEST(Plan, HashIsTheSameEverywhere) {
  // A change of this number means that builds before and after cannot run one group of ranks: bump it knowingly.
  EXPECT_EQ(plan_of(usual()).hash(), 0xb9b6dbdda086a19aU);
}

TEST(Plan, HashCoversEveryAgreedField) {
  const Plan base = plan_of(with_shared(2, 1536));
  struct Change {
    const char* field;
    void (*apply)(Plan&);
  };
  const std::vector<Change> changes = {
      {"ep_size", [](Plan& p) { p.ep_size = 2; }},
      {"prepare_finalize", [](Plan& p) { p.prepare_finalize = "elastic"; }},
      {"placement", [](Plan& p) { p.placement = "round_robin"; }},
      {"experts", [](Plan& p) { p.experts = "scalar"; }},
      {"isa", [](Plan& p) { p.isa = Isa::kScalar; }},
      {"hidden_size", [](Plan& p) { p.hidden_size = 2047; }},
      {"padded_hidden_size", [](Plan& p) { p.padded_hidden_size = 2560; }},
      {"intermediate_size", [](Plan& p) { p.intermediate_size = 1; }},
      {"num_experts", [](Plan& p) { p.num_experts = 1; }},
      {"weight_types", [](Plan& p) { p.weight_types = "F32"; }},
      {"activation", [](Plan& p) { p.activation = Activation::kSwigluOai; }},
      {"shared_experts", [](Plan& p) { p.shared_experts = SharedExpertsMode::kFused; }},
      {"shared.count", [](Plan& p) { p.shared.count = 1; }},
      {"shared.intermediate_size", [](Plan& p) { p.shared.intermediate_size = 1; }},
      {"shared.gated", [](Plan& p) { p.shared.gated = true; }},
      {"routing.num_experts", [](Plan& p) { p.routing.num_experts = 64; }},
      {"routing.top_k", [](Plan& p) { p.routing.top_k = 4; }},
      {"routing.score", [](Plan& p) { p.routing.score = Score::kSigmoid; }},
      {"routing.logit_bias", [](Plan& p) { p.routing.logit_bias = true; }},
      {"routing.selection_bias", [](Plan& p) { p.routing.selection_bias = true; }},
      {"routing.num_groups", [](Plan& p) { p.routing.num_groups = 8; }},
      {"routing.groups_used", [](Plan& p) { p.routing.groups_used = 4; }},
      {"routing.group_value", [](Plan& p) { p.routing.group_value = GroupValue::kTopTwoSum; }},
      {"routing.normalize", [](Plan& p) { p.routing.normalize = false; }},
      {"routing.norm_guard", [](Plan& p) { p.routing.norm_guard = NormGuard::kClamp; }},
      {"routing.norm_epsilon", [](Plan& p) { p.routing.norm_epsilon = 1e-20F; }},
      {"routing.scale", [](Plan& p) { p.routing.scale = 2.5F; }},
  };
  ASSERT_EQ(changes.size(), base.agreed_fields().size()) << "a field without a test";
  for (const Change& change : changes) {
    Plan other = base;
    change.apply(other);
    EXPECT_NE(other.hash(), base.hash()) << change.field;
    const auto difference = first_difference(base.agreed_fields(), other.agreed_fields());
    ASSERT_TRUE(difference.has_value()) << change.field;
    EXPECT_EQ(difference->field, change.field);
    EXPECT_NE(difference->ours, difference->theirs);
  }
}

TEST(Plan, HashIgnoresWhatDiffersFromRankToRank) {
  const Plan base = plan_of(usual());
  Plan other = base;
  other.ep_rank = 3;
  other.num_local_experts = 7;
  other.refusals.clear();
  other.notes.push_back("hello");
  EXPECT_EQ(other.hash(), base.hash());
  EXPECT_FALSE(first_difference(base.agreed_fields(), other.agreed_fields()).has_value());
}

TEST(Plan, DifferenceNamesAFieldThatOnlyOneSideKnows) {
  const std::vector<PlanField> ours = plan_of(usual()).agreed_fields();
  std::vector<PlanField> theirs = ours;
  theirs.push_back({"wire", "bf16"});
  const auto difference = first_difference(ours, theirs);
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->field, "wire");
  EXPECT_EQ(difference->theirs, "bf16");
}

TEST(Plan, Explains) {
  PlanInputs inputs = with_shared(2, 1536);
  inputs.wishes.all2all_backend = "pplx";
  const std::string text = plan_of(inputs).explain();
  for (const char* part : {"routing", "B: softmax, 8 of 128 experts, normalised", "experts", "avx2", "Q4_K, Q4_K, Q6_K",
                           "prepare_finalize", "no_ep", "beside", "hidden size", "2048", "refused",
                           "experts/avx512: needs avx512", "note", "pplx"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_EQ(text.back(), '\n');
}

TEST(Oracle, PairsAreChecked) {
  const ExpertsCapabilities& kernel = find_experts("scalar")->capabilities;
  EXPECT_EQ(pair_refusal(no_ep_capabilities(), kernel), "");

  constexpr std::array kStandardOnly = {ActivationFormat::kStandard};
  constexpr std::array kExpertsOnly = {WeightAndReduce::kByExperts};
  constexpr std::array kFinalizeOnly = {WeightAndReduce::kByFinalize};
  ExpertsCapabilities narrow = kernel;
  narrow.formats = kStandardOnly;
  narrow.weight_and_reduce = kExpertsOnly;
  narrow.id_bits = 16;
  PrepareFinalizeCapabilities batched = no_ep_capabilities();
  batched.name = "batched";
  batched.format = ActivationFormat::kBatched;
  batched.weight_and_reduce = kFinalizeOnly;
  const std::string reasons = pair_refusal(batched, narrow);
  EXPECT_THAT(reasons, HasSubstr("delivers batched activations"));
  EXPECT_THAT(reasons, HasSubstr("do not agree who applies the routing weights"));
  EXPECT_THAT(reasons, HasSubstr("ids of 32 bits, scalar reads 16"));
}

TEST(Oracle, KernelsSayAllTheirReasons) {
  ExpertsCapabilities kernel = find_experts("avx512")->capabilities;
  constexpr std::array kSilu = {Activation::kSilu};
  kernel.activations = kSilu;
  kernel.max_hidden_size = 4096;
  kernel.hidden_multiple = 64;
  kernel.intermediate_multiple = 128;
  kernel.max_experts = 100;
  kernel.id_bits = 6;
  kernel.expert_bias = false;
  kernel.shared_beside = false;
  const std::array dtypes = {DType::kQ4_K, DType::kBool, DType::kBool};
  const std::string reasons = refusal(kernel, {.weight_dtypes = dtypes,
                                               .activation = Activation::kSwigluOai,
                                               .hidden_size = 5000,
                                               .intermediate_size = 704,
                                               .num_experts = 128,
                                               .expert_bias = true,
                                               .shared_beside = true,
                                               .isa = Isa::kAvx2});
  for (const char* reason :
       {"needs avx512", "type BOOL", "no activation swiglu_oai", "hidden_size is 5000, at most 4096",
        "hidden_size is 5000, not a multiple of 64", "intermediate_size is 704, not a multiple of 128",
        "number of experts is 128, at most 100", "do not fit ids of 6 bits", "no expert biases", "shared expert"}) {
    EXPECT_THAT(reasons, HasSubstr(reason));
  }
  EXPECT_EQ(reasons.find("type BOOL"), reasons.rfind("type BOOL")) << "said once";
}

TEST(Oracle, RegistryHasOneRowPerNameAndEachIsOrdered) {
  std::vector<std::string_view> names;
  for (const ExpertsEntry& entry : experts_registry()) {
    EXPECT_THAT(names, Not(Contains(entry.capabilities.name)));
    names.push_back(entry.capabilities.name);
    EXPECT_NE(entry.create != nullptr, !entry.missing.empty());
  }
  for (const std::string_view name : experts_priority(DType::kQ4_K, "cpu")) {
    EXPECT_NE(find_experts(name), nullptr) << "a name in the priority list that nothing resolves";
  }
}

}  // namespace
}  // namespace sluice::moe
