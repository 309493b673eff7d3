// A conversation: its messages, the template, and the text that the model reads.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/json_lines.h"
#include "engine/engine.h"

namespace sluice::cli {

class Conversation {
 public:
  // `source` is the template's text, `kwargs` further variables for it. Both outlive nothing: they are copied.
  // The tokenizer must outlive the conversation.
  static Result<Conversation> create(const Tokenizer& tokenizer, const std::string& source, const Json& kwargs);

  void set_system(std::string text) { system_ = std::move(text); }
  void clear() { messages_ = Json::array(); }
  void add(const std::string& role, const std::string& text) {
    messages_.push_back({{"role", role}, {"content", text}});
  }
  void drop_last() {
    if (!messages_.empty()) messages_.erase(messages_.size() - 1);
  }
  std::size_t size() const { return messages_.size(); }

  // The whole conversation as the template writes it, ready for the model's next answer. Errors: what the template has
  // against these messages.
  Result<std::string> text() const;

 private:
  explicit Conversation(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  const Tokenizer* tokenizer_;
  std::shared_ptr<const ChatTemplate> template_;
  Json kwargs_;
  Json messages_ = Json::array();
  std::string system_;  // empty: none
};

}  // namespace sluice::cli
