"""What the tests of the command share: the built program, its runs, a terminal.

The program's path comes from $SLUICE_BINARY (ctest sets it). Every run starts with the caller's SLUICE_* variables and
settings file left out, so that results do not depend on whose machine this is.
"""

import fcntl
import functools
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SLUICE = os.environ.get("SLUICE_BINARY") or str(ROOT / "build" / "release" / "bin" / "sluice")
BUILD = pathlib.Path(SLUICE).resolve().parent.parent
TALES = ROOT / "models" / "tales-moe"
TIMEOUT = 60  # seconds that one run may take, sanitizers and busy machines included

# A chat template with all that a chat needs: roles, turns, a beginning, an end.
CHAT_TEMPLATE = ("{{ bos_token }}{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}"
                 "{% if add_generation_prompt %}[assistant] Once upon a time{% endif %}")


def shared(relative):
    """A file of the large shared data folder, or None (tests/support/shared_data.h has the same rule)."""
    path = pathlib.Path(os.environ.get("SLUICE_SHARED") or ROOT.parent / "shared") / relative
    return path if path.exists() else None


def environment(**changes):
    env = {k: v for k, v in os.environ.items() if not k.startswith("SLUICE_") and k not in ("NO_COLOR", "LC_ALL", "LANG")}
    env.update({"XDG_CONFIG_HOME": "/nonexistent", "TERM": "xterm"})
    env.update(changes)
    return env


@functools.cache
def golden():
    return json.loads((TALES / "golden.json").read_text())


@functools.cache
def version():
    return subprocess.run([SLUICE, "--version"], capture_output=True, text=True, check=True, timeout=TIMEOUT).stdout


def sanitized():
    """Whether this build's time and memory say nothing about the program."""
    return "sanitizers:" in version()


def isas():
    return re.search(r"^this processor runs: (.*?) \(", version(), re.MULTILINE).group(1).split()


class CliTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def sluice(self, *args, stdin=b"", code=0, **env):
        """Runs to the end; checks the exit code; returns (stdout, stderr) as text."""
        if isinstance(stdin, str):
            stdin = stdin.encode()
        done = subprocess.run([SLUICE, *map(str, args)], input=stdin, capture_output=True, timeout=TIMEOUT,
                              env=environment(**env), cwd=self.folder, check=False)
        error = done.stderr.decode()
        self.assertEqual(done.returncode, code, f"sluice {args}: {error}")
        return done.stdout.decode(), error

    def fails(self, code, *args, **options):
        """Runs what must fail: nothing on stdout, one line on stderr, which is returned."""
        out, error = self.sluice(*args, code=code, **options)
        self.assertEqual(out, "")
        self.assertRegex(error, r"\A[^\n]+\n\Z")
        self.assertTrue(error.startswith("sluice"), error)
        return error

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def chat_model(self):
        """The folder of a model with a chat template."""
        folder = self.folder / "chat-model"
        folder.mkdir(exist_ok=True)
        for file in TALES.iterdir():
            if file.suffix in (".json", ".safetensors") and not (folder / file.name).exists():
                (folder / file.name).symlink_to(file)
        config = json.loads((TALES / "tokenizer_config.json").read_text())
        config["chat_template"] = CHAT_TEMPLATE
        (folder / "tokenizer_config.json").unlink()
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
        return folder


class Terminal:
    """The program on a terminal of its own; `screen` is all that it has shown."""

    def __init__(self, *args, cwd=None, stdin=None, stdout=None, stderr=None, columns=200, **env):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))

        def own_terminal():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen([SLUICE, *map(str, args)], stdin=slave if stdin is None else stdin,
                                        stdout=slave if stdout is None else stdout,
                                        stderr=slave if stderr is None else stderr, cwd=cwd, env=environment(**env),
                                        preexec_fn=own_terminal, pass_fds=(slave,))
        os.close(slave)
        self.screen = ""
        self.seen = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)

    def read(self, seconds):
        """Whether there was more to read within that time."""
        ready, _, _ = select.select([self.master], [], [], seconds)
        try:
            data = os.read(self.master, 65536) if ready else b""
        except OSError:  # the other side is closed
            data = b""
        self.screen += data.decode(errors="replace")
        return bool(data)

    def expect(self, pattern, timeout=TIMEOUT):
        """Waits until what was shown since the last expect() matches; returns the text up to the end of the match."""
        end = time.monotonic() + timeout
        while True:
            found = re.search(pattern, self.screen[self.seen:], re.DOTALL)
            if found:
                text = self.screen[self.seen : self.seen + found.end()]
                self.seen += found.end()
                return text
            if not self.read(0.1) and (time.monotonic() > end or self.process.poll() is not None and not self.read(0.1)):
                raise AssertionError(f"{pattern!r} did not appear in {self.screen[self.seen:]!r}")

    def type(self, text):
        os.write(self.master, text.encode())

    def line(self, text):
        self.type(text + "\r")

    def interrupt(self):
        self.type("\x03")

    def end(self, timeout=TIMEOUT):
        """Reads to the program's end; returns its exit code."""
        limit = time.monotonic() + timeout
        while self.read(0.1) or self.process.poll() is None:
            if time.monotonic() > limit:
                raise AssertionError(f"the program goes on; it has shown {self.screen!r}")
        return self.process.returncode


def plain(text):
    """Text of a terminal without its control sequences."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]", "", text).replace("\r", "")


def stop(process, number, wait=2.0):
    """Sends a signal; returns (exit code, seconds until the end)."""
    started = time.monotonic()
    process.send_signal(number)
    code = process.wait(timeout=wait + 10)
    return code, time.monotonic() - started


__all__ = ["BUILD", "CHAT_TEMPLATE", "CliTest", "ROOT", "SLUICE", "TALES", "TIMEOUT", "Terminal", "environment", "golden",
           "isas", "plain", "sanitized", "shared", "signal", "stop", "subprocess", "unittest", "version"]
