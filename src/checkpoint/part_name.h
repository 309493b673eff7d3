// Names of the files of a model in parts: NAME-00002-of-00005.gguf, model-00002-of-00005.safetensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

struct PartName {
  std::string stem;      // NAME
  std::uint32_t number;  // from 1
  std::uint32_t count;
  std::string ending;  // ".gguf"

  // The name of part `n` (from 1) of the same model.
  std::string part(std::uint32_t n) const;
};

// nullopt: not the name of a part with this ending.
std::optional<PartName> parse_part_name(std::string_view name, std::string_view ending);

}  // namespace sluice
