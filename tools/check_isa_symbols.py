#!/usr/bin/env python3
"""Holds object files compiled for an instruction set to exporting one function and no shared inline code.

  check_isa_symbols.py OBJECT...

An inline function or template of a header that is compiled into such an object is a weak symbol there. The linker keeps
one copy of it for the whole program; if that is the AVX one, code for every processor jumps into AVX instructions and
dies on a machine without them. Objects whose name does not end in _avx2, _avx512, _avx512vnni or _avx512bf16 are passed
over. Prints one line per fault; exit status 1 if there is any or nothing to check.
"""

import pathlib
import re
import subprocess
import sys

ISA_OBJECT = re.compile(r"_(avx2|avx512|avx512vnni|avx512bf16)\.cc\.o$")
WEAK = "W"  # V and u are data: whichever copy is kept, it holds no instructions
DATA = "Vu"


def defined_symbols(path):
    """Pairs (kind, name) of what the object defines, kinds as nm prints them."""
    out = subprocess.run(["nm", "--demangle", "--defined-only", path], check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        match = re.match(r"^[0-9a-f]* *(\S) (.*)$", line)
        if match:
            yield match.group(1), match.group(2)


def check(path):
    exported = []
    for kind, name in defined_symbols(path):
        if kind in DATA:
            continue
        if kind in WEAK:
            yield f"{path.name}: {name} is a weak symbol: force it inline or keep it out of files for one instruction set"
        elif kind.isupper():
            exported.append(name)
    if len(exported) != 1:
        yield f"{path.name}: exports {len(exported)} symbols ({', '.join(exported)}), not one: use an anonymous namespace"


def main():
    objects = [p for p in map(pathlib.Path, sys.argv[1:]) if ISA_OBJECT.search(p.name)]
    if not objects:
        sys.exit(f"no object for an instruction set among {len(sys.argv) - 1} arguments")
    faults = [fault for path in objects for fault in check(path)]
    for fault in faults:
        print(fault)
    if not faults:
        print(f"{len(objects)} objects: one exported symbol each, none weak")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
