// A conversation: messages, the template, and what of it the model has already read.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/engine.h"

namespace sluice::cli {

class Conversation {
 public:
  // The template: an explicit one, else the model's. kNotFound if there is neither.
  static Result<Conversation> create(const Engine& engine, const std::string& explicit_template,
                                     const nlohmann::ordered_json& kwargs);

  void set_system(const std::string& text) { system_ = text; }
  void clear() { messages_ = nlohmann::ordered_json::array(); }
  void add(const std::string& role, const std::string& text) { messages_.push_back({{"role", role}, {"content", text}}); }
  void drop_last() {
    if (!messages_.empty()) messages_.erase(messages_.size() - 1);
  }
  std::size_t size() const { return messages_.size(); }

  // The whole conversation as tokens, ready for the model's next answer.
  Result<std::vector<std::int32_t>> tokens() const;
  Result<std::string> text() const;

 private:
  explicit Conversation(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  const Tokenizer* tokenizer_;
  std::shared_ptr<const ChatTemplate> template_;
  nlohmann::ordered_json kwargs_;
  nlohmann::ordered_json messages_ = nlohmann::ordered_json::array();
  std::optional<std::string> system_;
};

}  // namespace sluice::cli
