"""What the scripts of this folder share: the machine, runs of the built command, figures and the verdict."""

import array
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "release"
SLUICE = BUILD / "bin" / "sluice"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "sluice"


def shared(relative):
    """A file of the large shared data folder, or None (tests/support/shared_data.h has the same rule)."""
    path = pathlib.Path(os.environ.get("SLUICE_SHARED") or ROOT.parent / "shared") / relative
    return path if path.exists() else None


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def sluice(*args, stdin=None, check=True):
    """Runs the command with this machine's settings left out; returns the finished process (bytes)."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("SLUICE_")}
    env["XDG_CONFIG_HOME"] = "/nonexistent"
    done = subprocess.run([SLUICE, *map(str, args)], input=stdin, capture_output=True, env=env, check=False,
                          **({"stdin": subprocess.DEVNULL} if stdin is None else {}))
    if check and done.returncode != 0:
        sys.exit(f"sluice {' '.join(map(str, args))}: exit status {done.returncode}: {done.stderr.decode()[-500:]}")
    return done


def isas():
    """Instruction sets that this processor runs, scalar first."""
    text = sluice("--version").stdout.decode()
    found = re.search(r"^this processor runs: (.*?) \(", text, re.MULTILINE)
    return found.group(1).split()


def read_f32(path, offset=0, count=None):
    values = array.array("f")
    data = pathlib.Path(path).read_bytes()[offset:]
    values.frombytes(data if count is None else data[: 4 * count])
    return values


def logits(model, tokens, isa, batch=0, routing=False):
    """(float32 array [tokens x vocabulary], list of routing lines) of `sluice logits`."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "tokens").write_text(" ".join(map(str, tokens)))
        extra = ["--routing", folder / "routing"] if routing else []
        sluice("logits", model, "--tokens", folder / "tokens", "--out", folder / "out", "--batch", batch, "--isa", isa, *extra)
        lines = [json.loads(line) for line in (folder / "routing").read_text().splitlines()] if routing else []
        return read_f32(folder / "out"), lines


def largest_difference(got, want):
    """Largest absolute difference; infinite where lengths differ or a NaN is on one side."""
    if len(got) != len(want):
        return float("inf")
    worst = max((abs(a - b) for a, b in zip(got, want)), default=0.0)
    return worst if worst == worst and not any(a != a for a in got) else float("inf")


def top2(row):
    """(best id, distance to the second best)."""
    best = max(range(len(row)), key=row.__getitem__)
    second = max(value for i, value in enumerate(row) if i != best)
    return best, row[best] - second


def measure(command, first_byte=False):
    """Runs a command; {seconds, first (seconds to its first byte of output), peak (bytes resident), status}."""
    started = time.monotonic()
    process = subprocess.Popen([*map(str, command)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.read(1)
    first = time.monotonic() - started
    process.stdout.read()
    error = process.stderr.read().decode(errors="replace")
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return {"seconds": time.monotonic() - started, "first": first, "peak": usage.ru_maxrss * 1024,
            "status": process.returncode, "error": error}


class Report:
    """Prints a line of the "must show" list, its figures, and ends the script with pass or fail."""

    def __init__(self, line, title):
        self.line, self.faults, self.checks = line, 0, 0
        print(f"{line} {title}")
        print(f"  processor: {processor()}, {len(os.sched_getaffinity(0))} threads; instruction sets: {' '.join(isas())}")

    def figure(self, text):
        print(f"  {text}", flush=True)

    def check(self, good, text):
        """A figure that has to be good."""
        self.checks += 1
        self.faults += not good
        print(f"  {'ok  ' if good else 'FAIL'} {text}", flush=True)
        return good

    def need(self, path, what):
        """Ends with a sentence where something is missing that this line can't be shown without."""
        if path is None or not pathlib.Path(path).exists():
            print(f"{self.line} not shown: needs {what}")
            sys.exit(1)
        return path

    def unit_tests(self, pattern, minimum=1):
        """Runs the unit tests whose names match; at least `minimum` have to run."""
        done = subprocess.run(["ctest", "--test-dir", str(BUILD), "-R", pattern, "--no-tests=error", "-j", str(os.cpu_count())],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        summary = [line for line in done.stdout.splitlines() if "tests passed" in line]
        count = int(summary[0].rsplit(" ", 1)[1]) if summary else 0
        for line in done.stdout.splitlines():
            if "***" in line:
                self.figure(line.strip())
        self.check(done.returncode == 0 and count >= minimum, f"unit tests {pattern}: {summary[0] if summary else 'none ran'}")

    def end(self):
        good = self.faults == 0 and self.checks > 0
        print(f"{self.line} {'pass' if good else 'FAIL'} ({self.checks - self.faults} of {self.checks} checks)")
        sys.exit(0 if good else 1)
