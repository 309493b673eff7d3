#include <algorithm>

#include <fmt/format.h>

#include "cli/repl.h"

namespace sluice::cli {

Result<GenerationResult> Session::complete(const std::string& text) {
  const Tokenizer& tokenizer = *engine.tokenizer();
  SLUICE_ASSIGN(std::vector<std::int32_t> tokens, tokenizer.encode(text, true));
  if (tokens.empty() && tokenizer.bos()) tokens.push_back(*tokenizer.bos());
  if (echo && !write_out(text)) output_closed = true;
  return generate(tokens);
}

Result<GenerationResult> Session::answer() {
  SLUICE_ASSIGN(const std::string text, conversation->text());
  if (verbose) say("prompt: " + text);
  SLUICE_ASSIGN(const std::vector<std::int32_t> tokens, engine.tokenizer()->encode(text, false));
  return generate(tokens);
}

Result<GenerationResult> Session::generate(const std::vector<std::int32_t>& tokens) {
  last_text.clear();
  const std::span<const std::int32_t> rest = Engine::reuse_prefix(*sequence, tokens);
  const auto total = static_cast<double>(std::max<std::size_t>(rest.size(), 1));
  auto result = engine.generate(
      *sequence, rest, sampling, stop,
      [&](std::string_view text) {
        progress.finish();
        warn();
        // SentencePiece-style models begin an answer with the space that templates write themselves.
        if (conversation && last_text.empty() && text.starts_with(' ')) text.remove_prefix(1);
        last_text += text;
        output_closed = output_closed || !write_out(text);
        return !output_closed && signals::pending() == 0;
      },
      [&](std::int64_t done) {
        progress.update("prompt", static_cast<double>(done) / total);
        return signals::pending() == 0;
      });
  progress.finish();
  if (result.ok()) warn();
  return result;
}

void Session::warn() {
  if (warned_ || quiet) return;
  warned_ = true;
  for (const std::string& warning : engine.warnings()) say("warning: " + warning);
}

void Session::report(const GenerationResult& result) const {
  if (quiet) return;
  const GenerationStats& stats = result.stats;
  const auto part = [](std::string_view what, std::int64_t tokens, std::int64_t timed, double seconds) {
    std::string text = fmt::format("{} {} token{}", what, tokens, tokens == 1 ? "" : "s");
    if (timed > 0 && seconds > 0.0) text += fmt::format(", {:.1f} tokens/s", static_cast<double>(timed) / seconds);
    return text;
  };
  // The first new token comes out of the prefill; the decode time covers the ones after it.
  say(part("prefill", stats.prompt_tokens, stats.prompt_tokens, stats.prefill_seconds) + "; " +
      part("decode", stats.generated_tokens, stats.generated_tokens - 1, stats.decode_seconds));
  if (!verbose) return;
  for (const RegionStats& region : engine.pool().stats()) {
    say(fmt::format("  {}: {} calls, {} barriers, {:.1f} ms", region.name, region.calls, region.barriers,
                    region.seconds * 1e3));
  }
}

}  // namespace sluice::cli
