"""Completion scripts: they parse in their shells, and complete in bash, zsh and fish."""

import pty
import os
import re
import select
import time

from harness import CliTest, SLUICE, TIMEOUT, environment, subprocess, unittest


class Completion(CliTest):
    def script(self, shell):
        return self.write(f"sluice.{shell}", self.sluice("completion", shell)[0])

    def run_shell(self, *command):
        path = f"{os.path.dirname(SLUICE)}:{os.environ['PATH']}"
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False, cwd=self.folder,
                              env=environment(PATH=path, HOME=str(self.folder)))
        self.assertEqual((done.returncode, done.stderr), (0, ""), command)
        return done.stdout

    def test_the_scripts_parse(self):
        for shell in ("bash", "zsh", "fish"):
            with self.subTest(shell=shell):
                self.run_shell(shell, "-n", self.script(shell))

    def bash(self, *words):
        """What bash offers for the last word."""
        quoted = " ".join("'" + word + "'" for word in words)
        return self.run_shell("bash", "-c", f"source {self.script('bash')}; COMP_WORDS=({quoted}); "
                              f"COMP_CWORD={len(words) - 1}; compopt() {{ :; }}; _sluice; "
                              "printf '%s\\n' \"${COMPREPLY[@]}\"").split()

    def test_bash(self):
        self.assertEqual(self.bash("sluice", "ru"), ["run"])
        self.assertEqual(self.bash("sluice", "run", "--chat-template-k"), ["--chat-template-kwargs"])
        self.assertIn("-ub", self.bash("sluice", "run", "-u"))
        self.assertEqual(self.bash("sluice", "run", "--isa", "avx512v"), ["avx512vnni"])
        self.assertEqual(self.bash("sluice", "completion", ""), ["bash", "zsh", "fish"])
        self.assertEqual(self.bash("sluice", "inspect", "--j"), ["--json"])
        self.assertEqual(self.bash("sluice", "inspect", "--te"), [])
        self.write("some.gguf", "")
        self.assertEqual(self.bash("sluice", "run", "-m", "some"), ["some.gguf"])

    def test_fish(self):
        script = self.script("fish")

        def offers(line):
            text = self.run_shell("fish", "--no-config", "-c", f"source {script}; complete -C '{line}'")
            return [entry.split("\t")[0] for entry in text.splitlines()]

        self.assertEqual(offers("sluice ru"), ["run"])
        self.assertIn("--chat-template-kwargs", offers("sluice run --chat-template"))
        self.assertIn("avx512vnni", offers("sluice run --isa avx512v"))
        self.assertNotIn("--temp", offers("sluice inspect --"))
        self.assertEqual(sorted(offers("sluice completion ")), ["bash", "fish", "zsh"])

    def test_zsh(self):
        """zsh completes only on a terminal: type a line, press Tab, read what it becomes."""
        self.script("zsh").rename(self.folder / "_sluice")
        installed = f"fpath=({self.folder} $fpath)"
        self.assertEqual(self.zsh(installed, "sluice ru\t"), "sluice run ")
        self.assertEqual(self.zsh(installed, "sluice run --chat-template-k\t"), "sluice run --chat-template-kwargs ")
        self.assertEqual(self.zsh(installed, "sluice run --isa avx512v\t"), "sluice run --isa avx512vnni ")
        self.assertEqual(self.zsh("true", "sluice completion f\t", "source ./_sluice"), "sluice completion fish ")

    def zsh(self, before, keys, after="true"):
        child, master = pty.fork()
        if child == 0:
            os.chdir(self.folder)
            os.execvpe("zsh", ["zsh", "-f"], environment(HOME=str(self.folder), TERM="dumb", PS1="", ZDOTDIR="/nonexistent"))
        try:
            # A widget of its own prints the edited line, so that no redrawing has to be understood.
            setup = (f"{before}; autoload -Uz compinit; compinit -u -D; {after}; PS1=''; unsetopt zle_bracketed_paste; "
                     "show() { print -r -- \"<<$BUFFER>>\"; zle kill-buffer }; zle -N show; bindkey '^X' show; print ready$((1+1))\n")
            os.write(master, setup.encode())
            self.until(master, r"ready2")
            os.write(master, keys.encode())
            time.sleep(0.2)
            os.write(master, b"\x18")
            return re.search(r"<<(.*?)>>", self.until(master, r"<<(.*?)>>")).group(1)
        finally:
            os.close(master)
            os.waitpid(child, 0)

    def until(self, master, pattern):
        text, end = "", time.monotonic() + TIMEOUT
        while not re.search(pattern, text):
            self.assertLess(time.monotonic(), end, text)
            if select.select([master], [], [], 0.1)[0]:
                text += os.read(master, 4096).decode(errors="replace")
        return text


if __name__ == "__main__":
    unittest.main()
