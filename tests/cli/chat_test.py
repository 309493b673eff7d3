"""The interactive loop on a terminal: chats and completions."""

import json
import os

from harness import CHAT_TEMPLATE, CliTest, Terminal, plain, signal, subprocess, unittest

FEW = ["--temp", "0", "-n", "8"]
ENDLESS = ["--temp", "0", "-n", "-1", "--ignore-eos", "-c", "1000000"]


class Chat(CliTest):
    def chat(self, *args, **options):
        args = ("run", "--chat-template", CHAT_TEMPLATE, *args)
        return Terminal(*args, cwd=self.folder, **options)

    def ask(self, terminal, text):
        """Types a message; returns the answer."""
        terminal.line(text)
        shown = plain(terminal.expect(r"prefill \d+ token.*?\n.*?> "))
        return shown

    def test_a_conversation(self):
        with self.chat(*FEW, "-v") as terminal:
            greeting = plain(terminal.expect("> "))
            self.assertIn("context 1024 tokens", greeting)
            self.assertIn("/help", greeting)
            first = self.ask(terminal, "Hello there")
            self.assertIn("prompt: <s>[user] Hello there\\x0A[assistant] Once upon a time", first)
            self.assertRegex(first, r"decode 8 tokens")
            second = self.ask(terminal, "And then?")
            self.assertRegex(second, r"prompt: <s>\[user\] Hello there\\x0A\[assistant\] .*\\x0A\[user\] And then\?\\x0A",
                             "the history is part of the prompt")
            terminal.line("/exit")
            self.assertEqual(terminal.end(), 0)

    def test_what_the_cache_holds_is_not_read_again(self):
        with self.chat(*FEW) as terminal:
            terminal.expect("> ")
            self.ask(terminal, "Tell me of a king and his three sons, and of the fox that they met in the forest")
            shown = self.ask(terminal, "Go on")
            count = int(shown.split("prefill ")[1].split()[0])
            self.assertLess(count, 30)
            terminal.type("\x04")
            self.assertEqual(terminal.end(), 0)

    def test_commands(self):
        with self.chat(*FEW, "-v", "--system-prompt", "Be kind") as terminal:
            terminal.expect("> ")
            terminal.line("/help")
            self.assertIn("/clear", plain(terminal.expect("Ctrl-C stops.*?> ")))
            terminal.line("/nonsense now")
            self.assertIn("unknown command /nonsense; /help lists them", plain(terminal.expect("lists them.*?> ")))
            terminal.line("/regen")
            terminal.expect("there is no answer yet.*?> ")
            self.assertIn("[system] Be kind", self.ask(terminal, "One"))
            self.assertIn("[user] One", self.ask(terminal, "Two"))
            terminal.line("/stats")
            terminal.expect(r"\d+ of 1024 tokens of context used.*?> ")
            terminal.line("/clear")
            terminal.expect("forgotten.*?> ")
            third = self.ask(terminal, "Three")
            self.assertNotIn("[user] One", third)
            self.assertIn("[system] Be kind", third)
            terminal.line("/system Be short")
            terminal.expect("starts over.*?> ")
            self.assertIn("prompt: <s>[system] Be short\\x0A[user] Four", self.ask(terminal, "Four"))
            terminal.line("/bye")
            self.assertEqual(terminal.end(), 0)

    def test_regen_answers_again(self):
        with self.chat("-n", "12", "--temp", "1", "--seed", "3", "-v") as terminal:
            terminal.expect("> ")
            first = self.ask(terminal, "Hello")
            terminal.line("/regen")
            second = plain(terminal.expect(r"prefill \d+ token.*?\n.*?> "))
            question = "prompt: <s>[user] Hello\\x0A[assistant] Once upon a time\n"
            self.assertIn(question, first)
            self.assertIn(question, second, "the first answer is not part of the prompt")
            self.assertNotEqual(first.split(question)[1].split("prefill")[0], second.split(question)[1].split("prefill")[0])
            terminal.type("\x04")
            self.assertEqual(terminal.end(), 0)

    def test_an_interrupt_stops_the_answer_and_not_the_program(self):
        with self.chat(*ENDLESS, "--isa", "scalar", "-t", "1") as terminal:
            terminal.expect("> ")
            terminal.line("Hello")
            terminal.expect(r"there (lived|was)")
            terminal.interrupt()
            terminal.expect(r"decode \d+ tokens.*?> ", timeout=10)
            terminal.line("/stats")
            terminal.expect("tokens of context used.*?> ")
            terminal.interrupt()
            terminal.expect(r"\(Ctrl-D or /exit leaves\).*?> ")
            terminal.type("half a line")
            terminal.expect("half a line")
            terminal.interrupt()
            terminal.expect(r"leaves\).*?> ")
            terminal.line("/stats")
            terminal.expect("tokens of context used.*?> ")
            terminal.type("\x04")
            self.assertEqual(terminal.end(), 0)

    def test_sigterm_ends_the_program(self):
        with self.chat() as terminal:
            terminal.expect("> ")
            terminal.process.send_signal(signal.SIGTERM)
            self.assertEqual(terminal.end(5), 143)
        with self.chat(*ENDLESS, "--isa", "scalar", "-t", "1") as terminal:
            terminal.expect("> ")
            terminal.line("Hello")
            terminal.expect("there")
            terminal.process.send_signal(signal.SIGTERM)
            self.assertEqual(terminal.end(5), 143)

    def test_editing(self):
        with self.chat(*FEW, "-v", LC_ALL="C") as terminal:
            terminal.expect("> ")
            self.assertIn("[user] Ärger mit 日本\\x0A", self.ask(terminal, "Ärger mit 日本"))
            self.assertIn("[user] Hello\\x0A", self.ask(terminal, "Hxello\x1b[D\x1b[D\x1b[D\x1b[D\x7f"))
            self.assertEqual(self.ask(terminal, "\x1b[A").count("[user] Hello\\x0A"), 2, "the last line once more")
            terminal.type("first \\\r")
            terminal.expect(r"\.\.\. ")
            self.assertIn("[user] first \\x0Asecond\\x0A", self.ask(terminal, "second"))
            terminal.line("")
            terminal.expect("> ")
            terminal.type("\x04")
            self.assertEqual(terminal.end(), 0)

    def test_a_first_message_and_then_a_chat(self):
        with self.chat(*FEW, "-i", "-v", "-p", "Hello") as terminal:
            self.assertIn("[user] Hello", plain(terminal.expect(r"prefill.*?> ")))
            self.assertIn("[user] Hello", self.ask(terminal, "Again"))
            terminal.type("\x04")
            self.assertEqual(terminal.end(), 0)

    def test_a_model_with_a_template(self):
        with Terminal("run", self.chat_model(), *FEW, "-v") as terminal:
            terminal.expect("type a message.*?> ")
            self.assertIn("prompt: <s>[user] Hello", self.ask(terminal, "Hello"))
            terminal.type("\x04")
            self.assertEqual(terminal.end(), 0)

    def test_a_template_that_objects(self):
        template = "{% if messages|length > 1 %}{{ raise_exception('one message only') }}{% endif %}Once upon a time"
        with Terminal("run", "--chat-template", template, *FEW) as terminal:
            terminal.expect("> ")
            self.ask(terminal, "Hello")
            terminal.line("Again")
            terminal.expect("one message only.*?> ")
            terminal.line("/clear")
            terminal.expect("forgotten.*?> ")
            self.ask(terminal, "Hello")
            terminal.type("\x04")
            self.assertEqual(terminal.end(), 0)

    def test_a_full_context_is_said(self):
        with self.chat("--temp", "0", "-n", "-1", "--ignore-eos", "-c", "40") as terminal:
            terminal.expect("> ")
            terminal.line("Hello")
            terminal.expect("the context is full; /clear starts over.*?> ")
            terminal.line("More")
            terminal.expect("--ctx-size.*?> ")
            terminal.type("\x04")
            self.assertEqual(terminal.end(), 0)

    def test_answers_go_to_stdout_and_the_rest_does_not(self):
        with open(self.folder / "answers", "wb") as answers:
            terminal = self.chat(*FEW, "-i", "-p", "Hello", stdout=answers)
        with terminal:
            terminal.expect("> ")
            terminal.type("\x04")
            self.assertEqual(terminal.end(), 0)
            screen = plain(terminal.screen)
        text = (self.folder / "answers").read_text()
        self.assertGreater(len(text), 5)
        self.assertNotIn(text.strip(), screen)
        self.assertNotIn(">", text)
        self.assertNotIn("\x1b", text)


class Raw(CliTest):
    def test_completions(self):
        with Terminal("run", "--raw", "--temp", "0", "-n", "12") as terminal:
            terminal.expect("texts are completed.*?> ")
            terminal.line("Once upon a time")
            shown = plain(terminal.expect(r"prefill 5 tokens.*?> "))
            self.assertIn("Once upon a time there lived a man who had three sons, and had a\n", shown)
            terminal.line("Once upon a time")
            self.assertIn("prefill 1 token;", plain(terminal.expect(r"prefill.*?> ")).replace(", ", ";"))
            terminal.line("/help")
            terminal.expect("Ctrl-C stops.*?> ")
            terminal.line("/clear")
            terminal.expect("unknown command /clear.*?> ")
            terminal.type("\x04")
            self.assertEqual(terminal.end(), 0)

    def test_without_a_template_texts_are_completed(self):
        with Terminal("run", "--temp", "0", "-n", "3") as terminal:
            terminal.expect("texts are completed.*?> ")
            terminal.line("/quit")
            self.assertEqual(terminal.end(), 0)

    def test_no_loop_without_a_terminal_on_both_sides(self):
        with Terminal("run", "--temp", "0", "-n", "3", stdout=subprocess.DEVNULL) as terminal:
            self.assertEqual(terminal.end(), 0)
        with Terminal("run", "--temp", "0", "-n", "3", stdin=subprocess.DEVNULL) as terminal:
            self.assertEqual(terminal.end(), 0)
            self.assertNotIn("> ", terminal.screen)


if __name__ == "__main__":
    unittest.main()
