// Equality, order, membership and sorting of values.
#include <algorithm>
#include <cstring>
#include <string>

#include "tokenizer/template_number.h"
#include "tokenizer/template_ops.h"

namespace sluice::jinja {

namespace {

std::string_view symbol(CompareOp op) {
  switch (op) {
    case CompareOp::kEqual:
      return "==";
    case CompareOp::kNotEqual:
      return "!=";
    case CompareOp::kLess:
      return "<";
    case CompareOp::kLessEqual:
      return "<=";
    case CompareOp::kGreater:
      return ">";
    case CompareOp::kGreaterEqual:
      return ">=";
    case CompareOp::kIn:
      return "in";
    case CompareOp::kNotIn:
      break;
  }
  return "not in";
}

template <typename T>
bool ordered(CompareOp op, const T& order) {
  switch (op) {
    case CompareOp::kLess:
      return order < 0;
    case CompareOp::kLessEqual:
      return order <= 0;
    case CompareOp::kGreater:
      return order > 0;
    default:
      return order >= 0;
  }
}

Result<bool> equal_items(Runtime& runtime, const std::vector<Value>& a, const std::vector<Value>& b) {
  if (a.size() != b.size()) return false;
  // By index: a comparison can't change the lists, but nothing here should depend on that.
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    SLUICE_ASSIGN(const bool same, equals(runtime, a[i], b[i]));
    if (!same) return false;
  }
  return true;
}

Result<bool> equal_dicts(Runtime& runtime, DictObject& a, DictObject& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [key, value] : a.entries()) {
    SLUICE_TRY(require_key(runtime, key));
    const Value* other = b.find(key);
    if (other == nullptr) return false;
    SLUICE_ASSIGN(const bool same, equals(runtime, value, *other));
    if (!same) return false;
  }
  return true;
}

// keys() and items() compare as sets, values() by identity.
Result<bool> equal_views(Runtime& runtime, DictViewObject& a, DictViewObject& b) {
  if (a.part != b.part || a.part == ViewPart::kValues) return &a == &b;
  if (a.part == ViewPart::kItems) return equal_dicts(runtime, *a.dict, *b.dict);
  if (a.dict->size() != b.dict->size()) return false;
  for (const auto& entry : a.dict->entries()) {
    SLUICE_TRY(require_key(runtime, entry.first));
    if (b.dict->find(entry.first) == nullptr) return false;
  }
  return true;
}

Result<bool> compare_items(Runtime& runtime, CompareOp op, const std::vector<Value>& a, const std::vector<Value>& b) {
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    SLUICE_ASSIGN(const bool same, equals(runtime, a[i], b[i]));
    if (!same) return compare(runtime, op, a[i], b[i]);
  }
  return ordered(op, a.size() <=> b.size());
}

}  // namespace

Result<bool> equals(Runtime& runtime, const Value& a, const Value& b) {
  SLUICE_TRY(runtime.spend());
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == std::partial_ordering::equivalent;
  if (a.kind() != b.kind()) return false;
  const DepthGuard depth(runtime, kLevelsOfData);
  SLUICE_TRY(depth.status());
  switch (a.kind()) {
    case Kind::kString:
      if (a.as_string().size() != b.as_string().size()) return false;
      SLUICE_TRY(runtime.spend_bytes(a.as_string().size()));
      return a.as_string() == b.as_string();
    case Kind::kList:
    case Kind::kTuple:
      if (a.same_as(b)) return true;
      return equal_items(runtime, a.items(), b.items());
    case Kind::kDict:
      if (a.same_as(b)) return true;
      return equal_dicts(runtime, a.as_dict(), b.as_dict());
    case Kind::kDictView:
      return equal_views(runtime, a.as_view(), b.as_view());
    case Kind::kRange: {
      const RangeObject& left = a.as_range();
      const RangeObject& right = b.as_range();
      if (left.count != right.count || left.count == 0) return left.count == right.count;
      return left.start == right.start && (left.count == 1 || left.step == right.step);
    }
    case Kind::kUndefined:
    case Kind::kNone:
      return true;
    default:
      return a.same_as(b);
  }
}

Result<bool> compare(Runtime& runtime, CompareOp op, const Value& a, const Value& b) {
  if (op == CompareOp::kEqual || op == CompareOp::kNotEqual) {
    SLUICE_ASSIGN(const bool same, equals(runtime, a, b));
    return same == (op == CompareOp::kEqual);
  }
  if (op == CompareOp::kIn || op == CompareOp::kNotIn) {
    SLUICE_ASSIGN(const bool found, contains(runtime, b, a));
    return found == (op == CompareOp::kIn);
  }
  SLUICE_TRY(require_defined(a));
  SLUICE_TRY(require_defined(b));
  SLUICE_TRY(runtime.spend());
  if (a.is_number() && b.is_number()) return ordered(op, compare_numbers(a, b));
  // Bytes of UTF-8 have the order of their characters.
  if (a.is_string() && b.is_string()) {
    SLUICE_TRY(runtime.spend_bytes(std::min(a.as_string().size(), b.as_string().size())));
    return ordered(op, a.as_string() <=> b.as_string());
  }
  if (a.kind() == b.kind() && (a.is_list() || a.is_tuple())) {
    const DepthGuard depth(runtime, kLevelsOfData);
    SLUICE_TRY(depth.status());
    return compare_items(runtime, op, a.items(), b.items());
  }
  return runtime_error("'" + std::string(symbol(op)) + "' not supported between instances of '" +
                       std::string(type_name(a)) + "' and '" + std::string(type_name(b)) + "'");
}

Result<bool> contains(Runtime& runtime, const Value& container, const Value& item) {
  switch (container.kind()) {
    case Kind::kString: {
      if (!item.is_string()) {
        return runtime_error("'in <string>' requires string as left operand, not " + std::string(type_name(item)));
      }
      SLUICE_TRY(runtime.spend_bytes(container.as_string().size()));
      const std::string& text = container.as_string();
      const std::string& part = item.as_string();
      // memmem is linear for every pair of texts; std::string::find is not.
      return memmem(text.data(), text.size(), part.data(), part.size()) != nullptr;
    }
    case Kind::kDict:
      SLUICE_TRY(require_key(runtime, item));
      return container.as_dict().find(item) != nullptr;
    case Kind::kDictView:
      if (container.as_view().part == ViewPart::kKeys) {
        SLUICE_TRY(require_key(runtime, item));
        return container.as_view().dict->find(item) != nullptr;
      }
      break;
    case Kind::kRange:
      if (item.is_number()) {
        const RangeObject& range = container.as_range();
        const std::optional<Int> whole = item.is_float() ? exact_int(item.as_double()) : item.as_int();
        constexpr Int kFar = Int{1} << 64;  // farther than range() reaches
        if (!whole || *whole > kFar || *whole < -kFar) return false;
        const Int offset = *whole / range.step - range.start / range.step;
        // The quotients round; the one index that can match is near.
        for (Int i = offset - 1; i <= offset + 1; ++i) {
          if (i >= 0 && i < range.count && range.at(i) == *whole) return true;
        }
      }
      return false;
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kUndefined:
    case Kind::kIterator:
      break;
    default:
      return runtime_error("argument of type '" + std::string(type_name(container)) + "' is not iterable");
  }
  SLUICE_ASSIGN(const std::vector<Value> items, iterate(runtime, container));
  for (const Value& candidate : items) {
    if (item.is_float() && candidate.same_as(item)) return true;  // identity first, as Python: NaN is in [NaN]
    SLUICE_ASSIGN(const bool same, equals(runtime, candidate, item));
    if (same) return true;
  }
  return false;
}

Status sort_values(Runtime& runtime, std::vector<Value>& values, const std::vector<Value>& keys, bool reverse) {
  // Merge sort by hand: the comparison can fail and need not be consistent (NaN), which std::stable_sort must not see.
  std::vector<std::size_t> order(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::vector<std::size_t> scratch(order.size());
  for (std::size_t width = 1; width < order.size(); width *= 2) {
    for (std::size_t low = 0; low < order.size(); low += 2 * width) {
      const std::size_t middle = std::min(low + width, order.size());
      const std::size_t high = std::min(low + 2 * width, order.size());
      std::size_t left = low;
      std::size_t right = middle;
      for (std::size_t out = low; out < high; ++out) {
        bool take_right = left == middle;
        if (!take_right && right < high) {
          const Value& a = keys[order[left]];
          const Value& b = keys[order[right]];
          // Equal ones keep their order in both directions, as in Python.
          SLUICE_ASSIGN(take_right,
                        reverse ? compare(runtime, CompareOp::kLess, a, b) : compare(runtime, CompareOp::kLess, b, a));
        }
        scratch[out] = take_right ? order[right++] : order[left++];
      }
    }
    order.swap(scratch);
  }
  std::vector<Value> sorted;
  sorted.reserve(values.size());
  for (const std::size_t i : order) sorted.push_back(std::move(values[i]));
  values = std::move(sorted);
  return {};
}

}  // namespace sluice::jinja
