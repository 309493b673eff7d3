// The values of options: checked when they come in, so that reading them can't fail.
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/options.h"

namespace sluice::cli {
namespace {

Error wrong(std::string_view source, const std::string& text) {
  return Error(ErrorCode::kInvalidArgument, fmt::format("{}: {}", source, text));
}

// All of `text` as a number; nullopt otherwise.
template <typename Number>
std::optional<Number> parse(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Status check_bounds(const OptionRow& row, double value, const std::string& text, std::string_view source) {
  if (value >= row.low && value <= row.high) return Status::success();
  std::string wanted = fmt::format("{:.15g} to {:.15g}", row.low, row.high);
  if (std::isinf(row.high)) wanted = fmt::format("{:.15g} or more", row.low);
  if (std::isinf(row.low)) wanted = fmt::format("{:.15g} or less", row.high);
  return wrong(source, fmt::format("{} is out of range, wanted {}", text, wanted));
}

std::optional<bool> parse_flag(std::string_view text) {
  if (text == "true" || text == "1" || text == "yes" || text == "on") return true;
  if (text == "false" || text == "0" || text == "no" || text == "off") return false;
  return std::nullopt;
}

// Checks one value; a flag's is rewritten to "true" or "false".
Status check_value(const OptionRow& row, std::string& value, std::string_view source) {
  switch (row.kind) {
    case ValueKind::kFlag: {
      const std::optional<bool> on = parse_flag(value);
      if (!on) return wrong(source, fmt::format("'{}' is neither true nor false", value));
      value = *on ? "true" : "false";
      return Status::success();
    }
    case ValueKind::kInteger: {
      const auto number = parse<std::int64_t>(value);
      if (!number) return wrong(source, fmt::format("'{}' is not a whole number", value));
      return check_bounds(row, static_cast<double>(*number), value, source);
    }
    case ValueKind::kNumber: {
      const auto number = parse<double>(value);
      if (!number || !std::isfinite(*number)) return wrong(source, fmt::format("'{}' is not a number", value));
      return check_bounds(row, *number, value, source);
    }
    case ValueKind::kChoice: {
      const auto choices = row.choices();
      for (const std::string_view choice : choices) {
        if (value == choice) return Status::success();
      }
      return wrong(source, fmt::format("'{}' is none of {}", value, fmt::join(choices, ", ")));
    }
    case ValueKind::kText:
    case ValueKind::kFile:
      break;
  }
  return Status::success();
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    words.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return words;
}

std::vector<std::string_view> OptionRow::spellings() const { return split(names, ' '); }

std::vector<std::string_view> OptionRow::choices() const {
  return kind == ValueKind::kChoice ? split(value, '|') : std::vector<std::string_view>();
}

bool Arguments::has_flag(std::string_view key) const {
  const auto it = values_.find(key);
  return it != values_.end() && it->second.origin == Origin::kFlag;
}

bool Arguments::flag(std::string_view key) const { return text(key) == "true"; }

std::string Arguments::text(std::string_view key, std::string_view fallback) const {
  const auto it = values_.find(key);
  return it == values_.end() ? std::string(fallback) : it->second.values.back();
}

const std::vector<std::string>& Arguments::all(std::string_view key) const {
  static const std::vector<std::string> kNone;
  const auto it = values_.find(key);
  return it == values_.end() ? kNone : it->second.values;
}

std::int64_t Arguments::integer(std::string_view key, std::int64_t fallback) const {
  const auto it = values_.find(key);
  return it == values_.end() ? fallback : parse<std::int64_t>(it->second.values.back()).value_or(fallback);
}

double Arguments::number(std::string_view key, double fallback) const {
  const auto it = values_.find(key);
  return it == values_.end() ? fallback : parse<double>(it->second.values.back()).value_or(fallback);
}

Status Arguments::set(const OptionRow& row, std::string value, std::string_view source, Origin origin) {
  SLUICE_TRY(check_value(row, value, source));
  Entry& entry = values_[std::string(row.key())];
  if (!row.repeatable) entry.values.clear();
  entry.values.push_back(std::move(value));
  entry.origin = origin;
  return Status::success();
}

}  // namespace sluice::cli
