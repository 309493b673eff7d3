#include "engine/answer_text.h"

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

// Decoding depends on what is near: the character that a few byte tokens make up, and whether anything came before.
constexpr std::size_t kContext = 64;

}  // namespace

AnswerText::AnswerText(const Tokenizer& tokenizer, std::span<const std::int32_t> before)
    : stream_(tokenizer.stream(true)) {
  before = before.last(std::min(before.size(), kContext));
  std::string certain;
  for (const std::int32_t token : before) certain += stream_->push(token);
  const std::string whole = tokenizer.decode(before, true);
  if (whole.starts_with(certain)) owed_ = whole.substr(certain.size());
}

std::string AnswerText::push(std::int32_t token) { return without_prompt(stream_->push(token)); }

std::string AnswerText::flush() {
  std::string text = without_prompt(stream_->flush());
  held_.clear();  // less than the prompt's own end
  return text;
}

std::string AnswerText::without_prompt(std::string text) {
  if (owed_.empty()) return text;
  held_ += text;
  if (held_.size() < owed_.size() && owed_.starts_with(held_)) return {};
  std::string out = std::exchange(held_, {});
  if (out.starts_with(owed_)) out.erase(0, owed_.size());
  owed_.clear();
  return out;
}

}  // namespace sluice
