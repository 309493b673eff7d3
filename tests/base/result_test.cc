// Result, Status and the macros that pass errors on.
#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <variant>

namespace sluice {
namespace {

Error not_found(const std::string& what) { return Error(ErrorCode::kNotFound, what + " is not there"); }

TEST(Error, ContextComesInFront) {
  const Error error = not_found("x").with_context("file").with_context("folder");
  EXPECT_EQ(error.code(), ErrorCode::kNotFound);
  EXPECT_EQ(error.message(), "folder: file: x is not there");
}

// Plugins are compiled apart and exchange these numbers.
TEST(Error, CodesKeepTheirNumbers) {
  EXPECT_EQ(static_cast<int>(ErrorCode::kInvalidArgument), 1);
  EXPECT_EQ(static_cast<int>(ErrorCode::kNotFound), 2);
  EXPECT_EQ(static_cast<int>(ErrorCode::kCorrupt), 3);
  EXPECT_EQ(static_cast<int>(ErrorCode::kUnsupported), 4);
  EXPECT_EQ(static_cast<int>(ErrorCode::kIo), 5);
  EXPECT_EQ(static_cast<int>(ErrorCode::kResource), 6);
  EXPECT_EQ(static_cast<int>(ErrorCode::kCancelled), 7);
  EXPECT_EQ(static_cast<int>(ErrorCode::kTimeout), 8);
  EXPECT_EQ(static_cast<int>(ErrorCode::kInternal), 9);
}

TEST(Result, HoldsAValueOrAnError) {
  Result<int> value = 7;
  EXPECT_TRUE(value.ok());
  EXPECT_TRUE(static_cast<bool>(value));
  EXPECT_EQ(*value, 7);
  value.value() = 8;
  EXPECT_EQ(value.value(), 8);

  const Result<int> error = not_found("x");
  EXPECT_FALSE(error.ok());
  EXPECT_EQ(error.error().message(), "x is not there");
  EXPECT_THROW((void)error.value(), std::bad_variant_access);
}

TEST(Result, MovesWhatCannotBeCopied) {
  Result<std::unique_ptr<std::string>> result = std::make_unique<std::string>("text");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ((*result)->size(), 4U);
  const std::unique_ptr<std::string> taken = *std::move(result);
  EXPECT_EQ(*taken, "text");
}

TEST(Result, ArrowReachesIntoTheValue) {
  const Result<std::string> result = std::string("text");
  EXPECT_EQ(result->size(), 4U);
}

TEST(Status, IsSuccessUntilThereIsAnError) {
  EXPECT_TRUE(Status().ok());
  EXPECT_TRUE(Status::success().ok());
  const Status status = not_found("x");
  EXPECT_FALSE(status.ok());
  EXPECT_FALSE(static_cast<bool>(status));
  EXPECT_EQ(status.error().code(), ErrorCode::kNotFound);
}

// How often the expression inside a macro ran.
int evaluations = 0;

Result<int> half(int number) {
  ++evaluations;
  if (number % 2 != 0) return Error(ErrorCode::kInvalidArgument, std::to_string(number) + " is odd");
  return number / 2;
}
Status check_even(int number) {
  SLUICE_TRY(half(number));
  return Status::success();
}
Result<int> quarter(int number) {
  SLUICE_TRY(check_even(number));
  SLUICE_ASSIGN(const int first, half(number));
  int second = 0;
  SLUICE_ASSIGN(second, half(first));
  return second;
}

TEST(Macros, PassTheFirstErrorOn) {
  EXPECT_EQ(quarter(12).value(), 3);
  EXPECT_EQ(quarter(6).error().message(), "3 is odd");
  EXPECT_EQ(quarter(5).error().message(), "5 is odd");
}

TEST(Macros, EvaluateTheirExpressionOnce) {
  evaluations = 0;
  EXPECT_TRUE(check_even(4).ok());
  EXPECT_EQ(evaluations, 1);
  evaluations = 0;
  EXPECT_TRUE(quarter(8).ok());
  EXPECT_EQ(evaluations, 3);
}

TEST(Macros, MoveValues) {
  const auto make = [] { return Result<std::unique_ptr<int>>(std::make_unique<int>(5)); };
  const auto take = [&]() -> Result<int> {
    SLUICE_ASSIGN(const std::unique_ptr<int> number, make());
    return *number;
  };
  EXPECT_EQ(take().value(), 5);
}

}  // namespace
}  // namespace sluice
