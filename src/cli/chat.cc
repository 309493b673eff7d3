#include "cli/chat.h"

namespace sluice::cli {

Result<Conversation> Conversation::create(const Tokenizer& tokenizer, const std::string& source, const Json& kwargs) {
  Conversation conversation(tokenizer);
  auto compiled = ChatTemplate::compile(source);
  if (!compiled.ok()) return compiled.error().with_context("chat template");
  conversation.template_ = std::move(compiled).value();
  conversation.kwargs_ = kwargs;
  return conversation;
}

Result<std::string> Conversation::text() const {
  Json messages = Json::array();
  if (!system_.empty()) messages.push_back({{"role", "system"}, {"content", system_}});
  for (const auto& message : messages_) messages.push_back(message);
  const auto token = [&](std::optional<std::int32_t> id) {
    return id ? std::string(tokenizer_->token_text(*id)) : std::string();
  };
  Json variables = {{"messages", std::move(messages)},
                    {"add_generation_prompt", true},
                    {"bos_token", token(tokenizer_->bos())},
                    {"eos_token", token(tokenizer_->eos())}};
  for (const auto& [key, value] : kwargs_.items()) variables[key] = value;
  auto rendered = template_->render(variables);
  if (!rendered.ok()) return rendered.error().with_context("chat template");
  return rendered;
}

}  // namespace sluice::cli
