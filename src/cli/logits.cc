// sluice logits: raw logits (and routing) of a token sequence, for tools and tests.
#include <cerrno>
#include <charconv>
#include <fstream>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"

namespace sluice::cli {
namespace {

constexpr std::size_t kMaxTokenText = 32U << 20;

Result<std::vector<std::int32_t>> parse_tokens(const std::string& text, const std::string& source) {
  constexpr std::string_view kSpace = " \t\r\n\v\f,";
  std::vector<std::int32_t> ids;
  for (std::size_t at = 0; (at = text.find_first_not_of(kSpace, at)) != std::string::npos;) {
    const std::string_view word = std::string_view(text).substr(at, text.find_first_of(kSpace, at) - at);
    std::int32_t id = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || end != word.data() + word.size()) {
      return Error(ErrorCode::kCorrupt,
                   fmt::format("{}: word {} is '{}', no token id", source, ids.size() + 1, word.substr(0, 20)));
    }
    ids.push_back(id);
    at += word.size();
  }
  if (ids.empty()) return Error(ErrorCode::kCorrupt, fmt::format("{}: holds no token ids", source));
  return ids;
}

// An output file: '-' is standard output. Errors name the file.
class OutputFile {
 public:
  Status open(const std::string& name) {
    name_ = name;
    stream_.open(name == "-" ? "/dev/stdout" : name, std::ios::binary | std::ios::trunc);
    return check();
  }
  bool is_open() const { return stream_.is_open(); }
  void write(std::string_view bytes) { stream_.write(bytes.data(), static_cast<std::streamsize>(bytes.size())); }
  Status close() {
    stream_.close();
    return check();
  }

 private:
  Status check() const {
    if (stream_) return Status::success();
    return Error(ErrorCode::kIo, fmt::format("{}: cannot write: {}", name_, std::generic_category().message(errno)));
  }

  std::string name_;
  std::ofstream stream_;
};

}  // namespace

Status check_logits(const Arguments& arguments) {
  if (!arguments.has("tokens")) return usage_error("--tokens FILE is needed: token ids, separated by white space");
  if (!arguments.has("out")) return usage_error("--out FILE is needed: where the logits go");
  return check_model(arguments);
}

Result<int> logits_command(Env& env, const Arguments& arguments) {
  const std::string source = arguments.text("tokens");
  std::string text;
  if (source == "-") {
    SLUICE_ASSIGN(text, read_stdin(kMaxTokenText));
  } else {
    SLUICE_ASSIGN(text, read_file(env, source, kMaxTokenText));
  }
  SLUICE_ASSIGN(const std::vector<std::int32_t> tokens, parse_tokens(text, source == "-" ? "standard input" : source));
  std::int64_t batch = arguments.integer("batch", 0);
  if (batch == 0) batch = static_cast<std::int64_t>(tokens.size());

  Progress progress(wants_progress(arguments));
  const auto adjust = [&](EngineOptions& options) {
    options.need_tokenizer = false;
    options.context = static_cast<std::int64_t>(tokens.size());
  };
  SLUICE_ASSIGN(const std::unique_ptr<Engine> engine,
                load_engine(env, arguments, model_path(arguments), progress, adjust));

  OutputFile out;
  SLUICE_TRY(out.open(arguments.text("out")));
  OutputFile routing;
  LayerRoutingObserver observer;
  std::int64_t base = 0;  // position of the current batch's first token
  if (arguments.has("routing")) {
    SLUICE_TRY(routing.open(arguments.text("routing")));
    observer = [&](std::int64_t layer, std::int64_t rows, std::int32_t top_k, const moe::GlobalExpert* ids,
                   const float* weights) {
      for (std::int64_t t = 0; t < rows; ++t) {
        std::vector<std::int32_t> experts;
        for (std::int32_t k = 0; k < top_k; ++k) experts.push_back(moe::index(ids[t * top_k + k]));
        const std::span of_token(weights + t * top_k, static_cast<std::size_t>(top_k));
        routing.write(fmt::format("{{\"layer\":{},\"token\":{},\"experts\":[{}],\"weights\":[{}]}}\n", layer, base + t,
                                  fmt::join(experts, ","), fmt::join(of_token, ",")));
      }
    };
  }

  const std::unique_ptr<Sequence> sequence = engine->new_sequence();
  const LogitsSink sink = [&](std::int64_t, std::span<const float> row) {
    out.write({reinterpret_cast<const char*>(row.data()), row.size_bytes()});
  };
  const auto total = static_cast<double>(tokens.size());
  SLUICE_TRY(engine->evaluate(*sequence, tokens, batch, true, sink, observer, [&](std::int64_t done) {
    base = done;
    progress.update("logits", static_cast<double>(done) / total);
    return true;
  }));
  SLUICE_TRY(out.close());
  if (routing.is_open()) SLUICE_TRY(routing.close());
  return kExitOk;
}

}  // namespace sluice::cli
