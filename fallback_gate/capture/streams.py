"""The side door: the command's output on its way to the log and, unchanged, to where it would have gone."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterable
from threading import Thread

from fallback_gate.capture.log import Log

_READ = 256 << 10
_STEP = 0.1  # seconds
PIPE = 1 << 20  # bytes that a pipe may hold, where the system lets us choose


def pipe() -> tuple[int, int]:
    """A pipe with room: its end to read and its end to write."""
    reading, writing = os.pipe()
    try:
        import fcntl

        fcntl.fcntl(reading, fcntl.F_SETPIPE_SZ, PIPE)  # type: ignore[attr-defined,unused-ignore]
    except (ImportError, AttributeError, OSError):
        pass  # the usual size does too
    return reading, writing


class Streams:
    """Threads, one for each stream: bytes from `source` to the log, then to `target`."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._threads: list[Thread] = []
        self._taken: list[int] = []  # bytes, by stream
        self._giving: list[bool] = []  # a stream waits for who takes its bytes

    def start(self, source: int, target: int) -> None:
        """Pass a stream on until its end."""
        number = len(self._threads)
        thread = Thread(
            target=self._pass, args=(number, source, target), daemon=True, name=f"stream {number}"
        )
        self._threads.append(thread)
        self._taken.append(0)
        self._giving.append(False)
        thread.start()

    def wait(self, seconds: float) -> bool:
        """Wait for the end of all streams; False where one is still open after that time.

        Time in which a slow reader of ours takes what stood in the pipes already does not count.
        """
        stood = [taken + PIPE + _READ for taken in self._taken]
        for number, thread in enumerate(self._threads):
            while thread.is_alive() and seconds > 0:
                began = time.monotonic()
                thread.join(min(_STEP, seconds))
                if not self._giving[number] or self._taken[number] > stood[number]:
                    seconds -= time.monotonic() - began
        return not any(thread.is_alive() for thread in self._threads)

    def _pass(self, number: int, source: int, target: int) -> None:
        shown = True
        while True:
            try:
                chunk = os.read(source, _READ)
            except OSError:  # a terminal whose last writer is gone
                return
            if not chunk:
                return
            self._taken[number] += len(chunk)
            self._log.write(number, chunk)
            self._giving[number] = True
            shown = shown and write(target, chunk)
            self._giving[number] = False


def write(target: int, data: bytes) -> bool:
    """Write all of it; False where nobody reads any more, which must not end the recording."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(target, rest) :]
        except BlockingIOError:
            select.select((), (target,), ())
        except OSError:
            return False
    return True


def close(descriptors: Iterable[int]) -> None:
    """Close these descriptors."""
    for descriptor in descriptors:
        os.close(descriptor)
