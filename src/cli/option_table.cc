// All options and commands. Names and aliases follow llama.cpp where it has the thing; vLLM's and SGLang's names are
// accepted where the meaning is the same.
#include <algorithm>
#include <array>

#include "cli/options.h"

namespace sluice::cli {
namespace {

constexpr double kNoBound = std::numeric_limits<double>::infinity();
constexpr double kMaxInt32 = 2147483647.0;

constexpr OptionRow flag(std::string_view names, std::string_view help) {
  return {.names = names, .kind = ValueKind::kFlag, .value = {}, .help = help};
}
constexpr OptionRow text(std::string_view names, std::string_view value, std::string_view help) {
  return {.names = names, .kind = ValueKind::kText, .value = value, .help = help};
}
constexpr OptionRow file(std::string_view names, std::string_view value, std::string_view help) {
  return {.names = names, .kind = ValueKind::kFile, .value = value, .help = help};
}
constexpr OptionRow choice(std::string_view names, std::string_view words, std::string_view help) {
  return {.names = names, .kind = ValueKind::kChoice, .value = words, .help = help};
}
constexpr OptionRow integer(std::string_view names, double low, double high, std::string_view help) {
  return {.names = names, .kind = ValueKind::kInteger, .value = "N", .help = help, .low = low, .high = high};
}
constexpr OptionRow number(std::string_view names, double low, double high, std::string_view help) {
  return {.names = names, .kind = ValueKind::kNumber, .value = "X", .help = help, .low = low, .high = high};
}
constexpr OptionRow repeated(OptionRow row) {
  row.repeatable = true;
  return row;
}
// What names one run's input or output: no setting.
constexpr OptionRow once(OptionRow row) {
  row.setting = false;
  return row;
}

constexpr std::array kOptions = {
    file("--model -m --model-path", "PATH",
         "the model: a .gguf file (of a split one the first part) or a folder; without it the built-in one"),
    once(text("--prompt -p", "TEXT", "the prompt; answers once and exits ('-' reads standard input)")),
    once(file("--file -f", "FILE", "reads the prompt from a file")),
    text("--system-prompt -sys --system", "TEXT", "system message of a chat"),
    integer("--predict -n --n-predict --max-tokens", -2, 1e12,
            "new tokens at most; -1: until the model ends or the context is full"),
    integer("--ctx-size -c --max-model-len --context-length", 0, 1 << 30,
            "context in tokens; 0: what the model was trained for"),
    integer("--batch-size -b --max-num-batched-tokens --chunked-prefill-size", 1, 1 << 20,
            "tokens per forward pass of a prompt (default 512)"),
    integer("--ubatch-size -ub", 1, 1 << 20, "the same; the smaller of the two counts"),
    integer("--threads -t", -1, 4096, "threads; 0 or -1: one per physical core that this process may use"),
    integer("--threads-batch -tb", -1, 4096, "must equal --threads: one pool serves prompt and answer"),
    number("--temp --temperature", 0, 1e6, "temperature; 0: always the likeliest token"),
    integer("--top-k", -1, kMaxInt32, "keep the N likeliest tokens; 0 or -1: all"),
    number("--top-p", 0, 1, "keep the likeliest tokens whose probabilities reach X; 1: off"),
    number("--min-p", 0, 1, "keep tokens at least X times as likely as the best; 0: off"),
    number("--repeat-penalty --repetition-penalty", 0, 1e6, "penalty of tokens that occurred; 1: off"),
    integer("--repeat-last-n", -1, kMaxInt32, "tokens that the penalties look back at; 0: off, -1: all"),
    number("--presence-penalty", -1e6, 1e6, "subtracted from the logits of tokens that occurred"),
    number("--frequency-penalty", -1e6, 1e6, "the same, per occurrence"),
    integer("--seed -s", -1, kNoBound,
            "seed of the draws; the same seed gives the same text (default, and -1: from the clock)"),
    repeated(text("--stop --reverse-prompt -r", "TEXT", "stop before this text; may be given several times")),
    repeated(integer("--stop-id", 0, kMaxInt32, "stop at this token; may be given several times")),
    flag("--ignore-eos", "go on where the model would end"),
    flag("--raw", "complete the text as it is: no chat, no template"),
    flag("--interactive -i --conversation -cnv", "chat even if a prompt is given"),
    text("--chat-template", "JINJA", "a chat template instead of the model's"),
    file("--chat-template-file", "FILE", "the same, from a file"),
    text("--chat-template-kwargs", "JSON", "an object of further variables for the template"),
    flag("--echo", "print the prompt before its completion (on a terminal that is the default with --raw)"),
    choice("--isa", "auto|scalar|avx2|avx512|avx512vnni|avx512bf16",
           "instruction set; scalar is the exact mode (fp32 activations, fp64 sums)"),
    text("--experts-kernel", "NAME", "the experts kernel (default auto: the plan chooses)"),
    choice("--shared-experts", "auto|beside|fused", "shared experts beside the routed ones, or fused into them"),
    text("--all2all-backend", "NAME", "how tokens reach experts (auto; other backends come with several ranks)"),
    once(flag("--explain", "print the plan of the MoE layers, with every refusal and its reason")),
    flag("--verbose -v", "say more on standard error: the model, rendered prompts, time by region"),
    flag("--quiet -q", "only the text, and errors"),
    flag("--progress", "a progress bar on a terminal when something takes long (default; --no-progress: none)"),
    choice("--color", "auto|always|never", "colour on standard error (auto: on a terminal, unless NO_COLOR is set)"),
    flag("--jinja", "accepted: templates are always Jinja"),
    once(file("--tokens", "FILE", "token ids in ASCII, separated by white space ('-': standard input)")),
    once(file("--out -o", "FILE", "where the logits go: little-endian float32, one row of the vocabulary per token")),
    once(integer("--batch", 0, 1 << 30, "split the tokens into batches of N; 0: one batch")),
    once(file("--routing", "FILE", "writes a line {layer, token, experts, weights} per MoE layer and token")),
    once(flag("--jsonl", "JSON lines from standard input to standard output")),
    once(flag("--special", "add the BOS and EOS that the model's files ask for")),
    once(flag("--decode", "ids to text instead of text to ids")),
    once(flag("--json", "as JSON")),
};

constexpr std::string_view kServeSoon = "`sluice serve` is being built";
constexpr std::string_view kRanksSoon = "expert parallelism is being built";
constexpr std::array kFuture = {
    FutureOption{"--parallel -np --max-num-seqs --max-running-requests",
                 "several sequences at once come with `sluice serve`"},
    FutureOption{"--numa", ""},
    FutureOption{"--cpu-mask -C -Cr --cpu-range", "meanwhile taskset(1) limits the cores, and Sluice keeps to them"},
    FutureOption{"--prio --poll", ""},
    FutureOption{"--load-mode -lm --load-format --mlock --no-mmap", "models are mapped"},
    FutureOption{"--fit -fit --fit-target --fit-ctx --ram --gpu-memory-utilization --mem-fraction-static",
                 "models must fit in memory for now; --ctx-size sets the context"},
    FutureOption{"--cache-type-k -ctk --cache-type-v -ctv --kv-cache-dtype", "the KV cache is fp32 for now"},
    FutureOption{"--n-gpu-layers -ngl --gpu-layers --override-tensor -ot --cpu-moe -cmoe --n-cpu-moe -ncmoe "
                 "--split-mode -sm --tensor-split -ts --main-gpu -mg --device -dev --cpu-offload-gb",
                 "there are no accelerator plugins yet, everything runs on the CPU"},
    FutureOption{"--override-kv --experts --hf-overrides -ser",
                 "as many experts are used as the model was trained with"},
    FutureOption{"--expert-cache --moe-cache-mib --defer-experts", "models must fit in memory for now"},
    FutureOption{
        "--workers --rpc --listen --transport --token-file --ep --ep-size --tp -tp -pp -dp --nnodes --node-rank "
        "--master-addr --headless --dist-init-addr --enable-expert-parallel --enable-eplb --expert-placement "
        "--expert-placement-strategy --ep-reduction",
        kRanksSoon},
    FutureOption{"--host --port --api-key --api-key-file --timeout --threads-http --metrics --enable-metrics "
                 "--no-metrics --props --slots --uvicorn-log-level",
                 kServeSoon},
    FutureOption{"--alias -a --served-model-name", kServeSoon},
    FutureOption{"--reasoning-format --reasoning-budget --reasoning-parser --tool-call-parser --think --hidethinking",
                 ""},
    FutureOption{"--grammar --grammar-file --grammar-backend --json-schema -j --format",
                 "structured output comes with `sluice serve`"},
    FutureOption{"--cache-prompt --cache-reuse --cache-ram -cram --ctx-checkpoints -kvu --kv-unified --slot-save-path "
                 "--enable-prefix-caching --disable-radix-cache",
                 "a chat keeps its own cache already"},
    FutureOption{"--model-draft -md --spec-type --draft-max --speculative-config --speculative-algorithm --mtp",
                 "speculative decoding is still to come"},
    FutureOption{"--samplers", "the order is penalties, top-k, top-p, min-p, temperature"},
    FutureOption{"--log-file --log-verbosity -lv", "standard error can be redirected, and -v says more"},
    FutureOption{"--model-url -mu", "download the file (curl -LO URL) and give its path"},
};

constexpr auto kRun = std::to_array<std::string_view>({"model",
                                                       "prompt",
                                                       "file",
                                                       "system-prompt",
                                                       "predict",
                                                       "ctx-size",
                                                       "batch-size",
                                                       "ubatch-size",
                                                       "threads",
                                                       "threads-batch",
                                                       "temp",
                                                       "top-k",
                                                       "top-p",
                                                       "min-p",
                                                       "repeat-penalty",
                                                       "repeat-last-n",
                                                       "presence-penalty",
                                                       "frequency-penalty",
                                                       "seed",
                                                       "stop",
                                                       "stop-id",
                                                       "ignore-eos",
                                                       "raw",
                                                       "interactive",
                                                       "chat-template",
                                                       "chat-template-file",
                                                       "chat-template-kwargs",
                                                       "jinja",
                                                       "echo",
                                                       "isa",
                                                       "experts-kernel",
                                                       "shared-experts",
                                                       "all2all-backend",
                                                       "explain",
                                                       "verbose",
                                                       "quiet",
                                                       "progress",
                                                       "color"});
constexpr auto kInspect = std::to_array<std::string_view>({"model", "json", "color"});
constexpr auto kLogits =
    std::to_array<std::string_view>({"model", "tokens", "out", "batch", "routing", "isa", "threads", "experts-kernel",
                                     "shared-experts", "all2all-backend", "quiet", "progress", "color"});
constexpr auto kTokenize = std::to_array<std::string_view>({"model", "jsonl", "special", "decode", "prompt", "color"});
constexpr auto kRender = std::to_array<std::string_view>({"jsonl", "color"});
constexpr auto kDoctor = std::to_array<std::string_view>(
    {"model", "isa", "threads", "experts-kernel", "shared-experts", "all2all-backend", "json", "color"});

constexpr std::array kCommands = {
    CommandRow{"run", "[MODEL] [PROMPT]", "generate text from a model, or chat with it",
               "MODEL is a .gguf file (of a split one the first part) or a folder with safetensors; without it the "
               "built-in story teller runs. With a PROMPT (or -p, -f, or text on standard input) it answers once and "
               "exits; on a terminal without one it chats, or with --raw completes texts. The text goes to standard "
               "output, all else to standard error.",
               kRun, 2},
    CommandRow{
        "inspect", "FILE", "show what a checkpoint is",
        "Architecture, layers, experts and routing program, types by group of tensors, sizes, memory needed, and "
        "what is unknown. FILE is a .gguf or .safetensors file or a folder.",
        kInspect, 1},
    CommandRow{"logits", "[MODEL]", "write the logits of a token sequence",
               "For tools and tests: row i of the output are the logits after token i.", kLogits, 1},
    CommandRow{
        "tokenize", "MODEL", "text to token ids, and back",
        "With --jsonl, lines {\"id\", \"text\"} become {\"id\", \"ids\"}; with --decode, {\"id\", \"ids\"} become "
        "{\"id\", \"text\", \"text_skip_special\"}. Without it the ids of -p or of all of standard input are "
        "printed in one line. Special tokens in the text are always recognised. MODEL may be a folder with only "
        "tokenizer.json and tokenizer_config.json.",
        kTokenize, 1},
    CommandRow{"render", "TEMPLATE", "render a chat template",
               "With --jsonl, lines {\"id\", \"messages\", \"kwargs\", \"now\"} become {\"id\", \"text\"} or {\"id\", "
               "\"error\"}; TEMPLATE is a file.",
               kRender, 1},
    CommandRow{"doctor", "[MODEL]", "show the machine, and what would run on it",
               "Processor, instruction sets, cores and memory; the plan of the MoE layers of MODEL (without it: of the "
               "built-in model) with every refusal. Also says what is not built yet.",
               kDoctor, 1},
    CommandRow{"completion", "bash|zsh|fish", "print a completion script for a shell", "", {}, 1},
    CommandRow{"man", "", "print the manual page (troff)", "", {}, 0},
};

}  // namespace

std::span<const OptionRow> option_table() { return kOptions; }
std::span<const FutureOption> future_options() { return kFuture; }
std::span<const CommandRow> command_table() { return kCommands; }

const CommandRow* find_command(std::string_view name) {
  const auto* const it = std::ranges::find(kCommands, name, &CommandRow::name);
  return it == kCommands.end() ? nullptr : it;
}

const OptionRow* find_option_key(std::string_view key) {
  const auto* const it = std::ranges::find(kOptions, key, &OptionRow::key);
  return it == kOptions.end() ? nullptr : it;
}

}  // namespace sluice::cli
