#include "tokenizer/bpe.h"

#include <algorithm>
#include <utility>

#include "tokenizer/utf8.h"

namespace sluice {
namespace {

// Calls character(begin, end, value, valid) for each character of the word.
template <typename Character>
void for_each_character(std::string_view word, const Character& character) {
  for (std::size_t at = 0; at < word.size();) {
    const unicode::Utf8Char c = unicode::decode_utf8(word, at);
    character(static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + c.size), c.value, c.valid());
    at += c.size;
  }
}

}  // namespace

CharacterTable::CharacterTable(const Vocabulary& vocabulary, const UnknownPolicy& policy)
    : vocabulary_(&vocabulary), policy_(policy) {
  for (char32_t c = 0; c < low_.size(); ++c) {
    std::string text;
    unicode::append_utf8(text, c);
    low_[c] = vocabulary.find(text).value_or(-1);
  }
  for (std::size_t byte = 0; byte < byte_tokens_.size(); ++byte) {
    byte_tokens_[byte] = vocabulary.find(byte_token_text(static_cast<unsigned char>(byte))).value_or(-1);
  }
  replacement_ = vocabulary.find("\xEF\xBF\xBD").value_or(-1);
}

std::int32_t CharacterTable::find(std::string_view character, char32_t value) const {
  if (value < low_.size()) return low_[value];
  return vocabulary_->find(character).value_or(-1);
}

void CharacterTable::finish(std::optional<BpeSymbol>& unk, std::vector<BpeSymbol>& symbols) {
  if (unk) symbols.push_back(*unk);
  unk.reset();
}

void CharacterTable::append(const BpeSymbol& symbol, std::optional<BpeSymbol>& unk, std::vector<BpeSymbol>& symbols) {
  finish(unk, symbols);
  symbols.push_back(symbol);
}

void CharacterTable::append_unknown(std::string_view text, std::uint32_t begin, std::uint32_t end, bool valid,
                                    std::optional<BpeSymbol>& unk, std::vector<BpeSymbol>& symbols) const {
  const auto byte_at = [&](std::uint32_t at) { return byte_tokens_[static_cast<unsigned char>(text[at])]; };
  if (policy_.byte_fallback) {
    bool all = true;
    for (std::uint32_t at = begin; at < end; ++at) all = all && byte_at(at) >= 0;
    if (all) {
      for (std::uint32_t at = begin; at < end; ++at) symbols.push_back({byte_at(at), at, at + 1});
      return;
    }
  }
  if (!valid && replacement_ >= 0) {
    append({replacement_, begin, end}, unk, symbols);
    return;
  }
  if (!policy_.unk) return;
  if (unk && policy_.fuse_unk) {
    unk->end = end;
    return;
  }
  finish(unk, symbols);
  unk = {*policy_.unk, begin, end};
}

MergeTable::MergeTable(std::size_t expected) {
  std::size_t size = 16;
  while (2 * size < 3 * expected) size *= 2;
  slots_.resize(size);
}

std::size_t MergeTable::slot_of(std::uint64_t pair) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = place(pair);
  while (slots_[at].pair != pair && slots_[at].pair != Slot::kFree) at = (at + 1) & mask;
  return at;
}

void MergeTable::add(std::int32_t left, std::int32_t right, BpeJoin join, bool replace) {
  if (3 * (used_ + 1) > 2 * slots_.size()) {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.pair != Slot::kFree) slots_[slot_of(slot.pair)] = slot;
    }
  }
  const std::uint64_t pair = key(left, right);
  Slot& slot = slots_[slot_of(pair)];
  if (slot.pair == pair && !replace) return;
  if (slot.pair == Slot::kFree) ++used_;
  slot = {pair, join};
}

MergeReader::MergeReader(const Vocabulary& vocabulary, MergeTable& table, bool replace)
    : vocabulary_(&vocabulary), table_(&table), replace_(replace), joined_(kBatch) {}

void MergeReader::add(std::string_view left, std::string_view right, std::uint32_t rank) {
  std::string& joined = joined_[ranks_.size()];
  joined.assign(left);
  joined += right;
  texts_.insert(texts_.end(), {left, right, joined});
  ranks_.push_back(rank);
  if (ranks_.size() == kBatch) flush();
}

void MergeReader::flush() {
  ids_.resize(texts_.size());
  vocabulary_->find_all(texts_, ids_);
  for (std::size_t i = 0; i < ids_.size(); i += 3) table_->prefetch(ids_[i], ids_[i + 1]);
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const std::int32_t left = ids_[3 * i];
    const std::int32_t right = ids_[3 * i + 1];
    const std::int32_t joined = ids_[3 * i + 2];
    if (left >= 0 && right >= 0 && joined >= 0) {
      table_->add(left, right, {ranks_[i], joined}, replace_);
    } else if (unknown_++ == 0) {
      first_unknown_ = ranks_[i];
    }
  }
  texts_.clear();
  ranks_.clear();
}

MergeBpe::MergeBpe(const Vocabulary& vocabulary, const Options& options, MergeTable merges)
    : vocabulary_(&vocabulary),
      options_(options),
      characters_(vocabulary, options.unknown),
      merges_(std::move(merges)) {}

void MergeBpe::encode(std::string_view word, BpeScratch& scratch, std::vector<std::int32_t>& ids) const {
  if (options_.ignore_merges) {
    if (const auto whole = vocabulary_->find(word)) {
      ids.push_back(*whole);
      return;
    }
  }
  scratch.symbols.clear();
  std::optional<BpeSymbol> unk;
  for_each_character(word, [&](std::uint32_t begin, std::uint32_t end, char32_t value, bool valid) {
    const std::int32_t id = valid ? characters_.find(word.substr(begin, end - begin), value) : -1;
    if (id < 0) {
      characters_.append_unknown(word, begin, end, valid, unk, scratch.symbols);
    } else {
      CharacterTable::append({id, begin, end}, unk, scratch.symbols);
    }
  });
  CharacterTable::finish(unk, scratch.symbols);
  merge_symbols(scratch,
                [&](const BpeSymbol& left, const BpeSymbol& right) { return merges_.find(left.id, right.id); });
  for (const BpeSymbol& symbol : scratch.symbols) ids.push_back(symbol.id);
}

ScoreBpe::ScoreBpe(const Vocabulary& vocabulary, const UnknownPolicy& unknown, const std::vector<float>& scores,
                   std::vector<Role> roles)
    : vocabulary_(&vocabulary), unknown_(unknown), characters_(vocabulary, unknown), roles_(std::move(roles)) {
  std::vector<float> order = scores;
  std::ranges::sort(order, std::greater<>());
  order.erase(std::unique(order.begin(), order.end()), order.end());
  ranks_.reserve(scores.size());
  for (const float score : scores) {
    const auto at = std::ranges::lower_bound(order, score, std::greater<>());
    ranks_.push_back(static_cast<std::uint32_t>(at - order.begin()));
  }
  has_unused_ = std::ranges::find(roles_, Role::kUnused) != roles_.end();
}

void ScoreBpe::encode(std::string_view word, BpeScratch& scratch, std::vector<std::int32_t>& ids) const {
  const auto usable = [&](std::int32_t id) {
    return id >= 0 && roles_[static_cast<std::size_t>(id)] != Role::kNever ? id : -1;
  };
  scratch.symbols.clear();
  for_each_character(word, [&](std::uint32_t begin, std::uint32_t end, char32_t value, bool valid) {
    const std::int32_t id = valid ? usable(characters_.find(word.substr(begin, end - begin), value)) : -1;
    scratch.symbols.push_back({id, begin, end});
  });

  // How unused tokens came about: text -> bytes of its left part.
  std::unordered_map<std::string_view, std::uint32_t> made;
  const std::size_t longest = vocabulary_->longest();
  merge_symbols(scratch, [&](const BpeSymbol& left, const BpeSymbol& right) {
    const std::size_t size = right.end - left.begin;
    if (size > longest) return BpeJoin{};
    const std::string_view text = word.substr(left.begin, size);
    const std::int32_t id = usable(vocabulary_->find(text).value_or(-1));
    if (id < 0) return BpeJoin{};
    if (has_unused_ && roles_[static_cast<std::size_t>(id)] == Role::kUnused) {
      made.insert_or_assign(text, left.end - left.begin);
    }
    return BpeJoin{ranks_[static_cast<std::size_t>(id)], id};
  });

  std::vector<BpeSymbol> rest(scratch.symbols.rbegin(), scratch.symbols.rend());
  std::vector<BpeSymbol> out;
  std::optional<BpeSymbol> unk;
  while (!rest.empty()) {
    const BpeSymbol symbol = rest.back();
    rest.pop_back();
    const std::string_view text = word.substr(symbol.begin, symbol.end - symbol.begin);
    const bool unused = symbol.id >= 0 && roles_[static_cast<std::size_t>(symbol.id)] == Role::kUnused;
    if (const auto how = unused ? made.find(text) : made.end(); how != made.end()) {
      const std::uint32_t middle = symbol.begin + how->second;
      const auto part = [&](std::uint32_t begin, std::uint32_t end) {
        return BpeSymbol{usable(vocabulary_->find(word.substr(begin, end - begin)).value_or(-1)), begin, end};
      };
      rest.push_back(part(middle, symbol.end));
      rest.push_back(part(symbol.begin, middle));
      continue;
    }
    if (symbol.id >= 0) {
      CharacterTable::append(symbol, unk, out);
    } else {
      characters_.append_unknown(word, symbol.begin, symbol.end, unicode::decode_utf8(word, symbol.begin).valid(), unk,
                                 out);
    }
  }
  CharacterTable::finish(unk, out);
  for (const BpeSymbol& symbol : out) ids.push_back(symbol.id);
}

}  // namespace sluice
