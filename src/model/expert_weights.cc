#include "model/expert_weights.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "quant/repack.h"

namespace sluice {
namespace {

using moe::ExpertMatrices;
using moe::MoeSpec;

using Experts = std::vector<ExpertMatrices>;

std::shared_ptr<const moe::ExpertWeightStore> make_store(Experts experts) {
  return std::make_shared<moe::MappedExpertStore>(std::move(experts));
}

// Rows 0, 2, 4 ... (part 0) or 1, 3, 5 ... (part 1) of an interleaved [2I, ...] tensor of one expert, as plain floats.
const float* deinterleave(Binder& binder, const float* both, std::int64_t count, std::int64_t width,
                          std::int64_t part) {
  float* out = binder.arena().floats(static_cast<std::size_t>(count * width));
  for (std::int64_t i = 0; i < count * width; ++i) out[i] = both[2 * i + part];
  return out;
}

// Copies src [rows, cols] (elements of `size` bytes, `src_stride` elements between rows, taking every `step`-th column
// from `first`) to the transposed matrix dst [cols', rows]. Blocked so that both sides stay in cache lines.
void transpose(const std::byte* src, std::int64_t rows, std::int64_t cols, std::int64_t src_stride, std::int64_t first,
               std::int64_t step, std::size_t size, std::byte* dst) {
  constexpr std::int64_t kTile = 32;
  for (std::int64_t r0 = 0; r0 < rows; r0 += kTile) {
    for (std::int64_t c0 = 0; c0 < cols; c0 += kTile) {
      for (std::int64_t c = c0; c < std::min(cols, c0 + kTile); ++c) {
        for (std::int64_t r = r0; r < std::min(rows, r0 + kTile); ++r) {
          std::memcpy(dst + static_cast<std::size_t>(c * rows + r) * size,
                      src + static_cast<std::size_t>(r * src_stride + first + c * step) * size, size);
        }
      }
    }
  }
}

WeightView owned_view(DType dtype, const std::byte* data, std::int64_t rows, std::int64_t cols) {
  WeightView view;
  view.dtype = dtype;
  view.data = data;
  view.rows = rows;
  view.cols = cols;
  view.row_bytes = static_cast<std::size_t>(row_bytes(dtype, static_cast<std::uint64_t>(cols)).value_or(0));
  return view;
}

std::size_t plain_element_size(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return 4;
    case DType::kF16:
    case DType::kBF16:
      return 2;
    default:
      return 0;
  }
}

// A stack [E, in, out * parts] stored transposed (x W instead of W x): per expert the matrix [out, in] of part `part`.
Result<std::vector<WeightView>> transposed_stack(Binder& binder, const std::string& name, std::int64_t count,
                                                 std::int64_t out, std::int64_t in, std::int64_t parts,
                                                 std::int64_t part) {
  SLUICE_ASSIGN(const TensorInfo* info, binder.tensor(name));
  const std::size_t size = plain_element_size(info->dtype);
  if (size == 0) {
    return Error(ErrorCode::kUnsupported, fmt::format("{}: tensor {} is of type {}, wanted F32, F16 or BF16",
                                                      info->file, name, dtype_name(info->dtype)));
  }
  if (info->shape != std::vector<std::int64_t>{count, in, out * parts}) {
    return binder.shape_error(*info, fmt::format("{}, {}, {}", count, in, out * parts));
  }
  std::vector<WeightView> views;
  const std::size_t expert_bytes = static_cast<std::size_t>(in * out) * size;
  for (std::int64_t e = 0; e < count; ++e) {
    std::byte* copy = binder.arena().allocate(expert_bytes);
    transpose(info->data.data() + static_cast<std::size_t>(e) * expert_bytes * static_cast<std::size_t>(parts), in, out,
              out * parts, part, parts, size, copy);
    views.push_back(owned_view(info->dtype, copy, out, in));
  }
  return views;
}

// gpt-oss's MXFP4: NAME_blocks U8 [E, rows, cols / 32, 16] and NAME_scales U8 [E, rows, cols / 32]; rows `part`,
// `part + parts`, ... of each expert become one matrix of GGUF-style MXFP4 blocks.
Result<std::vector<WeightView>> mxfp4_planes(Binder& binder, const std::string& name, std::int64_t count,
                                             std::int64_t out, std::int64_t in, std::int64_t parts, std::int64_t part) {
  SLUICE_ASSIGN(const TensorInfo* blocks, binder.tensor(name + "_blocks"));
  SLUICE_ASSIGN(const TensorInfo* scales, binder.tensor(name + "_scales"));
  const std::int64_t row_blocks = in / 32;
  if (in % 32 != 0 || blocks->dtype != DType::kU8 || blocks->elements() != count * out * parts * row_blocks * 16) {
    return binder.shape_error(*blocks, fmt::format("{}, {}, {}, 16] of U8 [", count, out * parts, row_blocks));
  }
  if (scales->dtype != DType::kU8 || scales->elements() != count * out * parts * row_blocks) {
    return binder.shape_error(*scales, fmt::format("{}, {}, {}] of U8 [", count, out * parts, row_blocks));
  }
  std::vector<WeightView> views;
  const std::size_t bytes = static_cast<std::size_t>(*row_bytes(DType::kMXFP4, static_cast<std::uint64_t>(in)));
  for (std::int64_t e = 0; e < count; ++e) {
    std::byte* copy = binder.arena().allocate(bytes * static_cast<std::size_t>(out));
    for (std::int64_t n = 0; n < out; ++n) {
      const std::int64_t row = (e * out + n) * parts + part;
      mxfp4_from_planes(reinterpret_cast<const std::uint8_t*>(blocks->data.data()) + row * row_blocks * 16,
                        reinterpret_cast<const std::uint8_t*>(scales->data.data()) + row * row_blocks, row_blocks,
                        copy + bytes * static_cast<std::size_t>(n));
    }
    views.push_back(owned_view(DType::kMXFP4, copy, out, in));
  }
  return views;
}

void set_views(Experts& experts, WeightView ExpertMatrices::*member, const std::vector<WeightView>& views) {
  for (std::size_t e = 0; e < experts.size(); ++e) experts[e].*member = views[e];
}

void set_biases(Experts& experts, const float* ExpertMatrices::*member, const float* values, std::int64_t width) {
  for (std::size_t e = 0; e < experts.size(); ++e) experts[e].*member = values + static_cast<std::int64_t>(e) * width;
}

// Splits merged [E, 2I, H] stacks: gate rows first, then up rows.
void set_merged(Experts& experts, const std::vector<WeightView>& merged, std::int64_t width) {
  for (std::size_t e = 0; e < experts.size(); ++e) {
    experts[e].gate = merged[e].slice_rows(0, width);
    experts[e].up = merged[e].slice_rows(width, width);
  }
}

Status bind_interleaved(Binder& binder, const std::string& base, const MoeSpec& spec, Experts& experts) {
  const std::int64_t count = spec.routing.num_experts;
  const std::int64_t hidden = spec.hidden_size;
  const std::int64_t width = spec.intermediate_size;
  const auto load = binder.has(base + "gate_up_proj_blocks") ? mxfp4_planes : transposed_stack;
  SLUICE_ASSIGN(const auto gate, load(binder, base + "gate_up_proj", count, width, hidden, 2, 0));
  SLUICE_ASSIGN(const auto up, load(binder, base + "gate_up_proj", count, width, hidden, 2, 1));
  SLUICE_ASSIGN(const auto down, load(binder, base + "down_proj", count, hidden, width, 1, 0));
  set_views(experts, &ExpertMatrices::gate, gate);
  set_views(experts, &ExpertMatrices::up, up);
  set_views(experts, &ExpertMatrices::down, down);
  if (spec.expert_bias) {
    SLUICE_ASSIGN(const float* both, binder.table(base + "gate_up_proj_bias", count, 2 * width));
    SLUICE_ASSIGN(const float* down_bias, binder.table(base + "down_proj_bias", count, hidden));
    set_biases(experts, &ExpertMatrices::gate_bias, deinterleave(binder, both, count, width, 0), width);
    set_biases(experts, &ExpertMatrices::up_bias, deinterleave(binder, both, count, width, 1), width);
    set_biases(experts, &ExpertMatrices::down_bias, down_bias, hidden);
  }
  return Status::success();
}

}  // namespace

Result<std::shared_ptr<const moe::ExpertWeightStore>> bind_gguf_experts(Binder& binder, const std::string& prefix,
                                                                        const MoeSpec& spec) {
  const std::int64_t count = spec.routing.num_experts;
  const std::int64_t hidden = spec.hidden_size;
  const std::int64_t width = spec.intermediate_size;
  Experts experts(static_cast<std::size_t>(count));

  if (binder.has(prefix + "ffn_gate.0.weight")) {  // early Mixtral files: one tensor per expert
    for (std::int64_t e = 0; e < count; ++e) {
      ExpertMatrices& expert = experts[static_cast<std::size_t>(e)];
      SLUICE_ASSIGN(expert.gate, binder.matrix(fmt::format("{}ffn_gate.{}.weight", prefix, e), width, hidden));
      SLUICE_ASSIGN(expert.up, binder.matrix(fmt::format("{}ffn_up.{}.weight", prefix, e), width, hidden));
      SLUICE_ASSIGN(expert.down, binder.matrix(fmt::format("{}ffn_down.{}.weight", prefix, e), hidden, width));
    }
    return make_store(std::move(experts));
  }

  if (binder.has(prefix + "ffn_gate_up_exps.weight")) {
    SLUICE_ASSIGN(const auto merged, binder.stack(prefix + "ffn_gate_up_exps.weight", count, 2 * width, hidden));
    set_merged(experts, merged, width);
  } else {
    SLUICE_ASSIGN(const auto gate, binder.stack(prefix + "ffn_gate_exps.weight", count, width, hidden));
    SLUICE_ASSIGN(const auto up, binder.stack(prefix + "ffn_up_exps.weight", count, width, hidden));
    set_views(experts, &ExpertMatrices::gate, gate);
    set_views(experts, &ExpertMatrices::up, up);
  }
  SLUICE_ASSIGN(const auto down, binder.stack(prefix + "ffn_down_exps.weight", count, hidden, width));
  set_views(experts, &ExpertMatrices::down, down);

  if (spec.expert_bias) {
    SLUICE_ASSIGN(const float* gate_bias, binder.table(prefix + "ffn_gate_exps.bias", count, width));
    SLUICE_ASSIGN(const float* up_bias, binder.table(prefix + "ffn_up_exps.bias", count, width));
    SLUICE_ASSIGN(const float* down_bias, binder.table(prefix + "ffn_down_exps.bias", count, hidden));
    set_biases(experts, &ExpertMatrices::gate_bias, gate_bias, width);
    set_biases(experts, &ExpertMatrices::up_bias, up_bias, width);
    set_biases(experts, &ExpertMatrices::down_bias, down_bias, hidden);
  }
  return make_store(std::move(experts));
}

Result<std::shared_ptr<const moe::ExpertWeightStore>> bind_hf_experts(Binder& binder, const std::string& block,
                                                                      const HfNames& names, const MoeSpec& spec) {
  const std::int64_t count = spec.routing.num_experts;
  const std::int64_t hidden = spec.hidden_size;
  const std::int64_t width = spec.intermediate_size;
  const std::string base = block + "experts.";
  Experts experts(static_cast<std::size_t>(count));

  if (names.fused_interleaved) {
    SLUICE_TRY(bind_interleaved(binder, base, spec, experts));
    return make_store(std::move(experts));
  }
  for (const char* suffix : {"", ".weight"}) {
    if (!binder.has(base + "gate_up_proj" + suffix)) continue;
    SLUICE_ASSIGN(const auto merged, binder.stack(base + "gate_up_proj" + suffix, count, 2 * width, hidden));
    SLUICE_ASSIGN(const auto down, binder.stack(base + "down_proj" + suffix, count, hidden, width));
    set_merged(experts, merged, width);
    set_views(experts, &ExpertMatrices::down, down);
    return make_store(std::move(experts));
  }
  for (std::int64_t e = 0; e < count; ++e) {
    ExpertMatrices& expert = experts[static_cast<std::size_t>(e)];
    const auto name = [&](std::string_view part) { return fmt::format("{}{}.{}.weight", base, e, part); };
    if (binder.has(name("gate_up_proj"))) {
      SLUICE_ASSIGN(const WeightView merged, binder.matrix(name("gate_up_proj"), 2 * width, hidden));
      expert.gate = merged.slice_rows(0, width);
      expert.up = merged.slice_rows(width, width);
    } else {
      SLUICE_ASSIGN(expert.gate, binder.matrix(name(names.gate), width, hidden));
      SLUICE_ASSIGN(expert.up, binder.matrix(name(names.up), width, hidden));
    }
    SLUICE_ASSIGN(expert.down, binder.matrix(name(names.down), hidden, width));
  }
  return make_store(std::move(experts));
}

}  // namespace sluice
