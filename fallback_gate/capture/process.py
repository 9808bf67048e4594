"""The side door: the command as a process: its streams, its terminal, the signals that are meant for it.

Signals go on to the command, whose end decides ours. Where the output goes to a terminal, the command gets
one of its own (POSIX); else it gets a pipe for each stream. On Windows it always gets pipes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import FrameType

from fallback_gate.capture import streams
from fallback_gate.capture.log import Log
from fallback_gate.errors import InputError, reason

GRACE = 10.0  # seconds after the command's end in which what it left behind may still print
_PASSED_ON = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGBREAK")
_OUT, _ERR = 1, 2


class NotStarted(InputError):
    """The command could not be started; `exit_code` is what a shell would give."""

    def __init__(self, text: str, exit_code: int) -> None:
        super().__init__(text)
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True)
class Ended:
    """How the command ended: the exit status as a shell gives it, the signal that ended it, and whether a
    process that it left behind still held its output after `GRACE`."""

    exit_status: int
    signal: str | None
    left_open: bool


class Command:
    """A command, started by `run`, which waits for its end, and `grace` seconds for what it leaves behind."""

    def __init__(self, words: Sequence[str], environ: Mapping[str, str], grace: float = GRACE) -> None:
        self._words = list(words)
        self._grace = grace
        self._environ = dict(environ)
        self._process: subprocess.Popen[bytes] | None = None
        self._own_group = False
        self._early: list[int] = []  # signals that came before it was started

    def run(self, log: Log) -> Ended:
        """Run it to its end. Raises `NotStarted`."""
        with ExitStack() as stack:
            stack.enter_context(self._signals())
            passed = streams.Streams(log)
            for source, target in self._start(stack):
                passed.start(source, target)
            process = self._process
            assert process is not None
            for number in self._early:
                process.send_signal(number)
            returned = process.wait()
            closed = passed.wait(self._grace)
        if returned < 0:
            return Ended(128 - returned, _name(-returned), not closed)
        return Ended(returned, None, not closed)

    def _start(self, stack: ExitStack) -> list[tuple[int, int]]:
        """Start it; the ends of its streams to read, each with where it goes."""
        passed: list[tuple[int, int]] = []
        theirs: dict[int, int] = {}
        keyboard: tuple[int, int] | None = None
        if sys.platform != "win32" and (os.isatty(_OUT) or os.isatty(_ERR)):
            from fallback_gate.capture.terminal import open_terminal

            first = _OUT if os.isatty(_OUT) else _ERR
            ours, other = open_terminal(first)
            passed.append((ours, first))
            theirs |= {stream: other for stream in (_OUT, _ERR) if os.isatty(stream)}
            if os.isatty(0):
                keyboard = ours, other
        for stream in (_OUT, _ERR):
            if stream not in theirs:
                reading, theirs[stream] = streams.pipe()
                passed.append((reading, stream))
        try:
            self._process = self._opened(theirs, keyboard and keyboard[1])
        finally:
            streams.close(set(theirs.values()))
        if keyboard and sys.platform != "win32":
            from fallback_gate.capture.terminal import keys

            stack.enter_context(keys(keyboard[0], 0))
        return passed

    def _opened(self, theirs: Mapping[int, int], keyboard: int | None) -> subprocess.Popen[bytes]:
        control = None
        if keyboard is not None and sys.platform != "win32":
            from fallback_gate.capture.terminal import take_control

            control, self._own_group = take_control, True
        try:
            return subprocess.Popen(
                self._words,
                stdin=keyboard,
                stdout=theirs[_OUT],
                stderr=theirs[_ERR],
                env=self._environ,
                start_new_session=keyboard is not None,
                preexec_fn=control,
            )
        except FileNotFoundError:
            raise NotStarted(f"{self._words[0]}: no such command", 127) from None
        except (OSError, ValueError) as error:
            raise NotStarted(f"{self._words[0]}: can't be started: {reason(error)}", 126) from None

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Pass on what is meant for the command; what we were started to ignore stays ignored."""
        before = {}
        for name in _PASSED_ON:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, self._pass_on)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        if self._process is None:
            self._early.append(number)
            return
        if self._process.poll() is not None or self._had_it(number):
            return
        try:
            if self._own_group and sys.platform != "win32":
                os.killpg(self._process.pid, number)
            else:
                self._process.send_signal(number)
        except OSError:
            pass  # it ended meanwhile

    def _had_it(self, number: int) -> bool:
        """Whether the terminal sent it to the command too: once is enough to stop in order."""
        if sys.platform != "win32":
            if self._own_group or number not in (signal.SIGINT, signal.SIGQUIT):
                return False
            from fallback_gate.capture.terminal import in_foreground

            return in_foreground()
        return True  # the console sends them to all of its processes


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
