// The loop of byte-pair encoding: joins the best pair of neighbours until none is left.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace sluice {

// A part [begin, end) of a word and the token that it is; -1: no token.
struct BpeSymbol {
  std::int32_t id = -1;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

// What joining two neighbours gives. Lower ranks go first; among equal ones the leftmost.
struct BpeJoin {
  static constexpr std::uint32_t kNever = UINT32_MAX;

  std::uint32_t rank = kNever;
  std::int32_t id = -1;
};

// Buffers of the loop, reused from word to word.
struct BpeScratch {
  std::vector<BpeSymbol> symbols;
  std::vector<BpeJoin> joins;       // of a symbol with the one behind it
  std::vector<std::uint32_t> next;  // long words: neighbours, by place
  std::vector<std::uint32_t> previous;
  std::vector<std::uint64_t> heap;  // rank << 32 | place
};

namespace internal {

// Words of up to this many symbols are searched for their best pair from end to end: nearly all words, and quicker than
// a heap for them.
inline constexpr std::size_t kShortWord = 48;

template <typename Join>
void merge_short(BpeScratch& scratch, const Join& join) {
  std::vector<BpeSymbol>& symbols = scratch.symbols;
  std::vector<BpeJoin>& joins = scratch.joins;
  joins.clear();
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i) joins.push_back(join(symbols[i], symbols[i + 1]));
  for (;;) {
    const auto best = std::ranges::min_element(joins, {}, &BpeJoin::rank);
    if (best == joins.end() || best->rank == BpeJoin::kNever) return;
    const std::size_t at = static_cast<std::size_t>(best - joins.begin());
    symbols[at].id = best->id;
    symbols[at].end = symbols[at + 1].end;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(at + 1));
    joins.erase(best);
    if (at < joins.size()) joins[at] = join(symbols[at], symbols[at + 1]);
    if (at > 0) joins[at - 1] = join(symbols[at - 1], symbols[at]);
  }
}

template <typename Join>
void merge_long(BpeScratch& scratch, const Join& join) {
  constexpr std::uint32_t kEnd = UINT32_MAX;
  std::vector<BpeSymbol>& symbols = scratch.symbols;
  const auto count = static_cast<std::uint32_t>(symbols.size());
  scratch.joins.assign(count, {});
  scratch.next.resize(count);
  scratch.previous.resize(count);
  scratch.heap.clear();
  const auto after = std::greater<std::uint64_t>();
  // Joins the symbol at `place` would take part in now; older entries of the heap no longer match and are passed over.
  const auto offer = [&](std::uint32_t place) {
    const std::uint32_t right = scratch.next[place];
    BpeJoin& mine = scratch.joins[place];
    mine = right == kEnd ? BpeJoin{} : join(symbols[place], symbols[right]);
    if (mine.rank == BpeJoin::kNever) return false;
    scratch.heap.push_back(std::uint64_t{mine.rank} << 32U | place);
    return true;
  };
  for (std::uint32_t i = 0; i < count; ++i) {
    scratch.next[i] = i + 1 < count ? i + 1 : kEnd;
    scratch.previous[i] = i > 0 ? i - 1 : kEnd;
    (void)offer(i);
  }
  std::ranges::make_heap(scratch.heap, after);
  while (!scratch.heap.empty()) {
    std::ranges::pop_heap(scratch.heap, after);
    const std::uint64_t top = scratch.heap.back();
    scratch.heap.pop_back();
    const auto place = static_cast<std::uint32_t>(top & UINT32_MAX);
    const BpeJoin chosen = scratch.joins[place];
    if (chosen.rank != static_cast<std::uint32_t>(top >> 32U)) continue;
    const std::uint32_t right = scratch.next[place];
    symbols[place].id = chosen.id;
    symbols[place].end = symbols[right].end;
    scratch.joins[right] = {};  // swallowed
    scratch.next[place] = scratch.next[right];
    if (scratch.next[place] != kEnd) scratch.previous[scratch.next[place]] = place;
    if (offer(place)) std::ranges::push_heap(scratch.heap, after);
    if (const std::uint32_t left = scratch.previous[place]; left != kEnd) {
      if (offer(left)) std::ranges::push_heap(scratch.heap, after);
    }
  }
  std::size_t kept = 0;
  for (std::uint32_t i = count > 0 ? 0 : kEnd; i != kEnd; i = scratch.next[i]) symbols[kept++] = symbols[i];
  symbols.resize(kept);
}

}  // namespace internal

// Joins scratch.symbols in place. `join(left, right)` gives a BpeJoin. O(n log n) calls and steps.
template <typename Join>
void merge_symbols(BpeScratch& scratch, const Join& join) {
  if (scratch.symbols.size() <= internal::kShortWord) {
    internal::merge_short(scratch, join);
  } else {
    internal::merge_long(scratch, join);
  }
}

}  // namespace sluice
