// sluice logits: raw logits (and routing) of a token sequence, for tools and tests.
#include <charconv>
#include <cstring>
#include <fstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "cli/terminal.h"

namespace sluice::cli {
namespace {

constexpr std::size_t kMaxTokenText = 256U << 20;

Result<std::vector<std::int32_t>> parse_tokens(const std::string& text, const std::string& source) {
  std::vector<std::int32_t> ids;
  const char* at = text.data();
  const char* end = at + text.size();
  for (;;) {
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r' || *at == ',')) ++at;
    if (at == end) return ids;
    std::int32_t id = 0;
    const auto [next, error] = std::from_chars(at, end, id);
    if (error != std::errc()) {
      const std::string_view word(at, std::min<std::size_t>(static_cast<std::size_t>(end - at), 20));
      return Error(ErrorCode::kCorrupt, fmt::format("{}: '{}' is no token id (number {} of the file)", source,
                                                    word.substr(0, word.find('\n')), ids.size() + 1));
    }
    ids.push_back(id);
    at = next;
  }
}

}  // namespace

Result<int> logits_command(Env& env, const Arguments& arguments) {
  const std::string path = model_path(arguments);
  if (!arguments.has("tokens") || !arguments.has("out")) {
    return Error(ErrorCode::kInvalidArgument, "--tokens FILE and --out FILE are needed");
  }
  const std::string source = arguments.text("tokens");
  std::string text;
  if (source == "-") {
    SLUICE_ASSIGN(text, read_stdin(kMaxTokenText));
  } else {
    SLUICE_ASSIGN(text, env.read_text(source, kMaxTokenText));
  }
  SLUICE_ASSIGN(const std::vector<std::int32_t> tokens, parse_tokens(text, source));
  if (tokens.empty()) return Error(ErrorCode::kCorrupt, fmt::format("{}: holds no token ids", source));
  SLUICE_ASSIGN(std::int64_t batch, arguments.integer("batch", 0, 0, std::int64_t{1} << 30));
  if (batch == 0) batch = static_cast<std::int64_t>(tokens.size());

  SLUICE_ASSIGN(EngineOptions options, engine_options(arguments));
  options.need_tokenizer = false;
  options.context = static_cast<std::int64_t>(tokens.size());
  Progress progress(stderr_is_terminal() && !arguments.flag("quiet") && !arguments.flag("no-progress"));
  options.progress = [&](std::string_view stage, double fraction) { progress.update(stage, fraction); };
  SLUICE_ASSIGN(const std::unique_ptr<Engine> engine, Engine::load(env, path, options));
  progress.finish();

  const std::string out_path = arguments.text("out");
  std::ofstream out(out_path, std::ios::binary | std::ios::trunc);
  if (!out) return Error(ErrorCode::kIo, fmt::format("{}: cannot write: {}", out_path, std::strerror(errno)));
  std::ofstream routing_out;
  LayerRoutingObserver observer;
  std::int64_t base = 0;
  if (arguments.has("routing")) {
    routing_out.open(arguments.text("routing"), std::ios::binary | std::ios::trunc);
    if (!routing_out) {
      return Error(ErrorCode::kIo, fmt::format("{}: cannot write: {}", arguments.text("routing"), std::strerror(errno)));
    }
    observer = [&](std::int64_t layer, std::int64_t rows, std::int32_t top_k, const moe::GlobalExpert* ids,
                   const float* weights) {
      for (std::int64_t t = 0; t < rows; ++t) {
        std::vector<std::int32_t> experts;
        for (std::int32_t k = 0; k < top_k; ++k) experts.push_back(moe::index(ids[t * top_k + k]));
        routing_out << fmt::format("{{\"layer\":{},\"token\":{},\"experts\":[{}],\"weights\":[{}]}}\n", layer, base + t,
                                   fmt::join(experts, ","),
                                   fmt::join(std::span(weights + t * top_k, static_cast<std::size_t>(top_k)), ","));
      }
    };
  }

  const std::unique_ptr<Sequence> sequence = engine->new_sequence();
  const LogitsSink sink = [&](std::int64_t, std::span<const float> row) {
    out.write(reinterpret_cast<const char*>(row.data()), static_cast<std::streamsize>(row.size_bytes()));
  };
  const auto total = static_cast<double>(tokens.size());
  SLUICE_TRY(engine->evaluate(*sequence, tokens, batch, true, sink, observer, [&](std::int64_t done) {
    base = done;
    progress.update("logits", static_cast<double>(done) / total);
    return signals::pending() == 0;
  }));
  out.close();
  routing_out.close();
  if (!out || (arguments.has("routing") && !routing_out)) {
    return Error(ErrorCode::kIo, fmt::format("{}: writing failed (disk full?)", out_path));
  }
  return kExitOk;
}

}  // namespace sluice::cli
