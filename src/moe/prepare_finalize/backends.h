// Names of prepare/finalize backends: Sluice's own, and those that users of vLLM know, with the class that takes their
// place here.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "moe/prepare_finalize/prepare_finalize.h"

namespace sluice::moe {

enum class HiddenRounding : std::uint8_t { kNone, kRowBytes, kList };  // see hidden_size_rounding.h

struct BackendName {
  std::string_view name;
  std::string_view stands_for;  // the class of this project: the name itself for our own
  HiddenRounding rounding = HiddenRounding::kNone;

  bool own() const { return name == stands_for; }
};

// Lower case and '-' = '_'. Errors: kInvalidArgument, listing the known names.
Result<const BackendName*> find_backend(std::string_view name);
std::span<const BackendName> backend_names();

// One class of backend; `create` is null for those of later issues, and `missing` says so.
struct BackendEntry {
  PrepareFinalizeCapabilities capabilities;
  std::unique_ptr<PrepareFinalize> (*create)(const PrepareFinalize::Shape& shape, bool exact) = nullptr;
  std::string_view missing;
};

// All classes, in the order of preference.
std::span<const BackendEntry> backend_registry();
const BackendEntry* find_backend_entry(std::string_view own_name);

}  // namespace sluice::moe
