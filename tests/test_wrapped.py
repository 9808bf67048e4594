"""A log says the same, whatever it was wrapped in: any two envelopes, in either order.

The wrappers here are written from each tool's own output and know nothing of how envelopes are taken off.
"""

from __future__ import annotations

import codecs
import gzip
import itertools
import json
import random
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta, timezone
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fallback_gate import Verdict, check

SAMPLES = Path(__file__).parent.parent / "sample_logs"
TODAY = date(2026, 11, 30)
CONSOLE = 120  # columns
PIECE = 64  # bytes of a piece, so that small logs have many

Lines = list[str]
Wrapper = Callable[[Lines], Lines]


def clock() -> Iterator[datetime]:
    """The time of one line after the other."""
    now = datetime(2026, 11, 29, 12, tzinfo=timezone.utc)
    for step in itertools.cycle((13_217, 1, 250_003)):
        now += timedelta(microseconds=step)
        yield now


def stamped(form: str, digits: int = 6) -> Wrapper:
    """Each line behind its time: `strftime` codes, and `{fraction}` of so many digits."""

    def wrap(lines: Lines) -> Lines:
        return [
            now.strftime(form).replace("{fraction}", f"{now.microsecond:06}000"[:digits]) + line
            for now, line in zip(clock(), lines, strict=False)
        ]

    return wrap


def prefixed(prefix: str) -> Wrapper:
    """Each line behind the same words."""
    return lambda lines: [prefix + line for line in lines]


def github_group(lines: Lines) -> Lines:
    """A job's log: a group before the lines, on lines of its own."""
    head = ["##[group]Run python train.py", "\x1b[36;1mpython train.py\x1b[0m", "##[endgroup]"]
    return stamped("%Y-%m-%dT%H:%M:%S.{fraction}Z ", 7)(head + lines)


def jenkins_branch(lines: Lines) -> Lines:
    """A branch of a parallel pipeline."""
    head = ["[Pipeline] parallel", "[Pipeline] { (Branch: gpu tests)", "[Pipeline] sh"]
    return head + prefixed("[gpu tests] ")(lines)


def docker_json(lines: Lines) -> Lines:
    """Docker's json-file driver."""
    return [
        json.dumps({"log": line + "\n", "stream": "stderr", "time": "2026-11-29T12:00:00.000339563Z"})
        for line in lines
    ]


def pieces(line: str) -> Lines:
    """A line as it is cut by its bytes; a character stays whole."""
    return [line[at : at + PIECE] for at in range(0, len(line), PIECE)] or [""]


def docker_json_pieces(lines: Lines) -> Lines:
    """The same driver with long lines: only the last piece ends in a line feed."""
    return [
        json.dumps(
            {"log": piece + ("\n" if piece is line[-1] else ""), "stream": "stderr"}, ensure_ascii=False
        )
        for line in map(pieces, lines)
        for piece in line
    ]


def cri_pieces(lines: Lines) -> Lines:
    """Kubernetes' runtime with long lines: P, P, F; stdout writes between the pieces of stderr."""
    out = []
    for line in map(pieces, lines):
        for piece in line:
            out.append(f"2026-11-29T12:00:00.000339563Z stderr {'F' if piece is line[-1] else 'P'} {piece}")
            if piece is not line[-1] and len(out) % 5 == 0:
                out.append("2026-11-29T12:00:00.000339564Z stdout F progress")
    return out


def gitlab_pieces(lines: Lines) -> Lines:
    """GitLab's runner: what goes on with the line before is marked by a plus."""
    return [
        f"2026-11-29T12:00:00.000339Z 01E{'+' if at else ' '}{piece}"
        for line in map(pieces, lines)
        for at, piece in enumerate(line)
    ]


def compose(lines: Lines) -> Lines:
    """Docker Compose in colour, with names padded to one width."""
    return [f"\x1b[36mserve-1      |\x1b[0m {line}" for line in lines]


def words_in_colour(lines: Lines) -> Lines:
    """A highlighter that colours words wherever they stand."""
    words = ("break", "aten", "Fallback", "torch", "compiler", "frames", "buf", "cudagraphs", "Step", "Error")
    out = []
    for line in lines:
        for word in words:
            line = line.replace(word, f"\x1b[1;31m{word}\x1b[0m")
        out.append(line)
    return out


def ray(lines: Lines) -> Lines:
    """Ray's driver: colours, the actor, and the address of its machine."""
    return [f"\x1b[36m(RayTrainWorker pid=4711, ip=10.0.0.2)\x1b[0m {line}" for line in lines]


def progress(lines: Lines) -> Lines:
    """A progress bar that shares the terminal: its line never ended before the record came."""
    return [
        f" 10%|#         | 1/10 [00:01<00:09,  1.2it/s]{line}" if at % 7 == 0 else line
        for at, line in enumerate(lines)
    ]


def progress_rewritten(lines: Lines) -> Lines:
    """A progress bar that goes back to the start of its line before the record comes."""
    bar = "Loading:   0%|          | 0/3 [00:00<?, ?it/s]\rLoading:  33%|###       | 1/3 [00:01<00:02,  1.2s/it]\r"
    return [bar + line if at % 7 == 0 else line for at, line in enumerate(lines)]


def powershell(lines: Lines) -> Lines:
    """PowerShell 5: what a program writes to stderr is broken at the console's width."""
    told = [
        "At line:1 char:1",
        "+ python train.py *> train.log",
        "    + FullyQualifiedErrorId : NativeCommandError",
        " ",
    ]
    lines = ["python.exe : " + lines[0], *told, *lines[1:]]
    return [line[at : at + CONSOLE] + "\r" for line in lines for at in range(0, max(len(line), 1), CONSOLE)]


class Wrapping(NamedTuple):
    """A wrapper: `rank` says that it names one process, `moves` that lines don't stay where they were."""

    wrap: Wrapper
    rank: bool = False
    moves: bool = False


WRAPPINGS = {
    "GitHub Actions": Wrapping(stamped("%Y-%m-%dT%H:%M:%S.{fraction}Z ", 7)),
    "GitHub Actions, grouped": Wrapping(github_group, moves=True),
    "docker logs -t": Wrapping(stamped("%Y-%m-%dT%H:%M:%S.{fraction}Z ", 9)),
    "Docker json-file": Wrapping(docker_json),
    "Docker json-file, pieces": Wrapping(docker_json_pieces, moves=True),
    "Docker Compose": Wrapping(compose),
    "Kubernetes CRI": Wrapping(stamped("%Y-%m-%dT%H:%M:%S.{fraction}+01:00 stderr F ", 9)),
    "Kubernetes CRI, pieces": Wrapping(cri_pieces, moves=True),
    "kubectl --prefix": Wrapping(prefixed("[pod/serve-7d9c5b-x2k4z/engine] ")),
    "journald short": Wrapping(stamped("%b %d %H:%M:%S gpu-node-7 python[811]: ")),
    "journald short-precise": Wrapping(stamped("%b %d %H:%M:%S.{fraction} gpu-node-7 python[811]: ")),
    "journald short-iso": Wrapping(stamped("%Y-%m-%dT%H:%M:%S+0000 gpu-node-7 serve.sh[811]: ")),
    "syslog RFC 5424": Wrapping(stamped("<13>1 %Y-%m-%dT%H:%M:%S.{fraction}Z gpu-node-7 python 811 - - ")),
    "GitLab": Wrapping(stamped("%Y-%m-%dT%H:%M:%S.{fraction}Z 00O ")),
    "GitLab, pieces": Wrapping(gitlab_pieces, moves=True),
    "Jenkins": Wrapping(stamped("[%Y-%m-%dT%H:%M:%S.{fraction}Z] ", 3)),
    "Jenkins branch": Wrapping(jenkins_branch, moves=True),
    "Buildkite": Wrapping(prefixed("\x1b_bk;t=1795953600123\x07")),
    "torch.distributed": Wrapping(prefixed("[rank0]:"), rank=True),
    "torchrun": Wrapping(prefixed("[default0]:"), rank=True),
    "mpirun": Wrapping(prefixed("[1,0]<stderr>:"), rank=True),
    "Slurm": Wrapping(prefixed("0: "), rank=True),
    "Ray": Wrapping(ray),
    "vLLM": Wrapping(prefixed("(EngineCore_0 pid=77) ")),
    "vLLM worker": Wrapping(prefixed("(VllmWorker rank=0 pid=9) "), rank=True),
    "logcat threadtime": Wrapping(stamped("%m-%d %H:%M:%S.{fraction}  4711  4712 I python  : ", 3)),
    "logcat brief": Wrapping(prefixed("I/python  ( 4711): ")),
    "colours": Wrapping(words_in_colour),
    "progress bar": Wrapping(progress),
    "progress bar, rewritten": Wrapping(progress_rewritten),
    "CRLF": Wrapping(lambda lines: [line + "\r" for line in lines]),
}


def content(path: Path) -> bytes:
    """A log out of its compression."""
    stored = path.read_bytes()
    return gzip.decompress(stored) if path.suffix == ".gz" else stored


def is_wrappable(path: Path) -> bool:
    """Whether it is UTF-8 text, not sealed, whose lines a wrapper may take one by one."""
    if path.is_dir() or path.parent.suffix == ".traces":
        return False
    return not content(path).startswith((b"\xff\xfe", b"\xfe\xff", b'{"fallback_gate_header"'))


LOGS = sorted(path for path in SAMPLES.rglob("*.log*") if is_wrappable(path))


def has_ranks(path: Path) -> bool:
    """Whether it tells of several processes: one rank around all of them would be a lie."""
    return b"[rank1]:" in content(path) or b"[default1]:" in content(path)


def wrapped(text: bytes, names: tuple[str, ...]) -> bytes:
    """A log in the named envelopes, the first innermost."""
    lines = text.decode("utf-8", "surrogateescape").removesuffix("\n").split("\n")
    for name in names:
        lines = WRAPPINGS[name].wrap(lines)
    return "\n".join([*lines, ""]).encode("utf-8", "surrogateescape")


def told(verdict: Verdict, *, lines: bool) -> list[Any]:
    """The outcome and what each event says; positions only where the wrapper leaves lines in their place."""
    events = sorted(
        (
            event.kind.value,
            event.op,
            event.scope.value,
            event.count,
            event.sites,
            str(event.location),
            event.reason or "",
            event.stack,
            event.files,
            event.lines if lines else (),
        )
        for event in (finding.event for finding in verdict.findings)
    )
    return [verdict.outcome, verdict.exit_code, *events]


@cache
def bare(path: Path, *, lines: bool) -> list[Any]:
    """What the log says as it is."""
    return told(check([path], "builtin:strict", today=TODAY), lines=lines)


def differing(path: Path, combinations: list[tuple[str, ...]], folder: Path) -> list[tuple[str, ...]]:
    """The combinations in which the log says something else."""
    text, wrong = content(path), []
    # What a file of structured records is called is part of what it is.
    place = folder / path.name.removesuffix(".gz")
    for names in combinations:
        place.write_bytes(wrapped(text, names))
        stay = not any(WRAPPINGS[name].moves for name in names)
        if told(check([place], "builtin:strict", today=TODAY), lines=stay) != bare(path, lines=stay):
            wrong.append(names)
    return wrong


def pairs(path: Path) -> list[tuple[str, ...]]:
    """All ordered pairs of envelopes that may stand around this log; no tool wraps what it wrapped itself."""
    fit = [name for name, wrapping in WRAPPINGS.items() if not (wrapping.rank and has_ranks(path))]
    return [
        (inner, outer)
        for inner, outer in itertools.permutations(fit, 2)
        if inner.partition(",")[0] != outer.partition(",")[0]
    ]


LAUNCHERS = ("torch.distributed", "torchrun", "Ray", "vLLM", "progress bar", "colours")


def unbroken(lines: Lines) -> bool:
    """Whether no line has just the console's width: nothing tells such a line from one that goes on."""
    return not any(line and len(line) % CONSOLE == 0 for line in lines)


SMALLEST = sorted(LOGS, key=lambda path: len(content(path)))
SMALL = [path for path in SMALLEST if b"torch" in content(path)][3:6] + SMALLEST[:1]


@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.name)
def test_all_pairs_around_a_small_log(path: Path, tmp_path: Path) -> None:
    assert differing(path, pairs(path), tmp_path) == []


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_some_pairs_around_every_log(path: Path, tmp_path: Path) -> None:
    chosen = random.Random(path.name).sample(pairs(path), 12 if len(content(path)) < 100_000 else 3)
    assert differing(path, chosen, tmp_path) == []


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_what_a_launcher_printed_to_powershell(path: Path, tmp_path: Path) -> None:
    text, wrong = content(path), []
    around = [(), *((name,) for name in LAUNCHERS if not (WRAPPINGS[name].rank and has_ranks(path)))]
    for names in around[:1] if len(text) > 100_000 else around:
        lines = wrapped(text, names).decode("utf-8", "surrogateescape").removesuffix("\n").split("\n")
        if not unbroken(["python.exe : " + lines[0], *lines[1:]]):
            continue
        place = tmp_path / path.name.removesuffix(".gz")
        broken = "\n".join([*powershell(lines), ""])
        place.write_bytes(codecs.BOM_UTF16_LE + broken.encode("utf-16-le", "replace"))
        if told(check([place], "builtin:strict", today=TODAY), lines=False) != bare(path, lines=False):
            wrong.append(names)
    assert wrong == []
