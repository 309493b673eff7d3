#include "tokenizer/detokenizer.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

#include "tokenizer/normalizer.h"
#include "tokenizer/utf8.h"
#include "tokenizer/vocabulary.h"

namespace sluice {
namespace {

using Step = Detokenizer::Step;
using Tokens = std::vector<std::string>;

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

class JoinWithSpaces final : public DecodeStage {
 public:
  void push(std::string token, Tokens& out) override {
    if (!first_) token.insert(0, 1, ' ');
    first_ = false;
    out.push_back(std::move(token));
  }

 private:
  bool first_ = true;
};

// Bytes to text. An incomplete character waits; one U+FFFD stands for each longest part of a sequence that could have
// become a character (Unicode, "substitution of maximal subparts").
class Utf8 final : public DecodeStage {
 public:
  explicit Utf8(bool byte_level) : byte_level_(byte_level) {}

  void push(std::string token, Tokens& out) override {
    if (byte_level_) {
      append_byte_level_decoded(pending_, token);
    } else {
      pending_ += token;
    }
    take(false, out);
  }
  void finish(Tokens& out) override { take(true, out); }

 private:
  void take(bool all, Tokens& out) {
    std::string text;
    std::size_t at = 0;
    while (at < pending_.size()) {
      const unicode::Utf8Char c = unicode::decode_utf8(pending_, at);
      if (c.valid()) {
        text.append(pending_, at, c.size);
        at += c.size;
        continue;
      }
      const std::size_t part = maximal_subpart(at);
      if (!all && at + part == pending_.size() && could_continue(at)) break;
      text += kReplacement;
      at += part;
    }
    pending_.erase(0, at);
    if (!text.empty()) out.push_back(std::move(text));
  }

  // Bytes of the longest beginning of a character at `at`, at least 1.
  std::size_t maximal_subpart(std::size_t at) const {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(pending_[at + i]); };
    const unicode::Utf8Lead lead = unicode::utf8_lead(byte(0));
    const std::size_t left = pending_.size() - at;
    if (lead.size < 2 || left < 2 || byte(1) < lead.second_first || byte(1) > lead.second_last) return 1;
    std::size_t size = 2;
    while (size < lead.size && size < left && (byte(size) & 0xC0U) == 0x80U) ++size;
    return size;
  }
  bool could_continue(std::size_t at) const {
    return unicode::utf8_lead(static_cast<unsigned char>(pending_[at])).size > pending_.size() - at;
  }

  bool byte_level_;
  std::string pending_;  // at most three bytes between pushes
};

// A byte of a run can turn what is a character so far into U+FFFDs, so a run is given out when it has ended.
class ByteFallback final : public DecodeStage {
 public:
  void push(std::string token, Tokens& out) override {
    if (const std::optional<unsigned char> byte = byte_token(token)) {
      run_ += static_cast<char>(*byte);
      return;
    }
    finish(out);
    out.push_back(std::move(token));
  }
  void finish(Tokens& out) override {
    if (run_.empty()) return;
    bool valid = true;
    for (std::size_t at = 0; valid && at < run_.size();) {
      const unicode::Utf8Char c = unicode::decode_utf8(run_, at);
      valid = c.valid();
      at += c.size;
    }
    if (valid) {
      out.push_back(run_);
    } else {
      out.insert(out.end(), run_.size(), std::string(kReplacement));
    }
    run_.clear();
  }

 private:
  std::string run_;
};

class HoldAll final : public DecodeStage {
 public:
  void push(std::string token, Tokens& /*out*/) override { all_ += token; }
  void finish(Tokens& out) override { out.push_back(std::move(all_)); }

 private:
  std::string all_;
};

class Replace final : public DecodeStage {
 public:
  explicit Replace(const Step& step) : pattern_(step.pattern), by_(step.text) {}

  void push(std::string token, Tokens& out) override {
    // A pattern that fails on a token (see SplitPattern) leaves it as it is.
    (void)replace_matches(token, *pattern_, by_, scratch_);
    out.push_back(std::move(token));
  }

 private:
  std::shared_ptr<const SplitPattern> pattern_;
  std::string by_;
  MatchScratch scratch_;
};

class Strip final : public DecodeStage {
 public:
  explicit Strip(const Step& step) : step_(step) {}

  void push(std::string token, Tokens& out) override {
    std::string_view rest = token;
    for (std::uint32_t i = 0; i < step_.start && rest.starts_with(step_.text); ++i)
      rest.remove_prefix(step_.text.size());
    for (std::uint32_t i = 0; i < step_.stop && rest.ends_with(step_.text); ++i) rest.remove_suffix(step_.text.size());
    out.emplace_back(rest);
  }

 private:
  Step step_;
};

// Strip behind a step that makes one token of all: the begin is the begin of the stream, the end its end.
class StripWhole final : public DecodeStage {
 public:
  explicit StripWhole(const Step& step) : step_(step), left_(step.start) {}

  void push(std::string token, Tokens& out) override {
    std::string_view rest = token;
    while (left_ > 0 && !rest.empty()) {
      if (!rest.starts_with(step_.text)) {
        left_ = 0;
        break;
      }
      rest.remove_prefix(step_.text.size());
      --left_;
    }
    held_ += rest;
    std::string_view certain = held_;
    for (std::uint32_t i = 0; i < step_.stop && certain.ends_with(step_.text); ++i) {
      certain.remove_suffix(step_.text.size());
    }
    const std::size_t size = certain.size();
    if (size > 0) out.emplace_back(certain);
    held_.erase(0, size);
  }

 private:
  Step step_;
  std::uint32_t left_;
  std::string held_;  // characters that go if nothing follows
};

class Metaspace final : public DecodeStage {
 public:
  explicit Metaspace(const Step& step)
      : replacement_(step.text), drop_(step.prepend != PreTokenizer::PrependScheme::kNever) {}

  void push(std::string token, Tokens& out) override {
    std::string text;
    std::size_t done = 0;
    for (std::size_t at = token.find(replacement_); at != std::string::npos; at = token.find(replacement_, done)) {
      text.append(token, done, at - done);
      if (!drop_) text += ' ';
      done = at + replacement_.size();
    }
    text.append(token, done);
    drop_ = false;
    out.push_back(std::move(text));
  }

 private:
  std::string replacement_;
  bool drop_;  // in the first token
};

std::unique_ptr<DecodeStage> make_stage(const Step& step, bool whole) {
  switch (step.kind) {
    case Step::Kind::kJoinWithSpaces:
      return std::make_unique<JoinWithSpaces>();
    case Step::Kind::kUtf8:
      return std::make_unique<Utf8>(false);
    case Step::Kind::kByteLevel:
      return std::make_unique<Utf8>(true);
    case Step::Kind::kByteFallback:
      return std::make_unique<ByteFallback>();
    case Step::Kind::kReplace:
      return std::make_unique<Replace>(step);
    case Step::Kind::kStrip:
      if (whole) return std::make_unique<StripWhole>(step);
      return std::make_unique<Strip>(step);
    case Step::Kind::kMetaspace:
      return std::make_unique<Metaspace>(step);
    case Step::Kind::kFuse:
      break;
  }
  return nullptr;  // nothing to do while tokens are only strung together
}

}  // namespace

Detokenizer::Run Detokenizer::start() const {
  Run run;
  bool whole = false;  // a step before made one token of all
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (auto stage = make_stage(steps_[i], whole)) run.stages_.push_back(std::move(stage));
    const Step::Kind kind = steps_[i].kind;
    if (kind != Step::Kind::kFuse && kind != Step::Kind::kUtf8 && kind != Step::Kind::kByteLevel) continue;
    // Parts of the one token may be given out early only if the steps behind can take it in parts.
    const bool in_parts =
        std::all_of(steps_.begin() + static_cast<std::ptrdiff_t>(i + 1), steps_.end(),
                    [](const Step& s) { return s.kind == Step::Kind::kStrip || s.kind == Step::Kind::kFuse; });
    if (in_parts) {
      whole = true;
    } else if (!whole) {
      run.stages_.push_back(std::make_unique<HoldAll>());
    }
  }
  return run;
}

void Detokenizer::Run::feed(std::size_t stage, std::string token, std::string& text) {
  if (stage == stages_.size()) {
    text += token;
    return;
  }
  std::vector<std::string> out;
  stages_[stage]->push(std::move(token), out);
  for (std::string& each : out) feed(stage + 1, std::move(each), text);
}

void Detokenizer::Run::push(std::string token, std::string& text) { feed(0, std::move(token), text); }

void Detokenizer::Run::finish(std::string& text) {
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
    std::vector<std::string> out;
    stages_[stage]->finish(out);
    for (std::string& each : out) feed(stage + 1, std::move(each), text);
  }
}

}  // namespace sluice
