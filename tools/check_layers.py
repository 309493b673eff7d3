#!/usr/bin/env python3
"""Holds the sources to the layer rule: a file of src/<layer>/ includes only files of its own layer and of those below it.

  check_layers.py [ROOT]

The layers and what stands below each are read from the sluice_layer(NAME DEPS ...) lines of CMakeLists.txt, so there is
one list. The public headers (include/sluice, fewer than ten) include the standard library and each other, nothing else.
Prints one line per fault; exit status 1 if there is any.
"""

import pathlib
import re
import sys

MAX_PUBLIC_HEADERS = 9
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
LAYER = re.compile(r"^sluice_layer\(([^)]*)\)", re.MULTILINE)


def read_layers(cmake_lists):
    """Layer -> set of layers that it may include (itself and everything below)."""
    below = {}
    for match in LAYER.finditer(cmake_lists):
        words = match.group(1).split()
        name, deps, keyword = words[0], [], None
        for word in words[1:]:
            if word in ("DEPS", "LINK"):
                keyword = word
            elif keyword == "DEPS":
                deps.append(word)
        unknown = [d for d in deps if d not in below]
        if unknown:
            sys.exit(f"CMakeLists.txt: layer {name} stands before {', '.join(unknown)}, which it depends on")
        below[name] = {name}.union(*(below[d] for d in deps))
    return below


def includes(path):
    text = path.read_text(encoding="utf-8")
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group(1), match.group(2)


def check_sources(root, layers):
    src = root / "src"
    for path in sorted(p for p in src.rglob("*") if p.suffix in (".h", ".cc", ".inc")):
        where = path.relative_to(root)
        layer = where.parts[1]
        if layer not in layers:
            yield f"{where}: layer {layer} is not declared by sluice_layer() in CMakeLists.txt"
            continue
        for line, kind, name in includes(path):
            first = name.split("/", 1)[0]
            if kind == "<":
                if first in layers and (src / name).exists():
                    yield f'{where}:{line}: write #include "{name}"'
            elif first in ("generated", "sluice"):
                continue
            elif "/" not in name or first not in layers:
                yield f'{where}:{line}: "{name}" is not a layer/file.h of this project'
            elif first not in layers[layer]:
                allowed = ", ".join(sorted(layers[layer]))
                yield f'{where}:{line}: layer {layer} includes "{name}"; it may include {allowed}'
            elif not (src / name).exists():
                yield f'{where}:{line}: "{name}" does not exist'


def check_public(root):
    headers = sorted((root / "include").rglob("*.h"))
    if len(headers) > MAX_PUBLIC_HEADERS:
        yield f"include/sluice: {len(headers)} headers; at most {MAX_PUBLIC_HEADERS} are public"
    for path in headers:
        for line, kind, name in includes(path):
            if (kind == '"' or "/" in name) and not name.startswith("sluice/"):
                yield f'{path.relative_to(root)}:{line}: a public header includes "{name}", which is not installed'


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    layers = read_layers((root / "CMakeLists.txt").read_text(encoding="utf-8"))
    if not layers:
        sys.exit("CMakeLists.txt declares no layer: has sluice_layer() another name now?")
    faults = [*check_sources(root, layers), *check_public(root)]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
