// What the fuzz targets of checkpoints share: everything that a caller does with an opened one, and what must hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "checkpoint/checkpoint.h"

namespace sluice::fuzzing {

// Stops the fuzzer, which then keeps the input.
inline void require(bool condition) {
  if (!condition) std::abort();
}

// One line that names the file.
inline void check_message(const std::string& message) {
  require(message.starts_with("fuzz"));
  require(message.size() < 1000);
  for (const char c : message) require(static_cast<unsigned char>(c) >= 0x20);
}

inline void check_tensors(const Checkpoint& checkpoint) {
  volatile std::uint8_t sink = 0;  // the first and the last byte of every tensor can be read
  for (const TensorInfo& tensor : checkpoint.tensors()) {
    require(checkpoint.find(tensor.name) == &tensor);
    require(tensor.elements() >= 0);
    const FormatInfo* format = find_format(tensor.dtype);
    require(format != nullptr);
    require(tensor.data.size() == static_cast<std::uint64_t>(tensor.elements() / format->block_values) *
                                      static_cast<std::uint64_t>(format->block_bytes));
    if (tensor.data.empty()) continue;
    sink = std::to_integer<std::uint8_t>(tensor.data.front());
    sink = std::to_integer<std::uint8_t>(tensor.data.back());
  }
  (void)sink;
}

inline void check_metadata(const Checkpoint& checkpoint) {
  for (const auto& [key, value] : checkpoint.metadata()) {
    require(checkpoint.get(key) == &value);
    require(!value.type_name().empty());
    if (const auto number = checkpoint.get_uint(key); !number.ok()) check_message(number.error().message());
    if (const auto number = checkpoint.get_float(key); !number.ok()) check_message(number.error().message());
    if (const auto flag = checkpoint.get_bool(key); !flag.ok()) check_message(flag.error().message());
    if (const auto text = checkpoint.get_string(key); !text.ok()) check_message(text.error().message());
  }
}

inline void use(const Result<std::shared_ptr<const Checkpoint>>& opened) {
  if (!opened.ok()) return check_message(opened.error().message());
  for (const std::string& warning : (*opened)->warnings()) check_message(warning);
  check_tensors(**opened);
  check_metadata(**opened);
  (void)(*opened)->config().dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

inline std::shared_ptr<const Bytes> borrow(const std::uint8_t* data, std::size_t size) {
  return borrow_bytes(std::as_bytes(std::span(data, size)));
}

}  // namespace sluice::fuzzing
