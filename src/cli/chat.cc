#include "cli/chat.h"

namespace sluice::cli {

Result<Conversation> Conversation::create(const Engine& engine, const std::string& explicit_template,
                                          const nlohmann::ordered_json& kwargs) {
  const Tokenizer& tokenizer = *engine.tokenizer();
  const std::string source = explicit_template.empty() ? std::string(tokenizer.chat_template()) : explicit_template;
  if (source.empty()) {
    return Error(ErrorCode::kNotFound, "this model has no chat template; --raw completes texts, --chat-template-file gives one");
  }
  Conversation conversation(tokenizer);
  auto compiled = ChatTemplate::compile(source);
  if (!compiled.ok()) return compiled.error().with_context("chat template");
  conversation.template_ = std::move(compiled).value();
  conversation.kwargs_ = kwargs;
  return conversation;
}

Result<std::string> Conversation::text() const {
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();
  if (system_) messages.push_back({{"role", "system"}, {"content", *system_}});
  for (const auto& message : messages_) messages.push_back(message);
  variables["messages"] = std::move(messages);
  variables["add_generation_prompt"] = true;
  const auto token = [&](std::optional<std::int32_t> id) {
    return id ? std::string(tokenizer_->token_text(*id)) : std::string();
  };
  variables["bos_token"] = token(tokenizer_->bos());
  variables["eos_token"] = token(tokenizer_->eos());
  for (const auto& [key, value] : kwargs_.items()) variables[key] = value;
  auto rendered = template_->render(variables);
  if (!rendered.ok()) return rendered.error().with_context("chat template");
  return rendered;
}

Result<std::vector<std::int32_t>> Conversation::tokens() const {
  SLUICE_ASSIGN(const std::string rendered, text());
  return tokenizer_->encode(rendered, false);
}

}  // namespace sluice::cli
