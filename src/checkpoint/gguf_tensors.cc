// The tensor descriptions of GGUF, and where their data lie.
#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "checkpoint/gguf.h"
#include "checkpoint/limits.h"
#include "checkpoint/text.h"

namespace sluice {
namespace {

constexpr std::uint64_t kMaxNameLength = 64;  // GGML_MAX_NAME
constexpr std::uint32_t kMaxDimensions = 4;   // GGML_MAX_DIMS
// The shortest description: length of the name, one letter, number of dimensions, one dimension, type, offset.
constexpr std::uint64_t kMinDescriptionBytes = 8 + 1 + 4 + 8 + 4 + 8;
// Ids from here on are Sluice's own (dtype.h) and mean nothing in a file.
constexpr std::uint32_t kFirstForeignType = 1000;

// Types that find_format() does not know, by what became of them (ggml.h keeps a list of the ids it gave up).
std::string_view describe_unsupported_type(std::uint32_t id) {
  switch (id) {
    case 4:
      return "Q4_2, withdrawn from the format";
    case 5:
      return "Q4_3, withdrawn from the format";
    case 9:
      return "Q8_1, for activations only";
    case 15:
      return "Q8_K, for activations only";
    case 31:
    case 32:
    case 33:
      return "Q4_0 interleaved for one processor, withdrawn from the format";
    case 36:
    case 37:
    case 38:
      return "IQ4_NL interleaved for one processor, withdrawn from the format";
    default:
      return id >= 97 && id < 400 ? "perhaps a type of ik_llama.cpp, which other programs do not read" : "unknown";
  }
}

class TensorReader {
 public:
  TensorReader(ByteReader& reader, std::span<const std::byte> bytes, const std::string& file)
      : reader_(reader), bytes_(bytes), file_(file) {}

  Result<std::vector<TensorInfo>> read(std::uint64_t count, std::uint64_t alignment) {
    if (count > reader_.remaining() / kMinDescriptionBytes) {
      return corrupt("tensor count is {}, but the {} bytes left cannot hold so many descriptions: truncated or corrupt",
                     count, reader_.remaining());
    }
    if (count > kMaxTensors) {
      return Error(ErrorCode::kResource,
                   fmt::format("{}: tensor count is {}, more than the limit of {}", file_, count, kMaxTensors));
    }
    std::vector<TensorInfo> tensors(static_cast<std::size_t>(count));
    std::vector<Extent> extents(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) SLUICE_TRY(read_description(i, count, tensors[i], extents[i]));

    // The data begin at the next multiple of the alignment. A file without data may end before it.
    const std::uint64_t position = reader_.position();
    const std::uint64_t padding = (alignment - position % alignment) % alignment;
    const std::uint64_t data_size = padding < reader_.remaining() ? reader_.remaining() - padding : 0;
    const std::span<const std::byte> data = bytes_.last(static_cast<std::size_t>(data_size));
    for (std::size_t i = 0; i < tensors.size(); ++i) SLUICE_TRY(place(data, alignment, extents[i], tensors[i]));
    return tensors;
  }

 private:
  struct Extent {
    std::uint64_t offset = 0;  // from the beginning of the data
    std::uint64_t size = 0;
  };

  template <typename... Args>
  Error corrupt(fmt::format_string<Args...> format, Args&&... args) const {
    return Error(ErrorCode::kCorrupt, file_ + ": " + fmt::format(format, std::forward<Args>(args)...));
  }

  Status read_description(std::size_t index, std::uint64_t count, TensorInfo& tensor, Extent& extent) {
    const auto truncated = [&] {
      return corrupt("truncated: the file ends inside the description of tensor {} of {}", index + 1, count);
    };
    std::uint64_t length = 0;
    if (!reader_.read(length)) return truncated();
    if (length == 0 || length > kMaxNameLength) {
      return corrupt("the name of tensor {} of {} has a length of {} bytes, wanted 1 to {}", index + 1, count, length,
                     kMaxNameLength);
    }
    std::string_view name;
    if (!reader_.take(length, name)) return truncated();
    if (!is_clean_name(name)) {
      return corrupt("the name of tensor {} of {} is '{}', wanted text", index + 1, count, printable(name));
    }
    tensor.name = name;
    tensor.file = file_;

    std::uint32_t rank = 0;
    if (!reader_.read(rank)) return truncated();
    if (rank == 0 || rank > kMaxDimensions) {
      return corrupt("tensor {} has {} dimensions, wanted 1 to {}", name, rank, kMaxDimensions);
    }
    tensor.shape.resize(rank);
    for (std::uint32_t i = 0; i < rank; ++i) {
      std::uint64_t size = 0;
      if (!reader_.read(size)) return truncated();
      if (size == 0 || size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        return corrupt("dimension {} of tensor {} is {}, wanted 1 to 2^63 - 1", i + 1, name, size);
      }
      tensor.shape[i] = static_cast<std::int64_t>(size);
    }

    std::uint32_t type = 0;
    if (!reader_.read(type) || !reader_.read(extent.offset)) return truncated();
    SLUICE_TRY(measure(type, tensor, extent));
    std::reverse(tensor.shape.begin(), tensor.shape.end());  // the file has the innermost dimension first
    return Status::success();
  }

  // Sets the type and the size in bytes of a tensor whose shape is still in the file's order.
  Status measure(std::uint32_t type, TensorInfo& tensor, Extent& extent) const {
    const FormatInfo* format = type < kFirstForeignType ? find_format(static_cast<DType>(type)) : nullptr;
    if (format == nullptr) {
      return Error(ErrorCode::kUnsupported,
                   fmt::format("{}: tensor {} has the type id {} ({}); get or make a file with a supported type", file_,
                               tensor.name, type, describe_unsupported_type(type)));
    }
    tensor.dtype = format->dtype;
    const auto row = static_cast<std::uint64_t>(tensor.shape[0]);
    if (row % static_cast<std::uint64_t>(format->block_values) != 0) {
      return corrupt("tensor {} has rows of {} values, not a whole number of {} blocks of {}", tensor.name, row,
                     format->name, format->block_values);
    }
    const std::optional<std::uint64_t> bytes = row_bytes(tensor.dtype, row);
    bool overflow = !bytes;
    std::int64_t elements = 1;
    for (const std::int64_t size : tensor.shape) overflow |= __builtin_mul_overflow(elements, size, &elements);
    extent.size = bytes.value_or(0);
    for (std::size_t i = 1; i < tensor.shape.size(); ++i) {
      overflow |= __builtin_mul_overflow(extent.size, static_cast<std::uint64_t>(tensor.shape[i]), &extent.size);
    }
    if (overflow) {
      return corrupt("tensor {} has dimensions [{}], whose product overflows 64 bits", tensor.name,
                     fmt::join(tensor.shape, ", "));
    }
    return Status::success();
  }

  Status place(std::span<const std::byte> data, std::uint64_t alignment, const Extent& extent,
               TensorInfo& tensor) const {
    if (extent.offset % alignment != 0) {
      return corrupt("the data of tensor {} are at offset {}, not a multiple of the alignment {}", tensor.name,
                     extent.offset, alignment);
    }
    if (extent.offset > data.size() || extent.size > data.size() - extent.offset) {
      return corrupt(
          "the data of tensor {} ({} bytes at offset {}) lie past the end of the file ({} bytes of data): truncated or "
          "corrupt",
          tensor.name, extent.size, extent.offset, data.size());
    }
    tensor.data = data.subspan(static_cast<std::size_t>(extent.offset), static_cast<std::size_t>(extent.size));
    return Status::success();
  }

  ByteReader& reader_;
  std::span<const std::byte> bytes_;
  const std::string& file_;
};

}  // namespace

Result<std::vector<TensorInfo>> read_gguf_tensors(ByteReader& reader, std::uint64_t count, std::uint64_t alignment,
                                                  std::span<const std::byte> bytes, const std::string& file) {
  return TensorReader(reader, bytes, file).read(count, alignment);
}

}  // namespace sluice
