#include "checkpoint/gguf.h"

#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "checkpoint/text.h"

namespace sluice {
namespace {

constexpr std::string_view kMagic = "GGUF";
constexpr std::uint64_t kDefaultAlignment = 32;
// The specification wants a multiple of 8; every known reader and writer wants a power of two.
constexpr std::uint64_t kMinAlignment = 8;

Status check_magic(std::string_view magic, const std::string& file) {
  if (magic == kMagic) return Status::success();
  const bool older = magic == "lmgg" || magic == "ggml" || magic == "tjgg" || magic == "ggjt" || magic == "fmgg";
  return Error(older ? ErrorCode::kUnsupported : ErrorCode::kCorrupt,
               fmt::format("{}: magic is '{}', wanted 'GGUF'; {}", file, printable(magic),
                           older ? "this is a format from before GGUF: get or convert a GGUF file"
                                 : "neither a GGUF nor a safetensors file"));
}

Status check_version(std::uint32_t version, const std::string& file) {
  if (version == 2 || version == 3) return Status::success();
  // Files of big-endian machines have everything swapped; a small number in the high bytes gives them away.
  const std::uint32_t swapped = __builtin_bswap32(version);
  if (swapped < version && swapped <= 0xFFFF) {
    return Error(ErrorCode::kUnsupported,
                 fmt::format("{}: GGUF version {} in big-endian byte order; only little-endian files are supported: "
                             "convert the file (gguf_convert_endian)",
                             file, swapped));
  }
  return Error(ErrorCode::kUnsupported,
               fmt::format("{}: GGUF version {} is not supported, wanted 2 or 3; convert the model again with current "
                           "tools",
                           file, version));
}

Result<std::uint64_t> read_alignment(const MetadataMap& metadata, const std::string& file) {
  const auto it = metadata.find("general.alignment");
  if (it == metadata.end()) return kDefaultAlignment;
  const auto* value = std::get_if<std::uint64_t>(&it->second.value);
  if (value == nullptr) {
    return Error(ErrorCode::kCorrupt,
                 fmt::format("{}: metadata key general.alignment is {}, wanted an unsigned integer", file,
                             it->second.type_name()));
  }
  if (!std::has_single_bit(*value) || *value < kMinAlignment) {
    return Error(ErrorCode::kCorrupt, fmt::format("{}: general.alignment is {}, wanted a power of two, at least {}",
                                                  file, *value, kMinAlignment));
  }
  return *value;
}

}  // namespace

bool is_gguf(std::span<const std::byte> bytes) {
  return bytes.size() >= kMagic.size() && std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

Result<GgufFile> parse_gguf(std::span<const std::byte> bytes, const std::string& file) {
  if (bytes.empty()) {
    return Error(ErrorCode::kCorrupt, fmt::format("{}: the file is empty (0 bytes): truncated download?", file));
  }
  ByteReader reader(bytes);
  const auto truncated = [&] {
    return Error(ErrorCode::kCorrupt,
                 fmt::format("{}: truncated: {} bytes, fewer than a GGUF header has", file, bytes.size()));
  };
  std::string_view magic;
  if (!reader.take(kMagic.size(), magic)) return truncated();
  SLUICE_TRY(check_magic(magic, file));

  GgufFile result;
  if (!reader.read(result.version)) return truncated();
  SLUICE_TRY(check_version(result.version, file));
  std::uint64_t tensor_count = 0;
  std::uint64_t metadata_count = 0;
  if (!reader.read(tensor_count) || !reader.read(metadata_count)) return truncated();

  SLUICE_ASSIGN(result.metadata, read_gguf_metadata(reader, metadata_count, file));
  SLUICE_ASSIGN(const std::uint64_t alignment, read_alignment(result.metadata, file));
  SLUICE_ASSIGN(result.tensors, read_gguf_tensors(reader, tensor_count, alignment, bytes, file));
  SLUICE_TRY(check_no_overlap(result.tensors));
  return result;
}

}  // namespace sluice
