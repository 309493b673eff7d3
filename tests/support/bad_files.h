// The corrupted model files: the committed copy, unpacked into the build folder, and the shared set where there is one.
#pragma once

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/shared_data.h"

namespace sluice {

// One line of manifest.json.
struct BadCase {
  std::string folder;
  std::string file;
  std::string fault;
  std::string outcome;             // "error", "loads", "error or warning"
  std::string stage;               // "open", "load", "first token": the latest at which it must be reported
  std::vector<std::string> words;  // that the message should hold

  std::string path() const { return folder + "/" + file; }
};

// Folder of the committed copy.
inline std::string bad_files_folder() { return std::string(SLUICE_BINARY_DIR) + "/data/bad"; }

// Cases of the manifest in `folder`; empty if there is none.
inline std::vector<BadCase> bad_cases(const std::string& folder) {
  std::ifstream in(folder + "/manifest.json");
  const nlohmann::json manifest = nlohmann::json::parse(in, nullptr, false);
  std::vector<BadCase> cases;
  if (!manifest.is_object()) return cases;
  for (const nlohmann::json& c : manifest.at("cases")) {
    cases.push_back({folder, c.at("file"), c.at("fault"), c.at("outcome"), c.at("stage"), c.at("message_names")});
  }
  return cases;
}

// The committed cases and, where the shared folder is there, its own (which may be more).
inline std::vector<BadCase> all_bad_cases() {
  std::vector<BadCase> cases = bad_cases(bad_files_folder());
  if (const std::optional<std::string> shared = shared_path("gguf/bad")) {
    for (BadCase& c : bad_cases(*shared)) cases.push_back(std::move(c));
  }
  return cases;
}

}  // namespace sluice
