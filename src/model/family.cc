#include "model/family.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sluice {
namespace {

constexpr std::array<const Family*, 6> kFamilies = {&kLlamaFamily, &kQwen2Family,    &kQwen3Family,
                                                    &kOlmoeFamily, &kDeepseekFamily, &kGptOssFamily};

Error unsupported(const Checkpoint& checkpoint, std::string_view architecture) {
  return Error(ErrorCode::kUnsupported, fmt::format("{}: architecture '{}' is not supported; supported are {}",
                                                    checkpoint.path(), architecture, supported_architectures()));
}

// A folder's or file's own name, for models that carry none.
std::string base_name(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

}  // namespace

std::span<const Family* const> families() { return kFamilies; }

std::string supported_architectures() {
  std::vector<std::string_view> gguf;
  std::vector<std::string_view> hf;
  for (const Family* family : kFamilies) {
    gguf.insert(gguf.end(), family->gguf_architectures.begin(), family->gguf_architectures.end());
    hf.insert(hf.end(), family->hf_architectures.begin(), family->hf_architectures.end());
  }
  return fmt::format("{} (GGUF) and {} (safetensors)", fmt::join(gguf, ", "), fmt::join(hf, ", "));
}

Result<UnderstoodModel> understand(const Checkpoint& checkpoint) {
  if (checkpoint.kind() == CheckpointKind::kGguf) {
    SLUICE_ASSIGN(const std::optional<std::string_view> architecture, checkpoint.get_string("general.architecture"));
    if (!architecture) {
      return Error(ErrorCode::kCorrupt,
                   fmt::format("{}: metadata key general.architecture is missing", checkpoint.path()));
    }
    for (const Family* family : kFamilies) {
      if (std::ranges::find(family->gguf_architectures, *architecture) == family->gguf_architectures.end()) continue;
      SLUICE_ASSIGN(ModelSpec spec, family->from_gguf(GgufConfig(checkpoint, std::string(*architecture))));
      SLUICE_ASSIGN(const std::optional<std::string_view> name, checkpoint.get_string("general.name"));
      spec.architecture = *architecture;
      spec.name = name ? std::string(*name) : base_name(checkpoint.path());
      return UnderstoodModel{family, std::move(spec)};
    }
    return unsupported(checkpoint, *architecture);
  }

  if (!checkpoint.config().is_object()) {
    return Error(ErrorCode::kNotFound,
                 fmt::format("{}: no config.json beside the weights; give the model's folder", checkpoint.path()));
  }
  const JsonConfig config(checkpoint.config(), checkpoint.path() + "/config.json");
  SLUICE_ASSIGN(const std::vector<std::string> architectures, config.texts_or_empty("architectures"));
  if (architectures.empty()) return config.missing("architectures");
  for (const Family* family : kFamilies) {
    if (std::ranges::find(family->hf_architectures, architectures.front()) == family->hf_architectures.end()) continue;
    SLUICE_ASSIGN(ModelSpec spec, family->from_config(config));
    spec.architecture = architectures.front();
    spec.name = base_name(checkpoint.path());
    return UnderstoodModel{family, std::move(spec)};
  }
  return unsupported(checkpoint, architectures.front());
}

moe::RoutingProgram softmax_routing(std::int64_t experts, std::int64_t used, bool normalize) {
  moe::RoutingProgram program;
  program.num_experts = static_cast<std::int32_t>(experts);
  program.top_k = static_cast<std::int32_t>(used);
  program.score = moe::Score::kSoftmax;
  program.normalize = normalize;
  return program;
}

Status check_experts(const std::string& path, std::string_view used_key, std::int64_t used, std::int64_t experts) {
  if (used < 1 || used > experts) {
    return Error(ErrorCode::kCorrupt,
                 fmt::format("{}: {} is {}, wanted 1 to {} (the number of experts)", path, used_key, used, experts));
  }
  return Status::success();
}

bool gguf_layer_has_router(const GgufConfig& config, std::int64_t layer) {
  return config.checkpoint().find(fmt::format("blk.{}.ffn_gate_inp.weight", layer)) != nullptr;
}

Result<moe::Score> gguf_score(const GgufConfig& config) {
  SLUICE_ASSIGN(const std::int64_t function, config.size_or("expert_gating_func", 0));
  switch (function) {
    case 0: {
      const auto& tensors = config.checkpoint().tensors();
      const bool biased = std::ranges::any_of(
          tensors, [](const TensorInfo& t) { return t.name.find(".exp_probs_b") != std::string::npos; });
      return biased ? moe::Score::kSigmoid : moe::Score::kSoftmax;
    }
    case 1:
    case 3:  // softmax over the chosen ones equals softmax over all, renormalised; the caller sets normalize
      return moe::Score::kSoftmax;
    case 2:
      return moe::Score::kSigmoid;
    default:
      return Error(ErrorCode::kUnsupported,
                   fmt::format("{}: {} is {}, supported are 1 (softmax), 2 (sigmoid), 3", config.checkpoint().path(),
                               config.key("expert_gating_func"), function));
  }
}

}  // namespace sluice
