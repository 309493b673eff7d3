#include "engine/embedded_model.h"

#include <cstddef>
#include <span>

// Defined by cmake/SluiceEmbed.cmake in assembly: entries until a null name.
extern "C" {
struct SluiceEmbeddedFile {
  const char* name;
  const std::byte* data;
  std::size_t size;
};
extern const SluiceEmbeddedFile sluice_embedded_model[];
}

namespace sluice {

std::map<std::string, std::shared_ptr<const Bytes>, std::less<>> embedded_model_files() {
  std::map<std::string, std::shared_ptr<const Bytes>, std::less<>> files;
  for (const SluiceEmbeddedFile* file = sluice_embedded_model; file->name != nullptr; ++file) {
    files.emplace(file->name, borrow_bytes(std::span(file->data, file->size)));
  }
  return files;
}

}  // namespace sluice
