// The contract of prepare/finalize: one step through a handle, and every way to use it wrongly.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/prepare_finalize/backends.h"
#include "moe/prepare_finalize/no_ep.h"

namespace sluice::moe {
namespace {

using testing::HasSubstr;
using Stage = DispatchHandle::Stage;

constexpr std::int64_t kHidden = 3;
constexpr std::int32_t kTopK = 2;

class NoEpTest : public testing::Test {
 protected:
  NoEpTest() : backend_(make_no_ep({kHidden, 4, kTopK}, true)) {}

  DispatchInput input() const { return {x_.data(), 2, ids_.data(), weights_.data(), nullptr}; }
  ExpertOutput reduced() { return {WeightAndReduce::kByExperts, result_.data(), kHidden}; }

  static void expect_misuse(const Error& error, const char* text) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.message(), HasSubstr(text));
    EXPECT_THAT(error.message(), HasSubstr("no_ep"));
  }

  std::vector<float> x_ = {1, 2, 3, 4, 5, 6};
  std::vector<GlobalExpert> ids_ = {GlobalExpert{3}, GlobalExpert{1}, GlobalExpert{1}, kNoGlobalExpert};
  std::vector<float> weights_ = {0.5F, 0.25F, 1.0F, 7.0F};
  std::vector<float> result_ = {10, 20, 30, 40, 50, 60};
  std::vector<float> out_ = std::vector<float>(6, -1.0F);
  std::unique_ptr<PrepareFinalize> backend_;
};

TEST_F(NoEpTest, HandsOverTheCallersRows) {
  auto prepared = backend_->prepare(input());
  ASSERT_TRUE(prepared.ok()) << prepared.error().message();
  const ReceivedRows& rows = prepared->rows;
  EXPECT_EQ(rows.x, x_.data()) << "no copy";
  EXPECT_EQ(rows.rows, 2);
  EXPECT_EQ(rows.row_stride, kHidden);
  EXPECT_EQ(rows.top_k, kTopK);
  EXPECT_EQ(rows.format, ActivationFormat::kStandard);
  EXPECT_EQ(std::vector(rows.ids, rows.ids + 4),
            (std::vector{LocalExpert{3}, LocalExpert{1}, LocalExpert{1}, kNoLocalExpert}));
  EXPECT_EQ(std::vector(rows.weights, rows.weights + 4), weights_);
  EXPECT_THAT(std::vector(rows.expert_rows.begin(), rows.expert_rows.end()), testing::ElementsAre(0, 2, 0, 1));
}

TEST_F(NoEpTest, HandleOwnsACopyOfTheRouting) {
  auto handle = backend_->dispatch_send(input());
  ASSERT_TRUE(handle.ok());
  ids_.assign(4, GlobalExpert{0});
  weights_.assign(4, 99.0F);
  auto rows = backend_->dispatch_recv(*handle);
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows->ids[0], LocalExpert{3});
  EXPECT_EQ(rows->weights[0], 0.5F);
}

TEST_F(NoEpTest, StagesInOrder) {
  auto handle = backend_->dispatch_send(input());
  ASSERT_TRUE(handle.ok());
  EXPECT_EQ(handle->stage(), Stage::kSent);
  ASSERT_TRUE(backend_->dispatch_recv(*handle).ok());
  EXPECT_EQ(handle->stage(), Stage::kReceived);
  ASSERT_TRUE(backend_->combine_send(*handle, reduced()).ok());
  EXPECT_EQ(handle->stage(), Stage::kCombineSent);
  ASSERT_TRUE(backend_->combine_recv(*handle, out_.data()).ok());
  EXPECT_EQ(handle->stage(), Stage::kDone);
  EXPECT_EQ(out_, result_);
}

TEST_F(NoEpTest, ExpertsMayWriteTheOutputThemselves) {
  auto prepared = backend_->prepare(input());
  ASSERT_TRUE(prepared.ok());
  out_ = result_;
  ASSERT_TRUE(
      backend_->finalize(prepared->handle, {WeightAndReduce::kByExperts, out_.data(), kHidden}, out_.data()).ok());
  EXPECT_EQ(out_, result_);
}

TEST_F(NoEpTest, FinalizeWeightsInSlotOrderAndSkipsUnusedSlots) {
  auto prepared = backend_->prepare(input());
  ASSERT_TRUE(prepared.ok());
  // One row of four floats per slot; the fourth slot has no expert and holds what nobody may read.
  const float nan = std::nanf("");
  std::vector<float> rows = {1, 2, 3, nan, 4, 8, 12, nan, 7, 8, 9, nan, nan, nan, nan, nan};
  ASSERT_TRUE(backend_->finalize(prepared->handle, {WeightAndReduce::kByFinalize, rows.data(), 4}, out_.data()).ok());
  EXPECT_EQ(out_, (std::vector<float>{1.5F, 3.0F, 4.5F, 7.0F, 8.0F, 9.0F}));
}

TEST_F(NoEpTest, NoTokensTakePartAllTheSame) {
  auto prepared = backend_->prepare({});
  ASSERT_TRUE(prepared.ok()) << prepared.error().message();
  EXPECT_EQ(prepared->rows.rows, 0);
  EXPECT_TRUE(backend_->finalize(prepared->handle, {}, nullptr).ok());
}

TEST_F(NoEpTest, OutOfOrderIsAnError) {
  DispatchHandle empty;
  expect_misuse(backend_->dispatch_recv(empty).error(), "an empty handle");
  auto handle = backend_->dispatch_send(input());
  ASSERT_TRUE(handle.ok());
  expect_misuse(backend_->combine_send(*handle, reduced()).error(), "was sent, not received");
  expect_misuse(backend_->combine_recv(*handle, out_.data()).error(), "was sent, not received");
  ASSERT_TRUE(backend_->dispatch_recv(*handle).ok()) << "misuse changes nothing";
  expect_misuse(backend_->dispatch_recv(*handle).error(), "was received");
  expect_misuse(backend_->combine_recv(*handle, out_.data()).error(), "was received");
  ASSERT_TRUE(backend_->combine_send(*handle, reduced()).ok());
  expect_misuse(backend_->combine_send(*handle, reduced()).error(), "sent already");
  ASSERT_TRUE(backend_->combine_recv(*handle, out_.data()).ok());
  expect_misuse(backend_->combine_recv(*handle, out_.data()).error(), "used already");
  expect_misuse(backend_->dispatch_recv(*handle).error(), "used already");
  expect_misuse(backend_->combine_send(*handle, reduced()).error(), "used already");
}

TEST_F(NoEpTest, MovedFromHandleIsEmpty) {
  auto handle = backend_->dispatch_send(input());
  ASSERT_TRUE(handle.ok());
  DispatchHandle moved = std::move(*handle);
  EXPECT_EQ(handle->stage(), Stage::kEmpty);
  expect_misuse(backend_->dispatch_recv(*handle).error(), "an empty handle");
  EXPECT_TRUE(backend_->dispatch_recv(moved).ok());
}

TEST_F(NoEpTest, ForeignHandleIsAnError) {
  auto other = make_no_ep({kHidden, 4, kTopK}, true);
  auto handle = other->dispatch_send(input());
  ASSERT_TRUE(handle.ok());
  expect_misuse(backend_->dispatch_recv(*handle).error(), "another backend");
  other.reset();  // a handle outlives its backend without harm
  expect_misuse(backend_->dispatch_recv(*handle).error(), "another backend");
}

TEST_F(NoEpTest, DroppedHandlesAreForgotten) {
  for (int i = 0; i < 3; ++i) {
    auto handle = backend_->dispatch_send(input());
    ASSERT_TRUE(handle.ok());
    if (i > 0) {
      ASSERT_TRUE(backend_->dispatch_recv(*handle).ok());
    }
    if (i > 1) {
      ASSERT_TRUE(backend_->combine_send(*handle, reduced()).ok());
    }
  }
  EXPECT_TRUE(backend_->prepare(input()).ok());
}

TEST_F(NoEpTest, TwoStepsMayBeInFlight) {
  auto first = backend_->dispatch_send(input());
  ids_[0] = GlobalExpert{2};
  auto second = backend_->dispatch_send(input());
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(backend_->dispatch_recv(*second)->ids[0], LocalExpert{2});
  EXPECT_EQ(backend_->dispatch_recv(*first)->ids[0], LocalExpert{3});
}

TEST_F(NoEpTest, IdsAndSizesAreChecked) {
  ids_[2] = GlobalExpert{4};
  expect_misuse(backend_->dispatch_send(input()).error(), "expert id 4 of token 1 is outside -1 to 3");
  ids_[2] = GlobalExpert{-2};
  expect_misuse(backend_->dispatch_send(input()).error(), "expert id -2");
  ids_[2] = GlobalExpert{0};
  DispatchInput bad = input();
  bad.tokens = -1;
  expect_misuse(backend_->dispatch_send(bad).error(), "-1 tokens");
  bad = input();
  bad.x = nullptr;
  expect_misuse(backend_->dispatch_send(bad).error(), "without rows");
  bad = input();
  bad.weights = nullptr;
  expect_misuse(backend_->dispatch_send(bad).error(), "without rows");
  bad = input();
  bad.tokens = std::int64_t{1} << 40;
  expect_misuse(backend_->dispatch_send(bad).error(), "split the batch");
}

TEST_F(NoEpTest, OutputsAreChecked) {
  auto prepared = backend_->prepare(input());
  ASSERT_TRUE(prepared.ok());
  expect_misuse(backend_->combine_send(prepared->handle, {}).error(), "without rows");
  expect_misuse(
      backend_->combine_send(prepared->handle, {WeightAndReduce::kByExperts, result_.data(), kHidden - 1}).error(),
      "row stride of 2");
  ASSERT_TRUE(backend_->combine_send(prepared->handle, reduced()).ok());
  expect_misuse(backend_->combine_recv(prepared->handle, nullptr).error(), "without an output");
  EXPECT_TRUE(backend_->combine_recv(prepared->handle, out_.data()).ok());
}

TEST(Backends, CapabilitiesOfNoEp) {
  const PrepareFinalizeCapabilities& can = no_ep_capabilities();
  EXPECT_EQ(can.name, "no_ep");
  EXPECT_EQ(can.max_ranks, 1);
  EXPECT_TRUE(can.zero_copy_in && can.zero_copy_out && can.deterministic && can.output_is_reduced);
  EXPECT_GE(can.id_bits, 16);
}

TEST(Backends, RegistryAndNamesAgree) {
  for (const BackendEntry& entry : backend_registry()) {
    const auto name = find_backend(entry.capabilities.name);
    ASSERT_TRUE(name.ok());
    EXPECT_TRUE((*name)->own());
    EXPECT_NE(entry.create != nullptr, !entry.missing.empty()) << "either there, or the reason why not";
  }
  for (const BackendName& name : backend_names()) {
    EXPECT_NE(find_backend_entry(name.stands_for), nullptr) << name.name << " stands for an unknown class";
  }
}

}  // namespace
}  // namespace sluice::moe
