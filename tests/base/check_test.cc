// CHECK stops the program with the condition; what it accepts costs nothing else.
#include "base/check.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Check, PassesWhatHolds) {
  int evaluated = 0;
  SLUICE_CHECK(++evaluated == 1);
  EXPECT_EQ(evaluated, 1);
}

TEST(CheckDeathTest, NamesTheConditionAndThePlace) {
  const int answer = 41;
  EXPECT_DEATH(SLUICE_CHECK(answer == 42), "internal error: answer == 42 at .*check_test.cc");
}

}  // namespace
}  // namespace sluice
