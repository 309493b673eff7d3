#!/usr/bin/env python3
"""Cuts the shared tokenizers and their golden vectors down to what a clone carries.

  make_subset.py SHARED/tokenizers        writes <tokenizer>/ and <tokenizer>.jsonl beside this script

Every eighth case is kept, and of a vocabulary what these cases can touch: a merge or token can only ever appear in a text
that contains it, so dropping all others (ids stay as they are) changes no result.
"""

import gzip
import json
import pathlib
import sys
import unicodedata

HERE = pathlib.Path(__file__).parent
NAMES = ("deepseek_v3", "qwen3", "gptoss", "mistral", "mistral_v3")
EVERY = 8
LONGEST = 600  # characters of a text


def byte_alphabet():
    """The printable stand-in of each byte in byte-level BPE (GPT-2's table)."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table, extra = {}, 0
    for byte in range(256):
        if byte in plain:
            table[byte] = chr(byte)
        else:
            table[byte] = chr(0x100 + extra)
            extra += 1
    return table


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def load(folder):
    packed = folder / "tokenizer.json.gz"
    data = gzip.decompress(packed.read_bytes()) if packed.exists() else (folder / "tokenizer.json").read_bytes()
    return json.loads(data)


def spelled(text, model):
    if model.get("byte_fallback"):
        return "\u2581" + text.replace(" ", "\u2581")
    table = byte_alphabet()
    return "".join(table[byte] for byte in text.encode("utf-8", "surrogatepass"))


def reduce(tokenizer, haystack, ids):
    model = tokenizer["model"]
    pairs = [merge.split(" ") if isinstance(merge, str) else merge for merge in model["merges"]]
    model["merges"] = [list(pair) for pair in pairs if "".join(pair) in haystack]
    alphabet = set(byte_alphabet().values())
    model["vocab"] = {token: number for token, number in model["vocab"].items()
                      if token in haystack or token in alphabet or number in ids or token.startswith("<0x")
                      or token in ("<unk>", "<s>", "</s>")}
    return tokenizer


def main():
    shared = pathlib.Path(sys.argv[1])
    texts = {case["id"]: case["text"] for case in lines(shared / "cases.jsonl")}
    kept = [name for number, name in enumerate(texts)
            if number % EVERY == 0 or name.startswith(("unicode16-", "edge-"))]
    kept = [name for name in kept if len(texts[name]) <= LONGEST]
    for name in NAMES:
        plain, special, decoded = ({case["id"]: case for case in lines(shared / kind / f"{name}.jsonl")}
                                   for kind in ("expected", "expected_special", "expected_decode"))
        rows = [{"id": case, "text": texts[case], "ids": plain[case]["ids"], "special": special[case]["ids"],
                 "decoded": decoded[case]["text"], "skipped": decoded[case]["text_skip_special"]}
                for case in kept if case in plain]
        decode = lines(shared / "decode_cases" / f"{name}.jsonl")[::EVERY // 2]
        rows += [{"id": case["id"], "ids": case["ids"], "decoded": case["text"], "skipped": case["text_skip_special"]}
                 for case in decode]
        with (HERE / f"{name}.jsonl").open("w", encoding="utf-8") as out:
            for row in rows:
                out.write(json.dumps(row, ensure_ascii=True, separators=(",", ":")) + "\n")
        tokenizer = load(shared / name)
        seen = [row["text"] for row in rows if "text" in row]
        seen += [unicodedata.normalize("NFC", text) for text in seen]
        for token in tokenizer["added_tokens"]:  # each part of a text between them is encoded by itself
            seen += [part for text in seen if token["content"] in text for part in text.split(token["content"])]
        haystack = "\n\n".join(spelled(text, tokenizer["model"]) for text in seen)
        ids = {number for row in rows for number in row["ids"]}
        folder = HERE / name
        folder.mkdir(exist_ok=True)
        text = json.dumps(reduce(tokenizer, haystack, ids), ensure_ascii=False, separators=(",", ":"))
        (folder / "tokenizer.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
        (folder / "tokenizer_config.json").write_bytes((shared / name / "tokenizer_config.json").read_bytes())
        print(f"{name}: {len(rows)} cases, {len(tokenizer['model']['vocab'])} tokens")


if __name__ == "__main__":
    main()
