// tokenizer.json of any bytes: an error, or a tokenizer whose work has an end. What stands behind a first NUL in the
// input is tokenizer_config.json, behind a second one a text to encode.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tokenizer/tokenizer.h"

namespace {

// Takes what stands before the next NUL off the front of `rest`.
std::string_view take(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\0'), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const std::string_view json = take(rest);
  const std::string_view config = take(rest);
  const std::string_view text =
      rest.empty() ? "Once upon\n a time, 12345 \xc3\xa9\xe2\x80\x83 \xf0\x9f\x98\x80 </s>" : rest;
  const auto tokenizer = Tokenizer::from_json(json, config, "", "fuzz");
  if (!tokenizer.ok()) {
    if (tokenizer.error().message().empty()) std::abort();
    return 0;
  }
  const Tokenizer& it = *tokenizer.value();
  for (const bool special : {false, true}) {
    const auto ids = it.encode(text, special);
    if (!ids.ok()) continue;
    const auto stream = it.stream(special);
    std::string streamed;
    for (const std::int32_t id : *ids) {
      if (id < 0 || id >= it.vocab_size()) std::abort();
      streamed += stream->push(id);
    }
    streamed += stream->flush();
    if (streamed != it.decode(*ids, special)) std::abort();
  }
  return 0;
}
