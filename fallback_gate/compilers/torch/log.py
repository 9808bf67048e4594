r"""Room 3: how PyTorch prints a log record, whatever the message.

Since 2.2 a record opens with `V1130 00:29:06.251000 4674 torch/_dynamo/symbolic_convert.py:5124]`: the
level (V is DEBUG), month and day, time, process id, and a source line that moves with each release. Inside
a compile `[0/1_2]` follows (frame, recompile, attempt), and `[__graph_breaks]` in the records of an
artifact that TORCH_LOGS switches on. Each physical line of a record repeats all of it. Up to 2.1 a record
opens with `[2023-10-04 16:27:06,745] [4/0] torch._inductor.graph.__perf_hints: [INFO]`, without process id.
Python warnings (`path:12: UserWarning: text`) and tracebacks have no prefix.

Where the program formats PyTorch's records itself (TORCH_LOGS_FORMAT, `logging.config`), one opens as its loggers'
formats do, `DEBUG:torch._dynamo.symbolic_convert.__graph_breaks:Graph break in ...`, and goes on without
a prefix to the next one. Process and compile ids are gone: such records report, and prove nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import takewhile
from operator import itemgetter
from typing import Any, NamedTuple

from fallback_gate.compilers.rule import Rule
from fallback_gate.model import Location, Report, Scope
from fallback_gate.model.names import function
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Line, Record

NAME = "torch.compile"

_COMPILE_ID = r"\[(?P<{0}>[!\d-][\d/_!-]*)\] ?"
_PREFIX = Pattern(
    r"(?P<level>[VDIWEC])(?P<time>\d{4} \d\d:\d\d:\d\d)\.\d+ (?P<pid>\d{1,18}) (?:\S*[\\/])?torch[\\/]\S*?:\d+\] ?"
    rf"(?:{_COMPILE_ID.format('compile_id')})?"
    r"(?:\[__(?P<artifact>\w+)\] ?)?"
    rf"(?:{_COMPILE_ID.format('run_id')})?"
)
_OLD_PREFIX = Pattern(
    r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+\] "
    rf"(?:{_COMPILE_ID.format('compile_id')})?"
    r"torch\.[\w.]*?(?:\.__(?P<artifact>\w+))?: \[(?P<level>[DIWEC])[A-Z]*\] ?"
)
RAISED = Pattern(  # opens the last line of a traceback
    r"[A-Za-z_][\w.]{0,200}(?:Error|Exception|Failed|Unsupported|Hit|Exceeded|Node)\w{0,80}: "
)
_FRAME = Pattern(
    r'\s*File "(?P<file>[^"]+)", line (?P<line>\d{1,9})(?:, in (?P<function>\S(?:.*?\S)??))?,?\s*$'
)
_STANDARD = r"/lib/python3[.\d]*/(?!(?:site|dist)-packages/)|^<frozen"
_LIBRARY = Pattern(
    rf"(?:site|dist)-packages/(?:torch|functorch|torchgen|triton)/|{_STANDARD}|^<(?:string|eval_with_key)"
)
_STANDARD_LIBRARY = Pattern(_STANDARD)

_PLUMBING = Pattern(r"/torch/(?:_dynamo/|nn/modules/module\.py$)")

_LEVEL = "DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL"
_LOGGER = (
    r"torch(?:\.(?!__)\w{1,60}){0,8}(?:\.__(?P<%s>\w{1,60}))?(?![\w.])(?::[\w.-]{1,80}\.py)?(?::\d{1,6})?"
)
_BEFORE = r"[\W\d_]{0,60}(?:T[\d:.,]{8,16}\S{0,6}[\W\d_]{1,20})?(?:MainThread\W{1,4})?"  # times, process ids
_FORMATTED = Pattern(
    rf"{_BEFORE}(?:(?P<l1>{_LEVEL})\s{{0,8}}\W{{1,4}}{_LOGGER % 'a1'}|{_LOGGER % 'a2'}\W{{1,6}}(?P<l2>{_LEVEL})\b)"
    r"[\])}>]{0,2} {0,3}(?:(?:->|[:|>-]) ?)?"
)
_UNNAMED = Pattern(
    rf"{_BEFORE}(?P<level>{_LEVEL})\b[\])}}>]{{0,2}} {{0,8}}(?:(?:->|[:|>-]) ?)?"
    r"(?=Graph break (?:\(user stack suppressed [\w ]{1,40}\) )?in user code at |Output code: ?$|torch\._dynamo hit config\.)"
)
_ANYWHERE = Pattern(
    r"(?:Graph break (?:\(user stack suppressed [\w ]{1,40}\) )?in user code at \S.*:\d{1,9}"
    r"|torch\._dynamo hit config\.\w+_limit \(\d{1,9}\)|Output code:)\s*$"
)
_NAMED = Pattern(r".{0,200}?(?:(?<![\w.])torch\._?[a-z]|\bsymbolic_convert\b)")
_ARTIFACT = {"G": "graph_breaks", "O": "output_code"}  # by the first letter of a message
_ANY_LOGGER = Pattern(rf"{_BEFORE}(?:[\w.]{{1,120}}\W{{1,6}})?(?:{_LEVEL})\b")


class LogRecord(NamedTuple):
    """A parsed opening: `prefix` is the text that each further line repeats, `message` what follows it.

    `prefix` is empty where the program formats the records itself.
    """

    prefix: str
    message: str
    level: str
    pid: int | None
    compile_id: str
    artifact: str | None
    time: str = ""

    @property
    def when(self) -> float | None:
        """When it was written, in seconds from the start of a year; None where the prefix is an old one."""
        return _seconds(self.time) if self.time else None

    @property
    def opens(self) -> re.Pattern[bytes] | None:
        """Matches how the same process opens a record, without an envelope."""
        return _opening(self.pid) if self.pid is not None else None

    @property
    def frame(self) -> str:
        """The compile id without the attempt: `0/1` of `0/1_2`."""
        return self.compile_id.split("_")[0]


@lru_cache(maxsize=64)
def _opening(pid: int) -> re.Pattern[bytes]:
    return re.compile(rb"[VDIWEC]\d{4} \d\d:\d\d:\d\d\.\d+ %d " % pid)


@lru_cache(maxsize=8)
def _seconds(time: str) -> float:
    days = int(time[:2]) * 31 + int(time[2:4])
    return float(((days * 24 + int(time[5:7])) * 60 + int(time[8:10])) * 60 + int(time[11:13]))


@lru_cache(maxsize=8)
def parse(text: str) -> LogRecord | None:
    """Find PyTorch's prefix on the line; a progress bar may be glued in front. None without prefix."""
    match = _PREFIX.match(text) or _PREFIX.search(text)
    if match:
        level, time, pid, compile_id, artifact, run_id = match.groups()
        start, end = match.span()
        return LogRecord(
            text[start : match.end("run_id") if run_id else end].rstrip(),
            text[end:],
            "V" if level == "D" else level,
            int(pid),
            compile_id or run_id or "",
            artifact,
            time,
        )
    match = _OLD_PREFIX.search(text) if "] torch." in text else None
    if not match:
        return None
    return LogRecord(
        prefix=match[0].rstrip(),
        message=text[match.end() :],
        level="V" if match["level"] == "D" else match["level"],
        pid=None,
        compile_id=match["compile_id"] or "",
        artifact=match["artifact"],
    )


@lru_cache(maxsize=8)
def formatted(text: str) -> LogRecord | None:
    """A record of PyTorch's loggers in a format of the program's own; None for another line."""
    if match := _UNNAMED.match(text):
        level = match["level"]
        artifact = _ARTIFACT.get(text[match.end()])
    elif match := _FORMATTED.match(text):
        level, artifact = match["l1"] or match["l2"], match["a1"] or match["a2"]
    elif (match := _ANYWHERE.match(text[(last := _last(text)) :])) and _NAMED.match(text[:last]):
        artifact = _ARTIFACT.get(match[0][0])  # whatever the format, it names PyTorch's logger or file
        return LogRecord("", match[0], "V", None, "", artifact)
    else:
        return None
    return LogRecord("", text[match.end() :], "V" if level[0] == "D" else level[0], None, "", artifact)


def _last(text: str) -> int:
    """Where the last message of those that may stand anywhere opens: a look at each would take a long line's
    square."""
    return max(0, *map(text.rfind, ("Graph break ", "torch._dynamo hit config.", "Output code:")))


def until_next(record: Record, limit: int) -> Iterator[Line]:
    """The further lines of a record in a format of the program's own: up to one that opens another record."""
    return takewhile(lambda line: not _ANY_LOGGER.match(line.text), record.following(limit))


def opened(text: str, match: re.Match[str], *artifacts: str | None) -> LogRecord | None:
    """The record whose message the match opens, if it is one of these artifacts (None: no artifact).

    The words of a message stand in source code, guards and tracebacks too, further in.
    """
    log = parse(text) or formatted(text)
    if log and log.artifact in artifacts and match.start() == len(text) - len(log.message):
        return log
    return None


def base(
    rule: Rule, record: Record, log: LogRecord | None, op: str, scope: Scope | None = None, **facts: Any
) -> Report:
    """A report with what every rule fills the same way, and the facts of this record."""
    told = {
        "id": rule.id,
        "compiler": rule.compiler,
        "kind": rule.kind,
        "scope": scope or rule.scope,
        "op": op,
        "position": record.position,
        "text": record.text,
        "pid": log.pid if log else None,
        "when": log.when if log else None,
        "compile_id": (log.frame or None) if log else None,
        "at_least": rule.at_least,
        "help": rule.help,
        **facts,
    }
    return Report(**told)


def further(
    record: Record, log: LogRecord, limit: int, until: str | tuple[str, ...] | None = None
) -> Iterator[tuple[str, int]]:
    """The record's further physical lines, up to one that opens the next record: as in a `Line`."""
    if log.prefix:
        return record.continued(log.prefix, limit, until, log.opens)
    return until_next(record, limit)


def messages(record: Record, log: LogRecord, limit: int, until: str | None = None) -> Iterator[str]:
    """The messages of these lines."""
    return map(itemgetter(0), further(record, log, limit, until))


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
    """Whether a frame's file is PyTorch's own or the standard library's, and so not the user's code."""
    return bool(_LIBRARY.search(path.replace("\\", "/")))


def is_standard_library(path: str) -> bool:
    """Whether a frame's file is Python's own."""
    return bool(_STANDARD_LIBRARY.search(path.replace("\\", "/")))


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
