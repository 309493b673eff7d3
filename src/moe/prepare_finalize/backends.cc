#include "moe/prepare_finalize/backends.h"

#include <array>

#include <fmt/format.h>

#include "moe/prepare_finalize/no_ep.h"

namespace sluice::moe {
namespace {

constexpr std::array kNames = {
    BackendName{"no_ep", "no_ep"},
    BackendName{"allgather_reducescatter", "allgather_reducescatter"},
    BackendName{"high_throughput", "high_throughput"},
    BackendName{"low_latency", "low_latency"},
    BackendName{"elastic", "elastic"},
    // vLLM, removed there: both became allgather_reducescatter
    BackendName{"naive", "allgather_reducescatter"},
    BackendName{"pplx", "allgather_reducescatter"},
    // vLLM
    BackendName{"deepep_high_throughput", "high_throughput", HiddenRounding::kRowBytes},
    BackendName{"deepep_low_latency", "low_latency", HiddenRounding::kList},
    BackendName{"deepep_v2", "high_throughput", HiddenRounding::kRowBytes},
    BackendName{"mori_high_throughput", "high_throughput"},
    BackendName{"mori_low_latency", "low_latency"},
    BackendName{"nixl_ep", "elastic", HiddenRounding::kList},
    BackendName{"flashinfer_all2allv", "high_throughput"},
    BackendName{"flashinfer_nvlink_two_sided", "high_throughput"},
    BackendName{"flashinfer_nvlink_one_sided", "low_latency"},
    // on branches of vLLM
    BackendName{"flashinfer_ep_high_throughput", "high_throughput"},
    BackendName{"flashinfer_ep_low_latency", "low_latency"},
    BackendName{"hybrid_ep", "high_throughput"},
    BackendName{"moonep", "high_throughput"},
    BackendName{"mooncake_ep", "elastic"},
    BackendName{"nccl_ep", "high_throughput"},
    BackendName{"ft_nccl_ep", "elastic"},
};

constexpr std::string_view kNotBuilt = "not built yet: expert parallelism over several ranks is under way";

constexpr BackendEntry later(std::string_view name, ActivationFormat format) {
  return {.capabilities = {.name = name, .format = format}, .create = nullptr, .missing = kNotBuilt};
}

std::span<const BackendEntry> registry() {
  static const std::array entries = {
      BackendEntry{.capabilities = no_ep_capabilities(), .create = make_no_ep, .missing = {}},
      later("allgather_reducescatter", ActivationFormat::kStandard),
      later("high_throughput", ActivationFormat::kStandard),
      later("low_latency", ActivationFormat::kBatched),
      later("elastic", ActivationFormat::kBatched),
  };
  return entries;
}

}  // namespace

Result<const BackendName*> find_backend(std::string_view name) {
  std::string plain(name);
  for (char& c : plain) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '-') c = '_';
  }
  std::string known;
  for (const BackendName& entry : kNames) {
    if (entry.name == plain) return &entry;
    if (!known.empty()) known += ", ";
    known += entry.name;
  }
  return Error(ErrorCode::kInvalidArgument, fmt::format("unknown all2all backend '{}'; known: auto, {}", name, known));
}

std::span<const BackendName> backend_names() { return kNames; }

std::span<const BackendEntry> backend_registry() { return registry(); }

const BackendEntry* find_backend_entry(std::string_view own_name) {
  for (const BackendEntry& entry : registry()) {
    if (entry.capabilities.name == own_name) return &entry;
  }
  return nullptr;
}

}  // namespace sluice::moe
