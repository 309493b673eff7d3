// A chat template of any bytes, rendered with a conversation that has something of every kind: text or an error, within
// bounds that are small here so that the fuzzer stays quick. What stands behind a NUL in the input is JSON variables.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <nlohmann/json.hpp>

#include "tokenizer/chat_template.h"

namespace {

constexpr std::string_view kConversation = R"({
  "messages": [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Grüße, 世界 😀"}, {"type": "image"}]},
    {"role": "assistant", "content": null, "reasoning_content": "<think>hm</think>",
     "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": {"x": 1.5, "y": [true, null]}}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "{\"t\": 20}"}],
  "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters":
     {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}}}],
  "add_generation_prompt": true, "bos_token": "<s>", "eos_token": "</s>", "n": -3, "f": 2.5, "e": "", "l": [3, 1, 2]})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice;
  static const auto conversation = nlohmann::ordered_json::parse(kConversation);
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(input.find('\0'), input.size());
  nlohmann::ordered_json variables = conversation;
  if (end < input.size()) {
    const auto json = nlohmann::ordered_json::parse(input.substr(end + 1), nullptr, false);
    if (json.is_object()) variables.update(json);
  }
  TemplateLimits limits;
  limits.max_output = 1U << 18;
  limits.max_string = 1U << 18;
  limits.max_memory = 8U << 20;
  limits.max_steps = 50'000;
  limits.max_range = 1000;
  const auto compiled = ChatTemplate::compile(input.substr(0, end), limits);
  if (!compiled.ok()) {
    if (compiled.error().message().empty()) std::abort();
    return 0;
  }
  const auto text = compiled.value()->render(variables, "2024-02-29 07:08:09");
  if (text.ok() && text.value().size() > limits.max_output) std::abort();
  return 0;
}
