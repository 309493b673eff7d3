// Where a checkpoint's files lie: a folder of the file system or one in memory.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/result.h"

namespace sluice {

class Folder {
 public:
  virtual ~Folder() = default;

  // What messages call the file `name`: its path.
  virtual std::string path(const std::string& name) const = 0;
  virtual bool has(const std::string& name) = 0;
  // Names of all entries, sorted.
  virtual Result<std::vector<std::string>> names() = 0;
  // Errors: kNotFound, kIo; the text names the path.
  virtual Result<std::shared_ptr<const Bytes>> open(const std::string& name) = 0;
};

// The folder `directory`; "" is the current one, and then paths are the bare names.
std::unique_ptr<Folder> folder_of_env(Env& env, const std::string& directory);

// `files` must outlive the folder. Paths are label/name.
std::unique_ptr<Folder> folder_in_memory(const std::map<std::string, std::shared_ptr<const Bytes>, std::less<>>& files,
                                         const std::string& label);

}  // namespace sluice
