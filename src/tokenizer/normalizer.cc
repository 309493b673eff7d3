#include "tokenizer/normalizer.h"

#include <cstddef>
#include <limits>
#include <string_view>

#include "tokenizer/unicode_data.h"
#include "tokenizer/utf8.h"
#include "tokenizer/vocabulary.h"

namespace sluice {
namespace {

std::string lowercase(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const unicode::Utf8Char c = unicode::decode_utf8(text, at);
    if (!c.valid()) {
      out += text[at];
    } else if (c.value == 0x130) {
      out += "i\xCC\x87";
    } else {
      unicode::append_utf8(out, unicode::simple_lowercase(c.value));
    }
    at += c.size;
  }
  return out;
}

std::string strip_accents(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const unicode::Utf8Char c = unicode::decode_utf8(text, at);
    if (!c.valid() || !unicode::is_mark(c.value)) out += text.substr(at, c.size);
    at += c.size;
  }
  return out;
}

std::string strip(std::string_view text, bool left, bool right) {
  while (left && !text.empty()) {
    const unicode::Utf8Char c = unicode::decode_utf8(text, 0);
    if (!c.valid() || !unicode::is_white_space(c.value)) break;
    text.remove_prefix(c.size);
  }
  while (right && !text.empty()) {
    const unicode::Utf8Char c = unicode::last_utf8(text);
    if (!c.valid() || !unicode::is_white_space(c.value)) break;
    text.remove_suffix(c.size);
  }
  return std::string(text);
}

}  // namespace

Status replace_matches(std::string& text, const SplitPattern& pattern, const std::string& by, MatchScratch& scratch) {
  if (text.empty()) return {};
  std::vector<TextSpan> matches;
  SLUICE_TRY(pattern.find_all(text, scratch, matches));
  if (matches.empty()) return {};
  std::string out;
  out.reserve(text.size());
  std::size_t done = 0;
  for (const TextSpan& match : matches) {
    out.append(text, done, match.begin - done);
    out += by;
    done = match.end;
  }
  out.append(text, done);
  text = std::move(out);
  return {};
}

Status Normalizer::apply(std::string& text, MatchScratch& scratch) const {
  for (const Step& step : steps_) {
    switch (step.kind) {
      case Step::Kind::kUnicode:
        text = unicode::normalize(text, step.form);
        break;
      case Step::Kind::kPrepend:
        if (!text.empty()) text.insert(0, step.text);
        break;
      case Step::Kind::kReplace:
        SLUICE_TRY(replace_matches(text, *step.pattern, step.text, scratch));
        break;
      case Step::Kind::kLowercase:
        text = lowercase(text);
        break;
      case Step::Kind::kStrip:
        text = strip(text, step.strip_left, step.strip_right);
        break;
      case Step::Kind::kStripAccents:
        text = strip_accents(text);
        break;
      case Step::Kind::kByteLevel: {
        std::string out;
        append_byte_level(out, text);
        text = std::move(out);
        break;
      }
    }
    if (text.size() > std::numeric_limits<std::uint32_t>::max() / 2) {
      return Error(ErrorCode::kResource, "the text has more than 2 GiB after normalisation: encode it in parts");
    }
  }
  return {};
}

}  // namespace sluice
