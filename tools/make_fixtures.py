#!/usr/bin/env python3
"""Writes the reference checkpoints of tests/data/fixtures with Hugging Face transformers.

  make_fixtures.py [--out DIR] [--seed N] [NAME ...]     all fixtures, or those named
  make_fixtures.py --list

Needs the packages of tools/requirements-dev.txt (CPU only, half a minute). Each fixture is a folder with a config.json
as the hub has it, safetensors under the hub's tensor names, tokens.json (token sequences), logits.f32 (little-endian
float32 [sum of tokens, vocabulary], one row per token, sequences one after the other) and, for MoE models,
routing.jsonl: per layer and token of the last sequence the chosen experts by falling weight and the weights that
multiply their outputs (normalised and scaled; shared experts left out). manifest.json lists them all. No folder has a
tokenizer but the one GGUF (fixtures/gguf_spm.py), whose SentencePiece vocabulary has test cases beside it.

A fixture is refused by this script unless
  - the written folder, loaded again by the library from the file, gives the same logits bit for bit;
  - an independent float64 routing chooses the same experts with the same weights;
  - no routing decision is closer than GAP, so that float32 rounding cannot flip an expert;
  - its matrix products in float64 give logits within a quarter of the tolerance;
  - every mistake of the recipe's `wrong` list, and every norm, bias or sink neutralised, moves a logit by more than
    NOTICED.

Where the library (5.24.0) and the original modelling code part, and what the fixtures do about it:
  - DeepSeek-V2: the library always multiplies by routed_scaling_factor and never renormalises; the original
    renormalises instead of scaling where norm_topk_prob is true. No released config sets it; neither does a fixture.
  - Latent norms of MLA (q_a_layernorm, kv_a_layernorm) use eps 1e-6 whatever rms_norm_eps says, in the original too.
    Only GLM-4.7-Flash (1e-5) differs; the effect is far below the tolerance.
  - FP8: the library on a CPU takes a block to be weight / scale grid; the format's blocks are 128 x 128 from the upper
    left with a smaller last one. The fixtures follow the format.
  - Transformers 5 saves per-expert tensors as on the hub, unless the model was loaded from merged ones; its config.json
    spells num_experts of Qwen3-MoE num_local_experts and keeps rope in rope_parameters.
  - The library reads Kimi-K2 as deepseek_v3; its own model_type kimi_k2 stays in config.json as on the hub.
"""

import argparse
import copy
import importlib.metadata
import json
import pathlib
import shutil
import tempfile

import numpy as np
import safetensors.torch
import torch
import transformers
from transformers import AutoModelForCausalLM
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

from fixtures import checks, gguf_spm, reference
from fixtures.recipes import RECIPES


def write_config(folder, recipe):
    if recipe.saved_config:
        config = reference.library_config(recipe)
        config.dtype = recipe.dtype
        config.save_pretrained(folder)
        return
    config = copy.deepcopy(recipe.config)
    if "dtype" not in config:
        config["torch_dtype"] = recipe.dtype
    (folder / "config.json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")


def write_tensors(folder, recipe, stored):
    names = sorted(stored)
    if recipe.shards == 1:
        safetensors.torch.save_file({n: stored[n] for n in names}, folder / "model.safetensors", {"format": "pt"})
        return
    per = -(-len(names) // recipe.shards)
    weight_map, size = {}, 0
    for s in range(recipe.shards):
        part = {n: stored[n] for n in names[s * per:(s + 1) * per]}
        file = f"model-{s + 1:05d}-of-{recipe.shards:05d}.safetensors"
        safetensors.torch.save_file(part, folder / file, {"format": "pt"})
        weight_map |= dict.fromkeys(part, file)
        size += sum(t.numel() * t.element_size() for t in part.values())
    index = {"metadata": {"total_size": size}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1) + "\n")


def dequantised(tensors):
    """What quantised tensors of a file stand for, by other code than the one that wrote them.

    The library's own FP8 reader takes the block's sides to be weight / scale grid, which is wrong where a side is not a
    multiple of 128; its MXFP4 reader is used."""
    plain = {}
    for name, t in tensors.items():
        if name.endswith(("_scale_inv", "_scales")):
            continue
        if name + "_scale_inv" in tensors:
            s = tensors[name + "_scale_inv"].float().numpy()
            grid = np.kron(s, np.ones((128, 128), np.float32))[:t.shape[0], :t.shape[1]]
            plain[name] = t.float() * torch.from_numpy(grid)
        elif name.endswith("_blocks"):
            scales = tensors[name.replace("_blocks", "_scales")]
            values = convert_moe_packed_tensors(t, scales, dtype=torch.float32)
            plain[name.removesuffix("_blocks")] = values.contiguous()
        else:
            plain[name] = t
    return plain


def load_again(folder, recipe):
    """The library's own reading of the folder, in float32; raises if a tensor is missing or left over."""
    with tempfile.TemporaryDirectory() as plain:
        if recipe.quant or recipe.load_model_type:
            config = json.loads((folder / "config.json").read_text())
            config.pop("quantization_config", None)
            config.pop("auto_map", None)
            config["model_type"] = recipe.load_model_type or config["model_type"]
            pathlib.Path(plain, "config.json").write_text(json.dumps(config))
            tensors = safetensors.torch.load_file(folder / "model.safetensors")
            safetensors.torch.save_file(dequantised(tensors), f"{plain}/model.safetensors", {"format": "pt"})
            folder = plain
        model, info = AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32, attn_implementation="eager", experts_implementation="eager",
            output_loading_info=True)
    past = f"model.layers.{recipe.config['num_hidden_layers']}."
    left = [n for n in info["unexpected_keys"] if not n.startswith(past) and "inv_freq" not in n]
    if info["missing_keys"] or info["mismatched_keys"] or left:
        raise AssertionError(f"{recipe.name}: the library misses {info['missing_keys']}, does not expect {left}")
    # The loader's tensors lie where the file put them, and the alignment changes the last bit of a product: copy them.
    copied = reference.build(model.config)
    copied.load_state_dict(model.float().state_dict(), strict=True)
    return copied


def make(recipe, out, seed):
    d = checks.draw(recipe, seed)
    folder = out / recipe.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_config(folder, recipe)
    write_tensors(folder, recipe, d.stored)
    checks.write_reference(folder, d)
    again, _ = reference.run(load_again(folder, recipe), d.sequences)
    difference = (again - d.logits).abs().max().item()
    if difference > 0:
        raise AssertionError(f"{recipe.name}: the folder loaded again gives logits {difference:.2g} away")
    return checks.entry(d, folder, recipe.name)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("names", nargs="*")
    ap.add_argument("--out", type=pathlib.Path,
                    default=pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "fixtures")
    ap.add_argument("--seed", type=int, default=0, help="other weights and tokens, for a wider test with --out")
    ap.add_argument("--list", action="store_true")
    args = ap.parse_args()
    makers = {r.name: (r, lambda r=r: make(r, args.out, args.seed)) for r in RECIPES}
    makers[gguf_spm.RECIPE.name] = (gguf_spm.RECIPE, lambda: gguf_spm.make(args.out, args.seed))
    if args.list:
        for r, _ in makers.values():
            print(f"{r.name:24} {r.dtype:9} {'; '.join(r.traps)}")
        return
    unknown = set(args.names) - set(makers)
    if unknown:
        ap.error(f"no fixture named {', '.join(sorted(unknown))}; see --list")
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)  # one order of summation, whatever the machine
    manifest_path = args.out / "manifest.json"
    done = {}
    if args.names and manifest_path.exists():
        done = {f["name"]: f for f in json.loads(manifest_path.read_text())["fixtures"]}
    for name, (_, maker) in makers.items():
        if args.names and name not in args.names:
            continue
        entry = done[name] = maker()
        size = sum(f.stat().st_size for f in (args.out / name).iterdir())
        print(f"{name:24} {size / 1e3:5.0f} kB  gap {entry['smallest_routing_gap']}  mistake "
              f"{entry['smallest_effect_of_a_mistake']}  float64 {entry['float64_products_differ_by']}")
    packages = ("gguf", "numpy", "safetensors", "sentencepiece", "torch", "transformers")
    manifest = {
        "generator": "tools/make_fixtures.py",
        "versions": {p: importlib.metadata.version(p).split("+")[0] for p in packages},
        "reference": "transformers, float32, eager attention, expert loops, one thread; weights as the file has them",
        "fixtures": [done[name] for name in makers if name in done],
    }
    manifest_path.write_text(json.dumps(manifest, indent=1) + "\n")


if __name__ == "__main__":
    main()
