"""Room 3: the user's frames of the tracebacks in PyTorch's records, and what a report takes from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import Any, NamedTuple

from fallback_gate.model import Location
from fallback_gate.model.names import function
from fallback_gate.patterns import Pattern

_FRAME = Pattern(
    r'\s*File "(?P<file>[^"]+)", line (?P<line>\d{1,9})(?:, in (?P<function>\S(?:.*?\S)??))?,?\s*$'
)
_STANDARD = r"/lib/python3[.\d]*/(?!(?:site|dist)-packages/)|^<frozen"
_MAKES_KERNELS = r"(?:site|dist)-packages/(?:triton|numba|llvmlite)/"
_LIBRARY = Pattern(
    rf"(?:site|dist)-packages/(?:torch|functorch|torchgen)/|{_MAKES_KERNELS}|{_STANDARD}|^<(?:string|eval_with_key)"
)
_COMPUTES_NOTHING = Pattern(_MAKES_KERNELS)
_STANDARD_LIBRARY = Pattern(_STANDARD)
_COMPILED_BACKWARD = Pattern(r"/torch/_dynamo/compiled_autograd\.py$")
_PLUMBING = Pattern(r"/torch/(?:_dynamo/|nn/modules/module\.py$)")


class UserStack(NamedTuple):
    """The user's frames of a traceback, innermost first: functions, files, and the innermost place."""

    functions: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    innermost: Location | None = None

    def within(self, frame: Location) -> UserStack:
        """The stack of a frame that these called, or that is innermost in them already."""
        functions = dict.fromkeys(name for name in (frame.function, *self.functions) if name)
        files = dict.fromkeys(file for file in (frame.file, *self.files) if file)
        return UserStack(tuple(functions), tuple(files), frame)


def is_library(path: str) -> bool:
    """Whether a frame's file is PyTorch's own, a kernel compiler's or the standard library's, not the user's code."""
    return bool(_LIBRARY.search(path.replace("\\", "/")))


def is_standard_library(path: str) -> bool:
    """Whether a frame's file is Python's own."""
    return bool(_STANDARD_LIBRARY.search(path.replace("\\", "/")))


def makes_kernels(path: str) -> bool:
    """Whether a frame's file is of a compiler of kernels, called from code that runs in eager, as is told: Dynamo looks at
    its frames too, and none of them computes anything."""
    return bool(_COMPUTES_NOTHING.search(path.replace("\\", "/")))


def frames(lines: Iterable[str]) -> list[Location]:
    """The frames of a traceback as printed (outermost first), libraries' frames left out."""
    return [frame for line in lines if 'File "' in line and (frame := _frame(line))]


def library_frames(lines: Iterable[str]) -> list[Location]:
    """A traceback's frames in libraries behind the user's innermost, innermost first, but for those that call
    any module."""
    found = [match for line in lines if 'File "' in line and (match := _FRAME.match(line))][::-1]
    return [
        Location(match["file"], int(match["line"]), function(match["function"]))
        for match in takewhile(lambda match: is_library(match["file"]), found)
        if match["function"] and not _PLUMBING.search(match["file"].replace("\\", "/"))
    ]


def runs_in_backward(lines: Sequence[str]) -> bool:
    """Whether compiled autograd called what a traceback ends in, behind the user's innermost frame: then none of the
    user's frames is traced there."""
    inner_first = (match for line in reversed(lines) if 'File "' in line and (match := _FRAME.match(line)))
    behind = takewhile(lambda match: is_library(match["file"]), inner_first)
    return any(_COMPILED_BACKWARD.search(match["file"].replace("\\", "/")) for match in behind)


@lru_cache(maxsize=4096)
def _frame(line: str) -> Location | None:
    match = _FRAME.match(line)
    if not match or is_library(match["file"]):
        return None
    name = match["function"]
    return Location(match["file"], int(match["line"]), function(name) if name else None)


def user_stack(lines: Iterable[str]) -> UserStack:
    """Read the user's stack from the lines of a traceback."""
    inner_first = frames(lines)[::-1]
    if not inner_first:
        return UserStack()
    named = (frame.function for frame in inner_first)
    functions = dict.fromkeys(name for name in named if name and not name.startswith("<module"))
    files = dict.fromkeys(frame.file for frame in inner_first if frame.file)
    return UserStack(tuple(functions), tuple(files), inner_first[0])


def told_by(stack: UserStack, *called: str, op: str | None = None) -> dict[str, Any]:
    """What a report takes from the user's stack, and from the names of the call that the message tells.

    The function innermost in the stack is what the message is about, unless `op` is.
    """
    name = op or (stack.innermost.function if stack.innermost else None)
    return {
        "op": name or "*",
        "names": tuple(dict.fromkeys((name, *called))) if name else called,
        "stack": stack.functions,
        "files": stack.files,
        "location": stack.innermost,
    }
