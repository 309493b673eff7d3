#!/usr/bin/env python3
"""Makes a mixture of experts of a dense `llama` GGUF, such that its output is the dense model's.

  smol_moe.py copies DENSE.gguf OUT.gguf [--experts 4] [--used 2] [--seed 0]
  smol_moe.py slices DENSE.gguf OUT.gguf [--experts 4]

copies: every expert is the dense FFN and the router is random. The `llama` architecture with expert_count > 0 takes the
softmax of the chosen logits, so the weights of a token sum to 1 and whatever the router says the sum is the dense FFN.

slices: expert i holds the rows i*F/E .. (i+1)*F/E of gate and up and the same columns of down, and all E experts are
chosen. A dense FFN is the sum of these with weight 1, but the weights of the architecture sum to 1: an all-zero router
gives each expert exactly 1/E, so the down slices are stored times E. E must be a power of two: then both factors are
exact, the block scales of the quantised types are multiplied instead of the values, nothing is requantised, and only
the order of the sum differs from the dense model.

How equal: over the dequantised weights in float32 the logits of SmolLM2-135M (30 layers, Q4_1) and of either MoE agree
to 6e-5. With 8-bit activations the last bit of a sum flips a rounding, and the layers above turn that into some tenths
of a logit: compare greedy text in exact mode, or expect it to part where the two best logits lie within about 0.1.

Slices are cut between blocks: F/E must be a multiple of the block size of the down matrix (32 for Q4_1). A kernel that
quantises activations in larger groups than that sees other groups in the slices than in the dense model.

Needs numpy only. Reads GGUF v2 and v3, little-endian, one file.
"""

import argparse
import math
import struct
import sys

import numpy as np

ALIGNMENT = 32
U8, I8, U16, I16, U32, I32, F32, BOOL, STR, ARR, U64, I64, F64 = range(13)
WIDTH = {U8: 1, I8: 1, U16: 2, I16: 2, U32: 4, I32: 4, F32: 4, BOOL: 1, U64: 8, I64: 8, F64: 8}
# type id -> (values of a block, bytes of a block, number of leading fp16 fields that scale with the values)
TYPES = {0: (1, 4, 0), 1: (1, 2, 0), 2: (32, 18, 1), 3: (32, 20, 2), 6: (32, 22, 1), 7: (32, 24, 2), 8: (32, 34, 1)}
NAMES = {0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0"}


class Refused(Exception):
    """A sentence for the user."""


class Gguf:
    """pairs: key -> (value type, raw bytes of the value); tensors: name -> (dims, innermost first; type; raw bytes)."""

    def __init__(self, path):
        self.path = path
        self.raw = np.memmap(path, dtype=np.uint8, mode="r")  # OSError if there is no such file
        self.at = 0
        magic, version = self.take("<4s"), self.take("<I")
        if magic != b"GGUF" or version not in (2, 3):
            raise Refused(f"{path}: not a GGUF file of version 2 or 3")
        n_tensors, n_pairs = self.take("<Q"), self.take("<Q")
        self.pairs = {}
        for _ in range(n_pairs):
            key, kind = self.string(), self.take("<I")
            start = self.at
            self.skip(kind)
            self.pairs[key] = (kind, self.raw[start:self.at].tobytes())
        infos = []
        for _ in range(n_tensors):
            name, n_dims = self.string(), self.take("<I")
            dims = [self.take("<Q") for _ in range(n_dims)]
            infos.append((name, dims, self.take("<I"), self.take("<Q")))
        alignment = self.number("general.alignment", ALIGNMENT)
        base = -(-self.at // alignment) * alignment
        self.tensors = {}
        for name, dims, kind, offset in infos:
            if kind not in TYPES:
                raise Refused(f"{path}: tensor {name} has type {kind}; known here: {', '.join(NAMES.values())}")
            size = row_bytes(kind, dims[0]) * math.prod(dims[1:])
            if base + offset + size > len(self.raw):
                raise Refused(f"{path}: tensor {name} ends past the end of the file")
            self.tensors[name] = (dims, kind, self.raw[base + offset:base + offset + size])

    def take(self, fmt):
        size = struct.calcsize(fmt)
        if self.at + size > len(self.raw):
            raise Refused(f"{self.path}: ends in the middle of its header")
        value, = struct.unpack_from(fmt, self.raw, self.at)
        self.at += size
        return value

    def string(self):
        n = self.take("<Q")
        self.at += n
        return self.raw[self.at - n:self.at].tobytes().decode()

    def skip(self, kind):
        if kind == STR:
            self.string()
        elif kind == ARR:
            inner, n = self.take("<I"), self.take("<Q")
            if inner in WIDTH:
                self.at += WIDTH[inner] * n
            else:
                for _ in range(n):
                    self.skip(inner)
        else:
            self.at += WIDTH[kind]

    def number(self, key, default=None):
        kind, raw = self.pairs.get(key, (None, None))
        if kind is None:
            return default
        return int.from_bytes(raw, "little")

    def text(self, key):
        return self.pairs[key][1][8:].decode() if key in self.pairs else ""


def row_bytes(kind, n):
    values, size, _ = TYPES[kind]
    if n % values:
        raise Refused(f"a row of {n} values is no whole number of {NAMES[kind]} blocks")
    return n // values * size


def times(blocks, kind, factor):
    """Raw blocks [n, bytes of a block] with every value multiplied by factor, a power of two, exactly."""
    dtype, fields = (np.float32, 1) if kind == 0 else (np.float16, TYPES[kind][2] or 1)
    out = blocks.copy()
    scales = out[:, :fields * dtype().itemsize].copy().view(dtype)
    scaled = (scales * dtype(factor)).astype(dtype)
    if not np.array_equal(scaled.astype(np.float64), scales.astype(np.float64) * factor):
        raise Refused(f"the scale of a {NAMES[kind]} block times {factor} is no number of its type")
    out[:, :fields * dtype().itemsize] = scaled.view(np.uint8)
    return out


def column_slices(dims, kind, raw, count, factor):
    """The matrix [rows, columns] cut into `count` bands of columns, each times factor, as raw bytes."""
    columns, rows = dims
    _, size, _ = TYPES[kind]
    if columns % count:
        raise Refused(f"{columns} columns cannot be cut into {count}")
    band = row_bytes(kind, columns // count)
    grid = np.asarray(raw).reshape(rows, count, band)
    return [times(np.ascontiguousarray(grid[:, i]).reshape(-1, size), kind, factor).reshape(-1) for i in range(count)]


def string(text):
    return struct.pack("<Q", len(text.encode())) + text.encode()


def write(path, pairs, tensors):
    infos, offset = [], 0
    for name, (dims, kind, raw) in tensors.items():
        infos.append(string(name) + struct.pack("<I", len(dims)) + b"".join(struct.pack("<Q", d) for d in dims) +
                     struct.pack("<IQ", kind, offset))
        offset += -(-len(raw) // ALIGNMENT) * ALIGNMENT
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs))
    head += b"".join(string(k) + struct.pack("<I", kind) + raw for k, (kind, raw) in pairs.items()) + b"".join(infos)
    with open(path, "wb") as f:
        f.write(head + b"\0" * (-len(head) % ALIGNMENT))
        for _, _, raw in tensors.values():
            f.write(raw)
            f.write(b"\0" * (-len(raw) % ALIGNMENT))


def experts_of(dense, layer, mode, count):
    """name -> tensor of one layer's experts."""
    names = [f"blk.{layer}.ffn_{m}.weight" for m in ("gate", "up", "down")]
    absent = [n for n in names if n not in dense.tensors]
    if absent:
        raise Refused(f"{dense.path}: no tensor {absent[0]}")
    gate, up, down = (dense.tensors[n] for n in names)
    width = gate[0][1]
    out = {}
    for name, (dims, kind, raw) in (("gate", gate), ("up", up)):
        # Bands of rows lie one after the other already: the expert axis is only a new reading of the same bytes.
        stacked = (np.tile(np.asarray(raw), count), width) if mode == "copies" else (raw, width // count)
        out[f"blk.{layer}.ffn_{name}_exps.weight"] = ([dims[0], stacked[1], count], kind, stacked[0].tobytes())
    dims, kind, raw = down
    if mode == "copies":
        out[f"blk.{layer}.ffn_down_exps.weight"] = ([*dims, count], kind, np.tile(np.asarray(raw), count).tobytes())
    else:
        parts = column_slices(dims, kind, raw, count, count)
        out[f"blk.{layer}.ffn_down_exps.weight"] = ([width // count, dims[1], count], kind,
                                                    b"".join(p.tobytes() for p in parts))
    return out


def convert(dense, mode, count, used, seed):
    if dense.text("general.architecture") != "llama" or dense.number("llama.expert_count", 0):
        raise Refused(f"{dense.path}: wanted a dense model of architecture llama")
    width, hidden = dense.number("llama.feed_forward_length"), dense.number("llama.embedding_length")
    if mode == "slices" and (count & (count - 1) or width % count):
        raise Refused(f"--experts must be a power of two that divides the FFN width {width}, not {count}")
    rng = np.random.default_rng(seed)
    tensors = {}
    for name, tensor in dense.tensors.items():
        kind = name.split(".")
        if not (len(kind) == 4 and kind[2] in ("ffn_gate", "ffn_up", "ffn_down")):
            tensors[name] = (tensor[0], tensor[1], tensor[2].tobytes())
        elif kind[2] == "ffn_gate":
            layer = int(kind[1])
            router = rng.standard_normal((count, hidden)).astype(np.float32) / np.float32(math.sqrt(hidden)) * 2
            router = np.zeros_like(router) if mode == "slices" else router
            tensors[f"blk.{layer}.ffn_gate_inp.weight"] = ([hidden, count], 0, router.tobytes())
            tensors |= experts_of(dense, layer, mode, count)
    pairs = dict(dense.pairs)
    pairs.pop("general.alignment", None)
    pairs["general.name"] = (STR, string(f"{dense.text('general.name')}, {count} experts as {mode} of its FFN"))
    pairs["llama.expert_count"] = (U32, struct.pack("<I", count))
    pairs["llama.expert_used_count"] = (U32, struct.pack("<I", used))
    if mode == "slices":
        pairs["llama.feed_forward_length"] = (U32, struct.pack("<I", width // count))
    return pairs, tensors


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("mode", choices=["copies", "slices"])
    ap.add_argument("dense")
    ap.add_argument("out")
    ap.add_argument("--experts", type=int, default=4)
    ap.add_argument("--used", type=int, default=2, help="experts per token (copies; slices use all)")
    ap.add_argument("--seed", type=int, default=0, help="of the random router (copies)")
    args = ap.parse_args()
    used = args.experts if args.mode == "slices" else args.used
    if not 1 <= used <= args.experts:
        ap.error(f"--used must lie between 1 and the number of experts, {args.experts}")
    try:
        write(args.out, *convert(Gguf(args.dense), args.mode, args.experts, used, args.seed))
    except (Refused, OSError, ValueError) as e:  # ValueError: an empty file cannot be mapped
        sys.exit(f"smol_moe.py: {e}")


if __name__ == "__main__":
    main()
