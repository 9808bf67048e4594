"""The side door: a terminal for the command where the user sits at one, so that colours and prompts stay.

POSIX only. The command's terminal leaves its output as it is (no carriage returns are put in), so that the
log has the bytes that were printed; the user's own terminal still does its part. Keys go through unread,
control characters among them: the command's terminal turns them into signals, as it would without us.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

from fallback_gate.capture.streams import write

if sys.platform != "win32":
    import fcntl
    import select
    import termios

    def open_terminal(like: int) -> tuple[int, int]:
        """A terminal of the size and the settings of another: our end, and the command's."""
        ours, theirs = os.openpty()
        settings = termios.tcgetattr(like)
        settings[1] &= ~termios.OPOST
        settings[6][termios.VSUSP] = b"\0"  # stopping the command alone would leave its user without a shell
        termios.tcsetattr(theirs, termios.TCSANOW, settings)
        _resize(ours, like)
        return ours, theirs

    def take_control() -> None:
        """In the command's process, before it starts: make standard input its controlling terminal."""
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    @contextmanager
    def keys(ours: int, user: int) -> Iterator[None]:
        """Pass the user's keys on, and the size of the window."""
        before = termios.tcgetattr(user)
        raw = termios.tcgetattr(user)
        raw[0] &= ~(termios.IXON | termios.ICRNL | termios.INLCR | termios.IGNCR | termios.BRKINT)
        raw[3] &= ~(termios.ECHO | termios.ICANON | termios.ISIG | termios.IEXTEN)
        raw[6][termios.VMIN], raw[6][termios.VTIME] = 1, 0
        stopped, stop = os.pipe()
        thread = Thread(target=_pass_keys, args=(user, ours, stopped), daemon=True, name="keys")
        resized = signal.signal(signal.SIGWINCH, lambda number, frame: _resize(ours, user))
        termios.tcsetattr(user, termios.TCSADRAIN, raw)
        thread.start()
        try:
            yield
        finally:
            os.close(stop)
            thread.join(1)
            termios.tcsetattr(user, termios.TCSADRAIN, before)
            signal.signal(signal.SIGWINCH, resized)
            os.close(stopped)

    def _pass_keys(user: int, ours: int, stopped: int) -> None:
        while True:
            ready, _, _ = select.select((user, stopped), (), ())
            if stopped in ready:
                return
            try:
                typed = os.read(user, 4096)
            except OSError:
                return
            if not typed or not write(ours, typed):
                return

    def _resize(ours: int, like: int) -> None:
        try:
            size: Any = fcntl.ioctl(like, termios.TIOCGWINSZ, bytes(8))
            fcntl.ioctl(ours, termios.TIOCSWINSZ, size)
        except OSError:
            pass  # a terminal without a size

    def in_foreground() -> bool:
        """Whether a control character in the terminal reaches us and the command alike."""
        try:
            terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
        except OSError:
            return False
        try:
            return os.tcgetpgrp(terminal) == os.getpgrp()
        except OSError:
            return False
        finally:
            os.close(terminal)
