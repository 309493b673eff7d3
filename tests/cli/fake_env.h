// An operating system of two maps: variables and small files.
#pragma once

#include <map>
#include <string>

#include "base/env.h"

namespace sluice {

class FakeEnv final : public Env {
 public:
  std::map<std::string, std::string> variables;
  std::map<std::string, std::string> files;

  Result<std::shared_ptr<const Bytes>> map(const std::string& path) override {
    const auto it = files.find(path);
    if (it == files.end()) return Error(ErrorCode::kNotFound, path + ": no such file");
    return own_bytes(it->second);
  }
  Result<std::string> read_text(const std::string& path, std::size_t max_bytes) override {
    const auto it = files.find(path);
    if (it == files.end()) return Error(ErrorCode::kNotFound, path + ": no such file");
    if (it->second.size() > max_bytes) return Error(ErrorCode::kResource, path + ": too large");
    return it->second;
  }
  bool is_file(const std::string& path) override { return files.contains(path); }
  bool is_directory(const std::string&) override { return false; }
  Result<std::vector<std::string>> list(const std::string& path) override {
    return Error(ErrorCode::kNotFound, path + ": no such folder");
  }
  std::optional<std::string> variable(const std::string& name) override {
    const auto it = variables.find(name);
    if (it == variables.end()) return std::nullopt;
    return it->second;
  }
  std::chrono::steady_clock::time_point now() override { return {}; }
};

}  // namespace sluice
