// What bug reports say about a build.
#include "base/version.h"

#include <gtest/gtest.h>

#include <regex>
#include <string>

namespace sluice {
namespace {

TEST(BuildInfo, IsFilledIn) {
  const BuildInfo info = build_info();
  EXPECT_TRUE(std::regex_match(std::string(info.version), std::regex(R"(\d+\.\d+\.\d+)"))) << info.version;
  EXPECT_TRUE(std::regex_match(std::string(info.commit), std::regex("([0-9a-f]{12}(-dirty)?|unknown)"))) << info.commit;
  EXPECT_TRUE(std::regex_match(std::string(info.compiler), std::regex(R"((GCC|Clang) \d+\.\d+.*)"))) << info.compiler;
  EXPECT_FALSE(info.build_type.empty());
}

}  // namespace
}  // namespace sluice
