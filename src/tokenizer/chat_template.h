// Chat templates: the subset of Jinja2 that public templates use (trim_blocks, lstrip_blocks, loop controls).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace sluice {

// Bounds against hostile templates.
struct TemplateLimits {
  std::size_t max_output = 16U << 20;  // bytes
  int max_depth = 100;                 // nesting of expressions, blocks and macro calls
  std::uint64_t max_steps = 20'000'000;
};

// A compiled template. Immutable and thread-safe.
class ChatTemplate {
 public:
  // Errors: kCorrupt with line number and what was expected.
  static Result<std::shared_ptr<const ChatTemplate>> compile(std::string_view source,
                                                             const TemplateLimits& limits = {});
  virtual ~ChatTemplate() = default;

  // `variables` is an object (messages, tools, add_generation_prompt, bos_token, ...); the order of keys counts.
  // `now`: local time "YYYY-MM-DD HH:MM:SS" (or ISO with T) for strftime_now; the clock's if absent.
  // raise_exception(message) gives an Error of kInvalidArgument whose text is exactly that message.
  virtual Result<std::string> render(const nlohmann::ordered_json& variables,
                                     std::optional<std::string_view> now = std::nullopt) const = 0;
};

}  // namespace sluice
