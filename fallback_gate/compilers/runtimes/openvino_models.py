r"""Room 3: which models a log of OpenVINO shows to be compiled, and whether each has its table.

    [Step 7/11] Loading the model to the device
    [00:04:55.7264]I[schedule.cpp:17][AUTO] scheduler starting
    [00:04:56.7104]I[schedule.cpp:312][AUTO] scheduler ending

Each run of `benchmark_app` owes a table of counters, which it prints after its last step with `-pc` alone. Each
model that AUTO compiles owes a table or a graph between the two lines, while the model is there to be asked for it.
A model that a program compiles for a device by name is told by nobody.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.rule import Evidence, Marker, Sighting
from fallback_gate.scan.record import Record

COUNTERS = "openvino/counters-printed"
TABLES = ("openvino/graph-printed", COUNTERS, "openvino/graph-told")
_STEPS, _AUTO = "openvino/benchmark-step", "openvino/auto-scheduler"


def stepped(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """What the line tells, and where."""
    yield Sighting(marker.id, record.position, (next(filter(None, match.groups())), str(record.position)))


def _at(evidence: Evidence, *markers: str) -> list[tuple[int, str]]:
    """Where the markers stand, in order, each with what it tells."""
    return sorted((int(at), said) for marker in markers for said, at in evidence.of(marker))


def without_table(evidence: Evidence) -> bool:
    """Whether a model was compiled of which no table is printed."""
    return _runs_without(evidence) or _scheduled_without(evidence)


def _runs_without(evidence: Evidence) -> bool:
    """Whether a run of benchmark_app has no table: the number of the step falls where a new run begins."""
    begun: list[int] = []
    before = 99
    for at, said in _at(evidence, _STEPS):
        if int(said) <= before:
            begun.append(at)
        before = int(said)
    tables = [at for at, _ in _at(evidence, *TABLES[1:])]
    ends = [*begun[1:], max([*tables, *begun], default=0) + 1]
    runs = zip(begun, ends, strict=False)
    return any(bisect_left(tables, start) == bisect_left(tables, end) for start, end in runs)


def _scheduled_without(evidence: Evidence) -> bool:
    """Whether there are fewer tables than models of AUTO, of those that are printed while such a model lives."""
    tables = {at for at, _ in _at(evidence, *TABLES)}
    begun = ended = shown = 0
    for at, said in _at(evidence, *TABLES, _AUTO):
        if at in tables:
            shown += begun > ended
        elif said == "starting":
            begun += 1
        elif said == "finished":
            begun = max(begun, ended + 1)  # where the line of its start is lost
        else:
            ended += 1
    return shown < begun


_LINE = "[00:04:55.7264]I[schedule.cpp:17][AUTO] scheduler starting"
MARKERS = (
    Marker(
        id=_STEPS,
        compiler="openvino",
        anchor=(
            "11] Parsing and validating input arguments",
            "11] Loading OpenVINO",
            "11] Setting device configuration",
            "11] Reading model files",
            "11] Loading the model to the device",
            "11] Measuring performance (",
        ),
        pattern=r"^\s*\[Step (\d{1,2})/11\] [A-Z]",
        shows="A step of benchmark_app: its table of counters is owed.",
        seen_in="2024.6 to 2026.4 (run)",
        matches=(
            "[Step 1/11] Parsing and validating input arguments",
            "[Step 7/11] Loading the model to the device",
        ),
        ignores=("[Step 1/3] Reading model files", "12:00 [Step 1/11] Building"),
        read=stepped,
    ),
    Marker(
        id=_AUTO,
        compiler="openvino",
        anchor=("[AUTO] scheduler ", " compiling model finished"),
        pattern=r"\[AUTO\] (?:scheduler (starting|ending)|device:.{1,60} compiling model (finished))",
        shows="AUTO begins to run a model, or has done with it: its graph or its table is owed in between.",
        seen_in="2026.4 (run)",
        matches=(_LINE, "[00:04:56.4328]I[auto_schedule.cpp:118][AUTO] device:CPU compiling model finished"),
        ignores=("[AUTO] select device:CPU", "[serve] compiling model finished"),
        read=stepped,
    ),
)
