// What CPUID and XGETBV say, as data: so that the choice of a level can be tested for processors this machine is not.
#pragma once

#include <cstdint>

#include "cpu/isa.h"

namespace sluice {

// Registers of the leaves that decide the level; zero where the processor has no such leaf.
struct CpuidFacts {
  std::uint32_t leaf1_ecx = 0;
  std::uint32_t leaf7_ebx = 0;
  std::uint32_t leaf7_ecx = 0;
  std::uint32_t leaf7_1_eax = 0;  // leaf 7, subleaf 1
  std::uint64_t xcr0 = 0;         // register state that the operating system saves; 0 without OSXSAVE
};

CpuidFacts read_cpuid();
// The best level whose instructions are all there and whose registers the operating system saves. Levels are
// cumulative: a processor with VNNI but without AVX-512 BW is no kAvx512Vnni.
Isa isa_from_cpuid(const CpuidFacts& facts);

}  // namespace sluice
