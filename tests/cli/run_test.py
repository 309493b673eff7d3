"""One answer: the golden text, ways to give a prompt, streams, colour, stops, plans, models that can't be run."""

import json
import re
import shutil

from harness import CHAT_TEMPLATE, CliTest, ROOT, TALES, Terminal, golden, isas, plain, subprocess, unittest

PROMPT = "Once upon a time"
GREEDY = ["--temp", "0", "-n", "12"]
ANSWER = " there lived a man who had three sons, and had a"


class Run(CliTest):
    def text_of(self, prompt, count):
        """The greedy continuation in golden.json as text."""
        entry = next(p for p in golden()["prompts"] if p["prompt"] == prompt)
        ids = entry["tokens"] + entry["greedy"][:count]
        out, _ = self.sluice("tokenize", TALES, "--jsonl", "--decode", stdin=json.dumps({"ids": ids}))
        return json.loads(out)["text_skip_special"].removeprefix(prompt)

    def test_the_embedded_model_writes_the_golden_text(self):
        for entry in golden()["prompts"]:
            prompt = entry["prompt"]
            # As far as no other summation order can pick another token; in exact mode that is the whole text.
            safe = next((i for i, gap in enumerate(entry["greedy_top2_gaps"]) if gap < 0.1), len(entry["greedy"]))
            for isa, count in [("auto", safe), ("scalar", len(entry["greedy"]))]:
                with self.subTest(prompt=prompt, isa=isa):
                    out, _ = self.sluice("run", "-p", prompt, "--temp", "0", "-n", count, "--ignore-eos", "--isa", isa)
                    self.assertEqual(out, self.text_of(prompt, count) + "\n")

    def test_the_same_text_from_the_folder_and_in_exact_mode(self):
        entry = golden()["prompts"][0]
        for args in ([TALES], [TALES, "--isa", "scalar"], ["-m", TALES], [TALES / "model.safetensors"]):
            with self.subTest(args=args):
                out, _ = self.sluice("run", *args, "-p", entry["prompt"], *GREEDY)
                self.assertEqual(out, ANSWER + "\n")

    def test_every_instruction_set_of_this_processor(self):
        for isa in isas():
            with self.subTest(isa=isa):
                self.assertEqual(self.sluice("run", "-p", PROMPT, *GREEDY, "--isa", isa)[0], ANSWER + "\n")
                self.assertEqual(self.sluice("run", "-p", PROMPT, *GREEDY, SLUICE_ISA=isa)[0], ANSWER + "\n")
        out, error = self.sluice("run", "-v", "-p", PROMPT, *GREEDY, "--isa", "scalar")
        self.assertIn("scalar", error)

    def test_ways_to_give_a_prompt(self):
        file = self.write("prompt.txt", PROMPT)
        for name, args, stdin in [
            ("-p", ["-p", PROMPT], ""),
            ("--prompt=", [f"--prompt={PROMPT}"], ""),
            ("PROMPT", [TALES, PROMPT], ""),
            ("PROMPT behind --model", ["--model", TALES, PROMPT], ""),
            ("-f", ["-f", file], ""),
            ("-f of an editor", ["-f", self.write("edited.txt", PROMPT + "\n")], ""),
            ("a pipe", [], PROMPT),
            ("a pipe of echo", [], PROMPT + "\n"),
            ("-p -", ["-p", "-"], PROMPT),
            ("-f /dev/stdin", ["-f", "/dev/stdin"], PROMPT),
        ]:
            with self.subTest(name=name):
                self.assertEqual(self.sluice("run", *args, *GREEDY, stdin=stdin)[0], ANSWER + "\n")

    def test_the_end_of_the_prompt_does_not_come_twice(self):
        for prompt in ("The king said to 日本", "caf\u00e9", "to 日"):  # spelled in bytes, which the decoder collects
            with self.subTest(prompt=prompt):
                out, _ = self.sluice("run", "-p", prompt, *GREEDY)
                self.assertGreater(len(out), 5)
                self.assertNotEqual(out[0], prompt[-1])

    def test_an_empty_prompt_begins_a_text(self):
        from_null, _ = self.sluice("run", *GREEDY)
        self.assertGreater(len(from_null), 5)
        self.assertEqual(from_null, self.sluice("run", "-p", "", *GREEDY)[0])

    def test_streams_are_apart(self):
        out, error = self.sluice("run", "-p", PROMPT, *GREEDY)
        self.assertEqual(out, ANSWER + "\n")
        self.assertRegex(error, r"\Aprefill 5 tokens, [\d.]+ tokens/s; decode 12 tokens, [\d.]+ tokens/s\n\Z")
        out, error = self.sluice("run", "-p", PROMPT, *GREEDY, "-q")
        self.assertEqual((out, error), (ANSWER + "\n", ""))

    def test_echo(self):
        self.assertEqual(self.sluice("run", "-p", PROMPT, *GREEDY, "--echo")[0], PROMPT + ANSWER + "\n")
        self.assertEqual(self.sluice("run", "-p", PROMPT, *GREEDY, SLUICE_ECHO="1")[0], PROMPT + ANSWER + "\n")

    def test_colour_on_request_only(self):
        def coloured(*args, **env):
            out, error = self.sluice("run", "-p", PROMPT, *GREEDY, *args, **env)
            self.assertNotIn("\x1b", out)
            return "\x1b[" in error

        self.assertFalse(coloured(), "stderr is no terminal")
        self.assertTrue(coloured("--color", "always"))
        self.assertTrue(coloured("--color", "always", NO_COLOR="1"), "the flag is nearer to the user")
        self.assertFalse(coloured("--color", "never"))

    def test_colour_on_a_terminal(self):
        def screen(*args, **env):
            with Terminal("run", "-p", PROMPT, *GREEDY, *args, stdout=subprocess.DEVNULL, **env) as terminal:
                self.assertEqual(terminal.end(), 0)
                self.assertIn("prefill 5 tokens", terminal.screen)
                return terminal.screen

        self.assertIn("\x1b[2m", screen())
        self.assertNotIn("\x1b[", screen(NO_COLOR="1"))
        self.assertNotIn("\x1b[", screen("--color", "never"))
        self.assertNotIn("\x1b[", screen(TERM="dumb"))

    def test_the_prompt_is_shown_on_a_terminal(self):
        with Terminal("run", "-p", PROMPT, *GREEDY, "-q") as terminal:
            self.assertEqual(terminal.end(), 0)
            self.assertEqual(plain(terminal.screen), PROMPT + ANSWER + "\n")

    def test_a_progress_bar_on_a_terminal_only(self):
        long_text = self.write("long.txt", "Once upon a time there was a king. " * 110)
        args = ["run", "-f", long_text, "-n", "1", "--temp", "0", "--isa", "scalar", "-b", "8", "-t", "1"]
        with Terminal(*args, stdout=subprocess.DEVNULL) as terminal:
            self.assertEqual(terminal.end(), 0)
            self.assertRegex(terminal.screen, r"prompt \[#*\.*\] +\d+%")
            last = terminal.screen.rindex("%")
            self.assertIn("\r\x1b[K", terminal.screen[last:], "the bar erases itself")
        self.assertNotIn("%", self.sluice(*args)[1])
        with Terminal(*args, "--no-progress", stdout=subprocess.DEVNULL) as terminal:
            self.assertEqual(terminal.end(), 0)
            self.assertNotIn("%", terminal.screen)

    def test_stops(self):
        out, _ = self.sluice("run", "-p", PROMPT, "--temp", "0", "-n", "40", "--stop", "sons")
        self.assertEqual(out, " there lived a man who had three \n")
        ids = golden()["prompts"][0]["greedy"]
        out, _ = self.sluice("run", "-p", PROMPT, "--temp", "0", "-n", "40", "--stop-id", ids[2])
        self.assertEqual(out, self.text_of(PROMPT, 2) + "\n")
        self.assertIn("4096 tokens", self.fails(1, "run", "-p", PROMPT, "--stop-id", "4096"))
        out, _ = self.sluice("run", "-p", PROMPT, "--temp", "0", "-n", "0")
        self.assertEqual(out, "\n")

    def test_a_seed_fixes_the_text(self):
        args = ["run", "-p", PROMPT, "-n", "20", "--temp", "1"]
        first, _ = self.sluice(*args, "--seed", "7")
        self.assertEqual(first, self.sluice(*args, "-s", "7")[0])
        self.assertNotEqual(first, self.sluice(*args, "-s", "8")[0])

    def test_the_context_is_a_limit(self):
        out, error = self.sluice("run", "-p", PROMPT, "--temp", "0", "-c", "16", "-n", "-1", "--ignore-eos")
        self.assertEqual(out, ANSWER + "\n")
        error = self.fails(1, "run", "-p", PROMPT * 10, "-c", "16")
        self.assertIn("--ctx-size", error)

    def test_explain_prints_the_plan(self):
        out, error = self.sluice("run", "-p", PROMPT, *GREEDY, "--explain")
        self.assertEqual(out, ANSWER + "\n")
        self.assertRegex(error, r"plan of layers? \d")
        error = self.fails(1, "run", "-p", PROMPT, "--experts-kernel", "nonsense")
        self.assertIn("nonsense", error)

    def test_a_chat_template_given(self):
        out, error = self.sluice("run", "-v", "-p", "Tell me a story", *GREEDY, "--chat-template", CHAT_TEMPLATE,
                                 "--system-prompt", "Be kind")
        self.assertIn("prompt: <s>[system] Be kind\\x0A[user] Tell me a story\\x0A[assistant] Once upon a time", error)
        self.assertGreater(len(out), 5)
        file = self.write("t.jinja", CHAT_TEMPLATE)
        same, _ = self.sluice("run", "-p", "Tell me a story", *GREEDY, "--chat-template-file", file, "-sys", "Be kind")
        self.assertEqual(out, same)
        _, error = self.sluice("run", "-v", "-p", "x", "-n", "1", "--chat-template", "{{ tone }}{{ messages[0].content }}",
                               "--chat-template-kwargs", '{"tone": "loud"}')
        self.assertIn("prompt: loudx", error)
        self.assertIn("no chat template", self.fails(1, "run", "-p", "x", "--system-prompt", "y"))
        self.assertIn("chat template", self.fails(1, "run", "-p", "x", "--chat-template", "{% for %}"))
        self.assertIn("stop here", self.fails(1, "run", "-p", "x", "--chat-template", "{{ raise_exception('stop here') }}"))

    def test_raw_ignores_the_template(self):
        model = self.chat_model()
        self.assertEqual(self.sluice("run", model, "--raw", "-p", PROMPT, *GREEDY)[0], ANSWER + "\n")
        self.assertNotEqual(self.sluice("run", model, "-p", PROMPT, *GREEDY)[0], ANSWER + "\n")

    def test_models_that_are_not_there(self):
        self.assertIn("/no/such.gguf", self.fails(1, "run", "/no/such.gguf", "-p", "x"))
        self.assertIn("behind -p", self.fails(1, "run", "Once upon a time"))
        empty = self.folder / "empty"
        empty.mkdir()
        self.assertIn(str(empty), self.fails(1, "run", empty, "-p", "x"))
        self.assertIn("/no/prompt", self.fails(1, "run", "-f", "/no/prompt"))
        self.assertIn(str(empty), self.fails(1, "run", "-f", empty))
        self.assertIn("README.md", self.fails(1, "run", ROOT / "models/tales-moe/README.md", "-p", "x"))

    def test_a_folder_without_a_tokenizer(self):
        folder = self.folder / "no-tokenizer"
        folder.mkdir()
        for name in ("config.json", "model.safetensors"):
            shutil.copy(TALES / name, folder)
        self.assertIn("tokenizer", self.fails(1, "run", folder, "-p", "x"))
        tokens = self.write("tokens", "1 2310 798")
        self.sluice("logits", folder, "--tokens", tokens, "--out", self.folder / "out")
        self.assertEqual((self.folder / "out").stat().st_size, 3 * 4096 * 4)

    def test_doctor(self):
        out, error = self.sluice("doctor")
        self.assertEqual(error, "")
        for words in ("sluice ", "chosen: ", "cores that may be used: ", "memory: ", "plan of layer", "not built yet",
                      "speculative decoding", "/v1/responses"):
            self.assertIn(words, out)
        facts = json.loads(self.sluice("doctor", "--json", "--isa", "scalar")[0])
        self.assertEqual(facts["isa"], "scalar")
        self.assertTrue(facts["plan"]["experts"])
        self.assertTrue(re.fullmatch(r"[0-9a-f]{16}", facts["plan"]["hash"]))
        out, error = self.sluice("doctor", "/no/such.gguf", code=1)
        self.assertIn("memory: ", out)
        self.assertIn("/no/such.gguf", error)


if __name__ == "__main__":
    unittest.main()
