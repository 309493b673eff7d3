// The kernel tables that the tests run on: those of this processor, and the AVX-512 ones against an emulation.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/kernels.h"

namespace sluice {

// Compiled from the same sources with SLUICE_EMULATE_AVX512 (tests/CMakeLists.txt); they need AVX2 only.
namespace emulated {
const KernelTable& table_avx512();
const KernelTable& table_avx512vnni();
}  // namespace emulated

struct TableUnderTest {
  const char* name;
  Isa needs;
  const KernelTable& (*table)();
};

inline void PrintTo(const TableUnderTest& table, std::ostream* out) { *out << table.name; }

inline std::vector<TableUnderTest> tables_under_test() {
  return {
      {"Scalar", Isa::kScalar, []() -> const KernelTable& { return kernels_for(Isa::kScalar); }},
      {"Avx2", Isa::kAvx2, []() -> const KernelTable& { return kernels_for(Isa::kAvx2); }},
      {"Avx512", Isa::kAvx512, []() -> const KernelTable& { return kernels_for(Isa::kAvx512); }},
      {"Avx512Vnni", Isa::kAvx512Vnni, []() -> const KernelTable& { return kernels_for(Isa::kAvx512Vnni); }},
      {"Avx512Bf16", Isa::kAvx512Bf16, []() -> const KernelTable& { return kernels_for(Isa::kAvx512Bf16); }},
      {"EmulatedAvx512", Isa::kAvx2, emulated::table_avx512},
      {"EmulatedAvx512Vnni", Isa::kAvx2, emulated::table_avx512vnni},
  };
}

// Skips where the processor lacks the instruction set (tests/skips.txt says which hardware excuses that).
class KernelTest : public ::testing::TestWithParam<TableUnderTest> {
 protected:
  void SetUp() override {
    if (!isa_available(GetParam().needs)) GTEST_SKIP() << "this processor has no " << isa_name(GetParam().needs);
    table_ = &GetParam().table();
  }
  const KernelTable& table() const { return *table_; }
  bool exact() const { return table_->isa == Isa::kScalar; }

 private:
  const KernelTable* table_ = nullptr;
};

inline std::string table_name(const ::testing::TestParamInfo<TableUnderTest>& info) { return info.param.name; }

}  // namespace sluice
