// Typed, bounded look-ups in a checkpoint's configuration: GGUF metadata (keys prefixed by the architecture) and
// config.json. Every error names file and key, what was wanted and what was found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace sluice {

// Largest value accepted for any size in a configuration: far above any model, small enough that products of three
// sizes fit in 64 bits after the checks against tensor shapes.
inline constexpr std::int64_t kMaxSize = std::int64_t{1} << 31;

// GGUF keys below "<architecture>.".
class GgufConfig {
 public:
  GgufConfig(const Checkpoint& checkpoint, std::string architecture)
      : checkpoint_(checkpoint), prefix_(std::move(architecture) + ".") {}

  const Checkpoint& checkpoint() const { return checkpoint_; }
  std::string key(std::string_view suffix) const { return prefix_ + std::string(suffix); }
  bool has(std::string_view suffix) const { return checkpoint_.get(key(suffix)) != nullptr; }

  Result<std::int64_t> size(std::string_view suffix, std::int64_t minimum = 1) const;  // required
  Result<std::int64_t> size_or(std::string_view suffix, std::int64_t fallback, std::int64_t minimum = 0) const;
  // One value for all layers, or an array with one per layer.
  Result<std::vector<std::int64_t>> per_layer(std::string_view suffix, std::int64_t layers,
                                              std::optional<std::int64_t> fallback, std::int64_t minimum) const;
  Result<double> number(std::string_view suffix) const;
  Result<double> number_or(std::string_view suffix, double fallback) const;
  Result<bool> flag_or(std::string_view suffix, bool fallback) const;
  Result<std::string> text_or(std::string_view suffix, std::string_view fallback) const;

 private:
  const Checkpoint& checkpoint_;
  std::string prefix_;
};

// config.json, or an object inside it. Null values count as absent.
class JsonConfig {
 public:
  JsonConfig(const nlohmann::json& object, std::string path, std::string prefix = {})
      : object_(object), path_(std::move(path)), prefix_(std::move(prefix)) {}

  bool has(std::string_view key) const { return find(key) != nullptr; }
  const nlohmann::json* find(std::string_view key) const;
  // A nested object; nullopt if absent. Error if it is something else.
  Result<std::optional<JsonConfig>> object(std::string_view key) const;

  Result<std::int64_t> size(std::string_view key, std::int64_t minimum = 1) const;
  Result<std::int64_t> size_or(std::string_view key, std::int64_t fallback, std::int64_t minimum = 0) const;
  Result<double> number(std::string_view key) const;
  Result<double> number_or(std::string_view key, double fallback) const;
  Result<bool> flag_or(std::string_view key, bool fallback) const;
  Result<std::string> text_or(std::string_view key, std::string_view fallback) const;
  Result<std::vector<std::int64_t>> sizes_or_empty(std::string_view key) const;
  Result<std::vector<std::string>> texts_or_empty(std::string_view key) const;

  Error wrong(std::string_view key, std::string_view wanted) const;
  Error missing(std::string_view key) const;
  const std::string& path() const { return path_; }

 private:
  const nlohmann::json& object_;
  std::string path_;
  std::string prefix_;
};

}  // namespace sluice
