#!/usr/bin/env python3
"""Counts a ctest run and holds its skipped tests to tests/skips.txt.

  check_skips.py JUNIT.xml SKIPS.txt

Prints "PASSED FAILED" on the last line; before it, one line per skipped test: the missing hardware that explains it, or
that nothing does. Exit status 1 if a skip is not explained. A line of SKIPS.txt is

  PATTERN  KIND VALUE     a shell pattern over the test's name, and what the machine must lack for the skip to be fair

with the kinds `cpu FLAG` (a flag of /proc/cpuinfo), `cores N`, `memory GIGABYTES` and `numa NODES` (at least that many).
"""

import fnmatch
import os
import pathlib
import sys
import xml.etree.ElementTree


def cpu_flags():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("flags"):
            return set(line.split(":", 1)[1].split())
    return set()


def lacks(kind, value):
    if kind == "cpu":
        return value not in cpu_flags()
    if kind == "cores":
        return len(os.sched_getaffinity(0)) < int(value)
    if kind == "memory":
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") < float(value) * 1e9
    if kind == "numa":
        return len(list(pathlib.Path("/sys/devices/system/node").glob("node[0-9]*"))) < int(value)
    sys.exit(f"tests/skips.txt: unknown kind of hardware '{kind}'")


def read_rules(path):
    for number, line in enumerate(pathlib.Path(path).read_text().splitlines(), 1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        if len(words) != 3:
            sys.exit(f"{path}:{number}: wanted 'PATTERN KIND VALUE', found '{line}'")
        yield words


def main():
    junit, skips = sys.argv[1:]
    rules = [(pattern, f"{kind} {value}", lacks(kind, value)) for pattern, kind, value in read_rules(skips)]
    passed, failed, unexplained = 0, 0, 0
    for case in xml.etree.ElementTree.parse(junit).getroot().iter("testcase"):
        name = case.get("name")
        if case.get("status") in ("notrun", "disabled") or case.find("skipped") is not None:
            reasons = [what for pattern, what, missing in rules if missing and fnmatch.fnmatchcase(name, pattern)]
            print(f"skipped: {name}: " + (f"this machine lacks {reasons[0]}" if reasons else "NO REASON in tests/skips.txt"))
            unexplained += not reasons
        elif case.find("failure") is not None or case.get("status") == "fail":
            failed += 1
        else:
            passed += 1
    print(passed, failed)
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
