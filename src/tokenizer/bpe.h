// Byte-pair encoding of words: with a table of merges (byte-level and converted SentencePiece vocabularies) and by the
// scores of tokens (SentencePiece's own, as GGUF files carry them).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tokenizer/bpe_merge.h"
#include "tokenizer/vocabulary.h"

namespace sluice {

// Turns a word (a piece of normalized text) into ids. Immutable, thread-safe; the vocabulary must outlive it.
class WordEncoder {
 public:
  virtual ~WordEncoder() = default;
  virtual void encode(std::string_view word, BpeScratch& scratch, std::vector<std::int32_t>& ids) const = 0;
};

// What happens to characters that no token is.
struct UnknownPolicy {
  bool byte_fallback = false;       // as the tokens <0x00> to <0xFF>, if all of its bytes have one
  std::optional<std::int32_t> unk;  // else this token; without one the character vanishes
  bool fuse_unk = false;            // one unk for a row of such characters
};

// The first symbols of a word: its characters, or what stands for them. Shared by both encoders.
class CharacterTable {
 public:
  CharacterTable(const Vocabulary& vocabulary, const UnknownPolicy& policy);

  std::int32_t find(std::string_view character, char32_t value) const;  // -1 if no token is this character
  // Appends the token of a known character, behind the unk that waits.
  static void append(const BpeSymbol& symbol, std::optional<BpeSymbol>& unk, std::vector<BpeSymbol>& symbols);
  // Appends what stands for a character (or an invalid byte) without a token. An unk waits in `unk` for what comes
  // next, to be fused with it; bytes overtake it, as in the tokenizers library.
  void append_unknown(std::string_view text, std::uint32_t begin, std::uint32_t end, bool valid,
                      std::optional<BpeSymbol>& unk, std::vector<BpeSymbol>& symbols) const;
  // At the end of the word.
  static void finish(std::optional<BpeSymbol>& unk, std::vector<BpeSymbol>& symbols);

 private:
  const Vocabulary* vocabulary_;
  UnknownPolicy policy_;
  std::array<std::int32_t, 0x400> low_;        // token of each low character
  std::array<std::int32_t, 256> byte_tokens_;  // -1 where there is none
  std::int32_t replacement_;                   // the token U+FFFD
};

// What pairs of tokens join into: an open hash table that grows.
class MergeTable {
 public:
  explicit MergeTable(std::size_t expected = 0);
  // A pair that is there already takes the new join if `replace`: the later merge counts in tokenizer.json, the earlier
  // in GGUF files.
  void add(std::int32_t left, std::int32_t right, BpeJoin join, bool replace);
  // Asks for the memory that add() and find() of the pair will touch.
  void prefetch(std::int32_t left, std::int32_t right) const { __builtin_prefetch(&slots_[place(key(left, right))]); }
  BpeJoin find(std::int32_t left, std::int32_t right) const { return slots_[slot_of(key(left, right))].join; }

 private:
  struct Slot {
    static constexpr std::uint64_t kFree = UINT64_MAX;
    std::uint64_t pair = kFree;
    BpeJoin join;  // of a free slot: never
  };
  static std::uint64_t key(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32U | static_cast<std::uint32_t>(right);
  }
  std::size_t place(std::uint64_t pair) const {
    return static_cast<std::size_t>((pair * 0x9E3779B97F4A7C15U) >> 32U) & (slots_.size() - 1);
  }
  std::size_t slot_of(std::uint64_t pair) const;

  std::vector<Slot> slots_;  // a power of two, at most two thirds full
  std::size_t used_ = 0;
};

// Collects merges as texts and adds them to a table in batches.
class MergeReader {
 public:
  // `replace`: see MergeTable::add.
  MergeReader(const Vocabulary& vocabulary, MergeTable& table, bool replace);
  // The texts must stay valid until the next flush(). Ranks are counted by the caller.
  void add(std::string_view left, std::string_view right, std::uint32_t rank);
  void flush();

  // Merges of which a part or the whole is no token; they are left out.
  std::size_t unknown() const { return unknown_; }
  std::uint32_t first_unknown() const { return first_unknown_; }

 private:
  static constexpr std::size_t kBatch = 64;
  const Vocabulary* vocabulary_;
  MergeTable* table_;
  bool replace_;
  std::vector<std::string_view> texts_;  // left, right, joined
  std::vector<std::int32_t> ids_;
  std::vector<std::uint32_t> ranks_;
  std::vector<std::string> joined_;
  std::size_t unknown_ = 0;
  std::uint32_t first_unknown_ = 0;
};

// Merges by rank.
class MergeBpe final : public WordEncoder {
 public:
  struct Options {
    UnknownPolicy unknown;
    bool ignore_merges = false;  // a word that is a token is taken whole
  };

  MergeBpe(const Vocabulary& vocabulary, const Options& options, MergeTable merges);

  void encode(std::string_view word, BpeScratch& scratch, std::vector<std::int32_t>& ids) const override;

 private:
  const Vocabulary* vocabulary_;
  Options options_;
  CharacterTable characters_;
  MergeTable merges_;
};

// Joins whatever two neighbours make a token, best score first.
class ScoreBpe final : public WordEncoder {
 public:
  enum class Role : std::uint8_t {
    kNormal,
    kUnused,  // may be joined on the way, is taken apart again at the end
    kNever,   // control, byte and unknown tokens: no text makes them
  };
  // `scores` and `roles` by id.
  ScoreBpe(const Vocabulary& vocabulary, const UnknownPolicy& unknown, const std::vector<float>& scores,
           std::vector<Role> roles);

  void encode(std::string_view word, BpeScratch& scratch, std::vector<std::int32_t>& ids) const override;

 private:
  const Vocabulary* vocabulary_;
  UnknownPolicy unknown_;
  CharacterTable characters_;
  std::vector<std::uint32_t> ranks_;  // by id; equal scores have equal ranks
  std::vector<Role> roles_;
  bool has_unused_ = false;
};

}  // namespace sluice
