// All options and commands. Names and aliases follow llama.cpp where it has the thing.
#include <array>

#include "cli/options.h"

namespace sluice::cli {
namespace {

using enum ValueKind;

constexpr std::array kOptions = {
    OptionRow{"model", "--model -m", kFile, "PATH", "the model: a .gguf file (of a split one the first part) or a folder; without it the built-in one"},
    OptionRow{"prompt", "--prompt -p", kText, "TEXT", "the prompt; answers once and exits ('-' reads standard input)"},
    OptionRow{"file", "--file -f", kFile, "FILE", "reads the prompt from a file"},
    OptionRow{"system-prompt", "--system-prompt -sys --system", kText, "TEXT", "system message of a chat"},
    OptionRow{"predict", "--predict -n --n-predict --max-tokens", kInteger, "N", "new tokens at most; -1: until the model ends or the context is full"},
    OptionRow{"ctx-size", "--ctx-size -c --max-model-len", kInteger, "N", "context in tokens; 0: what the model was trained for"},
    OptionRow{"batch-size", "--batch-size -b", kInteger, "N", "tokens per forward pass of a prompt (default 512)"},
    OptionRow{"ubatch-size", "--ubatch-size -ub", kInteger, "N", "the same; the smaller of the two counts"},
    OptionRow{"threads", "--threads -t", kInteger, "N", "threads; 0: one per physical core that this process may use"},
    OptionRow{"threads-batch", "--threads-batch -tb", kInteger, "N", "must equal --threads: one pool serves prompt and answer"},
    OptionRow{"temp", "--temp --temperature", kNumber, "X", "temperature; 0: always the likeliest token"},
    OptionRow{"top-k", "--top-k", kInteger, "N", "keep the N likeliest tokens; 0: all"},
    OptionRow{"top-p", "--top-p", kNumber, "X", "keep the likeliest tokens whose probabilities reach X; 1: off"},
    OptionRow{"min-p", "--min-p", kNumber, "X", "keep tokens at least X times as likely as the best; 0: off"},
    OptionRow{"repeat-penalty", "--repeat-penalty --repetition-penalty", kNumber, "X", "penalty of tokens that occurred; 1: off"},
    OptionRow{"repeat-last-n", "--repeat-last-n", kInteger, "N", "tokens that the penalties look back at; 0: off, -1: all"},
    OptionRow{"presence-penalty", "--presence-penalty", kNumber, "X", "subtracted from the logits of tokens that occurred"},
    OptionRow{"frequency-penalty", "--frequency-penalty", kNumber, "X", "the same, per occurrence"},
    OptionRow{"seed", "--seed -s", kInteger, "N", "seed of the draws; the same seed gives the same text (default: from the clock)"},
    OptionRow{"stop", "--stop --reverse-prompt -r", kText, "TEXT", "stop before this text; may be given several times", true},
    OptionRow{"stop-id", "--stop-id", kInteger, "ID", "stop at this token; may be given several times", true},
    OptionRow{"ignore-eos", "--ignore-eos", kFlag, "", "go on where the model would end"},
    OptionRow{"raw", "--raw", kFlag, "", "complete the text as it is: no chat, no template"},
    OptionRow{"interactive", "--interactive -i --conversation -cnv", kFlag, "", "chat even if a prompt is given"},
    OptionRow{"chat-template", "--chat-template", kText, "JINJA", "a chat template instead of the model's"},
    OptionRow{"chat-template-file", "--chat-template-file", kFile, "FILE", "the same, from a file"},
    OptionRow{"chat-template-kwargs", "--chat-template-kwargs", kText, "JSON", "an object of further variables for the template"},
    OptionRow{"echo", "--echo", kFlag, "", "print the prompt before its completion (on a terminal that is the default with --raw)"},
    OptionRow{"isa", "--isa", kChoice, "auto|scalar|avx2|avx512|avx512vnni|avx512bf16", "instruction set; scalar is the exact mode (fp32 activations, fp64 sums)"},
    OptionRow{"experts-kernel", "--experts-kernel", kText, "NAME", "the experts kernel (default auto: the plan chooses)"},
    OptionRow{"shared-experts", "--shared-experts", kChoice, "auto|beside|fused", "shared experts beside the routed ones, or fused into them"},
    OptionRow{"all2all-backend", "--all2all-backend", kText, "NAME", "how tokens reach experts (auto; other backends come with several ranks)"},
    OptionRow{"explain", "--explain", kFlag, "", "print the plan of the MoE layers, with every refusal and its reason"},
    OptionRow{"verbose", "--verbose -v", kFlag, "", "say more on standard error"},
    OptionRow{"quiet", "--quiet -q", kFlag, "", "only the text, and errors"},
    OptionRow{"no-progress", "--no-progress", kFlag, "", "no progress bar"},
    OptionRow{"color", "--color", kChoice, "auto|always|never", "colour on standard error and in chats (NO_COLOR is honoured)"},
    OptionRow{"jinja", "--jinja", kFlag, "", "accepted: templates are always Jinja"},
    OptionRow{"tokens", "--tokens", kFile, "FILE", "token ids in ASCII, separated by white space ('-': standard input)"},
    OptionRow{"out", "--out -o", kFile, "FILE", "where the logits go: little-endian float32, one row of the vocabulary per token"},
    OptionRow{"batch", "--batch", kInteger, "N", "split the tokens into batches of N; 0: one batch"},
    OptionRow{"routing", "--routing", kFile, "FILE", "writes a line {layer, token, experts, weights} per MoE layer and token"},
    OptionRow{"jsonl", "--jsonl", kFlag, "", "JSON lines from standard input to standard output"},
    OptionRow{"special", "--special", kFlag, "", "add the BOS and EOS that the model's files ask for"},
    OptionRow{"decode", "--decode", kFlag, "", "ids to text instead of text to ids"},
    OptionRow{"json", "--json", kFlag, "", "as JSON"},
};

constexpr std::array kFuture = {
    FutureOption{"--parallel -np --max-num-seqs", "several sequences at once come with `sluice serve`"},
    FutureOption{"--numa", ""},
    FutureOption{"--cpu-mask -C -Cr --cpu-range", "meanwhile taskset(1) limits the cores, and Sluice keeps to them"},
    FutureOption{"--prio --poll", ""},
    FutureOption{"--load-mode -lm --mlock --no-mmap", "models are mapped"},
    FutureOption{"--fit -fit --fit-target --fit-ctx --ram", ""},
    FutureOption{"--cache-type-k -ctk --cache-type-v -ctv --kv-cache-dtype", "the KV cache is fp32 for now"},
    FutureOption{"--n-gpu-layers -ngl --gpu-layers --override-tensor -ot --cpu-moe -cmoe --n-cpu-moe -ncmoe --split-mode -sm --tensor-split -ts --main-gpu -mg --device -dev",
                 "there are no accelerator plugins yet: everything runs on the CPU"},
    FutureOption{"--override-kv --experts", "using fewer experts than the model was trained with"},
    FutureOption{"--expert-cache --moe-cache-mib --defer-experts", "models must fit in memory for now"},
    FutureOption{"--workers --rpc --ep --ep-size --transport --enable-expert-parallel --expert-placement --ep-reduction --token-file --nnodes --node-rank", "expert parallelism is being built"},
    FutureOption{"--host --port --api-key --api-key-file --timeout --threads-http --metrics --no-metrics --props --slots", "`sluice serve` is being built"},
    FutureOption{"--alias -a --served-model-name", "`sluice serve` is being built"},
    FutureOption{"--reasoning-format --reasoning-budget --tool-call-parser --reasoning-parser --think --hidethinking", ""},
    FutureOption{"--grammar --grammar-file --json-schema -j", "structured output comes with `sluice serve`"},
    FutureOption{"--cache-prompt --cache-reuse --cache-ram -cram --ctx-checkpoints -kvu --slot-save-path --enable-prefix-caching", ""},
    FutureOption{"--model-draft -md --spec-type --draft-max --speculative-config --mtp", "speculative decoding"},
    FutureOption{"--samplers", "the order is penalties, top-k, top-p, min-p, temperature"},
    FutureOption{"--log-file --log-verbosity -lv", "standard error can be redirected"},
    FutureOption{"--model-url -mu", "download the file with curl(1) and give its path"},
};

constexpr std::array<std::string_view, 37> kRun = {
    "model", "prompt", "file", "system-prompt", "predict", "ctx-size", "batch-size", "ubatch-size", "threads",
    "threads-batch", "temp", "top-k", "top-p", "min-p", "repeat-penalty", "repeat-last-n", "presence-penalty",
    "frequency-penalty", "seed", "stop", "stop-id", "ignore-eos", "raw", "interactive", "chat-template",
    "chat-template-file", "chat-template-kwargs", "echo", "isa", "experts-kernel", "shared-experts", "all2all-backend",
    "explain", "verbose", "quiet", "no-progress", "color"};
constexpr std::array<std::string_view, 1> kRunExtra = {"jinja"};
constexpr auto kRunAll = [] {
  std::array<std::string_view, kRun.size() + kRunExtra.size()> all{};
  for (std::size_t i = 0; i < kRun.size(); ++i) all[i] = kRun[i];
  for (std::size_t i = 0; i < kRunExtra.size(); ++i) all[kRun.size() + i] = kRunExtra[i];
  return all;
}();
constexpr std::array<std::string_view, 2> kInspect = {"model", "json"};
constexpr std::array<std::string_view, 12> kLogits = {"model", "tokens", "out", "batch", "routing", "isa", "threads", "experts-kernel",
                                                      "shared-experts", "all2all-backend", "quiet", "no-progress"};
constexpr std::array<std::string_view, 5> kTokenize = {"model", "jsonl", "special", "decode", "prompt"};
constexpr std::array<std::string_view, 1> kRender = {"jsonl"};
constexpr std::array<std::string_view, 7> kDoctor = {"model", "isa", "threads", "experts-kernel", "shared-experts", "all2all-backend", "json"};

constexpr std::array kCommands = {
    CommandRow{"run", "[MODEL] [PROMPT]", "generate text from a model, or chat with it",
               "MODEL is a .gguf file (of a split one the first part) or a folder with safetensors; without it the "
               "built-in story teller runs. With a PROMPT (or -p, -f, or text on standard input) it answers once and "
               "exits; on a terminal without one it chats, or with --raw completes texts. The text goes to standard "
               "output, all else to standard error.",
               kRunAll, 2},
    CommandRow{"inspect", "FILE", "show what a checkpoint is",
               "Architecture, layers, experts and routing program, types by group of tensors, sizes, memory needed, and "
               "what is unknown. FILE is a .gguf or .safetensors file or a folder.",
               kInspect, 1},
    CommandRow{"logits", "MODEL", "write the logits of a token sequence",
               "For tools and tests: row i of the output are the logits after token i.", kLogits, 1},
    CommandRow{"tokenize", "MODEL", "text to token ids, and back",
               "With --jsonl, lines {\"id\", \"text\"} become {\"id\", \"ids\"}; with --decode, {\"id\", \"ids\"} become "
               "{\"id\", \"text\", \"text_skip_special\"}. Special tokens in the text are always recognised. MODEL may be a "
               "folder with only tokenizer.json and tokenizer_config.json.",
               kTokenize, 1},
    CommandRow{"render", "TEMPLATE", "render a chat template",
               "With --jsonl, lines {\"id\", \"messages\", \"kwargs\", \"now\"} become {\"id\", \"text\"} or {\"id\", \"error\"}.",
               kRender, 1},
    CommandRow{"doctor", "[MODEL]", "show the machine, and what would run on it",
               "Processor, instruction sets, cores and memory; with a MODEL the plan of its MoE layers with every "
               "refusal. Also says what is not built yet.",
               kDoctor, 1},
    CommandRow{"completion", "bash|zsh|fish", "print a completion script for a shell", "", {}, 1},
    CommandRow{"man", "", "print the manual page (troff)", "", {}, 0},
};

}  // namespace

std::span<const OptionRow> option_table() { return kOptions; }
std::span<const FutureOption> future_options() { return kFuture; }
std::span<const CommandRow> command_table() { return kCommands; }

const CommandRow* find_command(std::string_view name) {
  for (const CommandRow& command : kCommands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

const OptionRow* find_option_key(std::string_view key) {
  for (const OptionRow& option : kOptions) {
    if (option.key == key) return &option;
  }
  return nullptr;
}

}  // namespace sluice::cli
