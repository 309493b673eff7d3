#include "checkpoint/part_name.h"

#include <charconv>
#include <system_error>

#include <fmt/format.h>

namespace sluice {
namespace {

constexpr std::size_t kDigits = 5;
constexpr std::string_view kOf = "-of-";

std::optional<std::uint32_t> parse_digits(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string PartName::part(std::uint32_t n) const { return fmt::format("{}-{:05}-of-{:05}{}", stem, n, count, ending); }

std::optional<PartName> parse_part_name(std::string_view name, std::string_view ending) {
  const std::size_t tail_size = 1 + kDigits + kOf.size() + kDigits + ending.size();
  if (name.size() < tail_size || !name.ends_with(ending)) return std::nullopt;
  const std::string_view tail = name.substr(name.size() - tail_size);
  if (tail[0] != '-' || tail.substr(1 + kDigits, kOf.size()) != kOf) return std::nullopt;
  const std::optional<std::uint32_t> number = parse_digits(tail.substr(1, kDigits));
  const std::optional<std::uint32_t> count = parse_digits(tail.substr(1 + kDigits + kOf.size(), kDigits));
  if (!number || !count || *number == 0 || *number > *count) return std::nullopt;
  return PartName{std::string(name.substr(0, name.size() - tail_size)), *number, *count, std::string(ending)};
}

}  // namespace sluice
