// Chat templates: the subset of Jinja2 that public templates use (trim_blocks, lstrip_blocks, loop controls).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace sluice {

// Bounds against hostile templates and conversations. Passing one is an Error of kResource.
struct TemplateLimits {
  std::size_t max_output = 16U << 20;  // bytes, captured blocks and running macros included
  int max_depth = 100;                 // nesting of expressions and blocks in the source, of macro calls, and of data
  std::uint64_t max_steps = 20'000'000;
  std::size_t max_source = 1U << 20;    // bytes of the template
  std::size_t max_string = 16U << 20;   // bytes of one string, however it comes about
  std::size_t max_memory = 128U << 20;  // bytes of values alive at a time, the variables included
  std::size_t max_range = 100'000;      // items of range() and of lists made by repetition
};

// A compiled template. Immutable and thread-safe.
class ChatTemplate {
 public:
  // Errors: kCorrupt with line number and what was expected; kUnsupported for Jinja2 that chat templates have no use
  // for (include, import, extends, block, recursive loops); kResource for a source past the limits.
  static Result<std::shared_ptr<const ChatTemplate>> compile(std::string_view source,
                                                             const TemplateLimits& limits = {});
  virtual ~ChatTemplate() = default;

  // `variables` is an object (messages, tools, add_generation_prompt, bos_token, ...); the order of keys counts.
  // `now`: local time "YYYY-MM-DD HH:MM:SS" (or ISO with T) for strftime_now; the clock's if absent.
  // raise_exception(message) gives an Error of kInvalidArgument whose text is exactly that message; what else goes
  // wrong with this conversation is kInvalidArgument too, with the template's line in front.
  virtual Result<std::string> render(const nlohmann::ordered_json& variables,
                                     std::optional<std::string_view> now = std::nullopt) const = 0;
};

}  // namespace sluice
