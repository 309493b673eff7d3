#include "cpu/isa.h"

#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cpu/cpuid.h"

namespace sluice {
namespace {

using testing::HasSubstr;

// Registers of real processors, reduced to the bits that count.
constexpr std::uint32_t kLeaf1 = 1U << 12 | 1U << 27 | 1U << 28 | 1U << 29;  // FMA OSXSAVE AVX F16C
constexpr std::uint32_t kHaswell = 1U << 5 | 1U << 8;                        // AVX2 BMI2
constexpr std::uint32_t kSkylakeX = kHaswell | 1U << 16 | 1U << 17 | 1U << 28 | 1U << 30 | 1U << 31;  // F DQ CD BW VL
constexpr std::uint32_t kVnni = 1U << 11;
constexpr std::uint32_t kBf16 = 1U << 5;
constexpr std::uint64_t kZmm = 0xE7;
constexpr std::uint64_t kYmm = 0x07;

TEST(Isa, LevelsOfProcessors) {
  EXPECT_EQ(isa_from_cpuid({}), Isa::kScalar);
  EXPECT_EQ(isa_from_cpuid({kLeaf1, 0, 0, 0, kYmm}), Isa::kScalar);  // Ivy Bridge: AVX only
  EXPECT_EQ(isa_from_cpuid({kLeaf1, kHaswell, 0, 0, kYmm}), Isa::kAvx2);
  EXPECT_EQ(isa_from_cpuid({kLeaf1, kSkylakeX, 0, 0, kZmm}), Isa::kAvx512);
  EXPECT_EQ(isa_from_cpuid({kLeaf1, kSkylakeX, kVnni, 0, kZmm}), Isa::kAvx512Vnni);
  EXPECT_EQ(isa_from_cpuid({kLeaf1, kSkylakeX, kVnni, kBf16, kZmm}), Isa::kAvx512Bf16);
}

TEST(Isa, AnyMissingInstructionGivesTheLevelBelow) {
  for (const std::uint32_t bit : {12U, 27U, 28U, 29U}) {
    EXPECT_EQ(isa_from_cpuid({kLeaf1 & ~(1U << bit), kSkylakeX, kVnni, kBf16, kZmm}), Isa::kScalar) << bit;
  }
  for (const std::uint32_t bit : {5U, 8U}) {
    EXPECT_EQ(isa_from_cpuid({kLeaf1, kSkylakeX & ~(1U << bit), kVnni, kBf16, kZmm}), Isa::kScalar) << bit;
  }
  for (const std::uint32_t bit : {16U, 17U, 28U, 30U, 31U}) {
    EXPECT_EQ(isa_from_cpuid({kLeaf1, kSkylakeX & ~(1U << bit), kVnni, kBf16, kZmm}), Isa::kAvx2) << bit;
  }
  EXPECT_EQ(isa_from_cpuid({kLeaf1, kSkylakeX, 0, kBf16, kZmm}),
            Isa::kAvx512);  // BF16 without VNNI: Cooper Lake has both
}

TEST(Isa, RegistersThatTheSystemDoesNotSaveAreNotUsed) {
  EXPECT_EQ(isa_from_cpuid({kLeaf1, kSkylakeX, kVnni, kBf16, kYmm}), Isa::kAvx2);
  EXPECT_EQ(isa_from_cpuid({kLeaf1, kSkylakeX, kVnni, kBf16, 0x03}), Isa::kScalar);
  for (const std::uint64_t bit : {0x20U, 0x40U, 0x80U}) {
    EXPECT_EQ(isa_from_cpuid({kLeaf1, kSkylakeX, kVnni, kBf16, kZmm & ~bit}), Isa::kAvx2) << bit;
  }
}

TEST(Isa, DetectionAgreesWithTheKernelsFlags) {
  std::ifstream file("/proc/cpuinfo");
  std::string flags;
  for (std::string line; flags.empty() && std::getline(file, line);) {
    if (line.starts_with("flags")) flags = line + " ";
  }
  ASSERT_FALSE(flags.empty());
  const auto has = [&](const char* name) { return flags.find(std::string(" ") + name + " ") != std::string::npos; };
  Isa expected = Isa::kScalar;
  if (has("avx2") && has("fma") && has("f16c") && has("bmi2")) {
    expected = Isa::kAvx2;
    if (has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl") && has("avx512cd")) {
      expected = Isa::kAvx512;
      if (has("avx512_vnni")) expected = has("avx512_bf16") ? Isa::kAvx512Bf16 : Isa::kAvx512Vnni;
    }
  }
  EXPECT_EQ(detect_isa(), expected);
  EXPECT_TRUE(isa_available(Isa::kScalar));
  EXPECT_TRUE(isa_available(expected));
}

TEST(Isa, NamesRoundTrip) {
  for (int i = 0; i < kIsaCount; ++i) {
    const auto isa = static_cast<Isa>(i);
    const auto parsed = parse_isa(isa_name(isa));
    if (isa_available(isa)) {
      ASSERT_TRUE(parsed.ok()) << parsed.error().message();
      EXPECT_EQ(*parsed, isa);
    } else {
      ASSERT_FALSE(parsed.ok());
      EXPECT_EQ(parsed.error().code(), ErrorCode::kUnsupported);
      EXPECT_THAT(parsed.error().message(),
                  HasSubstr(std::string("'") + std::string(isa_name(isa)) + "' is not available"));
      EXPECT_THAT(parsed.error().message(), HasSubstr(std::string(isa_name(detect_isa()))));
    }
  }
  EXPECT_EQ(*parse_isa("auto"), detect_isa());
}

TEST(Isa, UnknownNameListsTheKnownOnes) {
  for (const char* name : {"", "AVX2", "avx", "avx2 ", "neon"}) {
    const auto parsed = parse_isa(name);
    ASSERT_FALSE(parsed.ok()) << name;
    EXPECT_EQ(parsed.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(parsed.error().message(), std::string("unknown instruction set '") + name +
                                            "': wanted one of auto, scalar, avx2, avx512, avx512vnni, avx512bf16");
  }
}

TEST(Isa, ProcessorHasAName) {
  const std::string name = cpu_model_name();
  ASSERT_FALSE(name.empty());
  EXPECT_NE(name.front(), ' ');
  EXPECT_NE(name.back(), ' ');
  EXPECT_EQ(name.find('\0'), std::string::npos);
}

}  // namespace
}  // namespace sluice
