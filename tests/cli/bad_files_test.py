"""Every corrupted file of the manifest ends at its stage with one clear line, fast and small; sound ones load."""

import json
import os
import time

from harness import BUILD, CliTest, SLUICE, TIMEOUT, environment, sanitized, shared, subprocess, unittest

SECONDS = 1.0
PEAK_BYTES = 200 << 20


def measure(command):
    """Runs; returns (exit code, stdout, stderr, CPU or wall seconds whichever is less, peak resident bytes).

    The time that other programs take from a busy machine is not this one's: a run that waits for its turn has used little
    CPU time, and one that sleeps or waits for I/O would show in neither file of a few kilobytes.
    """
    started = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=environment())
    try:
        out, error = process.stdout.read(), process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        process.stdout.close()
        process.stderr.close()
    wall = time.monotonic() - started
    return (process.returncode, out.decode(), error.decode(), min(wall, usage.ru_utime + usage.ru_stime),
            usage.ru_maxrss * 1024)


class BadFiles(CliTest):
    @classmethod
    def setUpClass(cls):
        cls.bad = shared("gguf/bad") or BUILD / "data" / "bad"
        cls.cases = json.loads((cls.bad / "manifest.json").read_text())["cases"]

    def check(self, case, command):
        path = self.bad / case["file"]
        args = ["inspect", path] if command == "inspect" else ["run", "--raw", "-n", "1", "-p", "a", path]
        code, out, error, seconds, peak = measure([SLUICE, *map(str, args)])
        if case["outcome"] == "loads":
            self.assertEqual(code, 0, error)
            self.assertGreater(len(out), 0)
        elif case["outcome"] == "error":
            self.assertEqual(code, 1, f"{out}{error}")
            self.assertEqual(out, "")
        else:
            self.assertIn(code, (0, 1), error)
        if code == 1:
            self.assertRegex(error, r"\A[^\n]+\n\Z")
        if case["outcome"] != "loads":
            # A fault may lie in another part of a split file than the one that was opened.
            files = [case["file"], *(word for word in case["message_names"] if word.endswith(".gguf"))]
            lines = [line for line in error.splitlines() if any(file in line for file in files)]
            self.assertTrue(lines, f"no line names the file: {error!r}")
            for word in case["message_names"]:
                self.assertIn(word.lower(), " ".join(lines).replace(str(path.parent), "").lower())
        if not sanitized():
            self.assertLess(seconds, SECONDS)
            self.assertLess(peak, PEAK_BYTES)

    def test_the_manifest_is_whole(self):
        self.assertGreater(len(self.cases), 75)
        self.assertEqual({case["outcome"] for case in self.cases}, {"loads", "error", "error or warning"})

    def test_inspect_finds_what_is_wrong_at_open(self):
        for case in self.cases:
            if case["stage"] == "open":
                with self.subTest(file=case["file"]):
                    self.check(case, "inspect")

    def test_run_finds_the_rest(self):
        for case in self.cases:
            if case["stage"] != "open":
                with self.subTest(file=case["file"]):
                    self.check(case, "run")

    def test_run_refuses_what_inspect_refuses(self):
        for case in self.cases:
            if case["stage"] == "open" and case["outcome"] == "error":
                with self.subTest(file=case["file"]):
                    self.check(case, "run")

    def test_inspect_survives_the_rest(self):
        """What opens is shown, whatever is wrong with it as a model."""
        for case in self.cases:
            if case["stage"] != "open":
                with self.subTest(file=case["file"]):
                    code, out, error, seconds, peak = measure([SLUICE, "inspect", str(self.bad / case["file"]), "--json"])
                    if code == 0:
                        json.loads(out)
                    else:
                        self.assertEqual(code, 1, error)
                        self.assertRegex(error, r"\A[^\n]+\n\Z")
                    if not sanitized():
                        self.assertLess(seconds, SECONDS)
                        self.assertLess(peak, PEAK_BYTES)

    def test_other_commands_refuse_them_too(self):
        tokens = self.write("tokens", "1 2")
        for case in self.cases:
            if case["stage"] == "open" and case["outcome"] == "error":
                with self.subTest(file=case["file"]):
                    path = self.bad / case["file"]
                    for args in (["tokenize", path, "-p", "a"], ["logits", path, "--tokens", tokens, "--out", "out"]):
                        code, out, error, _, _ = measure([SLUICE, *map(str, args)])
                        self.assertEqual((code, out), (1, ""), error)
                        self.assertRegex(error, r"\A[^\n]+\n\Z")


if __name__ == "__main__":
    unittest.main()
