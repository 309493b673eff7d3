// The attribute paths that filters take: "a.b.0".
#pragma once

#include <vector>

#include "base/result.h"
#include "tokenizer/template_runtime.h"

namespace sluice::jinja {

// Reads an attribute of an attribute ... of an item, as subscription does. Without a path it gives the item itself.
class AttributeGetter {
 public:
  // `attribute`: a string with dots (parts of digits are indices), an integer, or none or kMissing for no path.
  Status parse(Runtime& runtime, const Value& attribute);
  // Takes the place of an undefined part, unless kMissing or none.
  void set_default(const Value& value) { default_ = value; }
  Result<Value> get(Runtime& runtime, const Value& item) const;

 private:
  std::vector<Value> parts_;
  Value default_;
};

// "a,b.c": one getter for each path.
Result<std::vector<AttributeGetter>> split_attributes(Runtime& runtime, const Value& attributes);

// A string in lower case; other values as they are. What sorting "ignoring case" compares.
Result<Value> fold_case(Runtime& runtime, const Value& value);

}  // namespace sluice::jinja
