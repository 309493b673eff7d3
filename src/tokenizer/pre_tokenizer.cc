#include "tokenizer/pre_tokenizer.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "tokenizer/vocabulary.h"

namespace sluice {
namespace {

using Behaviour = PreTokenizer::Behaviour;
using Step = PreTokenizer::Step;

// Puts the parts of one piece together as the behaviour says. Parts come from left to right.
class Joiner {
 public:
  Joiner(Behaviour behaviour, std::vector<TextSpan>& out) : behaviour_(behaviour), out_(out), begin_(out.size()) {}

  void add(TextSpan part, bool is_match) {
    const bool first = out_.size() == begin_;
    switch (behaviour_) {
      case Behaviour::kRemoved:
        if (!is_match) push(part);
        break;
      case Behaviour::kIsolated:
        push(part);
        break;
      case Behaviour::kMergedWithPrevious:
        if (is_match && !last_was_match_ && !first) {
          out_.back().end = part.end;
        } else {
          push(part);
        }
        break;
      case Behaviour::kMergedWithNext:
        // A match waits for what follows it; a second match behind it leaves it alone.
        if (last_was_match_ && !is_match && !first) {
          out_.back().end = part.end;
        } else {
          push(part);
        }
        break;
      case Behaviour::kContiguous:
        if (is_match == last_was_match_ && !first) {
          out_.back().end = part.end;
        } else {
          push(part);
        }
        break;
    }
    last_was_match_ = is_match;
  }

 private:
  void push(TextSpan part) { out_.push_back(part); }

  Behaviour behaviour_;
  std::vector<TextSpan>& out_;
  std::size_t begin_;
  bool last_was_match_ = false;
};

Status split(const Step& step, Pieces& pieces, MatchScratch& scratch) {
  std::vector<TextSpan>& out = pieces.next_spans;
  out.clear();
  for (const TextSpan& span : pieces.spans) {
    pieces.matches.clear();
    SLUICE_TRY(step.pattern->find_all(span.in(pieces.text), scratch, pieces.matches));
    Joiner joiner(step.behaviour, out);
    std::uint32_t done = span.begin;
    for (const TextSpan& match : pieces.matches) {
      const TextSpan here = {span.begin + match.begin, span.begin + match.end};
      if (here.begin > done) joiner.add({done, here.begin}, step.invert);
      joiner.add(here, !step.invert);
      done = here.end;
    }
    if (done < span.end) joiner.add({done, span.end}, step.invert);
  }
  std::erase_if(out, [](const TextSpan& span) { return span.size() == 0; });
  if (!pieces.spans.empty()) {
    pieces.first_at_start = pieces.first_at_start && !out.empty() && out.front().begin == pieces.spans.front().begin;
  }
  pieces.spans.swap(out);
  return {};
}

void put_prefix_space(std::string_view piece, std::string& out) {
  if (!piece.starts_with(' ')) out += ' ';
  out += piece;
}

void put_metaspace(const Step& step, std::string_view piece, bool at_start, std::string& out) {
  const bool has_one = piece.starts_with(step.replacement) || piece.starts_with(' ');
  const bool wanted = step.prepend == PreTokenizer::PrependScheme::kAlways ||
                      (step.prepend == PreTokenizer::PrependScheme::kFirst && at_start);
  if (wanted && !has_one) out += step.replacement;
  for (const char c : piece) {
    if (c == ' ') {
      out += step.replacement;
    } else {
      out += c;
    }
  }
}

Status rewrite(const Step& step, Pieces& pieces) {
  std::string& out = pieces.next_text;
  out.clear();
  out.reserve(pieces.text.size() + pieces.text.size() / 4);
  pieces.next_spans.clear();
  bool first = true;
  for (const TextSpan& span : pieces.spans) {
    const std::size_t begin = out.size();
    const std::string_view piece = span.in(pieces.text);
    switch (step.kind) {
      case Step::Kind::kPrefixSpace:
        put_prefix_space(piece, out);
        break;
      case Step::Kind::kByteLevel:
        append_byte_level(out, piece);
        break;
      case Step::Kind::kMetaspace:
        put_metaspace(step, piece, first && pieces.first_at_start, out);
        break;
      case Step::Kind::kSplit:
        break;
    }
    if (out.size() > std::numeric_limits<std::uint32_t>::max() / 2) {
      return Error(ErrorCode::kResource, "the text has more than 2 GiB after pre-tokenization: encode it in parts");
    }
    pieces.next_spans.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(out.size())});
    first = false;
  }
  pieces.spans.swap(pieces.next_spans);
  pieces.rewritten.swap(pieces.next_text);
  pieces.text = pieces.rewritten;
  return {};
}

}  // namespace

void Pieces::reset(std::string_view whole, bool at_start) {
  text = whole;
  spans.clear();
  if (!whole.empty()) spans.push_back({0, static_cast<std::uint32_t>(whole.size())});
  first_at_start = at_start;
}

Status PreTokenizer::apply(Pieces& pieces, MatchScratch& scratch) const {
  for (const Step& step : steps_) {
    SLUICE_TRY(step.kind == Step::Kind::kSplit ? split(step, pieces, scratch) : rewrite(step, pieces));
  }
  return {};
}

}  // namespace sluice
