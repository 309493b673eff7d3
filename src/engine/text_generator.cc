#include "sluice/text_generator.h"

#include <exception>
#include <new>
#include <utility>

#include "engine/engine.h"

namespace sluice {
namespace {

// The API promises values: what still throws below it (memory, mostly) becomes an Error here.
template <typename Body>
auto guarded(const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return Error(ErrorCode::kResource, "out of memory");
  } catch (const std::exception& error) {
    return Error(ErrorCode::kInternal, error.what());
  }
}

Result<SamplerParams> sampling_from(const GenerateOptions& options, SamplerParams sampling) {
  sampling.temperature = options.temperature.value_or(sampling.temperature);
  sampling.top_k = options.top_k.value_or(sampling.top_k);
  sampling.top_p = options.top_p.value_or(sampling.top_p);
  sampling.min_p = options.min_p.value_or(sampling.min_p);
  sampling.seed = options.seed;
  SLUICE_TRY(sampling.validate());
  return sampling;
}

}  // namespace

struct TextGenerator::Impl {
  std::unique_ptr<Engine> engine;
};

TextGenerator::TextGenerator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TextGenerator::TextGenerator(TextGenerator&&) noexcept = default;
TextGenerator& TextGenerator::operator=(TextGenerator&&) noexcept = default;
TextGenerator::~TextGenerator() = default;

Result<TextGenerator> TextGenerator::load(const std::string& path, const LoadOptions& options) {
  return guarded([&]() -> Result<TextGenerator> {
    EngineOptions engine_options;
    SLUICE_ASSIGN(engine_options.isa, parse_isa(options.isa));
    engine_options.threads = options.threads;
    engine_options.context = options.context;
    auto impl = std::make_unique<Impl>();
    SLUICE_ASSIGN(impl->engine, Engine::load(Env::system(), path, engine_options));
    return TextGenerator(std::move(impl));
  });
}

Result<GeneratedText> TextGenerator::complete(std::string_view prompt, const GenerateOptions& options,
                                              const std::function<bool(std::string_view piece)>& on_text) {
  return guarded([&]() -> Result<GeneratedText> {
    Engine& engine = *impl_->engine;
    SLUICE_ASSIGN(std::vector<std::int32_t> tokens, engine.tokenizer()->encode(prompt, true));
    if (tokens.empty() && engine.tokenizer()->bos()) tokens.push_back(*engine.tokenizer()->bos());
    if (tokens.empty())
      return Error(ErrorCode::kInvalidArgument, "the prompt is empty, and the model has no start token");

    SLUICE_ASSIGN(const SamplerParams sampling, sampling_from(options, engine.default_sampling()));
    StopRules stop;
    stop.strings = options.stop;
    stop.max_tokens = options.max_tokens;

    GeneratedText out;
    const std::unique_ptr<Sequence> sequence = engine.new_sequence();
    const auto collect = [&](std::string_view piece) {
      out.text += piece;
      return !on_text || on_text(piece);
    };
    SLUICE_ASSIGN(const GenerationResult result, engine.generate(*sequence, tokens, sampling, stop, collect, {}));
    out.prompt_tokens = result.stats.prompt_tokens;
    out.generated_tokens = result.stats.generated_tokens;
    out.prefill_seconds = result.stats.prefill_seconds;
    out.decode_seconds = result.stats.decode_seconds;
    return out;
  });
}

const std::string& TextGenerator::architecture() const { return impl_->engine->spec().architecture; }
const std::vector<std::string>& TextGenerator::warnings() const { return impl_->engine->warnings(); }

}  // namespace sluice
