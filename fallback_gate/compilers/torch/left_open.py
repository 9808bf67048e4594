"""Room 3: the frames of a text log whose compile nothing accounts for: failed, or cut short without a word.

A program that catches the error of a compile and goes on in eager prints nothing. What Dynamo then lacks is a
line that it prints after each compile that ended, in one graph or in several: `put_code_state`. And up to 2.8
the artifact graph_breaks is silent where Dynamo can't resume behind a break (`nn.LSTM`, a lock): a graph was
compiled, the trace never reached its end, and no function of that name is resumed. The rest of it runs in eager.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Mapping, Set
from typing import NamedTuple

from fallback_gate.compilers.rule import Evidence
from fallback_gate.model.names import function
from fallback_gate.patterns import Pattern

_RESUMED = "torch_dynamo_resume_in_"
_NUMBER = Pattern(r"(\d{1,9})/\d+$")
_PLACE = Pattern(r"(?P<name>\S+) (?P<file>.+):(?P<line>\d{1,9})$")


class _Frame(NamedTuple):
    """A frame that was started: `said` is `function file:line`, `number` says when."""

    key: str
    said: str
    number: int
    function: str  # the user's, of a resumed frame too
    file: str
    line: int  # its first; of a resumed frame the one where it goes on
    resumed: bool

    @classmethod
    def of(cls, key: str, said: str) -> _Frame:
        number, place = _NUMBER.search(key), _PLACE.match(said)
        name, file, line = place.group("name", "file", "line") if place else (said, "", "0")
        return cls(
            key,
            said,
            int(number[1]) if number else -1,
            function(name),
            file,
            int(line),
            name.startswith(_RESUMED),
        )


def left_open(evidence: Evidence, started: Mapping[str, str], done: Set[str]) -> str | None:
    """Why not every frame that was started (`function file:line` by id) was compiled; None where all are told."""
    frames = [_Frame.of(key, said) for key, said in started.items()]
    gave_up = evidence.of("torch/gave-up")  # not every version tells the compile id with it
    by_name = {f"{found[1]} {found[2]}:{found[3]}" for found in gave_up if len(found) == 4}
    by_id = _ids(evidence, "torch/gave-up")
    frames = [frame for frame in frames if frame.key not in by_id and frame.said not in by_name]
    ended = _ids(evidence, "torch/frame-ended")
    on = _go_on(frames)
    compiled = _ids(evidence, "torch/backend-called")
    broke = _ids(evidence, "torch/graph-breaks-on")
    short = [frame.said for frame in frames if frame.key in compiled - done - broke - on]
    if short and "torch/dynamo-debug" not in evidence.facts:  # which tells why each graph ends
        return (
            f"the trace of {min(short)} stopped before its end, and no line says why: the rest of the function may "
            "run in eager"
        )
    failed = [frame for frame in frames if frame.key not in ended]
    if not ended:  # before 2.6: no such line, and a break is told once, for whichever frame comes first
        passed = done | compiled | broke | on
        failed = [frame for frame in failed if not frame.resumed and frame.key not in passed]
    if len(failed) > errors(evidence):
        return (
            f"the compile of {min(frame.said for frame in failed)} did not end, and no line says why: the program may "
            "have caught an error, and run the function without the compiler"
        )
    refused = _ids(evidence, "torch/recompiled") - started.keys()
    if len(refused) > evidence.rules.get("torch/recompile-limit", 0):  # error_on_recompile, a stance
        return (
            f"[{min(refused)}] was to be recompiled, no frame was traced for it, and no line says why: the program may "
            "have caught an error, and run the function without the compiler"
        )
    return None


def errors(evidence: Evidence) -> int:
    """How many compiles failed, by the exceptions that tell of them: those that led to another are no further one."""
    return evidence.rules.get("torch/compile-error", 0) - evidence.counts.get("torch/error-led-on", 0)


def _go_on(frames: Iterable[_Frame]) -> set[str]:
    """The ids of frames whose function is resumed in a later frame."""
    starts: dict[tuple[str, str], list[int]] = {}
    for frame in frames:
        if not frame.resumed:
            starts.setdefault((frame.function, frame.file), []).append(frame.line)
    for lines in starts.values():
        lines.sort()

    def whole(frame: _Frame) -> tuple[str, str, int]:
        """The function that a frame is, or is the rest of: of those of its name, the last that begins above it."""
        lines = starts.get((frame.function, frame.file), [])
        return frame.function, frame.file, lines[at - 1] if (at := bisect(lines, frame.line)) else -1

    latest: dict[tuple[str, str, int], int] = {}
    for frame in frames:
        if frame.resumed:
            latest[whole(frame)] = max(frame.number, latest.get(whole(frame), -1))
    return {frame.key for frame in frames if latest.get(whole(frame), -1) > frame.number}


def _ids(evidence: Evidence, marker: str) -> set[str]:
    return {compile_id.split("_")[0] for compile_id, *_ in evidence.of(marker)}
