// Values of the template language: Python's, as far as templates can see them. Objects are counted by reference and
// owned by the heap of one render; nothing here is shared between threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tokenizer/template_heap.h"

namespace sluice::jinja {

// Integers: 128 bits hold every JSON integer and what templates compute from them. Overflow is an Error, not a wrap.
__extension__ using Int = __int128;
__extension__ using UInt = unsigned __int128;

enum class Kind : std::uint8_t {
  kMissing,  // no value at all: an argument not given, a name not bound; never seen by a template
  kNone,
  kBool,
  kInt,
  kFloat,
  // From here on values point to an object on the heap.
  kUndefined,  // Jinja2's Undefined; a StringObject with the message of the error that its use gives
  kString,
  kList,
  kTuple,
  kDict,
  kNamespace,
  kDictView,  // dict.keys(), values(), items()
  kRange,
  kIterator,  // what map, select, items ... give: can be read once
  kHost,      // macros, methods, loop, cycler ...
};

struct StringObject;
struct ListObject;
struct DictObject;
struct DictViewObject;
struct RangeObject;
struct IteratorObject;
class HostObject;

// One value: a scalar in place or a counted pointer. 32 bytes.
class Value {
 public:
  Value() noexcept : Value(Kind::kMissing) {}
  Value(const Value& other) noexcept : payload_(other.payload_), kind_(other.kind_) {
    if (on_heap()) payload_.object->retain();
  }
  Value(Value&& other) noexcept : payload_(other.payload_), kind_(std::exchange(other.kind_, Kind::kMissing)) {}
  Value& operator=(Value other) noexcept {
    std::swap(payload_, other.payload_);
    std::swap(kind_, other.kind_);
    return *this;
  }
  ~Value() {
    if (on_heap()) payload_.object->release();
  }

  static Value none() { return Value(Kind::kNone); }
  static Value boolean(bool value) {
    Value result(Kind::kBool);
    result.payload_.integer = value ? 1 : 0;
    return result;
  }
  static Value integer(Int value) {
    Value result(Kind::kInt);
    result.payload_.integer = value;
    return result;
  }
  static Value real(double value) {
    Value result(Kind::kFloat);
    result.payload_.real = value;
    return result;
  }
  // A value that refers to an object; `kind` must be the one that belongs to its type.
  static Value object(Kind kind, Object* object) {
    Value result(kind);
    result.payload_.object = object;
    object->retain();
    return result;
  }

  Kind kind() const { return kind_; }
  bool is_missing() const { return kind_ == Kind::kMissing; }
  bool is_undefined() const { return kind_ == Kind::kUndefined; }
  bool is_none() const { return kind_ == Kind::kNone; }
  bool is_bool() const { return kind_ == Kind::kBool; }
  bool is_int() const { return kind_ == Kind::kInt; }
  bool is_float() const { return kind_ == Kind::kFloat; }
  bool is_string() const { return kind_ == Kind::kString; }
  bool is_list() const { return kind_ == Kind::kList; }
  bool is_tuple() const { return kind_ == Kind::kTuple; }
  bool is_dict() const { return kind_ == Kind::kDict; }
  bool is_host() const { return kind_ == Kind::kHost; }
  // What Python counts as an int: bool is one.
  bool is_integral() const { return kind_ == Kind::kInt || kind_ == Kind::kBool; }
  bool is_number() const { return is_integral() || kind_ == Kind::kFloat; }

  // The payload; the kind must match.
  bool as_bool() const { return payload_.integer != 0; }
  Int as_int() const { return payload_.integer; }  // kInt and kBool
  double as_double() const {                       // any number
    return kind_ == Kind::kFloat ? payload_.real : static_cast<double>(payload_.integer);
  }
  const std::string& as_string() const;     // kString, kUndefined
  StringObject& as_string_object() const;   // kString
  ListObject& as_list_object() const;       // kList, kTuple
  const std::vector<Value>& items() const;  // kList, kTuple
  DictObject& as_dict() const;              // kDict, kNamespace
  DictViewObject& as_view() const;
  RangeObject& as_range() const;
  IteratorObject& as_iterator() const;
  HostObject& as_host() const;

  // Python's `is`, for what templates can tell apart by it.
  bool same_as(const Value& other) const;

 private:
  union Payload {
    Int integer;
    double real;
    Object* object;
  };
  explicit Value(Kind kind) noexcept : payload_{0}, kind_(kind) {}
  bool on_heap() const { return kind_ >= Kind::kUndefined; }

  Payload payload_;
  Kind kind_;
};

}  // namespace sluice::jinja
