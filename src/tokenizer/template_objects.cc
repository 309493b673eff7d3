#include "tokenizer/template_objects.h"

#include <bit>
#include <cmath>
#include <functional>

#include "tokenizer/template_markup.h"
#include "tokenizer/template_number.h"
#include "tokenizer/template_runtime.h"
#include "tokenizer/template_unicode.h"

namespace sluice::jinja {

namespace {

std::size_t mix(std::size_t hash) {
  // Finaliser of MurmurHash3: spreads the bits that open addressing with a power of two would lose.
  hash ^= hash >> 33U;
  hash *= 0xff51afd7ed558ccdULL;
  hash ^= hash >> 33U;
  return hash;
}

std::size_t hash_string(std::string_view text) { return mix(std::hash<std::string_view>{}(text)); }

std::size_t hash_int(Int value) {
  return mix(static_cast<std::size_t>(value) ^ mix(static_cast<std::size_t>(value >> 64)));
}

std::size_t hash_pointer(const Object* object) { return mix(std::bit_cast<std::size_t>(object)); }

std::size_t hash_key(const Value& key) {
  switch (key.kind()) {
    case Kind::kString:
      return key.as_string_object().hash();
    case Kind::kBool:
    case Kind::kInt:
      return hash_int(key.as_int());
    case Kind::kFloat: {
      const double value = key.as_double();
      if (const std::optional<Int> whole = exact_int(value)) return hash_int(*whole);
      return mix(std::bit_cast<std::size_t>(value));
    }
    case Kind::kTuple: {
      std::size_t hash = key.items().size();
      for (const Value& item : key.items()) hash = mix(hash * 31 + hash_key(item));
      return hash;
    }
    case Kind::kHost:
      return hash_pointer(&key.as_host());
    case Kind::kIterator:
      return hash_pointer(&key.as_iterator());
    default:
      return static_cast<std::size_t>(key.kind());
  }
}

bool same_key(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == std::partial_ordering::equivalent || a.same_as(b);
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kString:
      return &a.as_string_object() == &b.as_string_object() || a.as_string() == b.as_string();
    case Kind::kTuple: {
      if (a.items().size() != b.items().size()) return false;
      for (std::size_t i = 0; i < a.items().size(); ++i) {
        if (!same_key(a.items()[i], b.items()[i])) return false;
      }
      return true;
    }
    case Kind::kRange: {
      const RangeObject& left = a.as_range();
      const RangeObject& right = b.as_range();
      return left.count == right.count && (left.count == 0 || (left.start == right.start && left.step == right.step));
    }
    case Kind::kNone:
    case Kind::kUndefined:
      return true;
    default:
      return a.same_as(b);
  }
}

}  // namespace

// ---- Value's access to objects

const std::string& Value::as_string() const { return static_cast<StringObject*>(payload_.object)->text; }
StringObject& Value::as_string_object() const { return *static_cast<StringObject*>(payload_.object); }
ListObject& Value::as_list_object() const { return *static_cast<ListObject*>(payload_.object); }
const std::vector<Value>& Value::items() const { return as_list_object().items; }
DictObject& Value::as_dict() const { return *static_cast<DictObject*>(payload_.object); }
DictViewObject& Value::as_view() const { return *static_cast<DictViewObject*>(payload_.object); }
RangeObject& Value::as_range() const { return *static_cast<RangeObject*>(payload_.object); }
IteratorObject& Value::as_iterator() const { return *static_cast<IteratorObject*>(payload_.object); }
HostObject& Value::as_host() const { return *static_cast<HostObject*>(payload_.object); }

bool Value::same_as(const Value& other) const {
  if (kind_ != other.kind_) return false;
  switch (kind_) {
    case Kind::kMissing:
    case Kind::kNone:
      return true;
    case Kind::kBool:
    case Kind::kInt:
      return payload_.integer == other.payload_.integer;
    case Kind::kFloat:
      return std::bit_cast<std::uint64_t>(payload_.real) == std::bit_cast<std::uint64_t>(other.payload_.real);
    case Kind::kString:  // equal short strings are usually one object in Python; templates rely on nothing finer
      return payload_.object == other.payload_.object || (as_string().size() < 256 && as_string() == other.as_string());
    default:
      return payload_.object == other.payload_.object;
  }
}

// ---- Objects

std::size_t StringObject::length() const {
  if (!length_) length_ = count_code_points(text);
  return *length_;
}

std::size_t StringObject::hash() const {
  if (!hash_) hash_ = hash_string(text);
  return *hash_;
}

void ListObject::push(Value value) {
  items.push_back(std::move(value));
  heap().charge(*this, sizeof(Value));
}

Value ListObject::take(std::size_t index) {
  Value value = std::move(items[index]);
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(index));
  heap().refund(*this, sizeof(Value));
  return value;
}

KeyStatus key_status(const Value& key) {
  switch (key.kind()) {
    case Kind::kList:
    case Kind::kDict:
    case Kind::kDictView:
      return KeyStatus::kUnhashable;
    case Kind::kTuple:
      for (const Value& item : key.items()) {
        if (item.is_tuple()) return KeyStatus::kNested;
        if (key_status(item) != KeyStatus::kOk) return KeyStatus::kUnhashable;
      }
      return KeyStatus::kOk;
    default:
      return KeyStatus::kOk;
  }
}

void DictObject::drop_references() {
  entries_.clear();
  hashes_.clear();
  slots_.clear();
}

void DictObject::clear() {
  heap().refund(*this, entries_.size() * kEntryBytes);
  drop_references();
}

template <typename Same>
std::size_t DictObject::search(std::size_t hash, const Same& same) const {
  if (slots_.empty()) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (hashes_[i] == hash && same(entries_[i].first)) return i;
    }
    return kNone;
  }
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = hash & mask; slots_[slot] != 0; slot = (slot + 1) & mask) {
    const std::size_t i = slots_[slot] - 1;
    if (hashes_[i] == hash && same(entries_[i].first)) return i;
  }
  return kNone;
}

Value* DictObject::find(const Value& key) {
  const std::size_t i = search(hash_key(key), [&](const Value& other) { return same_key(key, other); });
  return i == kNone ? nullptr : &entries_[i].second;
}

Value* DictObject::find(std::string_view key) {
  const std::size_t i =
      search(hash_string(key), [&](const Value& other) { return other.is_string() && other.as_string() == key; });
  return i == kNone ? nullptr : &entries_[i].second;
}

void DictObject::set(Value key, Value value) {
  const std::size_t hash = hash_key(key);
  const std::size_t found = search(hash, [&](const Value& other) { return same_key(key, other); });
  if (found != kNone) {
    entries_[found].second = std::move(value);
    return;
  }
  entries_.emplace_back(std::move(key), std::move(value));
  hashes_.push_back(hash);
  heap().charge(*this, kEntryBytes);
  if (entries_.size() <= kLinearSize) return;
  if (entries_.size() * 2 > slots_.size()) {
    rebuild_index();
    return;
  }
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  while (slots_[slot] != 0) slot = (slot + 1) & mask;
  slots_[slot] = static_cast<std::uint32_t>(entries_.size());
}

Value DictObject::take(const Value& key) {
  const std::size_t i = search(hash_key(key), [&](const Value& other) { return same_key(key, other); });
  if (i == kNone) return {};
  Value value = std::move(entries_[i].second);
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(i));
  hashes_.erase(hashes_.begin() + static_cast<std::ptrdiff_t>(i));
  heap().refund(*this, kEntryBytes);
  rebuild_index();
  return value;
}

void DictObject::rebuild_index() {
  slots_.clear();
  if (entries_.size() <= kLinearSize) return;
  slots_.resize(std::bit_ceil(entries_.size() * 4), 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    std::size_t slot = hashes_[i] & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<std::uint32_t>(i + 1);
  }
}

Value DictViewObject::at(std::size_t i) const {
  const auto& [key, value] = dict->entries()[i];
  switch (part) {
    case ViewPart::kKeys:
      return key;
    case ViewPart::kValues:
      return value;
    case ViewPart::kItems:
      break;
  }
  return make_tuple(heap(), {key, value});
}

// ---- Host objects

Result<Value> HostObject::call(Runtime&, Args&) {
  return Error(ErrorCode::kInvalidArgument, "'" + std::string(type_name()) + "' object is not callable");
}

Value HostObject::attribute(Runtime&, std::string_view) { return {}; }

Result<Value> NativeObject::call(Runtime& runtime, Args& args) { return call_method(runtime, entry_, self_, args); }

std::string_view NativeObject::type_name() const {
  return self_.is_missing() ? "function" : "builtin_function_or_method";
}

std::string NativeObject::repr() const {
  if (self_.is_missing()) return "<function " + std::string(entry_.name) + ">";
  return "<built-in method " + std::string(entry_.name) + ">";
}

}  // namespace sluice::jinja
