// Where tests find their data: the large shared folder when this machine has one, the committed subset always.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace sluice {

// Path of `relative` (for example "gguf/quants/index.json") in the shared data folder, or nullopt if it is not there.
// The folder is $SLUICE_SHARED, or "shared" beside the source tree when the variable is unset or empty. Works for files
// and folders.
inline std::optional<std::string> shared_path(std::string_view relative) {
  const char* variable = std::getenv("SLUICE_SHARED");
  const std::filesystem::path root = variable != nullptr && *variable != '\0'
                                         ? std::filesystem::path(variable)
                                         : std::filesystem::path(SLUICE_SOURCE_DIR).parent_path() / "shared";
  std::filesystem::path path = root / relative;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  return path.string();
}

// Path of `relative` in tests/data/, the data that every clone has.
inline std::string test_data(std::string_view relative) {
  return (std::filesystem::path(SLUICE_SOURCE_DIR) / "tests" / "data" / relative).string();
}

}  // namespace sluice
