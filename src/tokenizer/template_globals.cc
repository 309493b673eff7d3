// Global functions, and the objects that some of them make.
#include <locale.h>
#include <ctime>

#include "tokenizer/template_builtins.h"
#include "tokenizer/template_ops.h"
#include "tokenizer/template_text.h"

namespace sluice::jinja {

namespace {

Result<Value> global_range(Runtime& runtime, const Value&, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("range", args, {"start", "stop", "step"}, 1));
  Int parts[3] = {0, 0, 1};
  for (std::size_t i = 0; i < 3; ++i) {
    if (bound[i].is_missing()) continue;
    SLUICE_ASSIGN(parts[i], require_int(bound[i], "an argument of range"));
    constexpr Int kFar = Int{1} << 62;
    if (parts[i] > kFar || parts[i] < -kFar) return limit_error("an argument of range is too large");
  }
  if (bound[1].is_missing()) std::swap(parts[0], parts[1]);
  const auto [start, stop, step] = parts;
  if (step == 0) return runtime_error("range() arg 3 must not be zero");
  const Int span = step > 0 ? stop - start : start - stop;
  const Int count = span > 0 ? (span - 1) / (step > 0 ? step : -step) + 1 : 0;
  SLUICE_TRY(runtime.check_items(static_cast<std::uint64_t>(count)));
  return Value::object(Kind::kRange, runtime.heap().make<RangeObject>(start, step, count).get());
}

template <Kind kKind>
Result<Value> global_dict(Runtime& runtime, const Value&, const Args& args) {
  if (args.positional.size() > 1) return runtime_error("dict expected at most 1 argument");
  const Ref<DictObject> dict = runtime.heap().make<DictObject>();
  if (!args.positional.empty()) SLUICE_TRY(merge_into(runtime, *dict, args.positional[0]));
  for (const auto& [name, value] : args.named) dict->set(runtime.string(name), value);
  return Value::object(kKind, dict.get());
}

// cycler(...): goes round its values.
class CyclerObject : public HostObject {
 public:
  explicit CyclerObject(std::vector<Value> values) : values_(std::move(values)) {}
  void drop_references() override { values_.clear(); }
  std::string_view type_name() const override { return "Cycler"; }
  std::string repr() const override { return "<Cycler>"; }
  bool callable() const override { return false; }
  Value attribute(Runtime& runtime, std::string_view name) override {
    if (name == "current") return values_[position_];
    const Value self = Value::object(Kind::kHost, this);
    if (name == "next")
      return Value::object(Kind::kHost, runtime.heap().make<NativeObject>(NativeEntry{"next", next}, self).get());
    if (name == "reset")
      return Value::object(Kind::kHost, runtime.heap().make<NativeObject>(NativeEntry{"reset", reset}, self).get());
    return {};
  }

 private:
  static Result<Value> next(Runtime&, const Value& self, const Args& args) {
    SLUICE_TRY(bind_none("next", args));
    auto& cycler = static_cast<CyclerObject&>(self.as_host());
    const std::size_t at = cycler.position_;
    cycler.position_ = (at + 1) % cycler.values_.size();
    return cycler.values_[at];
  }
  static Result<Value> reset(Runtime&, const Value& self, const Args& args) {
    SLUICE_TRY(bind_none("reset", args));
    static_cast<CyclerObject&>(self.as_host()).position_ = 0;
    return Value::none();
  }

  std::vector<Value> values_;
  std::size_t position_ = 0;
};

Result<Value> global_cycler(Runtime& runtime, const Value&, const Args& args) {
  if (!args.named.empty()) return runtime_error("cycler() takes no keyword arguments");
  if (args.positional.empty()) return runtime_error("at least one item has to be provided");
  const Ref<CyclerObject> cycler = runtime.heap().make<CyclerObject>(args.positional);
  runtime.heap().charge(*cycler, args.positional.size() * sizeof(Value));
  return Value::object(Kind::kHost, cycler.get());
}

// joiner(sep): empty when called first, then the separator.
class JoinerObject : public HostObject {
 public:
  explicit JoinerObject(Value separator) : separator_(std::move(separator)) {}
  void drop_references() override { separator_ = {}; }
  std::string_view type_name() const override { return "Joiner"; }
  std::string repr() const override { return "<Joiner>"; }
  Result<Value> call(Runtime& runtime, Args& args) override {
    SLUICE_TRY(bind_none("a joiner", args));
    if (used_) return separator_;
    used_ = true;
    return runtime.string("");
  }

 private:
  Value separator_;
  bool used_ = false;
};

Result<Value> global_joiner(Runtime& runtime, const Value&, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("joiner", args, {"sep"}));
  Value separator = bound[0].is_missing() ? runtime.string(", ") : bound[0];
  return Value::object(Kind::kHost, runtime.heap().make<JoinerObject>(std::move(separator)).get());
}

Result<Value> global_raise_exception(Runtime& runtime, const Value&, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("raise_exception", args, {"message"}, 1));
  SLUICE_ASSIGN(std::string message, to_str(runtime, bound[0]));
  runtime.set_raised();
  return Error(ErrorCode::kInvalidArgument, std::move(message));
}

Result<Value> global_strftime_now(Runtime& runtime, const Value&, const Args& args) {
  SLUICE_ASSIGN(const auto bound, bind("strftime_now", args, {"format"}, 1));
  if (!bound[0].is_string()) return runtime_error("strftime_now needs a format string");
  // Fractions of a second and time zones are Python's own business: the time has neither.
  std::string format;
  const std::string& text = bound[0].as_string();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\0') return runtime_error("the format of strftime_now holds a NUL");
    if (text[i] != '%' || i + 1 == text.size()) {
      format += text[i];
    } else if (text[++i] == 'f') {
      format += "000000";
    } else if (text[i] != 'z' && text[i] != 'Z') {
      format.append("%").append(1, text[i]);
    }
  }
  format += '.';  // a mark: strftime reports a result that does not fit and an empty one alike
  constexpr std::size_t kMaxTime = 1U << 16;
  SLUICE_TRY(runtime.spend_bytes(kMaxTime + format.size()));
  const std::tm now = runtime.now();
  std::string result(kMaxTime, '\0');
  // Names of days and months are English whatever locale the program has set.
  static const locale_t kPosix = newlocale(LC_ALL_MASK, "C", nullptr);
  const std::size_t size = strftime_l(result.data(), result.size(), format.c_str(), &now, kPosix);
  if (size == 0) return limit_error("the format of strftime_now gives too long a text");
  result.resize(size - 1);
  return runtime.string(std::move(result));
}

constexpr NativeEntry kGlobals[] = {
    {"range", global_range},
    {"namespace", global_dict<Kind::kNamespace>},
    {"dict", global_dict<Kind::kDict>},
    {"cycler", global_cycler},
    {"joiner", global_joiner},
    {"raise_exception", global_raise_exception},
    {"strftime_now", global_strftime_now},
};

}  // namespace

std::span<const NativeEntry> global_functions() { return kGlobals; }

}  // namespace sluice::jinja
