#include "checkpoint/folder.h"

#include <utility>

namespace sluice {
namespace {

std::string as_prefix(std::string directory) {
  if (!directory.empty() && directory.back() != '/') directory += '/';
  return directory;
}

class EnvFolder final : public Folder {
 public:
  EnvFolder(Env& env, const std::string& directory) : env_(env), prefix_(as_prefix(directory)) {}

  std::string path(const std::string& name) const override { return prefix_ + name; }
  bool has(const std::string& name) override { return env_.is_file(path(name)); }
  Result<std::vector<std::string>> names() override { return env_.list(prefix_.empty() ? "." : prefix_); }
  Result<std::shared_ptr<const Bytes>> open(const std::string& name) override { return env_.map(path(name)); }

 private:
  Env& env_;
  std::string prefix_;
};

class MemoryFolder final : public Folder {
 public:
  using Files = std::map<std::string, std::shared_ptr<const Bytes>, std::less<>>;

  MemoryFolder(const Files& files, const std::string& label) : files_(files), prefix_(as_prefix(label)) {}

  std::string path(const std::string& name) const override { return prefix_ + name; }
  bool has(const std::string& name) override { return files_.contains(name); }
  Result<std::vector<std::string>> names() override {
    std::vector<std::string> names;
    names.reserve(files_.size());
    for (const auto& [name, bytes] : files_) names.push_back(name);
    return names;
  }
  Result<std::shared_ptr<const Bytes>> open(const std::string& name) override {
    const auto it = files_.find(name);
    if (it == files_.end()) return Error(ErrorCode::kNotFound, path(name) + ": no such file");
    return it->second;
  }

 private:
  const Files& files_;
  std::string prefix_;
};

}  // namespace

std::unique_ptr<Folder> folder_of_env(Env& env, const std::string& directory) {
  return std::make_unique<EnvFolder>(env, directory);
}

std::unique_ptr<Folder> folder_in_memory(const std::map<std::string, std::shared_ptr<const Bytes>, std::less<>>& files,
                                         const std::string& label) {
  return std::make_unique<MemoryFolder>(files, label);
}

}  // namespace sluice
