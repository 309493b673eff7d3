// A GGUF file of any bytes: opened or refused, within bounds.
#include "fuzz/use_checkpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice;
  const auto bytes = fuzzing::borrow(data, size);
  fuzzing::use(open_checkpoint_memory({{"model.gguf", bytes}}, "fuzz"));
  // The same bytes as the first and as the second part of a split model.
  fuzzing::use(open_checkpoint_memory({{"m-00001-of-00002.gguf", bytes}, {"m-00002-of-00002.gguf", bytes}}, "fuzz"));
  return 0;
}
