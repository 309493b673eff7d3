#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "moe/experts/cpu_experts.h"
#include "moe/experts/experts.h"
#include "moe/names.h"

namespace sluice::moe {
namespace {

constexpr std::array kActivations = {Activation::kSilu, Activation::kSwigluOai};
constexpr std::array kFormats = {ActivationFormat::kStandard, ActivationFormat::kBatched};
constexpr std::array kForms = {WeightAndReduce::kByExperts, WeightAndReduce::kByFinalize};

// Every format with a scalar decoder: kernels without a faster way use it.
bool has_decoder(DType dtype) {
  const FormatInfo* info = find_format(dtype);
  return info != nullptr && info->decode != nullptr;
}

constexpr ExpertsEntry cpu(std::string_view name, Isa isa) {
  return {.capabilities = {.name = name,
                           .platform = "cpu",
                           .isa = isa,
                           .exact = isa == Isa::kScalar,
                           .supports_weight = has_decoder,
                           .activations = kActivations,
                           .formats = kFormats,
                           .weight_and_reduce = kForms,
                           .expert_bias = true,
                           .shared_beside = true},
          .create = make_cpu_experts,
          .missing = {}};
}

constexpr ExpertsEntry later(std::string_view name, std::string_view platform, std::string_view missing) {
  return {.capabilities = {.name = name, .platform = platform}, .create = nullptr, .missing = missing};
}

constexpr std::array kRegistry = {
    later("cuda", "cuda", "not built yet: experts on NVIDIA GPUs come as a plugin"),
    later("hip", "rocm", "not built yet: experts on AMD GPUs come as a plugin"),
    later("amx", "cpu", "not built yet: AMX tiles"),
    cpu("avx512bf16", Isa::kAvx512Bf16),
    cpu("avx512vnni", Isa::kAvx512Vnni),
    cpu("avx512", Isa::kAvx512),
    cpu("avx2", Isa::kAvx2),
    cpu("scalar", Isa::kScalar),
};

void add(std::string& reasons, std::string reason) {
  if (!reasons.empty()) reasons += "; ";
  reasons += reason;
}

}  // namespace

std::string refusal(const ExpertsCapabilities& kernel, const ExpertsRequest& request) {
  std::string reasons;
  if (static_cast<int>(kernel.isa) > static_cast<int>(request.isa)) {
    add(reasons,
        fmt::format("needs {}, the instruction set in use is {}", isa_name(kernel.isa), isa_name(request.isa)));
  }
  for (std::size_t i = 0; i < request.weight_dtypes.size(); ++i) {
    const DType dtype = request.weight_dtypes[i];
    const auto before = request.weight_dtypes.first(i);
    if (std::find(before.begin(), before.end(), dtype) != before.end()) continue;
    if (kernel.supports_weight == nullptr || !kernel.supports_weight(dtype)) {
      add(reasons, fmt::format("no kernel for weights of type {}", name_of(dtype)));
    }
  }
  if (std::ranges::find(kernel.activations, request.activation) == kernel.activations.end()) {
    add(reasons, fmt::format("no activation {}", name_of(request.activation)));
  }
  const auto check_size = [&](std::string_view what, std::int64_t size, std::int64_t max, std::int64_t multiple) {
    if (max > 0 && size > max) add(reasons, fmt::format("{} is {}, at most {} is possible", what, size, max));
    if (size % multiple != 0) add(reasons, fmt::format("{} is {}, not a multiple of {}", what, size, multiple));
  };
  check_size("hidden_size", request.hidden_size, kernel.max_hidden_size, kernel.hidden_multiple);
  check_size("intermediate_size", request.intermediate_size, kernel.max_intermediate_size,
             kernel.intermediate_multiple);
  check_size("the number of experts", request.num_experts, kernel.max_experts, 1);
  if (kernel.id_bits < 31 && request.num_experts > (std::int64_t{1} << kernel.id_bits)) {
    add(reasons, fmt::format("{} experts do not fit ids of {} bits", request.num_experts, kernel.id_bits));
  }
  if (request.expert_bias && !kernel.expert_bias) add(reasons, "no expert biases");
  if (request.shared_beside && !kernel.shared_beside)
    add(reasons, "cannot run the shared expert beside the routed ones");
  return reasons;
}

std::span<const ExpertsEntry> experts_registry() { return kRegistry; }

const ExpertsEntry* find_experts(std::string_view name) {
  for (const ExpertsEntry& entry : kRegistry) {
    if (entry.capabilities.name == name) return &entry;
  }
  return nullptr;
}

}  // namespace sluice::moe
