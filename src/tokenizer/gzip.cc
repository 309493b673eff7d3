#include "tokenizer/gzip.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include <fmt/format.h>
#include <zlib.h>

namespace sluice {
namespace {

constexpr int kGzipOnly = 16;  // added to the window bits: neither zlib's own header nor raw data

struct Inflater {
  z_stream stream = {};
  bool ready = false;
  ~Inflater() {
    if (ready) inflateEnd(&stream);
  }
};

}  // namespace

Result<std::string> gunzip(std::string_view compressed, std::size_t max_bytes, const std::string& label) {
  const auto corrupt = [&](std::string_view what) {
    return Error(ErrorCode::kCorrupt, fmt::format("{}: not a whole gzip file: {}", label, what));
  };
  Inflater inflater;
  z_stream& stream = inflater.stream;
  if (inflateInit2(&stream, MAX_WBITS + kGzipOnly) != Z_OK) {
    return Error(ErrorCode::kResource, fmt::format("{}: out of memory", label));
  }
  inflater.ready = true;
  std::string out;
  std::size_t size = 0;
  std::string_view rest = compressed;
  for (;;) {
    if (stream.avail_in == 0) {
      const std::size_t part = std::min<std::size_t>(rest.size(), std::numeric_limits<uInt>::max());
      // zlib does not write to its input; the cast is for the type of an old interface.
      stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(rest.data()));
      stream.avail_in = static_cast<uInt>(part);
      rest.remove_prefix(part);
    }
    // Grows with what comes out, not with what the file claims.
    if (size == out.size()) out.resize(std::min(max_bytes + 1, std::max<std::size_t>(size * 2, std::size_t{1} << 20U)));
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + size);
    stream.avail_out = static_cast<uInt>(std::min<std::size_t>(out.size() - size, std::numeric_limits<uInt>::max()));
    const uInt room = stream.avail_out;
    const int status = inflate(&stream, Z_NO_FLUSH);
    size += room - stream.avail_out;
    if (size > max_bytes) {
      return Error(ErrorCode::kResource, fmt::format("{}: more than {} bytes uncompressed", label, max_bytes));
    }
    if (status == Z_STREAM_END) {
      if (stream.avail_in == 0 && rest.empty()) break;
      if (inflateReset(&stream) != Z_OK) return corrupt("more data behind its end");
    } else if (status != Z_OK) {
      return corrupt(status == Z_BUF_ERROR ? "it is cut off" : stream.msg != nullptr ? stream.msg : "damaged data");
    }
  }
  out.resize(size);
  return out;
}

}  // namespace sluice
