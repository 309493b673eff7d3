#include "checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "checkpoint/byte_reader.h"
#include "checkpoint/json_text.h"
#include "checkpoint/limits.h"
#include "checkpoint/text.h"

namespace sluice {
namespace {

struct ElementType {
  std::string_view name;
  DType dtype;
  std::uint64_t bytes;
};
constexpr std::array kElementTypes = {
    ElementType{"F64", DType::kF64, 8},         ElementType{"F32", DType::kF32, 4},
    ElementType{"F16", DType::kF16, 2},         ElementType{"BF16", DType::kBF16, 2},
    ElementType{"F8_E4M3", DType::kF8_E4M3, 1}, ElementType{"I64", DType::kI64, 8},
    ElementType{"I32", DType::kI32, 4},         ElementType{"I16", DType::kI16, 2},
    ElementType{"I8", DType::kI8, 1},           ElementType{"U64", DType::kU64, 8},
    ElementType{"U32", DType::kU32, 4},         ElementType{"U16", DType::kU16, 2},
    ElementType{"U8", DType::kU8, 1},           ElementType{"BOOL", DType::kBool, 1},
};
// Of the format, but not read by this build.
constexpr std::array<std::string_view, 9> kOtherElementTypes = {
    "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "F6_E2M3", "F6_E3M2", "F4", "F4_E2M1", "C64"};

constexpr std::int64_t kMaxSize = std::numeric_limits<std::int64_t>::max();

// Reads the header's entries {"dtype", "shape", "data_offsets"}. What else an entry holds is skipped.
class HeaderHandler final : public JsonHandler {
 public:
  HeaderHandler(std::span<const std::byte> data, const std::string& file)
      : JsonHandler(file, "the header"), data_(data) {}

  std::vector<TensorInfo> take() { return std::move(tensors_); }

  bool null() { return scalar("null"); }
  bool boolean(bool /*value*/) { return scalar("a boolean"); }
  bool number_float(double /*value*/, const std::string& text) { return scalar(text); }
  bool number_integer(std::int64_t value) { return scalar(std::to_string(value)); }
  bool number_unsigned(std::uint64_t value) {
    if (where_ == Where::kShape) {
      if (value > static_cast<std::uint64_t>(kMaxSize)) return bad_number(std::to_string(value));
      if (tensor().shape.size() == kMaxRank) {
        return corrupt(fmt::format("tensor {} has more than {} dimensions", name(), kMaxRank));
      }
      tensor().shape.push_back(static_cast<std::int64_t>(value));
      return true;
    }
    if (where_ == Where::kOffsets) {
      if (offset_count_ == offsets_.size()) return bad_offset_count();
      offsets_[offset_count_++] = value;
      return true;
    }
    return scalar(std::to_string(value));
  }
  bool string(std::string& text) {
    if (where_ != Where::kTensor || field_ != Field::kType) return scalar("a string");
    const auto it = std::find_if(kElementTypes.begin(), kElementTypes.end(),
                                 [&](const ElementType& type) { return type.name == text; });
    if (it == kElementTypes.end()) return bad_type(text);
    type_ = &*it;
    tensor().dtype = it->dtype;
    return true;
  }

  bool start_object(std::size_t /*size*/) {
    switch (where_) {
      case Where::kOutside:
        where_ = Where::kNames;
        return true;
      case Where::kNames:
        return start_entry();
      case Where::kTensor:
        if (field_ == Field::kOther) return start_skipping();
        return bad_field("an object");
      case Where::kMetadata:
      case Where::kSkipped:
        return start_skipping();
      default:
        return bad_number("an object");
    }
  }
  bool end_object() {
    switch (where_) {
      case Where::kNames:
        where_ = Where::kOutside;
        return true;
      case Where::kMetadata:
        where_ = Where::kNames;
        return true;
      case Where::kTensor:
        where_ = Where::kNames;
        return end_entry();
      default:
        return end_skipping();
    }
  }
  bool start_array(std::size_t /*size*/) {
    switch (where_) {
      case Where::kOutside:
        return corrupt("the header is an array, wanted a JSON object");
      case Where::kNames:
        return bad_entry("an array");
      case Where::kTensor:
        return start_list();
      case Where::kMetadata:
      case Where::kSkipped:
        return start_skipping();
      default:
        return bad_number("an array");
    }
  }
  bool end_array() {
    if (where_ == Where::kSkipped) return end_skipping();
    const bool complete = where_ == Where::kShape || offset_count_ == offsets_.size();
    where_ = Where::kTensor;
    return complete || bad_offset_count();
  }
  bool key(std::string& text) {
    if (where_ == Where::kNames) {
      name_ = std::move(text);
    } else if (where_ == Where::kTensor) {
      field_ = text == "dtype"          ? Field::kType
               : text == "shape"        ? Field::kShape
               : text == "data_offsets" ? Field::kOffsets
                                        : Field::kOther;
      const unsigned bit = 1U << static_cast<unsigned>(field_);
      if (field_ != Field::kOther && (seen_ & bit) != 0) {
        return corrupt(fmt::format("the header gives {} of tensor {} twice", text, name()));
      }
      seen_ |= bit;
    }
    return true;
  }

 private:
  enum class Where { kOutside, kNames, kMetadata, kTensor, kShape, kOffsets, kSkipped };
  enum class Field : unsigned { kType, kShape, kOffsets, kOther };

  TensorInfo& tensor() { return tensors_.back(); }
  std::string name() const { return printable(name_); }

  // An entry of the header that is no object, a field of an entry or a number of a list that is something else.
  bool bad_entry(std::string_view found) {
    return corrupt(fmt::format("the header's entry {} is {}, wanted an object", name(), found));
  }
  bool bad_field(std::string_view found) {
    constexpr std::array<std::string_view, 3> kNames = {"dtype", "shape", "data_offsets"};
    constexpr std::array<std::string_view, 3> kWanted = {"a string", "an array", "an array"};
    const auto field = static_cast<std::size_t>(field_);
    return corrupt(
        fmt::format("{} of tensor {} is {}, wanted {}", kNames[field], name(), printable(found, 32), kWanted[field]));
  }
  bool bad_number(std::string_view found) {
    return corrupt(fmt::format("{} of tensor {} holds {}, wanted integers of 0 to 2^63 - 1",
                               where_ == Where::kShape ? "shape" : "data_offsets", name(), printable(found, 32)));
  }
  bool bad_offset_count() {
    return corrupt(fmt::format("data_offsets of tensor {} is not a pair of numbers [begin, end]", name()));
  }
  bool bad_type(std::string_view text) {
    std::string known;
    for (const ElementType& type : kElementTypes) known += fmt::format("{}{}", known.empty() ? "" : " ", type.name);
    const bool real = std::find(kOtherElementTypes.begin(), kOtherElementTypes.end(), text) != kOtherElementTypes.end();
    return fail(real ? ErrorCode::kUnsupported : ErrorCode::kCorrupt,
                fmt::format("tensor {} has the {} dtype {}; supported are {}", name(), real ? "unsupported" : "unknown",
                            printable(text, 32), known));
  }

  // A value that is neither object nor array, in any place but those where it is wanted.
  bool scalar(std::string_view found) {
    switch (where_) {
      case Where::kOutside:
        return corrupt(fmt::format("the header is {}, wanted a JSON object", printable(found, 32)));
      case Where::kNames:
        return bad_entry(printable(found, 32));
      case Where::kTensor:
        return field_ == Field::kOther || bad_field(found);
      case Where::kShape:
      case Where::kOffsets:
        return bad_number(found);
      default:
        return true;
    }
  }

  bool start_entry() {
    if (name_ == "__metadata__") {
      where_ = Where::kMetadata;
      return true;
    }
    if (name_.empty() || !is_clean_name(name_)) {
      return corrupt(fmt::format("the header names a tensor '{}', wanted text", name()));
    }
    if (tensors_.size() == kMaxTensors) {
      return fail(ErrorCode::kResource, fmt::format("the header has more than {} tensors", kMaxTensors));
    }
    where_ = Where::kTensor;
    seen_ = 0;
    tensors_.emplace_back();
    tensor().name = name_;
    tensor().file = file_;
    return true;
  }

  bool start_list() {
    switch (field_) {
      case Field::kShape:
        where_ = Where::kShape;
        return true;
      case Field::kOffsets:
        where_ = Where::kOffsets;
        offset_count_ = 0;
        return true;
      case Field::kOther:
        return start_skipping();
      default:
        return bad_field("an array");
    }
  }

  bool start_skipping() {
    if (depth_ == 0) outer_ = where_;
    where_ = Where::kSkipped;
    if (++depth_ <= kMaxJsonDepth) return true;
    return fail(ErrorCode::kResource, fmt::format("the header is nested more than {} deep", kMaxJsonDepth));
  }
  bool end_skipping() {
    if (--depth_ == 0) where_ = outer_;
    return true;
  }

  // All of a tensor is known: checks it and finds its data.
  bool end_entry() {
    constexpr std::array<std::string_view, 3> kNames = {"dtype", "shape", "data_offsets"};
    for (unsigned field = 0; field < kNames.size(); ++field) {
      if ((seen_ & (1U << field)) == 0) return corrupt(fmt::format("tensor {} has no {}", name(), kNames[field]));
    }
    std::int64_t elements = 1;
    std::uint64_t bytes = type_->bytes;
    bool overflow = false;
    for (const std::int64_t size : tensor().shape) {
      overflow |= __builtin_mul_overflow(elements, size, &elements);
      overflow |= __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes);
    }
    // A zero behind an overflow would hide it; nobody needs such a shape.
    if (overflow) {
      return corrupt(fmt::format("tensor {} has shape [{}], whose product overflows 64 bits", name(),
                                 fmt::join(tensor().shape, ", ")));
    }
    const auto [begin, end] = offsets_;
    if (end < begin) {
      return corrupt(fmt::format("data_offsets of tensor {} are reversed: [{}, {}]", name(), begin, end));
    }
    if (end - begin != bytes) {
      return corrupt(
          fmt::format("tensor {} of dtype {} and shape [{}] needs {} bytes, but data_offsets [{}, {}] give {}", name(),
                      type_->name, fmt::join(tensor().shape, ", "), bytes, begin, end, end - begin));
    }
    if (end > data_.size()) {
      return corrupt(
          fmt::format("the data of tensor {} (bytes {} to {}) lie past the end of the file ({} bytes of data): "
                      "truncated or corrupt",
                      name(), begin, end, data_.size()));
    }
    tensor().data = data_.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    return true;
  }

  std::span<const std::byte> data_;
  std::vector<TensorInfo> tensors_;

  Where where_ = Where::kOutside;
  Where outer_ = Where::kOutside;  // around what is skipped
  int depth_ = 0;                  // of what is skipped
  std::string name_;               // of the entry
  Field field_ = Field::kOther;
  unsigned seen_ = 0;  // bit set of the entry's fields
  const ElementType* type_ = nullptr;
  std::array<std::uint64_t, 2> offsets_ = {};
  std::size_t offset_count_ = 0;
};

}  // namespace

bool is_safetensors(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  std::uint64_t length = 0;
  std::string_view header;
  return reader.read(length) && length > 0 && reader.take(length, header) && header.front() == '{';
}

Result<SafetensorsFile> parse_safetensors(std::span<const std::byte> bytes, const std::string& file) {
  const auto corrupt = [&](std::string_view message) {
    return Error(ErrorCode::kCorrupt, fmt::format("{}: {}", file, message));
  };
  if (bytes.empty()) return corrupt("the file is empty (0 bytes): truncated download?");
  ByteReader reader(bytes);
  std::uint64_t length = 0;
  if (!reader.read(length)) {
    return corrupt(
        fmt::format("truncated: {} bytes, fewer than the 8 that give the length of the header", bytes.size()));
  }
  std::string_view header;
  if (length > reader.remaining()) {
    return corrupt(
        fmt::format("the header should have {} bytes, but only {} follow: truncated, or not a safetensors file", length,
                    reader.remaining()));
  }
  if (length > kMaxHeaderBytes) {
    return Error(ErrorCode::kResource,
                 fmt::format("{}: the header has {} bytes, more than the limit of {}", file, length, kMaxHeaderBytes));
  }
  reader.take(length, header);
  if (header.empty()) return corrupt("the header is empty, wanted a JSON object");

  const std::span<const std::byte> data = bytes.last(reader.remaining());
  HeaderHandler handler(data, file);
  SLUICE_TRY(JsonHandler::run(header, handler));
  SafetensorsFile result;
  result.tensors = handler.take();
  SLUICE_TRY(check_no_overlap(result.tensors));
  result.unused_bytes = data.size();
  for (const TensorInfo& tensor : result.tensors) result.unused_bytes -= tensor.data.size();
  return result;
}

}  // namespace sluice
