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
from collections.abc import Iterator
from functools import lru_cache
from itertools import takewhile
from operator import itemgetter
from typing import Any, NamedTuple

from fallback_gate.compilers.rule import Rule
from fallback_gate.model import Kind, Location, Report, Scope
from fallback_gate.patterns import GLOG, GLOG_LEVEL, GLOG_TIME, Pattern
from fallback_gate.scan.record import Line, Record

NAME = "torch.compile"

_COMPILE_ID = r"\[(?P<{0}>[!\d-][\d/_!-]*)\] ?"
_PREFIX = Pattern(
    rf"(?P<level>{GLOG_LEVEL})(?P<time>{GLOG_TIME})\.\d+ "
    r"(?P<pid>\d{1,18}) "
    r"(?:\S*?[\\/])??torch[\\/][^\s:]*(?::(?!\d+\])[^\s:]*)*:\d+\] ?"  # each character once: there are many
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


_UPPER = "DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL"
_LEVEL = f"(?i:{_UPPER})"
_LOGGER = (
    r"torch(?:\.(?!__)\w{1,60}){0,8}(?:\.__(?P<%s>\w{1,60}))?(?![\w.])"
    r"(?::(?:[\w.-]{1,80}\.py|[\w<>]{1,80}(?=:\d)))?(?::\d{1,6})?"  # file or function, and line
)
_BEFORE = r"[\W\d_]{0,60}(?:T[\d:.,]{8,16}\S{0,6}[\W\d_]{1,20})?(?:MainThread\W{1,4})?"  # times, process ids
_FORMATTED = Pattern(
    rf"{_BEFORE}(?:(?P<l1>{_LEVEL})\s{{0,8}}\W{{1,4}}{_LOGGER % 'a1'}|{_LOGGER % 'a2'}\W{{1,6}}(?P<l2>{_LEVEL})\b)"
    r"[\])}>]{0,2} {0,3}(?:(?:->|[:|>-]) {0,8})?"
)
_SAID = (
    r"(?:Graph break (?:\(user stack suppressed [\w ]{1,40}\) )?in user code at "
    r"|Output code: *(?: \w+\.py:\d{1,6})? *$|torch\._dynamo hit config\.|(?:skipp|disabl)ing cudagraphs? )"
)
_SAYS = Pattern(_SAID)
_UNNAMED = Pattern(
    rf"{_BEFORE}(?P<level>{_LEVEL})\b *[\])}}>]{{0,2}} {{0,8}}(?:(?:->|[:|>-]) {{0,8}})?(?={_SAID})"
)
_ANYWHERE = Pattern(
    r"(?:Graph break (?:\(user stack suppressed [\w ]{1,40}\) )?in user code at \S.*:\d{1,9}"
    r"|torch\._dynamo hit config\.\w+_limit \(\d{1,9}\)|Output code:)\s*$"
)
_NAMED = Pattern(r".{0,200}?(?:(?<![\w.])torch\._?[a-z]|\b(?:symbolic_convert\b|(?:graph|codecache)\.py:\d))")
_ARTIFACT = {"G": "graph_breaks", "O": "output_code"}  # by the first letter of a message
_ANY_LOGGER = Pattern(
    rf"{_BEFORE}(?:(?:[\w.]{{1,120}}\W{{1,6}})?(?:{_UPPER})\b|\[{_LEVEL} *\])"
    r"|[DIWEFC]\d{4} \d\d:\d\d:\d\d[.\d]* +\d+ \S+:\d+\]"  # absl's
)


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
    return re.compile(GLOG.encode() + rb"\.\d+ %d " % pid)


def _seconds(time: str) -> float:
    return float(_minutes(time[:10]) * 60 + int(time[11:13]))


@lru_cache(maxsize=8)
def _minutes(time: str) -> int:
    days = int(time[:2]) * 31 + int(time[2:4])
    return (days * 24 + int(time[5:7])) * 60 + int(time[8:10])


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
        if not artifact and _SAYS.match(text[match.end() :]):  # the module is named, not the logger
            artifact = _ARTIFACT.get(text[match.end()])
    elif (match := _ANYWHERE.match(text[(last := _last(text)) :])) and _NAMED.match(text[:last]):
        artifact = _ARTIFACT.get(match[0][0])  # whatever the format, it names PyTorch's logger or file
        return LogRecord("", match[0], "V", None, "", artifact)
    else:
        return None
    return LogRecord(
        "", text[match.end() :], "V" if level[0] in "Dd" else level[0].upper(), None, "", artifact
    )


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
    rule: Rule,
    record: Record,
    log: LogRecord | None,
    op: str,
    scope: Scope | None = None,
    *,
    kind: Kind | None = None,
    position: int | None = None,
    text: str | None = None,
    names: tuple[str, ...] = (),
    stack: tuple[str, ...] = (),
    files: tuple[str, ...] = (),
    reason: str | None = None,
    location: Location | None = None,
    site: str | None = None,
    hint: bool = False,
    compile_id: str | None = None,
    **facts: Any,
) -> Report:
    """A report with what every rule fills the same way, and the facts of this record.

    `compile_id` is for one whose prefix tells none. By place, since a debug log has many: by name it takes
    twice as long.
    """
    made = Report(
        rule.id,
        rule.compiler,
        kind or rule.kind,
        scope or rule.scope,
        op,
        record.position if position is None else position,
        record.text if text is None else text,
        names,
        stack,
        files,
        reason,
        location,
        None,
        site,
        log.pid if log else None,
        None,
        log.when if log else None,
        rule.at_least,
        hint,
        rule.help,
        (log.frame or None) if log else compile_id,
    )
    return made._replace(**facts) if facts else made


def further(
    record: Record, log: LogRecord, limit: int, until: str | tuple[str, ...] | None = None
) -> Iterator[tuple[str, int]]:
    """The record's further physical lines, up to one that opens the next record: as in a `Line`."""
    if log.prefix:
        return record.continued(log.prefix, limit, until, log.opens)
    return until_next(record, limit)


def messages(
    record: Record, log: LogRecord, limit: int, until: str | tuple[str, ...] | None = None
) -> Iterator[str]:
    """The messages of these lines."""
    return map(itemgetter(0), further(record, log, limit, until))
