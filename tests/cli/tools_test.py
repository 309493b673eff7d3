"""logits, tokenize and render: for tools and tests."""

import array
import json
import math

from harness import CliTest, SLUICE, TALES, TIMEOUT, environment, golden, shared, subprocess, unittest

VOCABULARY = 4096


def json_lines(text):
    """Values of JSON lines; str.splitlines() would also split at U+2028, which JSON texts may hold."""
    return [json.loads(line) for line in text.removesuffix("\n").split("\n")]


class Logits(CliTest):
    def logits(self, tokens, *args):
        out = self.folder / "out.f32"
        self.sluice("logits", "--tokens", self.write("tokens", tokens), "--out", out, *args)
        values = array.array("f")
        values.frombytes(out.read_bytes())
        return values

    def test_values_are_those_of_the_golden_file(self):
        for entry in golden()["prompts"][:3]:
            rows = self.logits(" ".join(map(str, entry["tokens"])), "--isa", "scalar")
            self.assertEqual(len(rows), len(entry["tokens"]) * VOCABULARY)
            last = rows[-VOCABULARY:]
            for token, logit in zip(entry["top20_ids"], entry["top20_logits"]):
                self.assertAlmostEqual(last[token], logit, delta=1e-3)

    def test_batches_give_the_same_bits(self):
        tokens = " ".join(map(str, golden()["prompts"][7]["tokens"]))
        whole = self.logits(tokens, "--isa", "scalar")
        for batch in (1, 7, 1000):
            self.assertEqual(whole, self.logits(tokens, "--isa", "scalar", "--batch", batch))

    def test_ids_are_separated_by_white_space(self):
        self.assertEqual(self.logits("1 2310 798"), self.logits("\n 1\t2310\r\n\n798  \n"))
        out = self.folder / "stdin.f32"
        self.sluice("logits", TALES, "--tokens", "-", "--out", out, stdin="1 2310")
        self.assertEqual(out.stat().st_size, 2 * VOCABULARY * 4)

    def test_logits_on_standard_output(self):
        tokens = self.write("tokens", "1 2310")
        done = subprocess.run([SLUICE, "logits", "--tokens", tokens, "--out", "-"], capture_output=True, check=True,
                              env=environment(), timeout=TIMEOUT)
        self.assertEqual(len(done.stdout), 2 * VOCABULARY * 4)
        self.assertEqual(done.stderr, b"")

    def test_routing(self):
        entry = golden()["prompts"][0]
        count = len(entry["tokens"])
        for batch in (0, 2):
            routing = self.folder / "routing"
            self.logits(" ".join(map(str, entry["tokens"])), "--routing", routing, "--isa", "scalar", "--batch", batch)
            lines = [json.loads(line) for line in routing.read_text().splitlines()]
            layers = sorted({line["layer"] for line in lines})
            self.assertEqual(len(lines), count * len(layers))
            self.assertEqual({(line["layer"], line["token"]) for line in lines},
                             {(layer, token) for layer in layers for token in range(count)})
            for line in lines:
                self.assertEqual(list(line), ["layer", "token", "experts", "weights"])
                self.assertEqual(line["weights"], sorted(line["weights"], reverse=True))
                self.assertEqual(len(set(line["experts"])), len(line["weights"]))
            for want in entry["last_token_routing"]:
                found = next(l for l in lines if (l["layer"], l["token"]) == (want["layer"], count - 1))
                self.assertEqual(found["experts"], want["experts"])
                for a, b in zip(found["weights"], want["weights"]):
                    self.assertTrue(math.isclose(a, b, abs_tol=1e-4))

    def test_what_is_wrong_is_named(self):
        out = self.folder / "out"
        good = self.write("good", "1 2")
        for content, words in (("1 two 3", "word 2 is 'two'"), ("1 2.5", "'2.5'"), ("", "no token ids"),
                               ("1 99999999999", "99999999999"), ("1 -1", "-1"), ("1 4096", "4096"), ("1 2x", "'2x'")):
            with self.subTest(content=content):
                tokens = self.write("tokens", content)
                error = self.fails(1, "logits", "--tokens", tokens, "--out", out)
                self.assertIn(words, error)
        self.assertIn("/no/tokens", self.fails(1, "logits", "--tokens", "/no/tokens", "--out", out))
        self.assertIn("/no/out", self.fails(1, "logits", "--tokens", good, "--out", "/no/out"))
        self.assertIn("/no/routing", self.fails(1, "logits", "--tokens", good, "--out", out, "--routing", "/no/routing"))
        self.assertIn("/no/model", self.fails(1, "logits", "/no/model", "--tokens", good, "--out", out))
        self.assertIn("/dev/full", self.fails(1, "logits", "--tokens", good, "--out", "/dev/full"))


class Tokenize(CliTest):
    def jsonl(self, lines, *args):
        out, _ = self.sluice("tokenize", *args, "--jsonl", stdin="".join(json.dumps(line) + "\n" for line in lines))
        return json_lines(out)

    def test_the_golden_prompts(self):
        prompts = golden()["prompts"]
        lines = [{"id": i, "text": p["prompt"]} for i, p in enumerate(prompts)]
        for model in (TALES, TALES / "model.safetensors"):
            self.assertEqual(self.jsonl(lines, model, "--special"),
                             [{"id": i, "ids": p["tokens"]} for i, p in enumerate(prompts)])
        self.assertEqual(self.jsonl(lines, TALES), [{"id": i, "ids": p["tokens"][1:]} for i, p in enumerate(prompts)])

    def test_special_tokens_in_the_text(self):
        (line,) = self.jsonl([{"id": "x", "text": "<s>Once</s>"}], TALES)
        self.assertEqual((line["ids"][0], line["ids"][-1]), (1, 2))

    def test_decode(self):
        tokens = golden()["prompts"][0]["tokens"]
        lines = self.jsonl([{"id": "a", "ids": tokens}, {"ids": [1, 123456, 2]}, {"id": None, "ids": []}], TALES, "--decode")
        self.assertEqual(lines[0]["id"], "a")
        self.assertEqual(lines[0]["text_skip_special"], "Once upon a time")
        self.assertIn("<s>", lines[0]["text"])
        self.assertEqual(lines[1], {"text": "<s></s>", "text_skip_special": ""})
        self.assertEqual(lines[2], {"id": None, "text": "", "text_skip_special": ""})

    def test_plain_text(self):
        tokens = " ".join(map(str, golden()["prompts"][0]["tokens"]))
        self.assertEqual(self.sluice("tokenize", TALES, "--special", "-p", "Once upon a time")[0], tokens + "\n")
        self.assertEqual(self.sluice("tokenize", TALES, "--special", stdin="Once upon a time")[0], tokens + "\n")

    def test_a_folder_with_a_tokenizer_only(self):
        for name in ("tokenizer.json", "tokenizer_config.json"):
            (self.folder / name).symlink_to(TALES / name)
        self.assertEqual(self.jsonl([{"text": "Once"}], self.folder), self.jsonl([{"text": "Once"}], TALES))

    def test_lines_come_one_by_one(self):
        process = subprocess.Popen([SLUICE, "tokenize", TALES, "--jsonl"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   env=environment())
        for i in range(3):
            process.stdin.write(json.dumps({"id": i, "text": "Once"}).encode() + b"\n")
            process.stdin.flush()
            self.assertEqual(json.loads(process.stdout.readline())["id"], i)
        process.stdin.close()
        self.assertEqual(process.wait(timeout=TIMEOUT), 0)
        process.stdout.close()

    def test_lines_of_many_lengths(self):
        lines = [{"id": i, "text": "Once upon a time " * (i * i)} for i in range(40)]  # across the reader's buffers
        answers = self.jsonl(lines, TALES)
        self.assertEqual([a["id"] for a in answers], list(range(40)))
        decoded = self.jsonl([{"ids": a["ids"]} for a in answers], TALES, "--decode")
        self.assertEqual([d["text"] for d in decoded], [line["text"] for line in lines])

    def test_what_is_wrong_is_named(self):
        def fails(stdin, *args):
            out, error = self.sluice("tokenize", TALES, "--jsonl", *args, stdin=stdin, code=1)
            self.assertRegex(error, r"\Asluice tokenize: standard input, line \d+: [^\n]+\n\Z")
            return error

        self.assertIn("line 2: no JSON object", fails('{"text": "a"}\nnonsense\n'))
        self.assertIn("line 3: no JSON object", fails('\n\n[1, 2]'))
        self.assertIn('no string "text"', fails('{"text": 5}'))
        self.assertIn('no list "ids"', fails('{"id": 1}', "--decode"))
        self.assertIn("whole numbers", fails('{"ids": [1.5]}', "--decode"))
        self.assertIn("levels", fails('{"id": ' + "[" * 100000 + "]" * 100000 + ', "text": "a"}'))
        self.assertIn("longer than", fails('{"text": "' + "a" * (33 << 20) + '"}'))
        self.assertIn("/no/model", self.fails(1, "tokenize", "/no/model", "--jsonl"))
        self.assertIn(str(self.folder), self.fails(1, "tokenize", self.folder, "--jsonl"))

    def test_the_shared_cases(self):
        """What the tokenizer layer's tests hold, through the command; they also have a committed subset."""
        folder = shared("tokenizers")
        for expected in sorted((folder / "expected").glob("*.jsonl")) if folder else []:
            name = expected.stem
            with self.subTest(tokenizer=name):
                def check(stdin, want, *args):
                    out, _ = self.sluice("tokenize", folder / name, "--jsonl", *args, stdin=(folder / stdin).read_bytes())
                    wanted = json_lines((folder / want).read_text())
                    self.assertEqual(json_lines(out), wanted)

                check("cases.jsonl", f"expected/{name}.jsonl")
                check("cases.jsonl", f"expected_special/{name}.jsonl", "--special")
                check(f"expected/{name}.jsonl", f"expected_decode/{name}.jsonl", "--decode")


class Render(CliTest):
    TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{{ extra or '' }}"

    def test_lines(self):
        template = self.write("t.jinja", self.TEMPLATE)
        lines = [{"id": 1, "messages": [{"role": "user", "content": "Hi"}], "kwargs": {"extra": "!"}},
                 {"id": "b", "messages": [], "kwargs": None}, {"messages": [{"role": "user"}]}]
        out, error = self.sluice("render", template, "--jsonl", stdin="".join(json.dumps(line) + "\n" for line in lines))
        self.assertEqual(json_lines(out),
                         [{"id": 1, "text": "user: Hi\n!"}, {"id": "b", "text": ""}, {"text": "user: \n"}])
        self.assertEqual(error, "")

    def test_an_exception_is_an_answer(self):
        template = self.write("t.jinja", "{{ raise_exception('no ' + messages[0].role) }}")
        out, _ = self.sluice("render", template, "--jsonl", stdin='{"id": 7, "messages": [{"role": "cat"}]}')
        self.assertEqual(json.loads(out), {"id": 7, "error": "no cat"})

    def test_the_time(self):
        template = self.write("t.jinja", "{{ strftime_now('%Y-%m-%d') }}")
        out, _ = self.sluice("render", template, "--jsonl", stdin='{"messages": [], "now": "2025-03-04 05:06:07"}')
        self.assertEqual(json.loads(out), {"text": "2025-03-04"})

    def test_the_order_of_keys_counts(self):
        template = self.write("t.jinja", "{{ tools | tojson }}")
        out, _ = self.sluice("render", template, "--jsonl", stdin='{"kwargs": {"tools": {"z": 1, "a": 2}}}')
        self.assertEqual(json.loads(out), {"text": '{"z": 1, "a": 2}'})

    def test_the_shared_cases(self):
        folder = shared("tokenizers")
        cases = {}
        for case in json_lines((folder / "chat_cases.jsonl").read_text()) if folder else []:
            cases.setdefault(case["template"], []).append(case)
        for name, of_template in cases.items():
            with self.subTest(template=name):
                out, _ = self.sluice("render", folder / "templates" / f"{name}.jinja", "--jsonl",
                                     stdin="".join(json.dumps(case) + "\n" for case in of_template))
                for case, line in zip(of_template, json_lines(out), strict=True):
                    want = {"text": case["expected"]} if "expected" in case else {"error": case["expected_error"]}
                    self.assertEqual(line, {"id": case["id"], **want})

    def test_what_is_wrong_is_named(self):
        self.assertIn("/no/template", self.fails(1, "render", "/no/template", "--jsonl"))
        broken = self.write("broken.jinja", "{% if %}")
        self.assertIn(str(broken), self.fails(1, "render", broken, "--jsonl"))
        template = self.write("t.jinja", self.TEMPLATE)
        self.assertIn("line 1: no JSON object", self.fails(1, "render", template, "--jsonl", stdin="x"))
        self.assertIn('"kwargs" is no object', self.fails(1, "render", template, "--jsonl", stdin='{"kwargs": [1]}'))


if __name__ == "__main__":
    unittest.main()
