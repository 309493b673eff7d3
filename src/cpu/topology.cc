#include "cpu/topology.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <initializer_list>
#include <map>
#include <string_view>

#include "cpu/thread_pool.h"

namespace sluice {
namespace {

// First line of a small kernel file. Not through Env: files of /proc and /sys have no size and cannot be mapped.
std::optional<std::string> read_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Processors' worth of time of one cgroup directory; nullopt without a limit ("max", -1, or no such file).
std::optional<double> quota_v2(const std::string& directory) {
  const std::optional<std::string> line = read_line(directory + "/cpu.max");
  if (!line) return std::nullopt;
  const std::size_t space = line->find(' ');
  if (space == std::string::npos) return std::nullopt;
  const std::optional<double> quota = parse_number(std::string_view(*line).substr(0, space));
  const std::optional<double> period = parse_number(std::string_view(*line).substr(space + 1));
  if (!quota || !period || *quota <= 0.0 || *period <= 0.0) return std::nullopt;
  return *quota / *period;
}

std::optional<double> quota_v1(const std::string& directory) {
  const std::optional<std::string> quota_line = read_line(directory + "/cpu.cfs_quota_us");
  const std::optional<std::string> period_line = read_line(directory + "/cpu.cfs_period_us");
  if (!quota_line || !period_line) return std::nullopt;
  const std::optional<double> quota = parse_number(*quota_line);
  const std::optional<double> period = parse_number(*period_line);
  if (!quota || !period || *quota <= 0.0 || *period <= 0.0) return std::nullopt;
  return *quota / *period;
}

// Smallest quota of MOUNT/group and all its parents up to MOUNT itself. Inside a container without a cgroup namespace
// the path is the host's and does not exist below the mount; the root of the mount is then the container's own group.
template <typename Quota>
void lower_to_quota(const std::string& mount, std::string group, Quota quota, std::optional<double>& limit) {
  while (true) {
    while (!group.empty() && group.back() == '/') group.pop_back();
    if (const std::optional<double> found = quota(mount + group)) limit = std::min(limit.value_or(*found), *found);
    if (group.empty()) return;
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
}

// True if "cpu" is one of the comma-separated controllers of a /proc/self/cgroup line.
bool has_cpu_controller(std::string_view controllers) {
  while (!controllers.empty()) {
    const std::size_t comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == "cpu") return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

}  // namespace

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  // The kernel refuses masks shorter than its own, which has one bit per possible processor: grow until it fits.
  for (std::size_t count = CPU_SETSIZE; count <= (std::size_t{1} << 20); count *= 2) {
    std::vector<cpu_set_t> mask(count / CPU_SETSIZE);
    const std::size_t bytes = mask.size() * sizeof(cpu_set_t);
    if (::sched_getaffinity(0, bytes, mask.data()) != 0) continue;
    for (std::size_t cpu = 0; cpu < count; ++cpu) {
      if (CPU_ISSET_S(cpu, bytes, mask.data())) cpus.push_back(static_cast<int>(cpu));
    }
    break;
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

std::vector<Core> group_cores(std::span<const int> cpus, const std::string& root) {
  std::vector<Core> cores;
  std::map<std::string, std::size_t> core_of_siblings;
  for (const int cpu : cpus) {
    const std::string directory = root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    std::optional<std::string> siblings = read_line(directory + "core_cpus_list");
    if (!siblings) siblings = read_line(directory + "thread_siblings_list");  // the name before Linux 5.3
    if (siblings) {
      const auto [entry, is_new] = core_of_siblings.emplace(*siblings, cores.size());
      if (!is_new) {
        cores[entry->second].cpus.push_back(cpu);
        continue;
      }
    }
    cores.push_back(Core{{cpu}});
  }
  return cores;
}

std::optional<int> cgroup_cpu_limit(const std::string& root) {
  std::optional<double> limit;
  std::ifstream groups(root + "/proc/self/cgroup");
  const std::string base = root + "/sys/fs/cgroup";
  for (std::string line; std::getline(groups, line);) {  // HIERARCHY:CONTROLLERS:PATH
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      for (const char* mount : {"", "/unified"}) lower_to_quota(base + mount, path, quota_v2, limit);
    } else if (has_cpu_controller(controllers)) {
      for (const char* mount : {"/cpu", "/cpu,cpuacct"}) lower_to_quota(base + mount, path, quota_v1, limit);
    }
  }
  if (!limit) return std::nullopt;
  return static_cast<int>(std::clamp(std::ceil(*limit), 1.0, 1e6));
}

std::vector<Core> usable_core_list() {
  std::vector<Core> cores = group_cores(allowed_cpus());
  if (const std::optional<int> limit = cgroup_cpu_limit(); limit && static_cast<std::size_t>(*limit) < cores.size()) {
    cores.resize(static_cast<std::size_t>(*limit));
  }
  return cores;
}

int usable_cores() { return static_cast<int>(usable_core_list().size()); }

}  // namespace sluice
