// The metadata of GGUF: typed values by key.
#include <limits>
#include <type_traits>

#include <fmt/format.h>

#include "checkpoint/gguf.h"
#include "checkpoint/limits.h"
#include "checkpoint/text.h"

namespace sluice {
namespace {

// Ids of the value types, frozen by the format.
enum class ValueType : std::uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

constexpr std::uint64_t kMaxKeyLength = 65535;  // by the specification
// The shortest pair: length of the key, one letter, type, one byte.
constexpr std::uint64_t kMinPairBytes = 8 + 1 + 4 + 1;

// Calls visit(T{}) with the C++ type of a number; false if the id is not that of a number. Booleans are not numbers
// here.
template <typename Visitor>
bool visit_number(ValueType type, Visitor&& visit) {
  switch (type) {
    case ValueType::kUint8:
      visit(std::uint8_t{});
      return true;
    case ValueType::kInt8:
      visit(std::int8_t{});
      return true;
    case ValueType::kUint16:
      visit(std::uint16_t{});
      return true;
    case ValueType::kInt16:
      visit(std::int16_t{});
      return true;
    case ValueType::kUint32:
      visit(std::uint32_t{});
      return true;
    case ValueType::kInt32:
      visit(std::int32_t{});
      return true;
    case ValueType::kFloat32:
      visit(float{});
      return true;
    case ValueType::kUint64:
      visit(std::uint64_t{});
      return true;
    case ValueType::kInt64:
      visit(std::int64_t{});
      return true;
    case ValueType::kFloat64:
      visit(double{});
      return true;
    default:
      return false;
  }
}

// What a number of type T is widened to.
template <typename T>
using Widened = std::conditional_t<std::is_floating_point_v<T>, double,
                                   std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;

class MetadataReader {
 public:
  MetadataReader(ByteReader& reader, const std::string& file) : reader_(reader), file_(file) {}

  Result<MetadataMap> read(std::uint64_t count) {
    if (count > reader_.remaining() / kMinPairBytes) {
      return corrupt("metadata count is {}, but the {} bytes left cannot hold so many pairs: truncated or corrupt",
                     count, reader_.remaining());
    }
    MetadataMap map;
    for (std::uint64_t i = 0; i < count; ++i) {
      std::string_view key;
      SLUICE_TRY(read_string([&] { return fmt::format("the key of metadata pair {} of {}", i + 1, count); },
                             kMaxKeyLength, key));
      if (key.empty() || !is_clean_name(key)) {
        return corrupt("the key of metadata pair {} of {} is '{}', wanted text", i + 1, count, printable(key));
      }
      SLUICE_ASSIGN(MetaValue value, read_value(key));
      if (!map.emplace(std::string(key), std::move(value)).second) {
        return corrupt("metadata key {} appears twice", printable(key));
      }
    }
    return map;
  }

 private:
  template <typename... Args>
  Error corrupt(fmt::format_string<Args...> format, Args&&... args) const {
    return Error(ErrorCode::kCorrupt, file_ + ": " + fmt::format(format, std::forward<Args>(args)...));
  }
  Error truncated(std::string_view key) const {
    return corrupt("truncated: the file ends inside the value of metadata key {}", printable(key));
  }

  // describe() says in a message what the string is.
  template <typename Describe>
  Status read_string(Describe&& describe, std::uint64_t limit, std::string_view& text) {
    std::uint64_t length = 0;
    if (!reader_.read(length)) return corrupt("truncated: the file ends inside {}", describe());
    if (length > reader_.remaining()) {
      return corrupt("the length of {} is {}, but only {} bytes are left: truncated or corrupt", describe(), length,
                     reader_.remaining());
    }
    if (length > limit) return corrupt("the length of {} is {}, more than the limit of {}", describe(), length, limit);
    reader_.take(length, text);
    return Status::success();
  }

  Result<bool> read_bool(std::string_view key) {
    std::uint8_t byte = 0;
    if (!reader_.read(byte)) return truncated(key);
    if (byte > 1) return corrupt("metadata key {} holds the boolean {}, wanted 0 or 1", printable(key), byte);
    return byte == 1;
  }

  Result<MetaValue> read_value(std::string_view key) {
    ValueType type = {};
    SLUICE_TRY(read_type(key, type));
    switch (type) {
      case ValueType::kBool: {
        SLUICE_ASSIGN(const bool flag, read_bool(key));
        return MetaValue{flag};
      }
      case ValueType::kString: {
        std::string_view text;
        SLUICE_TRY(read_string([&] { return fmt::format("metadata key {}", printable(key)); }, kNoLimit, text));
        return MetaValue{text};
      }
      case ValueType::kArray: {
        SLUICE_ASSIGN(MetaArray array, read_array(key));
        return MetaValue{std::move(array)};
      }
      default:
        break;
    }
    MetaValue result;
    bool complete = false;
    const bool known = visit_number(type, [&](auto number) {
      complete = reader_.read(number);
      result.value = static_cast<Widened<decltype(number)>>(number);
    });
    if (!known) return unknown_type(key, "a value", type);
    if (!complete) return truncated(key);
    return result;
  }

  Result<MetaArray> read_array(std::string_view key) {
    ValueType type = {};
    SLUICE_TRY(read_type(key, type));
    if (type == ValueType::kArray) {
      return Error(ErrorCode::kUnsupported,
                   fmt::format("{}: metadata key {} is an array of arrays; nested arrays are not supported", file_,
                               printable(key)));
    }
    std::uint64_t count = 0;
    if (!reader_.read(count)) return truncated(key);
    if (type == ValueType::kString) return read_strings(key, count);
    if (type == ValueType::kBool) return read_bools(key, count);
    std::optional<Result<MetaArray>> result;
    const bool known = visit_number(type, [&](auto number) { result = read_numbers<decltype(number)>(key, count); });
    if (!known) return unknown_type(key, "an array with elements", type);
    return *std::move(result);
  }

  Result<MetaArray> read_strings(std::string_view key, std::uint64_t count) {
    SLUICE_TRY(check_count(key, count, sizeof(std::uint64_t)));  // each has at least its length
    std::vector<std::string_view> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::uint64_t length = 0;
      if (!reader_.read(length) || !reader_.take(length, values[i])) {
        return corrupt("metadata key {}: element {} of {} does not fit in the {} bytes left: truncated or corrupt",
                       printable(key), i, count, reader_.remaining());
      }
    }
    return MetaArray(std::move(values));
  }

  Result<MetaArray> read_bools(std::string_view key, std::uint64_t count) {
    SLUICE_TRY(check_count(key, count, 1));
    std::vector<bool> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i) {
      SLUICE_ASSIGN(values[i], read_bool(key));
    }
    return MetaArray(std::move(values));
  }

  template <typename T>
  Result<MetaArray> read_numbers(std::string_view key, std::uint64_t count) {
    SLUICE_TRY(check_count(key, count, sizeof(T)));
    std::vector<Widened<T>> values(static_cast<std::size_t>(count));
    for (Widened<T>& value : values) {
      T number{};
      reader_.read(number);  // check_count saw that all are there
      value = static_cast<Widened<T>>(number);
    }
    return MetaArray(std::move(values));
  }

  // Before anything is allocated: `count` elements of at least `size` bytes must be in the file, and within the bound.
  Status check_count(std::string_view key, std::uint64_t count, std::size_t size) {
    if (count > reader_.remaining() / size) {
      return corrupt("metadata key {} is an array of {} elements, but only {} bytes are left: truncated or corrupt",
                     printable(key), count, reader_.remaining());
    }
    if (count > elements_left_) {
      return Error(ErrorCode::kResource,
                   fmt::format("{}: metadata key {} is an array of {} elements; all arrays together may have {}", file_,
                               printable(key), count, kMaxArrayElements));
    }
    elements_left_ -= count;
    return Status::success();
  }

  Status read_type(std::string_view key, ValueType& type) {
    std::uint32_t id = 0;
    if (!reader_.read(id)) return truncated(key);
    type = static_cast<ValueType>(id);
    return Status::success();
  }

  Error unknown_type(std::string_view key, std::string_view what, ValueType type) const {
    return corrupt("metadata key {} is {} of the unknown type {}", printable(key), what,
                   static_cast<std::uint32_t>(type));
  }

  static constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

  ByteReader& reader_;
  const std::string& file_;
  std::uint64_t elements_left_ = kMaxArrayElements;
};

}  // namespace

Result<MetadataMap> read_gguf_metadata(ByteReader& reader, std::uint64_t count, const std::string& file) {
  return MetadataReader(reader, file).read(count);
}

}  // namespace sluice
