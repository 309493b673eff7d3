// Instruction-set levels: detection, names, and the user's choice (--isa, SLUICE_ISA).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice {

// Ordered: each level contains the ones before it. `scalar` is also the exact mode: fp32 activations, fp64 sums.
enum class Isa { kScalar = 0, kAvx2 = 1, kAvx512 = 2, kAvx512Vnni = 3, kAvx512Bf16 = 4 };
inline constexpr int kIsaCount = 5;

std::string_view isa_name(Isa isa);  // "scalar" "avx2" "avx512" "avx512vnni" "avx512bf16"
// Best level that this processor and operating system run.
Isa detect_isa();
bool isa_available(Isa isa);
// Parses a name; "auto" gives detect_isa(). Errors: unknown name (listing the known ones), or a level this CPU lacks.
Result<Isa> parse_isa(std::string_view name);
// The processor's own name ("AMD EPYC ..."), for reports.
std::string cpu_model_name();

}  // namespace sluice
