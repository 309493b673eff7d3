#include "tokenizer/template_runtime.h"

#include <chrono>

namespace sluice::jinja {

Value make_string(Heap& heap, std::string text) {
  const std::size_t bytes = text.capacity();
  const Ref<StringObject> object = heap.make<StringObject>(std::move(text));
  heap.charge(*object, bytes);
  return Value::object(Kind::kString, object.get());
}

static Value make_items(Heap& heap, Kind kind, std::vector<Value> items) {
  const std::size_t bytes = items.capacity() * sizeof(Value);
  const Ref<ListObject> object = heap.make<ListObject>(std::move(items));
  heap.charge(*object, bytes);
  return Value::object(kind, object.get());
}

Value make_list(Heap& heap, std::vector<Value> items) { return make_items(heap, Kind::kList, std::move(items)); }
Value make_tuple(Heap& heap, std::vector<Value> items) { return make_items(heap, Kind::kTuple, std::move(items)); }

Value make_iterator(Heap& heap, std::vector<Value> items, std::string_view type_name) {
  const std::size_t bytes = items.capacity() * sizeof(Value);
  const Ref<IteratorObject> object = heap.make<IteratorObject>(std::move(items), type_name);
  heap.charge(*object, bytes);
  return Value::object(Kind::kIterator, object.get());
}

Value make_failing_iterator(Heap& heap, std::vector<Value> items, Error error) {
  Value iterator = make_iterator(heap, std::move(items));
  iterator.as_iterator().error = std::move(error);
  return iterator;
}

Value make_undefined(Heap& heap, std::string message) {
  const std::size_t bytes = message.capacity();
  const Ref<StringObject> object = heap.make<StringObject>(std::move(message));
  heap.charge(*object, bytes);
  return Value::object(Kind::kUndefined, object.get());
}

Error runtime_error(std::string message) { return Error(ErrorCode::kInvalidArgument, std::move(message)); }
Error limit_error(std::string message) { return Error(ErrorCode::kResource, std::move(message)); }

Status Runtime::spend(std::uint64_t steps) {
  steps_ += steps;
  if (steps_ > limits_.max_steps) {
    return limit_error("the template did not end within " + std::to_string(limits_.max_steps) + " steps");
  }
  if (heap_.exhausted()) {
    return limit_error("the template's values need more than " + std::to_string(limits_.max_memory) + " bytes");
  }
  return {};
}

Status Runtime::check_string(std::uint64_t bytes) {
  if (bytes > limits_.max_string) {
    return limit_error("a string of " + std::to_string(bytes) + " bytes is longer than the " +
                       std::to_string(limits_.max_string) + " allowed");
  }
  return spend_bytes(bytes);
}

Status Runtime::check_items(std::uint64_t count) {
  if (count > limits_.max_range) {
    return limit_error("a sequence of " + std::to_string(count) + " items is longer than the " +
                       std::to_string(limits_.max_range) + " allowed");
  }
  return spend(1 + count);
}

Status Runtime::enter(int levels) {
  // A macro call takes some ten levels of blocks and expressions in the usual template.
  constexpr int kLevelsPerCall = 16;
  depth_ += levels;
  if (depth_ > limits_.max_depth * kLevelsPerCall) return limit_error("macros or values are nested too deeply");
  return {};
}

std::tm Runtime::now() const {
  if (now_) return *now_;
  const std::time_t seconds = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm local{};
  localtime_r(&seconds, &local);
  return local;
}

Result<std::vector<Value>> bind_arguments(std::string_view function, const Args& args, const char* const* names,
                                          std::size_t count, std::size_t required) {
  const std::string name(function);
  if (args.positional.size() > count) {
    return runtime_error(name + "() takes at most " + std::to_string(count) + " argument(s), but " +
                         std::to_string(args.positional.size()) + " were given");
  }
  std::vector<Value> values(count);
  for (std::size_t i = 0; i < args.positional.size(); ++i) values[i] = args.positional[i];
  for (const auto& [keyword, value] : args.named) {
    std::size_t i = 0;
    while (i < count && keyword != names[i]) ++i;
    if (i == count) return runtime_error(name + "() got an unexpected keyword argument '" + keyword + "'");
    if (!values[i].is_missing()) return runtime_error(name + "() got multiple values for argument '" + keyword + "'");
    values[i] = value;
  }
  for (std::size_t i = 0; i < required; ++i) {
    if (values[i].is_missing()) {
      return runtime_error(name + "() misses its argument '" + std::string(names[i]) + "'");
    }
  }
  return values;
}

Status bind_none(std::string_view function, const Args& args) {
  if (args.positional.empty() && args.named.empty()) return {};
  return runtime_error(std::string(function) + "() takes no arguments");
}

}  // namespace sluice::jinja
