// Text from a model in a few lines: what `sluice run` does, for programs. Link sluice::sluice.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/result.h"

namespace sluice {

struct LoadOptions {
  std::string isa = "auto";  // instruction set; "scalar" is the exact mode
  int threads = 0;           // 0: one per physical core that this process may use
  std::int64_t context = 0;  // tokens of prompt and answer at most; 0: what the model was trained for
};

// What is not set takes the default that the model's makers published, or ours.
struct GenerateOptions {
  std::int64_t max_tokens = 256;     // < 0: until the model ends or the context is full
  std::optional<float> temperature;  // 0: always the likeliest token
  std::optional<std::int32_t> top_k;
  std::optional<float> top_p;
  std::optional<float> min_p;
  std::uint64_t seed = 0;         // the same seed gives the same text
  std::vector<std::string> stop;  // the text ends before the first of these
};

struct GeneratedText {
  std::string text;  // without the prompt
  std::int64_t prompt_tokens = 0;
  std::int64_t generated_tokens = 0;
  double prefill_seconds = 0.0;
  double decode_seconds = 0.0;
};

// A loaded model with its tokenizer and threads. One call at a time.
class TextGenerator {
 public:
  // path: a .gguf file (of a split one the first part), a .safetensors file, a folder, or "" for the built-in model.
  // Errors name the file and the fault.
  static Result<TextGenerator> load(const std::string& path, const LoadOptions& options = {});
  TextGenerator(TextGenerator&&) noexcept;
  TextGenerator& operator=(TextGenerator&&) noexcept;
  ~TextGenerator();

  // Continues `prompt` as it is (no chat template). `on_text` gets the text in pieces as it is made, never half a
  // character; returning false ends the text there, which is no error.
  Result<GeneratedText> complete(std::string_view prompt, const GenerateOptions& options = {},
                                 const std::function<bool(std::string_view piece)>& on_text = {});

  // "qwen3moe", "deepseek2", ...
  const std::string& architecture() const;
  // What the user should know about the files, one line each.
  const std::vector<std::string>& warnings() const;

 private:
  struct Impl;
  explicit TextGenerator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
