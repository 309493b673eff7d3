// Writes GGUF files in memory, right ones and (by raw bytes) wrong ones.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sluice::testing {

// Little-endian bytes of a number.
template <typename T>
std::string le(T value) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

inline std::string gguf_string(std::string_view text) { return le<std::uint64_t>(text.size()) + std::string(text); }

// Value types of GGUF's metadata.
enum : std::uint32_t {
  kTypeU8,
  kTypeI8,
  kTypeU16,
  kTypeI16,
  kTypeU32,
  kTypeI32,
  kTypeF32,
  kTypeBool,
  kTypeString,
  kTypeArray,
  kTypeU64,
  kTypeI64,
  kTypeF64
};

class GgufWriter {
 public:
  std::uint32_t version = 3;
  std::uint64_t alignment = 32;  // of the data; written only by set_alignment()

  // A pair whose value is given as bytes.
  GgufWriter& raw(std::string_view key, std::uint32_t type, std::string_view value) {
    metadata_ += gguf_string(key) + le(type);
    metadata_ += value;
    ++metadata_count_;
    return *this;
  }
  GgufWriter& u32(std::string_view key, std::uint32_t value) { return raw(key, kTypeU32, le(value)); }
  GgufWriter& u16(std::string_view key, std::uint16_t value) { return raw(key, kTypeU16, le(value)); }
  GgufWriter& i32(std::string_view key, std::int32_t value) { return raw(key, kTypeI32, le(value)); }
  GgufWriter& text(std::string_view key, std::string_view value) { return raw(key, kTypeString, gguf_string(value)); }
  // An array whose elements are given as bytes.
  GgufWriter& array(std::string_view key, std::uint32_t type, std::uint64_t count, std::string_view elements) {
    return raw(key, kTypeArray, le(type) + le(count) + std::string(elements));
  }
  GgufWriter& set_alignment(std::uint32_t value) {
    alignment = value;
    return u32("general.alignment", value);
  }

  // A tensor with its data, placed behind those before it. dims as in the file: the innermost first.
  GgufWriter& tensor(std::string_view name, const std::vector<std::uint64_t>& dims, std::uint32_t type,
                     std::string_view data) {
    tensor_at(name, dims, type, data_.size());
    data_ += data;
    data_.resize((data_.size() + alignment - 1) / alignment * alignment, '\0');
    return *this;
  }
  // A description only.
  GgufWriter& tensor_at(std::string_view name, const std::vector<std::uint64_t>& dims, std::uint32_t type,
                        std::uint64_t offset) {
    tensors_ += gguf_string(name) + le(static_cast<std::uint32_t>(dims.size()));
    for (const std::uint64_t dim : dims) tensors_ += le(dim);
    tensors_ += le(type) + le(offset);
    ++tensor_count_;
    return *this;
  }
  // An F32 vector of n ones.
  GgufWriter& ones(std::string_view name, std::uint64_t n) {
    std::string data;
    for (std::uint64_t i = 0; i < n; ++i) data += le(1.0F);
    return tensor(name, {n}, 0, data);
  }

  std::string bytes() const {
    std::string out = "GGUF" + le(version) + le(tensor_count_) + le(metadata_count_) + metadata_ + tensors_;
    out.resize((out.size() + alignment - 1) / alignment * alignment, '\0');
    return out + data_;
  }
  // Split keys of part `number` (from 0).
  GgufWriter& split(std::uint16_t number, std::uint16_t count, std::int32_t tensors) {
    return u16("split.no", number).u16("split.count", count).i32("split.tensors.count", tensors);
  }

 private:
  std::string metadata_;
  std::string tensors_;
  std::string data_;
  std::uint64_t metadata_count_ = 0;
  std::uint64_t tensor_count_ = 0;
};

}  // namespace sluice::testing
