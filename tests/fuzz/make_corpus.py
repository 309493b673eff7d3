#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets gguf, safetensors and tokenizer_json: small files of every kind, and one for every
fault that the corrupted model files (tests/data/bad) have, under the same names. The same faults in a few hundred bytes,
because a fuzzer that mutates 80 kB of weights finds nothing.

  make_corpus.py [FOLDER]      (default: corpus/ beside this script)
"""

import json
import pathlib
import struct
import sys

U8, I8, U16, I16, U32, I32, F32, BOOL, STR, ARR, U64, I64, F64 = range(13)
PACK = {U8: "<B", I8: "<b", U16: "<H", I16: "<h", U32: "<I", I32: "<i", F32: "<f", BOOL: "<B", U64: "<Q", I64: "<q",
        F64: "<d"}
ALIGNMENT = 32


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(data)) + data


def pair(key, kind, value):
    body = text(value) if kind == STR else value if isinstance(value, bytes) else struct.pack(PACK[kind], value)
    return text(key) + struct.pack("<I", kind) + body


def array(key, kind, values):
    body = b"".join(text(v) if kind == STR else struct.pack(PACK[kind], v) for v in values)
    return text(key) + struct.pack("<IIQ", ARR, kind, len(values)) + body


def tensor(name, dims, kind, offset):
    return text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, offset)


PAIRS = [pair("general.architecture", STR, "llama"), pair("llama.expert_count", U32, 2), pair("llama.eps", F32, 1e-5),
         array("tokenizer.ggml.tokens", STR, ["a", "b", ""]), array("tokenizer.ggml.scores", F32, [0.0, -1.0]),
         pair("tokenizer.ggml.add_bos_token", BOOL, 0)]
TENSORS = [tensor("token_embd.weight", [4, 2], 0, 0), tensor("output.weight", [32, 1, 1], 8, 32),
           tensor("norm", [2], 0, 96)]
DATA = bytes(range(104))


def gguf(pairs=None, tensors=None, data=DATA, magic=b"GGUF", version=3, tensor_count=None, pair_count=None, order="<"):
    pairs = PAIRS if pairs is None else pairs
    tensors = TENSORS if tensors is None else tensors
    head = magic + struct.pack(order + "I", version)
    head += struct.pack(order + "Q", len(tensors) if tensor_count is None else tensor_count)
    head += struct.pack(order + "Q", len(pairs) if pair_count is None else pair_count)
    head += b"".join(pairs) + b"".join(tensors)
    return head + bytes(-len(head) % ALIGNMENT) + data


def with_pair(*extra):
    return gguf(pairs=PAIRS + list(extra))


def with_output(*fields):
    return gguf(tensors=[TENSORS[0], tensor("output.weight", *fields), TENSORS[2]])


def split(number, count, tensors):
    return [pair("split.no", U16, number), pair("split.count", U16, count), pair("split.tensors.count", I32, tensors)]


def gguf_seeds():
    good = gguf()
    head = len(good) - len(DATA)
    every = [pair(f"v{kind}", kind, 1) for kind in PACK] + [array(f"a{kind}", kind, [0, 1]) for kind in PACK]
    many = pair("test.many", ARR, struct.pack("<IQ", U32, 1 << 61))
    return {
        "control-good": good,
        "control-v2": gguf(version=2),
        "control-values": gguf(pairs=every + [pair("s", STR, "x"), array("as", STR, ["", "x"])], tensors=[]),
        "control-aligned-8": gguf(pairs=[pair("general.alignment", U32, 8)]),
        "control-quantised": gguf(tensors=[tensor("q", [256, 2], 12, 0), tensor("m", [32], 39, 288)], data=bytes(305)),
        "control-split-1": gguf(pairs=PAIRS + split(0, 2, 3)),
        "control-split-2": gguf(pairs=split(1, 2, 3)),
        "empty": b"",
        "magic-wrong": gguf(magic=b"GGUX"),
        "magic-ggml": gguf(magic=b"lmgg"),
        "version-1": gguf(version=1),
        "version-99": gguf(version=99),
        "version-big-endian": gguf(order=">"),
        "cut-in-header": good[:15],
        "cut-in-key": good[:30],
        "cut-in-tokens": good[: good.index(b"tokenizer.ggml.tokens") + 40],
        "cut-in-tensor-info": good[: good.index(b"output.weight") + 5],
        "cut-in-data": good[: head + 60],
        "tensor-count-huge": gguf(tensor_count=1 << 62),
        "kv-count-huge": gguf(pair_count=1 << 60),
        "kv-count-short": gguf(pair_count=len(PAIRS) - 3),
        "key-length-2-63": good[:24] + struct.pack("<Q", 1 << 63) + good[32:],
        "key-length-max": good[:24] + struct.pack("<Q", (1 << 64) - 8) + good[32:],
        "string-length-huge": with_pair(text("test.long") + struct.pack("<IQ", STR, 1 << 40)),
        "value-type-unknown": with_pair(text("test.odd") + struct.pack("<II", 77, 1)),
        "array-type-unknown": with_pair(text("test.odd") + struct.pack("<IIQ", ARR, 77, 1)),
        "array-count-huge": with_pair(many),
        "array-count-strings-huge": with_pair(pair("test.many", ARR, struct.pack("<IQ", STR, 1 << 36))),
        "array-nested-deep": with_pair(
            pair("test.nested", ARR, struct.pack("<IQ", ARR, 1) * 50 + struct.pack("<IQI", U32, 1, 7))),
        "key-duplicate": with_pair(pair("llama.expert_count", U32, 4)),
        "alignment-zero": with_pair(pair("general.alignment", U32, 0)),
        "alignment-33": with_pair(pair("general.alignment", U32, 33)),
        "offset-past-end": with_output([32, 1, 1], 8, 1 << 30),
        "offset-overflow": with_output([32, 1, 1], 8, (1 << 64) - 32),
        "offset-misaligned": with_output([32, 1, 1], 8, 34),
        "tensor-overlap": with_output([32, 1, 1], 8, 0),
        "dim-zero": with_output([32, 0], 8, 32),
        "dim-overflow": with_output([1 << 32] * 3, 8, 32),
        "dims-5": with_output([32, 1, 1, 1, 1], 8, 32),
        "dims-huge-count": good.replace(b"output.weight\x03\0\0\0", b"output.weight\xff\xff\xff\xff"),
        "type-unknown": with_output([32], 1234, 32),
        "type-removed": with_output([32], 4, 32),
        "row-not-block-multiple": with_output([32], 12, 32),
        "tensor-name-duplicate": gguf(tensors=TENSORS[:2] + [tensor("token_embd.weight", [2], 0, 96)]),
        "tensor-name-long": gguf(tensors=TENSORS + [tensor("n" * 700, [2], 0, 96)]),
        "arch-wrong-type": gguf(pairs=[pair("general.architecture", U32, 1)] + PAIRS[1:]),
        "rms-eps-nan": gguf(pairs=PAIRS[:2] + [pair("llama.eps", F32, float("nan"))]),
    }


def safetensors(header, data=bytes(range(128)), length=None):
    body = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(body) if length is None else length) + body + data


def entry(dtype="F32", shape=(4, 4), offsets=(0, 64)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def safetensors_seeds():
    b = entry("F16", [32], (64, 128))
    one = {"a": entry()}
    raw = json.dumps(entry()).encode()
    index = {"metadata": {"total_size": 8}, "weight_map": {"a": "1.safetensors", "b": "2.safetensors"}}
    config = {"architectures": ["MixtralForCausalLM"], "n": [1, 2.5, -3, True, None], "rope_scaling": {"type": "yarn"}}
    return {
        "control-good": safetensors({"__metadata__": {"format": "pt"}, "a": entry(), "b": b}),
        "control-scalar": safetensors({"a": entry("F64", [], (0, 8)), "none": entry("U8", [0], (8, 8)),
                                       "x": dict(entry("BOOL", [1], (8, 9)), note=[1, {}])}),
        "control-index.json": json.dumps(index).encode(),
        "control-config.json": json.dumps(config).encode(),
        "index-leaves-folder.json": json.dumps({"weight_map": {"a": "../1.safetensors"}}).encode(),
        "index-file-missing.json": json.dumps({"weight_map": {"a": "3.safetensors"}}).encode(),
        "index-deep.json": b'{"weight_map":{"a":' + b"[" * 300,
        "empty": b"",
        "header-cut": safetensors(json.dumps(one).encode())[:30],
        "header-length-huge": safetensors(one, length=1 << 62),
        "header-length-max": safetensors(one, length=(1 << 64) - 4),
        "header-not-json": safetensors(b'{"a": {"dtype": F32}}'),
        "header-array": safetensors([1, 2, 3]),
        "header-utf8": safetensors(b'{"\xff\xfe":' + raw + b"}"),
        "json-deep": safetensors(b'{"a":' + b"[" * 300 + b"]" * 300 + b"}"),
        "json-deep-skipped": safetensors(b'{"__metadata__":{"a":' + b"[" * 300 + b"]" * 300 + b"}}"),
        "name-duplicate": safetensors(b'{"a":' + raw + b',"a":' + json.dumps(entry(offsets=(64, 128))).encode() + b"}"),
        "past-end": safetensors({"a": entry(shape=[4, 16], offsets=(0, 256))}),
        "offsets-reversed": safetensors({"a": entry(offsets=(64, 0))}),
        "size-mismatch": safetensors({"a": entry(shape=[4, 5]), "b": b}),
        "shape-overflow": safetensors({"a": entry(shape=[1 << 32, 1 << 32, 4])}),
        "shape-negative": safetensors({"a": entry(shape=[-4, -4])}),
        "dtype-unknown": safetensors({"a": entry("F31"), "b": b}),
        "dtype-unsupported": safetensors({"a": entry("F8_E5M2", [64])}),
        "overlap": safetensors({"a": entry(), "b": entry(shape=[24], offsets=(32, 128))}),
        "no-offsets": safetensors({"a": {"dtype": "F32", "shape": [4, 4]}}),
        "offset-huge": safetensors({"a": entry(offsets=((1 << 64) - 64, 1 << 64))}),
    }


def vocabulary(*tokens):
    return {token: number for number, token in enumerate(tokens)}


BPE = {"type": "BPE", "vocab": vocabulary("a", "b", "c", "\u0120", "ab", "abc", "<s>", "</s>"),
       "merges": [["a", "b"], ["ab", "c"]]}
SPM = {"type": "BPE", "unk_token": "<unk>", "byte_fallback": True, "fuse_unk": True,
       "vocab": vocabulary("<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "\u2581", "\u2581O"),
       "merges": ["\u2581 O"]}


def added(number, content, **more):
    return {"id": number, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": False, "special": True, **more}


def tokenizer(model=None, config=b"", text=b"", **parts):
    body = {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": None, "post_processor": None,
            "decoder": {"type": "ByteLevel"}, "model": BPE if model is None else model, **parts}
    tail = b"\0" + config + b"\0" + text if config or text else b""
    return json.dumps(body).encode() + tail


def split_rule(pattern, behavior="Isolated", **more):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": False, **more}


def tokenizer_seeds():
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    template = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                                                         {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": [6], "tokens": ["<s>"]}}}
    metaspace = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": False}
    decoders = {"type": "Sequence", "decoders": [
        {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"},
        {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}
    good = tokenizer(pre_tokenizer=byte_level, post_processor=template,
                     added_tokens=[added(6, "<s>"), added(7, "</s>")],
                     config=b'{"add_bos_token": true, "bos_token": {"content": "<s>"}}', text=b"abc <s>ab")
    return {
        "control-byte-level": good,
        "control-byte-fallback": tokenizer(SPM, decoder=decoders, normalizer={"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "\u2581"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]}),
        "control-metaspace": tokenizer(SPM, decoder=decoders, pre_tokenizer=metaspace),
        "control-split": tokenizer(pre_tokenizer={"type": "Sequence", "pretokenizers": [
            split_rule(r"(?i:'s|'t)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
                       r"|\s*[\r\n]+|\s+(?!\S)|\s+"),
            dict(byte_level, use_regex=False)]}, normalizer={"type": "NFC"}),
        "control-added-normalized": tokenizer(added_tokens=[added(6, "<s>", normalized=True, lstrip=True, rstrip=True)],
                                              normalizer={"type": "NFKC"}, text=b"a <s> b"),
        "empty": b"",
        "not-json": b'{"model": BPE}',
        "cut": good[:200],
        "json-deep": b'{"model":' + b"[" * 300,
        "model-missing": b'{"version":"1.0"}',
        "model-unknown": tokenizer(dict(BPE, type="Unigram")),
        "vocabulary-array": tokenizer(dict(BPE, vocab=["a", "b"])),
        "id-negative": tokenizer(dict(BPE, vocab={"a": -1})),
        "id-huge": tokenizer(dict(BPE, vocab={"a": 1 << 40})),
        "id-large": tokenizer(dict(BPE, vocab={"a": (1 << 31) - 1})),
        "id-twice": tokenizer(dict(BPE, vocab={"a": 0, "b": 0})),
        "merge-of-nothing": tokenizer(dict(BPE, merges=[["x", "y"]])),
        "merge-of-three": tokenizer(dict(BPE, merges=["a b c"])),
        "merge-empty": tokenizer(dict(BPE, merges=[["", "a"]])),
        "added-empty": tokenizer(added_tokens=[added(6, "")]),
        "added-id-wrong": tokenizer(added_tokens=[added(1 << 33, "<s>")]),
        "regex-open": tokenizer(pre_tokenizer=split_rule("(a")),
        "regex-slow": tokenizer(pre_tokenizer=split_rule("(a+)+$"), text=b"a" * 40 + b"b"),
        "regex-empty": tokenizer(pre_tokenizer=split_rule("")),
        "regex-property-unknown": tokenizer(pre_tokenizer=split_rule(r"\p{Klingon}")),
        "normalizer-grows": tokenizer(normalizer={"type": "Sequence", "normalizers": [
            {"type": "Replace", "pattern": {"String": "a"}, "content": "aaaaaaaa"}] * 12}, text=b"a"),
        "pre-tokenizer-unknown": tokenizer(pre_tokenizer={"type": "Sorcery"}),
        "decoder-unknown": tokenizer(decoder={"type": "Sorcery"}),
    }


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "corpus"
    for target, seeds in {"gguf": gguf_seeds(), "safetensors": safetensors_seeds(),
                          "tokenizer_json": tokenizer_seeds()}.items():
        folder = root / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in seeds.items():
            (folder / name).write_bytes(data)
        print(f"{folder}: {len(seeds)} seeds, {sum(map(len, seeds.values()))} bytes")


if __name__ == "__main__":
    main()
