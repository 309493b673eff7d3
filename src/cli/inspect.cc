// sluice inspect: what a checkpoint is.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "checkpoint/checkpoint.h"
#include "cli/commands.h"
#include "cli/json_lines.h"
#include "model/family.h"
#include "model/kv_cache.h"
#include "model/weights.h"

namespace sluice::cli {
namespace {

std::string human(double bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (bytes >= 1024.0 && unit < 4) {
    bytes /= 1024.0;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

// The part of the model that a tensor belongs to, by its name in either file kind.
std::string group_of(const std::string& name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  if (has("_exps") || has(".experts.") || (has(".ffn_") && std::count(name.begin(), name.end(), '.') == 4))
    return "experts";
  if (has("shexp") || has("shared_expert")) return "shared experts";
  if (has("ffn_gate_inp") || has("exp_probs_b") || has(".router.") || has("mlp.gate.") || has("block_sparse_moe.gate."))
    return "router";
  if (has("norm")) return "norms";
  if (has("attn_") || has("self_attn")) return "attention";
  if (has("ffn_") || has(".mlp.")) return "dense FFN";
  if (has("token_embd") || has("embed_tokens")) return "embedding";
  if (name == "output.weight" || has("lm_head")) return "output";
  return "other";
}

struct Group {
  std::uint64_t bytes = 0;
  std::size_t tensors = 0;
  std::map<std::string, std::size_t> types;  // name -> tensors
};

std::map<std::string, Group> group_tensors(const Checkpoint& checkpoint) {
  std::map<std::string, Group> groups;
  for (const TensorInfo& tensor : checkpoint.tensors()) {
    Group& group = groups[group_of(tensor.name)];
    group.bytes += tensor.data.size();
    ++group.tensors;
    ++group.types[std::string(dtype_name(tensor.dtype))];
  }
  return groups;
}

std::string describe_attention(const AttentionSpec& a) {
  std::string text = a.mla ? fmt::format("MLA, {} heads, latent {} + rope {}, q_lora {}, nope {}, v {}", a.heads,
                                         a.kv_lora_rank, a.rope_dim, a.q_lora_rank, a.nope_dim, a.value_dim)
                           : fmt::format("GQA, {} heads over {} kv heads of {}", a.heads, a.kv_heads, a.head_dim);
  if (a.window > 0) text += fmt::format(", window {}", a.window);
  if (a.sinks) text += ", sinks";
  if (a.qk_norm == QkNorm::kPerHead) text += ", q/k norm per head";
  if (a.qk_norm == QkNorm::kFullWidth) text += ", q/k norm over the width";
  if (a.qkv_bias) text += ", biases";
  return text;
}

std::string describe_moe(const moe::MoeSpec& moe) {
  std::string text = fmt::format("{}; width {}", moe.routing.describe(), moe.intermediate_size);
  if (moe.shared.count > 0) {
    text += fmt::format("; {} shared of width {} together{}", moe.shared.count, moe.shared.intermediate_size,
                        moe.shared.gated ? ", gated" : "");
  }
  return text;
}

std::string describe_rope(const RopeSpec& rope) {
  std::string text = fmt::format("base {:g}, {} dimensions, {}", rope.base, rope.dim,
                                 rope.pairs == RopePairs::kNeighbours ? "neighbours paired" : "halves paired");
  switch (rope.scaling) {
    case RopeScaling::kNone:
      break;
    case RopeScaling::kLinear:
      text += fmt::format(", linear x{:g}", rope.factor);
      break;
    case RopeScaling::kYarn:
      text += fmt::format(", YaRN x{:g} over {:g}", rope.factor, rope.original_context);
      break;
    case RopeScaling::kLlama3:
      text += fmt::format(", llama3 x{:g} over {:g}", rope.factor, rope.original_context);
      break;
  }
  return text;
}

struct Report {
  Json json;
  std::vector<std::pair<std::string, std::string>> lines;
  void line(std::string key, std::string text) { lines.emplace_back(std::move(key), std::move(text)); }
};

// Layers with the same description, in order of their first layer.
std::vector<std::pair<std::string, std::vector<std::size_t>>> alike(
    const ModelSpec& spec, const std::function<std::string(const LayerSpec&)>& text) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> out;
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const std::string key = text(spec.layers[i]);
    auto it = std::ranges::find(out, key, [](const auto& pair) { return pair.first; });
    if (it == out.end()) it = out.insert(out.end(), {key, {}});
    it->second.push_back(i);
  }
  return out;
}

void report_model(Report& report, const Checkpoint& checkpoint, const UnderstoodModel& model) {
  const ModelSpec& spec = model.spec;
  const std::int64_t kv_row = KvCache::bytes_per_position(spec);
  const double kv_context = static_cast<double>(kv_row) * static_cast<double>(spec.context_length);
  report.line("architecture", fmt::format("{} (family {})", spec.architecture, spec.family));
  report.line("name", spec.name);
  report.line("layers", fmt::format("{}{}", spec.layers.size(),
                                    spec.skipped_layers > 0
                                        ? fmt::format(" (+ {} next-token-prediction, skipped)", spec.skipped_layers)
                                        : ""));
  report.line("hidden size", fmt::format("{}", spec.hidden_size));
  report.line("vocabulary", fmt::format("{}", spec.vocab_size));
  report.line("context", fmt::format("{}", spec.context_length));
  Json layers = Json::array();
  for (const auto& [text, where] : alike(spec, [](const LayerSpec& l) { return describe_attention(l.attention); })) {
    report.line("attention", fmt::format("{}: {}", layers_of(where), text));
  }
  report.line("RoPE", describe_rope(spec.rope));
  for (const auto& [text, where] : alike(spec, [](const LayerSpec& l) {
         return l.moe ? describe_moe(*l.moe) : fmt::format("dense, width {}", l.dense_intermediate);
       })) {
    report.line("feed forward", fmt::format("{}: {}", layers_of(where), text));
  }
  report.line("memory needed", fmt::format("weights {} + KV cache {} for {} tokens ({} per token)",
                                           human(static_cast<double>(checkpoint.file_bytes())), human(kv_context),
                                           spec.context_length, human(static_cast<double>(kv_row))));

  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const LayerSpec& layer = spec.layers[i];
    Json entry = {{"attention", describe_attention(layer.attention)}};
    if (layer.moe) {
      const moe::RoutingProgram& r = layer.moe->routing;
      entry["experts"] = r.num_experts;
      entry["experts_used"] = r.top_k;
      entry["expert_width"] = layer.moe->intermediate_size;
      entry["shared_experts"] = layer.moe->shared.count;
      entry["routing"] = {{"program", std::string(1, r.letter())}, {"description", r.describe()}};
    } else {
      entry["dense_width"] = layer.dense_intermediate;
    }
    layers.push_back(std::move(entry));
  }
  report.json["architecture"] = spec.architecture;
  report.json["family"] = spec.family;
  report.json["name"] = spec.name;
  report.json["num_layers"] = spec.layers.size();
  report.json["skipped_layers"] = spec.skipped_layers;
  report.json["hidden_size"] = spec.hidden_size;
  report.json["vocab_size"] = spec.vocab_size;
  report.json["context_length"] = spec.context_length;
  report.json["rope"] = describe_rope(spec.rope);
  report.json["layers"] = std::move(layers);
  report.json["memory"] = {{"weights_bytes", checkpoint.file_bytes()},
                           {"kv_bytes_per_token", kv_row},
                           {"kv_bytes_full_context", kv_context}};
}

}  // namespace

Status check_inspect(const Arguments& arguments) {
  SLUICE_TRY(check_model(arguments));
  if (!model_path(arguments).empty()) return Status::success();
  return usage_error("a FILE is needed: a .gguf or .safetensors file or a folder");
}

Result<int> inspect_command(Env& env, const Arguments& arguments) {
  const std::string path = model_path(arguments);
  SLUICE_ASSIGN(const std::shared_ptr<const Checkpoint> checkpoint, open_checkpoint(env, path));

  Report report;
  report.json["file"] = path;
  report.json["kind"] = checkpoint->kind() == CheckpointKind::kGguf ? "gguf" : "safetensors";
  report.json["file_bytes"] = checkpoint->file_bytes();
  report.line("file", fmt::format("{} ({}, {}, {} tensors)", path, report.json["kind"].get<std::string>(),
                                  human(static_cast<double>(checkpoint->file_bytes())), checkpoint->tensors().size()));

  // A checkpoint that opens is shown even if it cannot be run: what is unknown is part of the answer.
  Json unknown = Json::array();
  const Result<UnderstoodModel> model = understand(*checkpoint);
  if (model.ok()) {
    report_model(report, *checkpoint, *model);
    const auto weights = bind_weights(checkpoint, *model->family, model->spec, {});
    if (!weights.ok()) {
      unknown.push_back(weights.error().message());
    } else if (!(*weights)->unused.empty()) {
      const auto& unused = (*weights)->unused;
      unknown.push_back(fmt::format("{} tensors that the model does not use: {}{}", unused.size(),
                                    fmt::join(std::span(unused).first(std::min<std::size_t>(unused.size(), 5)), ", "),
                                    unused.size() > 5 ? ", ..." : ""));
    }
  } else {
    unknown.push_back(model.error().message());
  }

  Json groups = Json::object();
  for (const auto& [name, group] : group_tensors(*checkpoint)) {
    std::vector<std::string> types;
    for (const auto& [type, count] : group.types) types.push_back(fmt::format("{} x{}", type, count));
    report.line("tensors: " + name,
                fmt::format("{}, {}", human(static_cast<double>(group.bytes)), fmt::join(types, ", ")));
    groups[name] = {{"bytes", group.bytes}, {"tensors", group.tensors}, {"types", group.types}};
  }
  report.json["tensor_groups"] = std::move(groups);
  for (const std::string& warning : checkpoint->warnings()) report.line("warning", warning);
  report.json["warnings"] = checkpoint->warnings();
  for (const Json& text : unknown) report.line("unknown", text.get<std::string>());
  report.json["unknown"] = std::move(unknown);

  if (arguments.flag("json")) {
    (void)write_out(report.json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  } else {
    std::string out;
    for (const auto& [key, text] : report.lines) out += fmt::format("{:<24}{}\n", key, one_line(text));
    (void)write_out(out);
  }
  return kExitOk;
}

}  // namespace sluice::cli
