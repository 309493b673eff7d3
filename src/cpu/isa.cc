#include "cpu/isa.h"

#include <cpuid.h>

#include <array>
#include <cstring>

#include <fmt/format.h>

#include "cpu/cpuid.h"

namespace sluice {
namespace {

constexpr std::array<std::string_view, kIsaCount> kNames = {"scalar", "avx2", "avx512", "avx512vnni", "avx512bf16"};

// Bits of the registers in CpuidFacts (Intel SDM volume 2, CPUID; volume 1, chapter 13 for XCR0).
constexpr std::uint32_t kFma = 1U << 12;
constexpr std::uint32_t kOsxsave = 1U << 27;
constexpr std::uint32_t kAvx = 1U << 28;
constexpr std::uint32_t kF16c = 1U << 29;
constexpr std::uint32_t kAvx2Bit = 1U << 5;
constexpr std::uint32_t kBmi2 = 1U << 8;
constexpr std::uint32_t kAvx512f = 1U << 16;
constexpr std::uint32_t kAvx512dq = 1U << 17;
constexpr std::uint32_t kAvx512cd = 1U << 28;
constexpr std::uint32_t kAvx512bw = 1U << 30;
constexpr std::uint32_t kAvx512vl = 1U << 31;
constexpr std::uint32_t kVnni = 1U << 11;
constexpr std::uint32_t kBf16 = 1U << 5;
constexpr std::uint64_t kYmmState = 0x06;  // XMM, YMM
constexpr std::uint64_t kZmmState = 0xE6;  // and mask registers, upper halves of ZMM0-15, ZMM16-31

template <typename T>
bool has_all(T value, T bits) {
  return (value & bits) == bits;
}

std::uint64_t read_xcr0() {
  // The instruction itself: the intrinsic would need this file to be compiled with -mxsave.
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low | static_cast<std::uint64_t>(high) << 32;
}

std::string known_names() {
  std::string text = "auto";
  for (const std::string_view name : kNames) text += fmt::format(", {}", name);
  return text;
}

}  // namespace

CpuidFacts read_cpuid() {
  CpuidFacts facts;
  std::uint32_t eax = 0;
  std::uint32_t ebx = 0;
  std::uint32_t ecx = 0;
  std::uint32_t edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return facts;
  facts.leaf1_ecx = ecx;
  if ((ecx & kOsxsave) != 0) facts.xcr0 = read_xcr0();
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return facts;
  facts.leaf7_ebx = ebx;
  facts.leaf7_ecx = ecx;
  // eax of subleaf 0 is the highest subleaf: beyond it, some processors repeat other data.
  if (eax >= 1 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0) facts.leaf7_1_eax = eax;
  return facts;
}

Isa isa_from_cpuid(const CpuidFacts& facts) {
  const bool avx2 = has_all(facts.leaf1_ecx, kFma | kOsxsave | kAvx | kF16c) &&
                    has_all(facts.leaf7_ebx, kAvx2Bit | kBmi2) && has_all(facts.xcr0, kYmmState);
  if (!avx2) return Isa::kScalar;
  const bool avx512 = has_all(facts.leaf7_ebx, kAvx512f | kAvx512dq | kAvx512cd | kAvx512bw | kAvx512vl) &&
                      has_all(facts.xcr0, kZmmState);
  if (!avx512) return Isa::kAvx2;
  if (!has_all(facts.leaf7_ecx, kVnni)) return Isa::kAvx512;
  return has_all(facts.leaf7_1_eax, kBf16) ? Isa::kAvx512Bf16 : Isa::kAvx512Vnni;
}

std::string_view isa_name(Isa isa) {
  const auto index = static_cast<std::size_t>(isa);
  return index < kNames.size() ? kNames[index] : "?";
}

Isa detect_isa() {
  static const Isa kDetected = isa_from_cpuid(read_cpuid());
  return kDetected;
}

bool isa_available(Isa isa) { return isa <= detect_isa(); }

Result<Isa> parse_isa(std::string_view name) {
  if (name == "auto") return detect_isa();
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (name != kNames[i]) continue;
    const auto isa = static_cast<Isa>(i);
    if (isa_available(isa)) return isa;
    return Error(
        ErrorCode::kUnsupported,
        fmt::format("instruction set '{}' is not available on this processor ({}): its best is '{}'; use that, "
                    "a lower one or 'auto'",
                    name, cpu_model_name(), isa_name(detect_isa())));
  }
  return Error(ErrorCode::kInvalidArgument,
               fmt::format("unknown instruction set '{}': wanted one of {}", name, known_names()));
}

std::string cpu_model_name() {
  constexpr std::uint32_t kFirstLeaf = 0x80000002U;
  std::array<char, 48> brand{};
  std::array<std::uint32_t, 4> words{};
  for (std::uint32_t i = 0; i < 3; ++i) {
    if (__get_cpuid(kFirstLeaf + i, &words[0], &words[1], &words[2], &words[3]) == 0) return "unknown x86-64 processor";
    std::memcpy(brand.data() + 16 * i, words.data(), 16);
  }
  // Padded with zeros and, on some processors, blanks on either side.
  std::string_view name(brand.data(), strnlen(brand.data(), brand.size()));
  const std::size_t first = name.find_first_not_of(' ');
  if (first == std::string_view::npos) return "unknown x86-64 processor";
  return std::string(name.substr(first, name.find_last_not_of(' ') - first + 1));
}

}  // namespace sluice
