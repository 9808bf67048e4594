"""Room 3: the exception that ends a traceback, found from one of its frames.

    File "/opt/venv/tvm/relax/vm_build.py", line 157, in _vmlink
    File "python/tvm_ffi/cython/function.pxi", line 1174, in tvm_ffi.core._get_global_func
    ValueError: Cannot find global function target.build.vulkan

A compiler raises exceptions of any type, whose text it shares with other programs: its own frames tell that it was
it. TVM prints blank lines between frames, and native ones among them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Line, Record

MOST_ABOVE = 200  # lines of a traceback above the frame
MOST_BELOW = 400  # and below it, with quoted sources

_HEAD = "Traceback (most recent call last):"
_ERROR = Pattern(r"^(?P<type>(?:[A-Za-z_]\w{0,60}\.){0,6}[A-Za-z_]\w{0,80})(?:: (?P<text>.*))?\s*$")
_STOPPED = ("KeyboardInterrupt", "SystemExit", "GeneratorExit", "BdbQuit")
_CHAINED = ("The above exception was the direct cause", "During handling of the above exception")


class Raised(NamedTuple):
    """The frames of a traceback, outermost first, and the line with the exception's type and text."""

    frames: list[str]
    type: str
    text: str
    line: Line


def raised(record: Record, mine: Pattern) -> Raised | None:
    """The exception of the traceback in which the record is the outermost frame that `mine` knows.

    None where an outer frame told already, where a user stopped the program, and where another exception was
    raised from this one, which tells more. Nor where a logger's prefix stands before the frame: the error has it too,
    and what comes behind without it is another line of the program's.
    """
    before, _, file = record.text.partition('File "')
    if file and before.strip():
        return None
    frames: list[str] = []
    for line in record.preceding(MOST_ABOVE):
        if _HEAD in line.text:
            break
        if mine.search(line.text):
            return None
        frames.append(line.text)
    else:
        return None
    frames = [*frames[::-1], record.text]
    found, behind = None, 0
    for line in record.following(MOST_BELOW):
        if found is None:
            error = _ERROR.match(line.text)
            if error is None:
                frames.append(line.text)
            elif error["type"].rpartition(".")[2] in _STOPPED:
                return None
            else:
                found = Raised(frames, error["type"], error["text"] or "", line)
        elif line.text.startswith(_CHAINED):
            return None
        elif (behind := behind + 1) > 3:
            break
    return found


def of_user(frames: Iterable[str], compiler: str) -> list[str]:
    """The frames of the user's own code: in no installed package, and in no folder of the compiler's name."""
    paths = ((frame, frame.replace("\\", "/")) for frame in frames)
    return [frame for frame, path in paths if "-packages/" not in path and f"/{compiler}/" not in path]
