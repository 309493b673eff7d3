// The variable `loop`.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/template_objects.h"

namespace sluice::jinja {

class LoopObject : public HostObject {
 public:
  explicit LoopObject(std::vector<Value> items) : items_(std::move(items)) {}
  void drop_references() override;
  const std::vector<Value>& items() const { return items_; }
  void move_to(std::size_t index) { index_ = index; }

  std::string_view type_name() const override { return "LoopContext"; }
  std::string repr() const override;
  Result<Value> call(Runtime& runtime, Args& args) override;
  Value attribute(Runtime& runtime, std::string_view name) override;

 private:
  static Result<Value> cycle(Runtime& runtime, const Value& self, const Args& args);
  static Result<Value> changed(Runtime& runtime, const Value& self, const Args& args);

  std::vector<Value> items_;
  std::size_t index_ = 0;
  std::vector<Value> last_changed_;
  bool ever_changed_ = false;
};

}  // namespace sluice::jinja
