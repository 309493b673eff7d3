#include "checkpoint/checkpoint.h"

#include <cmath>

#include <fmt/format.h>

namespace sluice {
namespace {

Error wrong_type(const std::string& path, std::string_view key, const MetaValue& found, std::string_view wanted) {
  return Error(ErrorCode::kCorrupt,
               fmt::format("{}: metadata key {} is {}, wanted {}", path, key, found.type_name(), wanted));
}

}  // namespace

std::int64_t TensorInfo::elements() const {
  std::int64_t count = 1;  // cannot overflow: the product was checked on reading
  for (const std::int64_t size : shape) count *= size;
  return count;
}

std::string_view MetaValue::type_name() const {
  switch (value.index()) {
    case 0:
      return "a signed integer";
    case 1:
      return "an unsigned integer";
    case 2:
      return "a floating-point number";
    case 3:
      return "a boolean";
    case 4:
      return "a string";
    default:
      break;
  }
  switch (std::get<MetaArray>(value).index()) {
    case 0:
    case 1:
      return "an array of integers";
    case 2:
      return "an array of floating-point numbers";
    case 3:
      return "an array of strings";
    default:
      return "an array of booleans";
  }
}

const TensorInfo* Checkpoint::find(std::string_view name) const {
  const auto it = index_.find(name);
  return it == index_.end() ? nullptr : &tensors_[it->second];
}

const MetaValue* Checkpoint::get(std::string_view key) const {
  const auto it = metadata_.find(key);
  return it == metadata_.end() ? nullptr : &it->second;
}

Result<std::optional<std::uint64_t>> Checkpoint::get_uint(std::string_view key) const {
  const MetaValue* found = get(key);
  if (found == nullptr) return std::optional<std::uint64_t>();
  if (const auto* number = std::get_if<std::uint64_t>(&found->value)) return std::optional(*number);
  if (const auto* number = std::get_if<std::int64_t>(&found->value)) {
    if (*number >= 0) return std::optional(static_cast<std::uint64_t>(*number));
    return Error(ErrorCode::kCorrupt,
                 fmt::format("{}: metadata key {} is {}, wanted a number that is not negative", path_, key, *number));
  }
  return wrong_type(path_, key, *found, "an integer");
}

Result<std::optional<double>> Checkpoint::get_float(std::string_view key) const {
  const MetaValue* found = get(key);
  if (found == nullptr) return std::optional<double>();
  if (const auto* number = std::get_if<double>(&found->value)) {
    if (std::isfinite(*number)) return std::optional(*number);
    return Error(ErrorCode::kCorrupt,
                 fmt::format("{}: metadata key {} is {}, wanted a finite number", path_, key, *number));
  }
  if (const auto* number = std::get_if<std::uint64_t>(&found->value))
    return std::optional(static_cast<double>(*number));
  if (const auto* number = std::get_if<std::int64_t>(&found->value)) return std::optional(static_cast<double>(*number));
  return wrong_type(path_, key, *found, "a number");
}

Result<std::optional<bool>> Checkpoint::get_bool(std::string_view key) const {
  const MetaValue* found = get(key);
  if (found == nullptr) return std::optional<bool>();
  if (const auto* flag = std::get_if<bool>(&found->value)) return std::optional(*flag);
  return wrong_type(path_, key, *found, "a boolean");
}

Result<std::optional<std::string_view>> Checkpoint::get_string(std::string_view key) const {
  const MetaValue* found = get(key);
  if (found == nullptr) return std::optional<std::string_view>();
  if (const auto* text = std::get_if<std::string_view>(&found->value)) return std::optional(*text);
  return wrong_type(path_, key, *found, "a string");
}

}  // namespace sluice
