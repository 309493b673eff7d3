"""inspect: text and JSON, of both file kinds and of what can't be run."""

import json

from harness import CliTest, ROOT, TALES, shared, unittest

FIXTURES = ROOT / "tests" / "data" / "fixtures"


class Inspect(CliTest):
    def json_of(self, path):
        out, error = self.sluice("inspect", path, "--json")
        self.assertEqual(error, "")
        return json.loads(out)

    def test_the_embedded_models_folder(self):
        config = json.loads((TALES / "config.json").read_text())
        facts = self.json_of(TALES)
        self.assertEqual(facts["kind"], "safetensors")
        self.assertEqual(facts["num_layers"], config["num_hidden_layers"])
        self.assertEqual(facts["hidden_size"], config["hidden_size"])
        self.assertEqual(facts["vocab_size"], config["vocab_size"])
        self.assertEqual(facts["unknown"], [])
        self.assertEqual(facts["warnings"], [])
        self.assertEqual(len(facts["layers"]), facts["num_layers"])
        moe = [layer for layer in facts["layers"] if "experts" in layer]
        self.assertTrue(moe)
        self.assertEqual(moe[0]["experts"], config["n_routed_experts"])
        self.assertEqual(moe[0]["experts_used"], config["num_experts_per_tok"])
        self.assertIn(moe[0]["routing"]["program"], "ABCDEFG")
        self.assertEqual(sum(g["bytes"] for g in facts["tensor_groups"].values()) // 1000,
                         (TALES / "model.safetensors").stat().st_size // 1000 - self.header_kilobytes())
        self.assertGreater(facts["memory"]["kv_bytes_per_token"], 0)

    def header_kilobytes(self):
        size = (TALES / "model.safetensors").stat().st_size
        with open(TALES / "model.safetensors", "rb") as file:
            header = 8 + int.from_bytes(file.read(8), "little")
        return size // 1000 - (size - header) // 1000

    def test_the_text_says_the_same(self):
        facts = self.json_of(TALES)
        out, error = self.sluice("inspect", TALES)
        self.assertEqual(error, "")
        for words in (facts["architecture"], f"hidden size             {facts['hidden_size']}", "feed forward", "attention",
                      "memory needed", "tensors: experts", "BF16", facts["layers"][-1]["routing"]["description"]):
            self.assertIn(words, out)
        for line in out.splitlines():
            self.assertRegex(line, r"^\S.{23}\S|^[a-z: ]{24,}\S")

    def test_every_fixture(self):
        manifest = json.loads((FIXTURES / "manifest.json").read_text())
        kinds = set()
        for path in sorted({FIXTURES / fixture["checkpoint"] for fixture in manifest["fixtures"]}):
            with self.subTest(path=path.name):
                facts = self.json_of(path)
                kinds.add(facts["kind"])
                self.assertEqual(facts["unknown"], [])
                self.assertGreater(facts["num_layers"], 0)
                self.assertEqual(len(facts["layers"]), facts["num_layers"])
                self.assertGreater(len(self.sluice("inspect", path)[0].splitlines()), 8)
        self.assertEqual(kinds, {"gguf", "safetensors"})

    def test_a_single_safetensors_file(self):
        facts = self.json_of(TALES / "model.safetensors")
        self.assertEqual(facts["unknown"], [], "config.json lies beside it")
        alone = self.folder / "alone.safetensors"
        alone.symlink_to(TALES / "model.safetensors")
        facts = self.json_of(alone)
        self.assertEqual(len(facts["unknown"]), 1)
        self.assertIn("experts", facts["tensor_groups"])
        self.assertIn("unknown  ", self.sluice("inspect", alone)[0])

    def test_an_unknown_architecture_is_shown_nevertheless(self):
        bad = self.bad_files() / "arch-unknown.gguf"
        facts = self.json_of(bad)
        self.assertIn("abacus", facts["unknown"][0])
        self.assertTrue(facts["tensor_groups"])
        self.assertIn("abacus", self.sluice("inspect", bad)[0])

    def bad_files(self):
        from harness import BUILD
        return shared("gguf/bad") or BUILD / "data" / "bad"

    def test_what_is_not_there(self):
        self.assertIn("/no/such.gguf", self.fails(1, "inspect", "/no/such.gguf"))
        self.assertIn(str(self.folder), self.fails(1, "inspect", self.folder))
        self.assertIn("README.md", self.fails(1, "inspect", TALES / "README.md"))


if __name__ == "__main__":
    unittest.main()
