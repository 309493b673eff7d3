#include "model/binder.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sluice {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::int64_t kFp8Block = 128;

std::int64_t blocks_of(std::int64_t n) { return (n + kFp8Block - 1) / kFp8Block; }

std::size_t element_alignment(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return alignof(float);
    case DType::kF16:
    case DType::kBF16:
      return alignof(std::uint16_t);
    default:
      return 1;  // block formats are read bytewise or with unaligned loads
  }
}

bool holds_weights(DType dtype) {
  const FormatInfo* format = find_format(dtype);
  return format != nullptr && format->decode != nullptr;
}

}  // namespace

void WeightArena::Free::operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{kAlignment}); }

std::byte* WeightArena::allocate(std::size_t bytes) {
  const std::size_t rounded = std::max<std::size_t>((bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment);
  blocks_.emplace_back(static_cast<std::byte*>(::operator new[](rounded, std::align_val_t{kAlignment})));
  allocated_ += rounded;
  return blocks_.back().get();
}

Binder::Binder(const Checkpoint& checkpoint, WeightArena& arena) : checkpoint_(checkpoint), arena_(arena) {}

Error Binder::shape_error(const TensorInfo& tensor, const std::string& wanted) const {
  return Error(ErrorCode::kCorrupt, fmt::format("{}: tensor {} has shape [{}], wanted [{}]", tensor.file, tensor.name,
                                                fmt::join(tensor.shape, ", "), wanted));
}

Result<const TensorInfo*> Binder::tensor(const std::string& name) {
  const TensorInfo* found = checkpoint_.find(name);
  if (found == nullptr) {
    return Error(ErrorCode::kCorrupt, fmt::format("{}: tensor {} is missing", checkpoint_.path(), name));
  }
  used_.insert(name);
  return found;
}

Result<WeightView> Binder::view(const TensorInfo& tensor, std::int64_t rows, std::int64_t cols, std::size_t offset) {
  if (!holds_weights(tensor.dtype)) {
    return Error(ErrorCode::kUnsupported, fmt::format("{}: tensor {} is of type {}, which holds no weights",
                                                      tensor.file, tensor.name, dtype_name(tensor.dtype)));
  }
  WeightView view;
  view.dtype = tensor.dtype;
  view.rows = rows;
  view.cols = cols;
  const auto bytes = row_bytes(tensor.dtype, static_cast<std::uint64_t>(cols));
  if (!bytes) return shape_error(tensor, "rows of whole blocks");
  view.row_bytes = static_cast<std::size_t>(*bytes);
  const std::size_t total = view.row_bytes * static_cast<std::size_t>(rows);
  if (offset > tensor.data.size() || total > tensor.data.size() - offset) {
    return shape_error(tensor, fmt::format("{}, {}", rows, cols));
  }
  view.data = tensor.data.data() + offset;
  if (reinterpret_cast<std::uintptr_t>(view.data) % element_alignment(tensor.dtype) != 0) {
    std::byte* copy = arena_.allocate(total);
    std::memcpy(copy, view.data, total);
    view.data = copy;
  }
  return view;
}

Result<const float*> Binder::floats(const TensorInfo& tensor) {
  const FormatInfo* format = find_format(tensor.dtype);
  if (format == nullptr || format->decode == nullptr) {
    return Error(ErrorCode::kUnsupported, fmt::format("{}: tensor {} is of type {}, wanted floating point", tensor.file,
                                                      tensor.name, dtype_name(tensor.dtype)));
  }
  if (tensor.dtype == DType::kF32 && reinterpret_cast<std::uintptr_t>(tensor.data.data()) % alignof(float) == 0) {
    return reinterpret_cast<const float*>(tensor.data.data());
  }
  float* out = arena_.floats(static_cast<std::size_t>(tensor.elements()));
  format->decode(tensor.data.data(), out, tensor.elements());
  return static_cast<const float*>(out);
}

Status Binder::attach_scales(const TensorInfo& tensor, std::int64_t count, std::vector<WeightView>& views) {
  if (tensor.dtype == DType::kNVFP4) {
    // The second level of NVFP4: one factor per matrix, beside the tensor.
    std::string name = tensor.name;
    if (name.ends_with(".weight")) name.replace(name.size() - 7, 7, ".scale");
    if (!has(name)) return Status::success();
    SLUICE_ASSIGN(const TensorInfo* scale, this->tensor(name));
    if (scale->elements() != count) return shape_error(*scale, std::to_string(count));
    SLUICE_ASSIGN(const float* values, floats(*scale));
    for (std::size_t i = 0; i < views.size(); ++i) views[i].tensor_scale = values[i];
    return Status::success();
  }
  if (tensor.dtype != DType::kF8_E4M3) return Status::success();
  const std::string name = tensor.name + "_scale_inv";
  if (!has(name)) {
    return Error(ErrorCode::kUnsupported,
                 fmt::format("{}: FP8 tensor {} has no {} beside it; supported is FP8 with 128 x 128 blocks",
                             tensor.file, tensor.name, name));
  }
  SLUICE_ASSIGN(const TensorInfo* scale, this->tensor(name));
  const std::int64_t rows = blocks_of(views[0].rows);
  const std::int64_t cols = blocks_of(views[0].cols);
  if (scale->elements() != count * rows * cols || scale->shape.back() != cols) {
    return shape_error(*scale, fmt::format("{}, {}", rows, cols));
  }
  SLUICE_ASSIGN(const float* values, floats(*scale));
  for (std::size_t i = 0; i < views.size(); ++i) {
    views[i].scales = values + static_cast<std::int64_t>(i) * rows * cols;
    views[i].scales_stride = cols;
  }
  return Status::success();
}

Result<WeightView> Binder::matrix(const std::string& name, std::int64_t rows, std::int64_t cols) {
  SLUICE_ASSIGN(const TensorInfo* info, tensor(name));
  const bool fits = info->shape == std::vector<std::int64_t>{rows, cols} ||
                    (rows == 1 && info->shape == std::vector<std::int64_t>{cols});
  if (!fits) return shape_error(*info, fmt::format("{}, {}", rows, cols));
  std::vector<WeightView> views(1);
  SLUICE_ASSIGN(views[0], view(*info, rows, cols, 0));
  SLUICE_TRY(attach_scales(*info, 1, views));
  return views[0];
}

Result<std::vector<WeightView>> Binder::stack(const std::string& name, std::int64_t count, std::int64_t rows,
                                              std::int64_t cols) {
  SLUICE_ASSIGN(const TensorInfo* info, tensor(name));
  if (info->shape != std::vector<std::int64_t>{count, rows, cols} &&
      !(count == 1 && info->shape == std::vector<std::int64_t>{rows, cols})) {
    return shape_error(*info, fmt::format("{}, {}, {}", count, rows, cols));
  }
  std::vector<WeightView> views;
  views.reserve(static_cast<std::size_t>(count));
  std::size_t offset = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    SLUICE_ASSIGN(const WeightView one, view(*info, rows, cols, offset));
    views.push_back(one);
    offset += one.row_bytes * static_cast<std::size_t>(rows);
  }
  SLUICE_TRY(attach_scales(*info, count, views));
  return views;
}

Result<const float*> Binder::vector(const std::string& name, std::int64_t n) {
  SLUICE_ASSIGN(const TensorInfo* info, tensor(name));
  if (info->elements() != n || info->shape.size() != 1) return shape_error(*info, std::to_string(n));
  return floats(*info);
}

Result<const float*> Binder::table(const std::string& name, std::int64_t count, std::int64_t n) {
  SLUICE_ASSIGN(const TensorInfo* info, tensor(name));
  if (info->shape != std::vector<std::int64_t>{count, n}) return shape_error(*info, fmt::format("{}, {}", count, n));
  return floats(*info);
}

std::vector<std::string> Binder::unused(const std::vector<std::string>& skip_prefixes) const {
  std::vector<std::string> names;
  for (const TensorInfo& info : checkpoint_.tensors()) {
    if (used_.contains(info.name)) continue;
    const bool skipped =
        std::ranges::any_of(skip_prefixes, [&](const std::string& prefix) { return info.name.starts_with(prefix); });
    if (info.name.ends_with(".rotary_emb.inv_freq")) continue;  // a buffer that old libraries saved; we compute it
    if (!skipped) names.push_back(info.name);
  }
  return names;
}

}  // namespace sluice
