#!/usr/bin/env python3
"""Runs the commands of the documentation: every ```console block, in the source tree, as a reader would type them.

  run_readme.py [FILE.md ...]      default: README.md, CONTRIBUTING.md and docs/*.md

A line that starts with "$ " is a command (continued by a final backslash); the lines up to the next one are what it
printed. A command has to succeed. A comment before a block changes that:

  <!-- readme: exact -->           stdout and stderr together have to equal the printed lines ("..." stands for any lines)
  <!-- readme: exit 1 -->          the block's last command has to end with this status
  <!-- readme: skip, REASON -->    not run here
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BLOCK = re.compile(r"(?:<!-- readme: (?P<mode>[^>]*?) -->\n+)?```console\n(?P<body>.*?)^```", re.MULTILINE | re.DOTALL)
TIMEOUT = 600


def commands(body):
    """[(command, printed text)] of a block."""
    result = []
    lines = iter(body.splitlines())
    for line in lines:
        if line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\"):
                command = command[:-1] + next(lines).lstrip("> ")
            result.append((command, []))
        elif result:
            result[-1][1].append(line)
        else:
            raise ValueError(f"a console block starts with output: {line!r}")
    return [(command, "\n".join(printed)) for command, printed in result]


def matches(wanted, found):
    pattern = ".*".join(re.escape(part) for part in wanted.strip().split("..."))
    return re.fullmatch(pattern, found.strip(), re.DOTALL) is not None


def run(command, home):
    # A reader's environment: the installed names resolve to this build, and no settings file of the tester's is read.
    env = dict(os.environ, PATH=f"{ROOT / 'build' / 'release' / 'bin'}:{os.environ['PATH']}", HOME=home, NO_COLOR="1",
               XDG_CONFIG_HOME=home)
    for name in [n for n in env if n.startswith("SLUICE_") and n != "SLUICE_SHARED"]:
        del env[name]
    return subprocess.run(["bash", "-c", command], cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=TIMEOUT, check=False)


def check_block(body, mode, home):
    """Yields (command, fault or None)."""
    cases = commands(body)
    for number, (command, printed) in enumerate(cases):
        last = number == len(cases) - 1
        status = int(mode.split()[1]) if mode.startswith("exit") and last else 0
        try:
            done = run(command, home)
        except subprocess.TimeoutExpired:
            yield command, f"no end within {TIMEOUT} s"
            continue
        if done.returncode != status:
            yield command, f"exit status {done.returncode}, wanted {status}:\n{done.stdout[-2000:]}"
        elif mode.startswith("exact") and not matches(printed, done.stdout):
            yield command, f"printed\n{done.stdout[-2000:]}\nwhere the page says\n{printed}"
        else:
            yield command, None


def main():
    files = [pathlib.Path(f) for f in sys.argv[1:]] or [ROOT / "README.md", ROOT / "CONTRIBUTING.md",
                                                        *sorted((ROOT / "docs").glob("*.md"))]
    passed, failed, skipped = 0, 0, 0
    with tempfile.TemporaryDirectory() as home:
        for file in files:
            for block in BLOCK.finditer(file.read_text(encoding="utf-8")):
                mode = block["mode"] or ""
                if mode.startswith("skip"):
                    skipped += 1
                    continue
                for command, fault in check_block(block["body"], mode, home):
                    print(f"{file.name}: {'ok' if fault is None else 'FAILED'}: $ {command}")
                    if fault is not None:
                        print(fault)
                    passed, failed = passed + (fault is None), failed + (fault is not None)
    print(f"documentation: {passed} commands passed, {failed} failed, {skipped} blocks not run here")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
