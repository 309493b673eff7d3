// A cursor over untrusted bytes: every read is checked against what is left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace sluice {

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t position() const { return position_; }
  std::size_t remaining() const { return bytes_.size() - position_; }

  // Reads a little-endian number (the host is little-endian too). False, with nothing consumed, if the bytes end first.
  template <typename T>
  bool read(T& value) {
    static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>);
    if (remaining() < sizeof(T)) return false;
    std::memcpy(&value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return true;
  }

  // Takes the next `length` bytes as text. False, with nothing consumed, if fewer are left.
  bool take(std::uint64_t length, std::string_view& text) {
    if (length > remaining()) return false;
    const auto size = static_cast<std::size_t>(length);
    text = {reinterpret_cast<const char*>(bytes_.data()) + position_, size};
    position_ += size;
    return true;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
};

}  // namespace sluice
