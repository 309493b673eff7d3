// Routing programs as data: what is accepted, how it is called and described.
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/router/routing_program.h"

namespace sluice::moe {
namespace {

using testing::HasSubstr;

RoutingProgram program(std::int32_t experts, std::int32_t top_k) {
  RoutingProgram p;
  p.num_experts = experts;
  p.top_k = top_k;
  return p;
}

TEST(RoutingProgram, Letters) {
  RoutingProgram p = program(8, 2);
  EXPECT_EQ(p.letter(), 'A');
  p.normalize = true;
  EXPECT_EQ(p.letter(), 'B');
  p.score = Score::kSigmoid;
  EXPECT_EQ(p.letter(), 'C');
  p.num_groups = 4;
  p.groups_used = 4;
  EXPECT_EQ(p.letter(), 'C') << "groups that are all used limit nothing";
  p.groups_used = 2;
  EXPECT_EQ(p.letter(), 'D');
  p.score = Score::kSqrtSoftplus;
  EXPECT_EQ(p.letter(), 'E');
  p = program(8, 1);
  p.score = Score::kSigmoid;
  p.placement = WeightPlacement::kInput;
  EXPECT_EQ(p.letter(), 'F');
  p.placement = WeightPlacement::kOutput;
  p.joint_shared_normalize = true;
  EXPECT_EQ(p.letter(), 'G');
}

TEST(RoutingProgram, Describes) {
  RoutingProgram v3 = program(256, 8);
  v3.score = Score::kSigmoid;
  v3.selection_bias = true;
  v3.num_groups = 8;
  v3.groups_used = 4;
  v3.group_value = GroupValue::kTopTwoSum;
  v3.normalize = true;
  v3.scale = 2.5F;
  EXPECT_EQ(v3.describe(),
            "D: sigmoid + selection bias, 8 of 256 experts, 4 of 8 groups (sum of two best), normalised, x2.5");
  EXPECT_EQ(program(64, 8).describe(), "A: softmax, 8 of 64 experts, not normalised");
  RoutingProgram gpt_oss = program(32, 4);
  gpt_oss.logit_bias = true;
  gpt_oss.normalize = true;
  EXPECT_EQ(gpt_oss.describe(), "B: softmax of biased logits, 4 of 32 experts, normalised");
}

TEST(RoutingProgram, AcceptsTheLimits) {
  EXPECT_TRUE(program(1, 1).validate().ok());
  EXPECT_TRUE(program(300, 300).validate().ok());
  EXPECT_TRUE(program(70000, 8).validate().ok());
  RoutingProgram groups_of_one = program(8, 3);
  groups_of_one.num_groups = 8;
  groups_of_one.groups_used = 3;
  EXPECT_TRUE(groups_of_one.validate().ok());
}

struct Fault {
  const char* name;
  void (*break_it)(RoutingProgram&);
  ErrorCode code;
  const char* text;
};

class RoutingProgramFaults : public testing::TestWithParam<Fault> {};

TEST_P(RoutingProgramFaults, AreNamed) {
  RoutingProgram p = program(8, 2);
  ASSERT_TRUE(p.validate().ok());
  GetParam().break_it(p);
  const Status status = p.validate();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), GetParam().code);
  EXPECT_THAT(status.error().message(), HasSubstr(GetParam().text));
  EXPECT_EQ(status.error().message().find('\n'), std::string::npos);
}

constexpr auto kInvalid = ErrorCode::kInvalidArgument;
constexpr auto kLater = ErrorCode::kUnsupported;
INSTANTIATE_TEST_SUITE_P(
    All, RoutingProgramFaults,
    testing::Values(
        Fault{"no_experts", [](RoutingProgram& p) { p.num_experts = 0; }, kInvalid, "num_experts is 0"},
        Fault{"negative_experts", [](RoutingProgram& p) { p.num_experts = -3; }, kInvalid, "num_experts is -3"},
        Fault{"no_choice", [](RoutingProgram& p) { p.top_k = 0; }, kInvalid, "top_k is 0"},
        Fault{"too_many", [](RoutingProgram& p) { p.top_k = 9; }, kInvalid, "top_k is 9"},
        Fault{"no_groups", [](RoutingProgram& p) { p.num_groups = 0; }, kInvalid, "num_groups is 0"},
        Fault{"uneven_groups", [](RoutingProgram& p) { p.num_groups = 3; }, kInvalid, "num_groups is 3"},
        Fault{"no_group_used", [](RoutingProgram& p) { p.groups_used = 0; }, kInvalid, "groups_used is 0"},
        Fault{"too_many_groups", [](RoutingProgram& p) { p.groups_used = 2; }, kInvalid, "groups_used is 2"},
        Fault{"groups_too_small",
              [](RoutingProgram& p) {
                p.num_groups = 8;
                p.groups_used = 1;
              },
              kInvalid, "hold only 1 experts"},
        Fault{"negative_epsilon", [](RoutingProgram& p) { p.norm_epsilon = -1e-9F; }, kInvalid, "norm_epsilon"},
        Fault{"nan_epsilon", [](RoutingProgram& p) { p.norm_epsilon = std::nanf(""); }, kInvalid, "norm_epsilon"},
        Fault{"no_scale", [](RoutingProgram& p) { p.scale = 0.0F; }, kInvalid, "scale is 0"},
        Fault{"infinite_scale", [](RoutingProgram& p) { p.scale = std::numeric_limits<float>::infinity(); }, kInvalid,
              "scale is inf"},
        Fault{"unknown_score", [](RoutingProgram& p) { p.score = static_cast<Score>(9); }, kInvalid, "score"},
        Fault{"program_E", [](RoutingProgram& p) { p.score = Score::kSqrtSoftplus; }, kLater, "program E"},
        Fault{"program_E_hash", [](RoutingProgram& p) { p.hash_routing = true; }, kLater, "program E"},
        Fault{"program_F", [](RoutingProgram& p) { p.placement = WeightPlacement::kInput; }, kLater, "program F"},
        Fault{"program_G", [](RoutingProgram& p) { p.joint_shared_normalize = true; }, kLater, "program G"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace sluice::moe
