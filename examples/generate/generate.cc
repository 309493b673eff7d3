// Completes a text: generate [MODEL [PROMPT]]; without arguments the built-in model continues a tale.
#include <cstdio>

#include "sluice/text_generator.h"

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "";
  const char* prompt = argc > 2 ? argv[2] : "Once upon a time";
  auto model = sluice::TextGenerator::load(path);
  if (!model.ok()) {
    std::fprintf(stderr, "%s\n", model.error().message().c_str());
    return 1;
  }
  for (const std::string& warning : model->warnings()) std::fprintf(stderr, "warning: %s\n", warning.c_str());

  sluice::GenerateOptions options;
  options.max_tokens = 60;
  options.seed = 7;
  std::printf("%s", prompt);
  const auto answer = model->complete(prompt, options, [](std::string_view piece) {
    return std::fwrite(piece.data(), 1, piece.size(), stdout) == piece.size();
  });
  if (!answer.ok()) {
    std::fprintf(stderr, "\n%s\n", answer.error().message().c_str());
    return 1;
  }
  std::printf("\n");
  return 0;
}
