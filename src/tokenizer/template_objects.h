// The objects behind values: strings, lists, dicts, ranges, iterators, and the base of callables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tokenizer/template_value.h"

namespace sluice::jinja {

class Runtime;

// UTF-8. Invalid bytes are kept and count as one character each.
struct StringObject : Object {
  explicit StringObject(std::string value) : text(std::move(value)) {}
  // Characters (code points); counted once.
  std::size_t length() const;
  // Of the bytes; computed once, so that a long key costs no more than its making.
  std::size_t hash() const;
  bool is_ascii() const { return length() == text.size(); }

  const std::string text;
  bool is_markup = false;  // see template_markup.h

 private:
  mutable std::optional<std::size_t> length_;
  mutable std::optional<std::size_t> hash_;
};

// A list or a tuple. `fields` is set for the named tuples of groupby only.
struct ListObject : Object {
  explicit ListObject(std::vector<Value> values) : items(std::move(values)) {}
  void drop_references() override { items.clear(); }
  void push(Value value);
  // Removes the item at `index`, which must be there.
  Value take(std::size_t index);

  std::vector<Value> items;
  bool is_group = false;  // (grouper, list), with those names as attributes
};

// What a dict lookup needs to know of a key: whether it may be one.
enum class KeyStatus : std::uint8_t { kOk, kUnhashable, kNested };
// Scalars, strings and tuples of those are keys; lists and dicts are unhashable as in Python; tuples in tuples are
// kNested: Python has them, this language does not (they would need unbounded work to compare).
KeyStatus key_status(const Value& key);

// A dict that keeps the order of insertion, or the attributes of a namespace. 1, 1.0 and True are one key.
struct DictObject : Object {
  void drop_references() override;
  void clear();

  // Keys must have KeyStatus::kOk. Pointers are valid until the next change.
  Value* find(const Value& key);
  Value* find(std::string_view key);
  void set(Value key, Value value);
  // Removes and returns; kMissing if there is no such key. Time is linear in the size.
  Value take(const Value& key);
  const std::vector<std::pair<Value, Value>>& entries() const { return entries_; }
  std::size_t size() const { return entries_.size(); }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  static constexpr std::size_t kEntryBytes = 2 * sizeof(Value) + 2 * sizeof(std::size_t);
  static constexpr std::size_t kLinearSize = 8;  // dicts up to this size are searched without an index
  template <typename Same>
  std::size_t search(std::size_t hash, const Same& same) const;
  void rebuild_index();

  std::vector<std::pair<Value, Value>> entries_;
  std::vector<std::size_t> hashes_;   // of the keys, parallel to entries_
  std::vector<std::uint32_t> slots_;  // open addressing: entry + 1, or 0; a power of two, at most half full
};

enum class ViewPart : std::uint8_t { kKeys, kValues, kItems };

struct DictViewObject : Object {
  DictViewObject(Ref<DictObject> dictionary, ViewPart which) : dict(std::move(dictionary)), part(which) {}
  void drop_references() override { dict = {}; }
  // Entry i as the view shows it.
  Value at(std::size_t i) const;

  Ref<DictObject> dict;
  ViewPart part;
};

struct RangeObject : Object {
  RangeObject(Int first, Int stride, Int size) : start(first), step(stride), count(size) {}
  Int at(Int i) const { return start + i * step; }

  Int start;
  Int step;
  Int count;
};

// Items are computed ahead; reading takes them away, as reading a Python generator does. An error met on the way waits
// until a reader comes to it, which may be never.
struct IteratorObject : Object {
  IteratorObject(std::vector<Value> values, std::string_view name) : items(std::move(values)), type_name(name) {}
  void drop_references() override { items.clear(); }

  std::vector<Value> items;
  std::size_t next = 0;
  std::string_view type_name;  // "generator" and the like; of static lifetime
  std::optional<Error> error;
};

// Arguments of a call, in Python's two groups.
struct Args {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

// Macros, methods, global functions, loop, cycler: what is neither data nor a scalar.
class HostObject : public Object {
 public:
  virtual std::string_view type_name() const = 0;  // Python's, of static lifetime
  virtual std::string repr() const = 0;
  virtual bool callable() const { return true; }
  virtual Result<Value> call(Runtime& runtime, Args& args);
  // kMissing if there is no such attribute.
  virtual Value attribute(Runtime& runtime, std::string_view name);
};

// A function of the language: `self` is the value a filter, test or method is applied to, kMissing for a global.
using NativeFunction = Result<Value> (*)(Runtime& runtime, const Value& self, const Args& args);

// A function with its name, which is of static lifetime.
struct NativeEntry {
  std::string_view name;
  NativeFunction function;
};

// A method bound to its object, or (self kMissing) a global function.
class NativeObject : public HostObject {
 public:
  NativeObject(const NativeEntry& entry, Value self) : entry_(entry), self_(std::move(self)) {}
  void drop_references() override { self_ = {}; }
  std::string_view type_name() const override;
  std::string repr() const override;
  Result<Value> call(Runtime& runtime, Args& args) override;

 private:
  NativeEntry entry_;
  Value self_;
};

}  // namespace sluice::jinja
