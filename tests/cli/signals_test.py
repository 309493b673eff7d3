"""SIGINT and SIGTERM: exit codes 130 and 143 within two seconds, and what was written stays."""

import os
import time

from harness import CliTest, SLUICE, TALES, TIMEOUT, environment, sanitized, signal, stop, subprocess, unittest

WAIT = 2.0 if not sanitized() else 20.0
ENDLESS = ["run", "-p", "Once upon a time", "--temp", "0", "-n", "-1", "--ignore-eos"]


class Signals(CliTest):
    def start(self, *args, **streams):
        process = subprocess.Popen([SLUICE, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   stdin=streams.pop("stdin", subprocess.DEVNULL), env=environment(), **streams)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_an_answer_is_stopped(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(signal=number):
                process = self.start(*ENDLESS, "-t", "1", "--isa", "scalar")
                begin = process.stdout.read(20)
                got, seconds = stop(process, number)
                self.assertEqual(got, code)
                self.assertLess(seconds, WAIT)
                text = (begin + process.stdout.read()).decode()
                self.assertTrue(text.startswith(" there lived a man"), text)
                self.assertNotRegex(process.stderr.read().decode(), r"rror|terminate|abort")

    def test_text_in_a_file_is_kept(self):
        path = self.folder / "text"
        with open(path, "wb") as file:
            process = subprocess.Popen([SLUICE, *ENDLESS, "-t", "1", "--isa", "scalar"], stdout=file,
                                       stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=environment())
        limit = time.monotonic() + TIMEOUT
        while path.stat().st_size < 30 and time.monotonic() < limit:
            time.sleep(0.01)
        self.assertEqual(stop(process, signal.SIGTERM)[0], 143)
        self.assertTrue(path.read_text().startswith(" there lived a man who had three"))

    def test_a_long_prompt_is_stopped(self):
        text = self.write("long", "Once upon a time there was a king. " * 110)
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            process = self.start("run", "-f", text, "-n", "5", "-t", "1", "--isa", "scalar", "-b", "100000")
            time.sleep(1.0)
            self.assertIsNone(process.poll(), "the prompt was too short for this test")
            got, seconds = stop(process, number)
            self.assertEqual(got, code)
            self.assertLess(seconds, WAIT)
            self.assertEqual(process.stdout.read().strip(), b"")

    def test_waiting_for_input_is_stopped(self):
        for args in (["run"], ["tokenize", TALES, "--jsonl"], ["tokenize", TALES], ["logits", "--tokens", "-", "--out", "x"]):
            for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
                with self.subTest(args=args, signal=number):
                    reader, writer = os.pipe()
                    self.addCleanup(os.close, writer)
                    process = self.start(*args, stdin=reader, cwd=self.folder)
                    os.close(reader)
                    time.sleep(0.3)
                    got, seconds = stop(process, number)
                    self.assertEqual(got, code)
                    self.assertLess(seconds, WAIT)
                    self.assertEqual(process.stderr.read(), b"")

    def test_logits_are_stopped(self):
        tokens = self.write("tokens", "5 " * 1000)
        process = self.start("logits", "--tokens", tokens, "--out", self.folder / "out", "--isa", "scalar", "--threads", "1")
        time.sleep(0.5)
        got, seconds = stop(process, signal.SIGINT)
        self.assertEqual(got, 130)
        self.assertLess(seconds, WAIT)


if __name__ == "__main__":
    unittest.main()
