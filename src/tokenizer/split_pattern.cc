#include "tokenizer/split_pattern.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include <fmt/format.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "tokenizer/regex_syntax.h"
#include "tokenizer/unicode_data.h"
#include "tokenizer/utf8.h"

namespace sluice {
namespace {

using unicode::CodePointRange;
using unicode::CodePointSet;

constexpr std::size_t kMaxClasses = 256;
// Steps of backtracking per search: enough for any search that is linear in the text, too few to hang.
constexpr std::uint32_t kMatchLimit = 20'000'000;
constexpr std::size_t kJitStackStart = 32U << 10U;
constexpr std::size_t kJitStackLimit = 8U << 20U;
constexpr std::uint32_t kHeapLimit = 64U << 10U;  // KiB; of the interpreter, where there is no JIT

template <auto kFree>
struct Free {
  template <typename T>
  void operator()(T* pointer) const {
    kFree(pointer);
  }
};
using Code = std::unique_ptr<pcre2_code, Free<pcre2_code_free>>;

// Code point -> class of characters that no set of the pattern tells apart.
class Classes {
 public:
  static constexpr std::uint32_t kBlock = 256;

  static Result<Classes> of(std::span<const CodePointSet> sets) {
    Classes classes;
    std::vector<char32_t> starts = {0};  // of intervals in which membership is constant
    for (const CodePointSet& set : sets) {
      for (const CodePointRange& range : set.ranges()) {
        starts.push_back(range.first);
        starts.push_back(range.last + 1);
      }
    }
    std::ranges::sort(starts);
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
    if (starts.back() > unicode::kMaxCodePoint) starts.pop_back();

    // Each set in turn splits the classes that lie partly inside.
    std::vector<std::uint16_t> value(starts.size(), 0);
    std::size_t count = 1;
    for (const CodePointSet& set : sets) {
      std::vector<std::int32_t> inside(count, -1);
      std::vector<std::int32_t> outside(count, -1);
      std::int32_t next = 0;
      std::size_t range = 0;
      for (std::size_t i = 0; i < starts.size(); ++i) {
        while (range < set.ranges().size() && set.ranges()[range].last < starts[i]) ++range;
        const bool in = range < set.ranges().size() && set.ranges()[range].first <= starts[i];
        std::int32_t& target = (in ? inside : outside)[value[i]];
        if (target < 0) target = next++;
        value[i] = static_cast<std::uint16_t>(target);
      }
      count = static_cast<std::size_t>(next);
      if (count > kMaxClasses) {
        return Error(ErrorCode::kResource,
                     fmt::format("the pattern tells more than {} classes of characters apart", kMaxClasses));
      }
    }
    classes.fill(starts, value);
    for (const CodePointSet& set : sets) {
      std::array<bool, kMaxClasses> members = {};
      for (std::size_t i = 0; i < starts.size(); ++i) {
        if (set.contains(starts[i])) members[value[i]] = true;
      }
      classes.members_.push_back(members);
    }
    return classes;
  }

  std::uint8_t operator[](char32_t c) const { return cells_[blocks_[c / kBlock] * std::size_t{kBlock} + c % kBlock]; }
  const std::array<bool, kMaxClasses>& members(std::size_t set) const { return members_[set]; }

 private:
  void fill(std::span<const char32_t> starts, std::span<const std::uint16_t> value) {
    constexpr std::size_t kBlocks = (unicode::kMaxCodePoint + 1) / kBlock;
    std::array<std::int32_t, kMaxClasses> uniform;  // block of one class only
    uniform.fill(-1);
    blocks_.reserve(kBlocks);
    std::size_t interval = 0;
    for (char32_t begin = 0; begin <= unicode::kMaxCodePoint; begin += kBlock) {
      while (interval + 1 < starts.size() && starts[interval + 1] <= begin) ++interval;
      const bool is_uniform = interval + 1 == starts.size() || starts[interval + 1] >= begin + kBlock;
      std::int32_t& shared = uniform[value[interval]];
      if (is_uniform && shared >= 0) {
        blocks_.push_back(static_cast<std::uint16_t>(shared));
        continue;
      }
      const auto block = static_cast<std::uint16_t>(cells_.size() / kBlock);
      if (is_uniform) shared = block;
      blocks_.push_back(block);
      std::size_t here = interval;
      for (char32_t c = begin; c < begin + kBlock; ++c) {
        while (here + 1 < starts.size() && starts[here + 1] <= c) ++here;
        cells_.push_back(static_cast<std::uint8_t>(value[here]));
      }
    }
  }

  std::vector<std::uint16_t> blocks_;
  std::vector<std::uint8_t> cells_;
  std::vector<std::array<bool, kMaxClasses>> members_;  // by set
};

// A set as a class of bytes.
std::string byte_class(const std::array<bool, kMaxClasses>& members) {
  std::string out = "[";
  for (std::size_t first = 0; first < kMaxClasses; ++first) {
    if (!members[first]) continue;
    std::size_t last = first;
    while (last + 1 < kMaxClasses && members[last + 1]) ++last;
    out += fmt::format("\\x{:02x}", first);
    if (last > first) out += fmt::format("-\\x{:02x}", last);
    first = last;
  }
  return out == "[" ? "(?!)" : out + "]";
}

class LiteralPattern final : public SplitPattern {
 public:
  explicit LiteralPattern(std::string_view literal) : literal_(literal) {}

  Status find_all(std::string_view text, MatchScratch& /*scratch*/, std::vector<TextSpan>& matches) const override {
    if (literal_.empty()) return {};
    for (std::size_t at = text.find(literal_); at != std::string_view::npos; at = text.find(literal_, at)) {
      const auto begin = static_cast<std::uint32_t>(at);
      at += literal_.size();
      matches.push_back({begin, static_cast<std::uint32_t>(at)});
    }
    return {};
  }

 private:
  std::string literal_;
};

}  // namespace

struct MatchScratch::State {
  std::vector<std::uint8_t> classes;   // of the characters of the text
  std::vector<std::uint32_t> offsets;  // bytes at which they begin; one more for the end
  std::unique_ptr<pcre2_match_data, Free<pcre2_match_data_free>> match;
  std::unique_ptr<pcre2_match_context, Free<pcre2_match_context_free>> context;
  std::unique_ptr<pcre2_jit_stack, Free<pcre2_jit_stack_free>> jit_stack;
};

MatchScratch::MatchScratch() : state_(std::make_unique<State>()) {
  state_->match.reset(pcre2_match_data_create(1, nullptr));
  state_->context.reset(pcre2_match_context_create(nullptr));
  if (!state_->context) return;
  pcre2_set_match_limit(state_->context.get(), kMatchLimit);
  pcre2_set_heap_limit(state_->context.get(), kHeapLimit);
}

MatchScratch::~MatchScratch() = default;

namespace {

class RegexPattern final : public SplitPattern {
 public:
  RegexPattern(Classes classes, Code code) : classes_(std::move(classes)), code_(std::move(code)) {}

  Status find_all(std::string_view text, MatchScratch& scratch, std::vector<TextSpan>& matches) const override {
    auto& state = SplitPattern::state(scratch);
    if (!state.match || !state.context) return Error(ErrorCode::kResource, "out of memory for matching a pattern");
    write_classes(text, state.classes, state.offsets);
    const std::size_t size = state.classes.size();
    std::size_t at = 0;
    std::size_t last_end = static_cast<std::size_t>(-1);
    while (at <= size) {
      int rc = search(state, at);
      if (rc == PCRE2_ERROR_JIT_STACKLIMIT && !state.jit_stack) {
        state.jit_stack.reset(pcre2_jit_stack_create(kJitStackStart, kJitStackLimit, nullptr));
        pcre2_jit_stack_assign(state.context.get(), nullptr, state.jit_stack.get());
        rc = search(state, at);
      }
      if (rc == PCRE2_ERROR_NOMATCH) break;
      if (rc < 0) return search_error(rc);
      const PCRE2_SIZE* found = pcre2_get_ovector_pointer(state.match.get());
      if (found[0] == found[1] && found[1] == last_end) {
        ++at;
        continue;
      }
      matches.push_back({state.offsets[found[0]], state.offsets[found[1]]});
      at = last_end = found[1];
    }
    return {};
  }

 private:
  template <typename State>
  int search(State& state, std::size_t at) const {
    return pcre2_match(code_.get(), state.classes.data(), state.classes.size(), at, 0, state.match.get(),
                       state.context.get());
  }

  static Error search_error(int rc) {
    std::array<PCRE2_UCHAR, 128> message = {};
    pcre2_get_error_message(rc, message.data(), message.size());
    return Error(ErrorCode::kResource, fmt::format("a pattern of the tokenizer takes too many steps on this text ({}): "
                                                   "shorten the text or correct the pattern",
                                                   reinterpret_cast<const char*>(message.data())));
  }

  void write_classes(std::string_view text, std::vector<std::uint8_t>& classes,
                     std::vector<std::uint32_t>& offsets) const {
    classes.resize(text.size());
    offsets.resize(text.size() + 1);
    std::size_t count = 0;
    for (std::size_t at = 0; at < text.size(); ++count) {
      const unicode::Utf8Char c = unicode::decode_utf8(text, at);
      classes[count] = classes_[c.valid() ? c.value : 0xFFFD];
      offsets[count] = static_cast<std::uint32_t>(at);
      at += c.size;
    }
    classes.resize(count);
    offsets.resize(count + 1);
    offsets[count] = static_cast<std::uint32_t>(text.size());
  }

  Classes classes_;
  Code code_;
};

}  // namespace

Result<std::shared_ptr<const SplitPattern>> SplitPattern::compile(std::string_view pattern) {
  SLUICE_ASSIGN(const RegexSyntax syntax, parse_regex(pattern));
  SLUICE_ASSIGN(Classes classes, Classes::of(syntax.sets));
  std::vector<std::string> byte_classes;
  for (std::size_t i = 0; i < syntax.sets.size(); ++i) byte_classes.push_back(byte_class(classes.members(i)));
  std::string text;
  for (const RegexSyntax::Piece& piece : syntax.pieces) {
    text += piece.set == RegexSyntax::Piece::kSyntax ? piece.syntax : byte_classes[piece.set];
  }

  int fault = 0;
  PCRE2_SIZE where = 0;
  // The text is ASCII and the subject are bytes, whatever the locale: no UTF, no options inside the pattern.
  Code code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), PCRE2_NEVER_UTF | PCRE2_NEVER_UCP,
                          &fault, &where, nullptr));
  if (!code) {
    std::array<PCRE2_UCHAR, 256> message = {};
    pcre2_get_error_message(fault, message.data(), message.size());
    return Error(ErrorCode::kUnsupported,
                 fmt::format("PCRE2 refuses the pattern: {}", reinterpret_cast<const char*>(message.data())));
  }
  // Without JIT (a system that forbids it) the interpreter gives the same matches, only slower.
  (void)pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
  return std::shared_ptr<const SplitPattern>(std::make_shared<RegexPattern>(std::move(classes), std::move(code)));
}

Result<std::shared_ptr<const SplitPattern>> SplitPattern::literal(std::string_view literal) {
  return std::shared_ptr<const SplitPattern>(std::make_shared<LiteralPattern>(literal));
}

}  // namespace sluice
