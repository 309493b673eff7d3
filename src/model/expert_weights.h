// How expert tensors lie in checkpoints: one per expert, stacked, merged gate_up, interleaved (gpt-oss), MXFP4 planes.
#pragma once

#include <memory>
#include <string>

#include "model/binder.h"
#include "model/family.h"
#include "moe/spec.h"

namespace sluice {

// GGUF: `prefix` is "blk.N.".
Result<std::shared_ptr<const moe::ExpertWeightStore>> bind_gguf_experts(Binder& binder, const std::string& prefix,
                                                                        const moe::MoeSpec& spec);
// safetensors: `block` is "model.layers.N.mlp.".
Result<std::shared_ptr<const moe::ExpertWeightStore>> bind_hf_experts(Binder& binder, const std::string& block,
                                                                      const HfNames& names, const moe::MoeSpec& spec);

}  // namespace sluice
