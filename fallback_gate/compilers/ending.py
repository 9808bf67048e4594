"""Room 3: whether a program broke off, as the last lines of its log tell, or those behind one message.

What a run that failed would have compiled next, nobody knows: it proves nothing. An exception's traceback ends
such a log, or what a shell, a launcher or a CI system says of a program that a signal ended or that came back
with a status of its own, or what a library or a compiler says before it ends its process. A traceback that the
program goes on behind was caught.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain, islice
from os.path import commonprefix

from fallback_gate.patterns import GLOG, Pattern

NEAR = 24  # lines from the end in which the program says that it failed, the longest text of an exception among them
FAR = 400  # lines of a traceback

_FRAME = Pattern(r"(?:^|\W)File \W.{1,400}?, line \d")  # whatever stands before it, or is left of its quotes
_RECORD = Pattern(GLOG + r"\.\d|\] torch[\w.]*: \[|^\t")  # PyTorch's, which tell of stacks, too
_LEAD = Pattern(r"[\s|+>]*")
_TRACEBACK = "Traceback (most recent call last)"
_IGNORED = "Exception ignored in"  # while the interpreter cleans up
_SIGNAL = (
    "(?:Segmentation fault|Killed|Aborted|Terminated|Bus error|Illegal instruction|Floating point exception"
    "|Trace/breakpoint trap)"
)
_PROGRAM = (
    rf"{_SIGNAL}(?:!|: \d{{1,2}})?(?: \(core dumped\))?\s*$|.{{0,200}}: line \d{{1,6}}: +\d+ {_SIGNAL}\b"  # a shell's
    r"|zsh: (?:segmentation fault|killed|abort|terminated|bus error|illegal hardware instruction) "
    r"|terminate called |libc\+\+abi: terminating |Fatal Python error: |F\d{4} \d\d:\d\d:\d\d"
    r"|\*\*\* (?:SIG[A-Z]{2,6}\b|Check failure stack trace|stack smashing detected)"
    r"|.{0,300}: Assertion `.{1,600}' failed\.\s*$"
    r"|(?:double free or corruption|corrupted (?:size vs\. prev_size|double-linked list)) ?|munmap_chunk\(\): "
    r"|(?:free|malloc|realloc)\(\): (?:double free|invalid|corrupted|unaligned|memory corruption)"
    r"|PLEASE submit a bug report to |Stack dump:\s*$|LLVM ERROR: "  # of a compiler that is built on LLVM
    r"|command terminated with exit code [1-9]|Command exited with non-zero status [1-9]"
    r"|[\w.-]{1,80} exited with code [1-9]\d{0,2}\s*$|fish: .{1,200} terminated by signal SIG"
    r"|make(?:\[\d{1,3}\])?: \*\*\* \[.{1,200}\] (?:Error [1-9]\d{0,2}|[A-Z][a-z ]{2,30})(?: \(core dumped\))?\s*$"
    r"|(?:mpirun|mpiexec|prterun) noticed that process rank |MPI_ABORT was invoked on rank "
    r"|torch\.distributed\.elastic\.multiprocessing\.errors\.ChildFailedError"
)
_NATIVE_FRAME = Pattern(r" *#\d{1,3} +0x[0-9a-f]{6,16}\b| *@ +0x[0-9a-f]{6,16}\b")  # of LLVM and of glog
_OF_DUMP = Pattern(r"\d{1,2}\.\t")  # what LLVM was at
_JOB = (  # behind which a CI system still tidies up
    r"(?:##\[error\]|Error: )?(?:Process completed with exit code|Bash exited with code) '?-?[1-9]"
    r"|(?:##\[error\]|Error: )?The operation was canceled\.$"
    r"|ERROR: Job failed(?::|$)|(?:ERROR: )?script returned exit code [1-9]|Exited with code exit status [1-9]"
    r"|Build step '.{1,80}' marked build as failure|Finished: (?:FAILURE|ABORTED)\s*$"
    r"|.{0,80}error: .{0,80}: (?:Exited with exit code [1-9]|Out Of Memory|Killed\s*$|Segmentation fault)"
    r"|.{0,40}\bCANCELLED AT .{0,80}\bDUE TO "
)
_PROGRAM_FAILED = Pattern(_PROGRAM)
_JOB_FAILED = Pattern(_JOB)
_BREAKS_OFF = Pattern(
    rf"{re.escape(_TRACEBACK)}|##\[error\]|Segmentation fault|core dumped|KeyboardInterrupt"
    rf"|^[\s|+>]{{0,12}}(?:{_SIGNAL}|{_PROGRAM}|{_JOB})"
)


def breaks_off(line: str) -> bool:
    """Whether a line may tell that the program broke off at what it said just before, caught or not."""
    return _BREAKS_OFF.search(line) is not None


def _is_frame(line: str) -> bool:
    return _FRAME.search(line) is not None and not _RECORD.search(line)


def raised(lines: Iterable[str]) -> bool:
    """Whether an exception's traceback ends the lines, which are given nearest to the end first."""
    left = iter(lines)
    near = next((line for line in islice(left, NEAR) if _TRACEBACK in line or _is_frame(line)), "")
    if near and _TRACEBACK not in near:
        near = next((line for line in islice(left, FAR) if _TRACEBACK in line), near)
    return bool(near) and not (_TRACEBACK in near and _IGNORED in next(left, ""))


def failed(lines: Iterable[str]) -> str | None:
    """Why the program that wrote the lines, given nearest to the end first, did not come to its end in order;
    None where nothing tells so. What a viewer put before or behind all of them is taken off."""
    some = list(islice(filter(str.strip, lines), FAR))
    return _failed(some) or _failed(_bare(some))


def _bare(lines: list[str]) -> list[str]:
    """The lines without what they all begin and end with: an indentation or the bar of a table, a tag."""
    lead = _LEAD.match(commonprefix(lines))
    before = lead.end() if lead else 0
    behind = len(commonprefix([line[before:][::-1] for line in lines]))
    return [line[before : len(line) - behind] for line in lines]


def _failed(some: list[str]) -> str | None:
    near = list(
        islice((line for line in some if not (_NATIVE_FRAME.match(line) or _OF_DUMP.match(line))), NEAR)
    )
    found = chain(filter(_PROGRAM_FAILED.match, near), filter(_JOB_FAILED.match, some))
    if said := next(found, None):
        return f"the run failed, as the log's end says: {said.strip()[:120]}"
    if some and _NATIVE_FRAME.match(some[0]):
        return "the run failed: a native stack ends the log"
    return "the run failed: an exception ends the log" if raised(some) else None
