// Where a tokenizer comes from: a checkpoint, or a folder that holds nothing else.
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/env.h"
#include "checkpoint/checkpoint.h"
#include "tokenizer/gguf_tokenizer.h"
#include "tokenizer/gzip.h"
#include "tokenizer/tokenizer.h"

namespace sluice {
namespace {

constexpr std::size_t kMaxTokenizerBytes = std::size_t{256} << 20U;  // uncompressed; the largest known has 34 MB
constexpr std::size_t kMaxSmallFile = std::size_t{4} << 20U;         // tokenizer_config.json, chat_template.jinja

std::string_view text_of(const Bytes& bytes) {
  const std::span<const std::byte> span = bytes.span();
  return {reinterpret_cast<const char*>(span.data()), span.size()};
}

using FindFile = std::function<Result<std::shared_ptr<const Bytes>>(const char* name)>;  // nullptr: absent

// `find` gives the files beside tokenizer.json; `label` is the folder.
Result<std::shared_ptr<const Tokenizer>> from_files(const FindFile& find, const std::string& label) {
  const auto small = [&](const char* name, std::shared_ptr<const Bytes>& file) -> Status {
    SLUICE_ASSIGN(file, find(name));
    if (file && file->span().size() > kMaxSmallFile) {
      return Error(ErrorCode::kResource,
                   fmt::format("{}/{}: {} bytes, more than {}", label, name, file->span().size(), kMaxSmallFile));
    }
    return {};
  };
  std::shared_ptr<const Bytes> config;
  std::shared_ptr<const Bytes> chat_template;
  SLUICE_TRY(small("tokenizer_config.json", config));
  SLUICE_TRY(small("chat_template.jinja", chat_template));
  const std::string_view config_text = config ? text_of(*config) : std::string_view();
  const std::string_view template_text = chat_template ? text_of(*chat_template) : std::string_view();

  SLUICE_ASSIGN(const std::shared_ptr<const Bytes> plain, find("tokenizer.json"));
  if (plain) {
    const std::string name = label + "/tokenizer.json";
    if (plain->span().size() > kMaxTokenizerBytes) {
      return Error(ErrorCode::kResource,
                   fmt::format("{}: {} bytes, more than {}", name, plain->span().size(), kMaxTokenizerBytes));
    }
    return Tokenizer::from_json(text_of(*plain), config_text, template_text, name);
  }
  SLUICE_ASSIGN(const std::shared_ptr<const Bytes> packed, find("tokenizer.json.gz"));
  if (packed) {
    const std::string name = label + "/tokenizer.json.gz";
    SLUICE_ASSIGN(const std::string text, gunzip(text_of(*packed), kMaxTokenizerBytes, name));
    return Tokenizer::from_json(text, config_text, template_text, name);
  }
  // What other files a model may have instead, and what to do about it.
  SLUICE_ASSIGN(const std::shared_ptr<const Bytes> tiktoken, find("tiktoken.model"));
  if (tiktoken) {
    return Error(
        ErrorCode::kNotFound,
        fmt::format("{}: no tokenizer.json, only tiktoken.model (Kimi-K2 publishes no tokenizer.json): convert it with "
                    "the model's own tokenizer class (transformers, save_pretrained), or use a GGUF file of the model",
                    label));
  }
  SLUICE_ASSIGN(const std::shared_ptr<const Bytes> sentencepiece, find("tokenizer.model"));
  if (sentencepiece) {
    return Error(ErrorCode::kNotFound,
                 fmt::format("{}: no tokenizer.json, only tokenizer.model: convert it with transformers "
                             "(AutoTokenizer, save_pretrained), or use a GGUF file of the model",
                             label));
  }
  return Error(ErrorCode::kNotFound,
               fmt::format("{}: no tokenizer: wanted tokenizer.json or tokenizer.json.gz", label));
}

std::string join(const std::string& folder, const char* name) {
  return folder.ends_with('/') ? folder + name : folder + "/" + name;
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> Tokenizer::from_checkpoint(const Checkpoint& checkpoint) {
  if (checkpoint.kind() == CheckpointKind::kGguf) return tokenizer_from_metadata(checkpoint);
  return from_files(
      [&](const char* name) -> Result<std::shared_ptr<const Bytes>> {
        const auto found = checkpoint.side_files().find(name);
        return found != checkpoint.side_files().end() ? found->second : nullptr;
      },
      checkpoint.path());
}

Result<std::shared_ptr<const Tokenizer>> Tokenizer::from_path(Env& env, const std::string& path) {
  if (env.is_directory(path)) {
    // Only what the tokenizer needs is opened: a model's weights can be missing.
    const bool has_own = env.is_file(join(path, "tokenizer.json")) || env.is_file(join(path, "tokenizer.json.gz"));
    SLUICE_ASSIGN(const std::vector<std::string> names, env.list(path));
    bool has_gguf = false;
    for (const std::string& name : names) has_gguf = has_gguf || name.ends_with(".gguf");
    if (has_own || !has_gguf) {
      return from_files(
          [&](const char* name) -> Result<std::shared_ptr<const Bytes>> {
            const std::string file = join(path, name);
            if (!env.is_file(file)) return std::shared_ptr<const Bytes>();
            return env.map(file);
          },
          path);
    }
  }
  SLUICE_ASSIGN(const std::shared_ptr<const Checkpoint> checkpoint, open_checkpoint(env, path));
  return from_checkpoint(*checkpoint);
}

}  // namespace sluice
