"""Room 1: a stream, the way out of this room: UTF-8 text in the caller's buffer, whatever stood on disk.

The way in is a reader of the bytes as they stand; each layer (unpacking, transcoding, reassembly) is put on
only where the first bytes call for it, so that a plain file has none.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType

from fallback_gate.errors import Unreadable
from fallback_gate.sources import archive, binary, compression, encoding, reassembly, seal, sealed
from fallback_gate.sources.grown import Grown
from fallback_gate.sources.later import Later
from fallback_gate.sources.reader import Ahead, Buffer, Chunks, Reader


class Stream:
    """The text of a source, read once from its start. Use it as a context manager, and from one thread.

    `looks`: the caller looks for `later.SIGNS` in what it gets, and calls `look`. `key` verifies a seal that
    was made with one; `trace` is what a seal says of this text. `enough` as in `Ahead`: for a log that grows.
    """

    def __init__(
        self,
        opener: Callable[[], AbstractContextManager[Reader]],
        limit: int,
        key: bytes | None = None,
        trace: seal.Trace | None = None,
        *,
        looks: bool = False,
        enough: Callable[[], bool] = lambda: False,
    ) -> None:
        self._enough = enough
        self._opener = opener
        self._limit = limit
        self._key = key
        self._trace = trace
        self._looks = looks
        self._later: Later | None = None
        self._sealed: sealed.Sealed | sealed.Unsealed | sealed.Expected | None = None
        self._stack = ExitStack()
        self._text: Reader | None = None
        self._failure: Unreadable | None = None

    @property
    def seal(self) -> seal.Seal | None:
        """Once the text is read: the seal of a recorded log, if it is whole."""
        return self._sealed.seal if self._sealed else None

    def readinto(self, buffer: Buffer, /) -> int:
        """Write up to `len(buffer)` bytes of text into the buffer; the number written, 0 at the end.

        Raises `Unreadable`, here and nowhere else, where the text ends before its time; what was written
        before stands, and reading on raises it again.
        """
        if self._failure is not None:
            raise self._failure
        try:
            if self._text is None:
                stored = Ahead(self._stack.enter_context(self._opener()), self._enough)
                self._text = self._reader(stored)
            return self._text.readinto(buffer)
        except Unreadable as failure:
            self._failure = failure
            raise

    def look(self, data: bytes, known: int) -> int:
        """A sign stands in the last bytes that were given: as `Later.look`."""
        return self._later.look(data, known) if self._later else 0

    @property
    def as_stored(self) -> bool:
        """Nothing was taken off this text but what `is_plain` allows for."""
        return self._later is None or self._later.as_stored

    def _reader(self, stored: Ahead) -> Reader:
        """The reader that turns the bytes of a source into text."""
        text = self._plain(stored)
        head = text.peek(binary.HEAD)
        if head.startswith(archive.MAGIC):
            raise Unreadable("zip archive that is itself packed, piped or not named .zip: unpack it first")
        written = encoding.detect(head)
        text.skip(written.mark)
        if written.codec:
            text = Ahead(Chunks(encoding.transcode(text, written.codec)), self._enough)
        head = text.peek(binary.HEAD)
        binary.refuse(head)
        console = written.codec is not None
        needed = reassembly.steps(head, console=console)
        whole = Grown(text, needed, console=console) if text.short else text
        self._sealed = sealed.watched(whole, head, self._key, self._trace)
        if needed:
            watched = Later(self._sealed, codes=False, watch=True)
            return Chunks(reassembly.reassemble(watched, needed))
        self._later = Later(self._sealed, codes=True, watch=not self._looks)
        return self._later

    def _plain(self, stored: Ahead) -> Ahead:
        """What stands in packed bytes, or the bytes themselves."""
        form = compression.detect(stored.peek(binary.HEAD))
        if not form:
            return stored
        text = Ahead(Chunks(compression.unpack(stored, form, self._limit)), self._enough)
        if compression.detect(text.peek(binary.HEAD)):
            raise Unreadable(f"compressed data inside {form.name} data: unpack it first")
        return text

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()


def is_plain(stored: Ahead) -> bool:
    """The text stands in these bytes as it is: a position in the text is one in the file."""
    head = stored.peek(binary.HEAD)
    if compression.detect(head) or encoding.detect(head) != encoding.Encoding():
        return False
    return not reassembly.steps(head, console=False)
