// A safetensors file of any bytes; input that begins with a brace is an index and a configuration instead.
#include <cstring>
#include <string>

#include "fuzz/use_checkpoint.h"

namespace {

std::string one_tensor(char name) {
  const std::string header = std::string("{\"") + name + R"(":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})";
  const std::uint64_t size = header.size();
  std::string file(sizeof size, '\0');
  std::memcpy(file.data(), &size, sizeof size);
  return file + header + "data";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice;
  static const auto first = own_bytes(one_tensor('a'));
  static const auto second = own_bytes(one_tensor('b'));
  const auto bytes = fuzzing::borrow(data, size);
  if (size == 0 || data[0] != '{') {
    fuzzing::use(open_checkpoint_memory({{"model.safetensors", bytes}}, "fuzz"));
    return 0;
  }
  fuzzing::use(open_checkpoint_memory(
      {{"model.safetensors.index.json", bytes}, {"1.safetensors", first}, {"2.safetensors", second}}, "fuzz"));
  fuzzing::use(open_checkpoint_memory({{"model.safetensors", first}, {"config.json", bytes}}, "fuzz"));
  return 0;
}
