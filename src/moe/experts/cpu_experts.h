// Experts on the CPU: one implementation over KernelTable, one registry row per instruction set.
#pragma once

#include <memory>

#include "moe/experts/experts.h"

namespace sluice::moe {

std::unique_ptr<ExpertsKernel> make_cpu_experts(const ExpertsCapabilities& capabilities, const ExpertsSetup& setup);

}  // namespace sluice::moe
