#!/usr/bin/env python3
"""Writes tests/data/quants: a few blocks of every type of a folder of decode vectors (index.json, TYPE.bin, TYPE.f32).

  pick_quant_vectors.py FOLDER [OUT]

Kept of each type: blocks that a quantiser wrote, blocks with extreme scales, and random ones; few of the large blocks,
more of the small ones, so that the whole stays well under 150 KB.
"""

import json
import pathlib
import sys

VALUES_PER_TYPE = 1152  # four and a half blocks of 256


def pick(entry):
    """Block numbers to keep, ascending."""
    count = min(256, max(4, VALUES_PER_TYPE // entry["values_per_block"]))
    special = [s["block"] for s in entry["special"]]
    # The end of the list first: in types with two scales the second one's cases, and always the largest exponents.
    extreme = special[::-1][: max(2, count // 2)]
    if len(extreme) == 2:
        extreme = [s["block"] for s in entry["special"] if s["what"].startswith(("largest denormal", "minimal"))][-2:]
    kept = set(extreme)
    for span, share in (("quantised_blocks", 3), ("random_blocks", 2)):
        first, end = entry[span]
        candidates = [b for b in range(end - 1, first - 1, -1) if b not in special]
        kept.update(candidates[: max(1, (count - len(extreme)) // share)])
    return sorted(kept)


def main():
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__.strip())
    source = pathlib.Path(sys.argv[1])
    default = pathlib.Path(__file__).parent.parent / "tests/data/quants"
    out = pathlib.Path(sys.argv[2]) if len(sys.argv) == 3 else default
    out.mkdir(parents=True, exist_ok=True)
    index = json.loads((source / "index.json").read_text(encoding="utf-8"))
    types = []
    for entry in index["types"]:
        blocks = pick(entry)
        for key, size in (("raw", entry["bytes_per_block"]), ("expected", 4 * entry["values_per_block"])):
            data = (source / entry[key]).read_bytes()
            (out / entry[key]).write_bytes(b"".join(data[b * size : (b + 1) * size] for b in blocks))
        keys = ("type", "ggml_type", "values_per_block", "bytes_per_block", "raw", "expected", "expected_from")
        types.append({key: entry[key] for key in keys} | {"blocks": len(blocks)})
    lines = ",\n".join("  " + json.dumps(entry) for entry in types)
    text = f'{{\n "format": {json.dumps(index["format"])},\n "types": [\n{lines}\n ]\n}}\n'
    (out / "index.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
