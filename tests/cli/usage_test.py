"""Wrong usage, help, names of options, the manual page."""

import os
import re
import time

from harness import CliTest, SLUICE, TALES, TIMEOUT, environment, shared, subprocess, unittest, version


class Usage(CliTest):
    def test_without_a_command(self):
        out, error = self.sluice(code=2)
        self.assertEqual(out, "")
        self.assertIn("usage: sluice COMMAND", error)
        for command in ("run", "inspect", "logits", "tokenize", "render", "doctor", "completion", "man"):
            self.assertRegex(error, rf"\n  {command} ")

    def test_help(self):
        for args in (["--help"], ["-h"], ["help"]):
            out, error = self.sluice(*args)
            self.assertIn("usage: sluice COMMAND", out)
            self.assertEqual(error, "")
        first, _ = self.sluice("run", "--help")
        self.assertEqual(first, self.sluice("help", "run")[0])
        self.assertEqual(first, self.sluice("run", "-p", "x", "-h", "--nonsense")[0])
        self.assertIn("--ctx-size", first)

    def test_version(self):
        text = version()
        self.assertRegex(text, r"\Asluice \d+\.\d+\.\d+ \(commit \S+\)\n")
        self.assertRegex(text, r"\ncompiler: GCC 1[0-9]|\ncompiler: [Cc]lang")
        self.assertRegex(text, r"\ninstruction sets built: scalar avx2 avx512 avx512vnni avx512bf16\n")
        self.assertRegex(text, r"\nthis processor runs: scalar")
        self.assertEqual(text, self.sluice("-V")[0])

    def test_unknown_commands(self):
        self.assertIn("unknown command 'rnu'; did you mean 'run'?", self.fails(2, "rnu"))
        self.assertIn("unknown command 'frobnicate'; `sluice --help`", self.fails(2, "frobnicate"))
        for later in ("serve", "worker", "bench", "convert", "pull"):
            self.assertIn(f"'{later}' is not supported yet", self.fails(2, later))
        model = self.write("model.gguf", "")
        self.assertIn(f"did you mean `sluice run {model}`?", self.fails(2, model))
        self.assertIn("a command comes first", self.fails(2, "--temp", "1"))

    def test_wrong_options_say_so_in_one_line(self):
        for args, words in [
            (["run", "--tmep", "1"], "did you mean --temp?"),
            (["run", "-n", "many"], "-n: 'many' is not a whole number"),
            (["run", "--top-p", "2"], "out of range"),
            (["run", "-n"], "needs a value"),
            (["run", "-p", "x", "-f", "y"], "the prompt is given twice"),
            (["run", "-ngl", "99"], "-ngl is not supported yet"),
            (["run", "-np", "4"], "-np is not supported yet"),
            (["run", "-ctk", "q8_0"], "-ctk is not supported yet"),
            (["run", "-hf", "org/model"], "curl"),
            (["run", "--isa", "mmx"], "none of auto, scalar"),
            (["run", "a", "b", "c"], "one argument too many"),
            (["inspect"], "a FILE is needed"),
            (["inspect", "x", "--temp", "1"], "--temp is an option of `sluice run`"),
            (["logits"], "--tokens FILE is needed"),
            (["logits", "--tokens", "x"], "--out FILE is needed"),
            (["tokenize"], "a MODEL is needed"),
            (["tokenize", "m", "--decode"], "--decode works with --jsonl"),
            (["render"], "a TEMPLATE file is needed"),
            (["render", "t"], "--jsonl is needed"),
            (["completion"], "bash, zsh or fish"),
            (["completion", "tcsh"], "'tcsh'"),
            (["man", "x"], "one argument too many"),
        ]:
            with self.subTest(args=args):
                error = self.fails(2, *args)
                self.assertIn(words, error)
                self.assertTrue(error.startswith(f"sluice {args[0]}: "), error)

    def test_wrong_settings(self):
        self.assertIn("SLUICE_TOP_K: 'x' is not a whole number", self.fails(2, "run", "-p", "a", SLUICE_TOP_K="x"))
        config = self.write("config.toml", "tepm = 1\n")
        self.assertIn(f"{config}: unknown setting 'tepm'; did you mean 'temp'?",
                      self.fails(2, "run", "-p", "a", SLUICE_CONFIG=str(config)))

    def test_settings_reach_the_run(self):
        (self.folder / "sluice").mkdir()
        self.write("sluice/config.toml", "temp = 0\n[run]\npredict = 3\n")
        out, _ = self.sluice("run", "-p", "Once upon a time", XDG_CONFIG_HOME=str(self.folder))
        self.assertEqual(out, " there lived a\n")
        out, _ = self.sluice("run", "-p", "Once upon a time", XDG_CONFIG_HOME=str(self.folder), SLUICE_PREDICT="2")
        self.assertEqual(out, " there lived\n")
        out, _ = self.sluice("run", "-p", "Once upon a time", "-n", "1", XDG_CONFIG_HOME=str(self.folder),
                             SLUICE_PREDICT="2")
        self.assertEqual(out, " there\n")

    def test_messages_stay_in_one_line_whatever_the_arguments(self):
        error = self.fails(2, "run", "--no\nsuch\x1b[31m")
        self.assertIn("--no\\x0Asuch\\x1B[31m", error)
        self.fails(1, "run", "-p", "x", "-m", "no\nfile")

    def test_names_of_other_programs_are_known(self):
        """Every option in the table of habits is an option here, or is answered with 'not supported yet'."""
        table = shared("reference/cli.md")
        if table is None:
            names = ["-ngl", "--mlock", "--rpc", "--host", "--grammar", "--samplers", "--experts", "-ser", "--numa"]
        else:
            names = []
            for quoted in re.findall(r"`([^`]+)`", table.read_text()):
                for word in re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*(?:\([\w-]+\))?", quoted):
                    optional = re.fullmatch(r"(.*?)\((.*)\)", word)
                    names += [optional[1], optional[1] + optional[2]] if optional else [word]
            self.assertGreater(len(set(names)), 100)
        known = self.sluice("run", "--help")[0] + self.sluice("logits", "--help")[0]
        for name in sorted(set(names)):
            if name.endswith("-") or re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", known):
                continue  # "--speculative-*" stands for a family
            with self.subTest(name=name):
                self.assertIn("not supported yet", self.fails(2, "run", name, "1"))

    def test_the_manual_page_renders(self):
        page, _ = self.sluice("man")
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=page.encode(), capture_output=True,
                              timeout=TIMEOUT, check=True)
        self.assertEqual(done.stderr.decode(), "")
        text = re.sub(r".\x08|\x1b\[[0-9;]*m", "", done.stdout.decode())  # bold and underlined
        text = re.sub(r"\s+", " ", text)
        for words in ("NAME sluice - mixture-of-experts", "sluice run [MODEL] [PROMPT]", "--temp", "130, 143"):
            self.assertIn(words, text)
        file = self.write("sluice.1", page)
        done = subprocess.run(["man", "-l", str(file)], capture_output=True, timeout=TIMEOUT, check=True,
                              env=environment(MANPAGER="cat", LC_ALL="C.UTF-8"))
        self.assertIn("EXIT STATUS", re.sub(r".\x08", "", done.stdout.decode()))


class Streams(CliTest):
    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "wb") as full:
            for args in (["--version"], ["man"], ["run", "-p", "Once", "-n", "5"]):
                done = subprocess.run([SLUICE, *args], stdout=full, stderr=subprocess.PIPE, env=environment(),
                                      timeout=TIMEOUT, check=False)
                self.assertEqual(done.returncode, 1, args)
                self.assertIn("No space left", done.stderr.decode())

    def test_a_closed_pipe_ends_quietly(self):
        lines = self.write("lines", '{"id": 1, "text": "Once upon a time"}\n' * 20000)
        for command in (f"'{SLUICE}' run -p 'Once upon a time' --temp 0 -n 10000 --ignore-eos -q | head -c 10",
                        f"'{SLUICE}' man | head -c 10",
                        f"'{SLUICE}' tokenize --jsonl '{TALES}' < {lines} | head -c 10"):
            with self.subTest(command=command):
                done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, timeout=TIMEOUT,
                                      env=environment(), check=False)
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                self.assertEqual(len(done.stdout), 10)

    def test_closed_streams(self):
        done = subprocess.run(["bash", "-c", f"'{SLUICE}' run --temp 0 -n 3 <&- 2>&-"], capture_output=True,
                              timeout=TIMEOUT, env=environment(), check=False)
        self.assertEqual(done.returncode, 0)
        self.assertGreater(len(done.stdout), 3)

    def test_a_stream_that_does_not_block(self):
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        process = subprocess.Popen([SLUICE, "man"], stdout=writer, env=environment())
        os.close(writer)
        time.sleep(0.3)
        with os.fdopen(reader, "rb") as pipe:
            text = pipe.read()
        self.assertEqual(process.wait(timeout=TIMEOUT), 0)
        self.assertEqual(text.decode(), self.sluice("man")[0])


if __name__ == "__main__":
    unittest.main()
