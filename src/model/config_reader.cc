#include "model/config_reader.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace sluice {

namespace {

Status check_range(const std::string& path, std::string_view key, std::int64_t value, std::int64_t minimum) {
  if (value < minimum || value > kMaxSize) {
    return Error(ErrorCode::kCorrupt,
                 fmt::format("{}: {} is {}, wanted {} to {}", path, key, value, minimum, kMaxSize));
  }
  return Status::success();
}

std::int64_t clamp_to_int64(std::uint64_t value) {
  constexpr auto kTop = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return value > kTop ? std::numeric_limits<std::int64_t>::max() : static_cast<std::int64_t>(value);
}

}  // namespace

Result<std::int64_t> GgufConfig::size(std::string_view suffix, std::int64_t minimum) const {
  const std::string name = key(suffix);
  SLUICE_ASSIGN(const std::optional<std::uint64_t> value, checkpoint_.get_uint(name));
  if (!value)
    return Error(ErrorCode::kCorrupt, fmt::format("{}: metadata key {} is missing", checkpoint_.path(), name));
  const std::int64_t result = clamp_to_int64(*value);
  SLUICE_TRY(check_range(checkpoint_.path(), name, result, minimum));
  return result;
}

Result<std::int64_t> GgufConfig::size_or(std::string_view suffix, std::int64_t fallback, std::int64_t minimum) const {
  if (!has(suffix)) return fallback;
  return size(suffix, minimum);
}

Result<std::vector<std::int64_t>> GgufConfig::per_layer(std::string_view suffix, std::int64_t layers,
                                                        std::optional<std::int64_t> fallback,
                                                        std::int64_t minimum) const {
  const std::string name = key(suffix);
  const auto count = static_cast<std::size_t>(layers);
  const MetaValue* meta = checkpoint_.get(name);
  if (meta == nullptr && fallback) return std::vector<std::int64_t>(count, *fallback);
  if (meta != nullptr) {
    if (const auto* array = std::get_if<MetaArray>(&meta->value)) {
      std::vector<std::int64_t> values;
      if (const auto* ints = std::get_if<std::vector<std::int64_t>>(array)) {
        values = *ints;
      } else if (const auto* uints = std::get_if<std::vector<std::uint64_t>>(array)) {
        for (const std::uint64_t v : *uints) values.push_back(clamp_to_int64(v));
      } else {
        return Error(ErrorCode::kCorrupt,
                     fmt::format("{}: {} is an array of another type than integers", checkpoint_.path(), name));
      }
      if (values.size() < count) {
        return Error(ErrorCode::kCorrupt, fmt::format("{}: {} has {} entries for {} layers", checkpoint_.path(), name,
                                                      values.size(), layers));
      }
      values.resize(count);
      for (const std::int64_t v : values) SLUICE_TRY(check_range(checkpoint_.path(), name, v, minimum));
      return values;
    }
  }
  SLUICE_ASSIGN(const std::int64_t value, size(suffix, minimum));
  return std::vector<std::int64_t>(count, value);
}

Result<double> GgufConfig::number(std::string_view suffix) const {
  const std::string name = key(suffix);
  SLUICE_ASSIGN(const std::optional<double> value, checkpoint_.get_float(name));
  if (!value)
    return Error(ErrorCode::kCorrupt, fmt::format("{}: metadata key {} is missing", checkpoint_.path(), name));
  return *value;
}

Result<double> GgufConfig::number_or(std::string_view suffix, double fallback) const {
  if (!has(suffix)) return fallback;
  return number(suffix);
}

Result<bool> GgufConfig::flag_or(std::string_view suffix, bool fallback) const {
  SLUICE_ASSIGN(const std::optional<bool> value, checkpoint_.get_bool(key(suffix)));
  return value.value_or(fallback);
}

Result<std::string> GgufConfig::text_or(std::string_view suffix, std::string_view fallback) const {
  SLUICE_ASSIGN(const std::optional<std::string_view> value, checkpoint_.get_string(key(suffix)));
  return std::string(value.value_or(fallback));
}

const nlohmann::json* JsonConfig::find(std::string_view key) const {
  if (!object_.is_object()) return nullptr;
  const auto it = object_.find(key);
  if (it == object_.end() || it->is_null()) return nullptr;
  return &*it;
}

Error JsonConfig::wrong(std::string_view key, std::string_view wanted) const {
  std::string found = "nothing";
  if (const nlohmann::json* value = find(key)) {
    found = value->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    if (found.size() > 60) found = found.substr(0, 57) + "...";
  }
  return Error(ErrorCode::kCorrupt, fmt::format("{}: {}{} is {}, wanted {}", path_, prefix_, key, found, wanted));
}

Error JsonConfig::missing(std::string_view key) const {
  return Error(ErrorCode::kCorrupt, fmt::format("{}: key {}{} is missing", path_, prefix_, key));
}

Result<std::optional<JsonConfig>> JsonConfig::object(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::optional<JsonConfig>();
  if (!value->is_object()) return wrong(key, "an object");
  return std::optional<JsonConfig>(JsonConfig(*value, path_, prefix_ + std::string(key) + "."));
}

Result<std::int64_t> JsonConfig::size(std::string_view key, std::int64_t minimum) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return missing(key);
  std::int64_t result = 0;
  if (value->is_number_unsigned()) {
    result = clamp_to_int64(value->get<std::uint64_t>());
  } else if (value->is_number_integer()) {
    result = value->get<std::int64_t>();
  } else if (value->is_number_float()) {
    // Some exporters write whole numbers as 4096.0.
    const double number = value->get<double>();
    if (!(std::abs(number) <= static_cast<double>(kMaxSize)) || number != std::floor(number))
      return wrong(key, "a whole number");
    result = static_cast<std::int64_t>(number);
  } else {
    return wrong(key, "a whole number");
  }
  SLUICE_TRY(check_range(path_, prefix_ + std::string(key), result, minimum));
  return result;
}

Result<std::int64_t> JsonConfig::size_or(std::string_view key, std::int64_t fallback, std::int64_t minimum) const {
  if (!has(key)) return fallback;
  return size(key, minimum);
}

Result<double> JsonConfig::number(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return missing(key);
  if (!value->is_number()) return wrong(key, "a number");
  const double number = value->get<double>();
  if (!std::isfinite(number)) return wrong(key, "a finite number");
  return number;
}

Result<double> JsonConfig::number_or(std::string_view key, double fallback) const {
  if (!has(key)) return fallback;
  return number(key);
}

Result<bool> JsonConfig::flag_or(std::string_view key, bool fallback) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) return wrong(key, "true or false");
  return value->get<bool>();
}

Result<std::string> JsonConfig::text_or(std::string_view key, std::string_view fallback) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::string(fallback);
  if (!value->is_string()) return wrong(key, "a string");
  return value->get<std::string>();
}

Result<std::vector<std::int64_t>> JsonConfig::sizes_or_empty(std::string_view key) const {
  std::vector<std::int64_t> result;
  const nlohmann::json* value = find(key);
  if (value == nullptr) return result;
  if (!value->is_array()) return wrong(key, "a list of whole numbers");
  for (const nlohmann::json& item : *value) {
    if (!item.is_number_integer()) return wrong(key, "a list of whole numbers");
    result.push_back(item.is_number_unsigned() ? clamp_to_int64(item.get<std::uint64_t>()) : item.get<std::int64_t>());
  }
  return result;
}

Result<std::vector<std::string>> JsonConfig::texts_or_empty(std::string_view key) const {
  std::vector<std::string> result;
  const nlohmann::json* value = find(key);
  if (value == nullptr) return result;
  if (!value->is_array()) return wrong(key, "a list of strings");
  for (const nlohmann::json& item : *value) {
    if (!item.is_string()) return wrong(key, "a list of strings");
    result.push_back(item.get<std::string>());
  }
  return result;
}

}  // namespace sluice
