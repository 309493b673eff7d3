// What the machine, the affinity mask and the container leave of the processor: cores and CPU time.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice {

// A physical core: those of its logical processors (SMT siblings) that this process may run on; never empty.
struct Core {
  std::vector<int> cpus;
};

// Logical processors of this thread's affinity mask, ascending; at least {0}.
std::vector<int> allowed_cpus();

// Groups logical processors into physical cores, ordered by their first processor. Reads ROOT/sys/devices/system/cpu; a
// processor whose siblings cannot be read counts as a core of its own.
std::vector<Core> group_cores(std::span<const int> cpus, const std::string& root = "");

// The cgroup's limit of CPU time in processors, rounded up, or nullopt where there is none: the smallest one from the
// process's own group up to the root, cgroup v2 (cpu.max) and v1 (cpu.cfs_quota_us). Reads ROOT/proc and ROOT/sys.
std::optional<int> cgroup_cpu_limit(const std::string& root = "");

// The physical cores that a pool should have threads on: as many as affinity and CPU limit allow, at least one.
std::vector<Core> usable_core_list();

}  // namespace sluice
