"""The annex: throughput and latency, prefill and decode apart, against a recorded baseline and the peak.

A fallback on the decode path shows as decode that falls while the time to first token stays; one number for
both hides it. Runs are compared by their medians. What two medians differ by is noise until it is more than
twice the error of that difference (from the spread of the runs, by the median absolute deviation) and more
than the policy's `minimum_effect`. A difference within the noise, and noise above `maximum_noise`, leave
the verdict unproven: more runs tell. Single runs have no spread, which a note says.

Runs are comparable only under the same conditions (model, load, prompt): others leave it unproven.

`bench_formats.py` reads the files.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fallback_gate.instruments import bench_formats, text
from fallback_gate.instruments.bench_formats import QUANTITIES, Run
from fallback_gate.instruments.evidence import Evidence
from fallback_gate.model.claims import Figure
from fallback_gate.model.measures import SETTINGS, Measurement

INSTRUMENT: Final = "bench"
_SLOWER: Final = {
    "prefill_tokens_per_second": ("prefill_slowdown", -1),
    "decode_tokens_per_second": ("decode_slowdown", -1),
    "output_tokens_per_second": ("output_slowdown", -1),
    "ttft_ms": ("ttft_slowdown", 1),
    "tpot_ms": ("tpot_slowdown", 1),
}
_NORMAL: Final = 1.4826  # from the median absolute deviation to a standard deviation
_MEDIAN: Final = 1.2533  # the error of a median over that of a mean


@dataclass(frozen=True, slots=True)
class Spread:
    """The runs of one quantity: their median, the standard error of it (None: a single run), their number."""

    median: float
    error: float | None
    runs: int


@dataclass(frozen=True, slots=True)
class Compared:
    """One quantity against its baseline. `change` is the part lost, below zero where it gained."""

    case: str | None
    name: str
    now: Spread
    before: Spread
    change: float
    noise: float | None

    def lost(self, least: float) -> float:
        """The part lost beyond the noise and the least effect; 0 where there is none."""
        return self.change if self.change > max(least, self.noise or 0.0) else 0.0


def spread(values: Sequence[float]) -> Spread:
    """Median and its error, robust against one run that was disturbed."""
    middle = statistics.median(values)
    if len(values) < 2:
        return Spread(middle, None, len(values))
    deviation = _NORMAL * statistics.median(abs(value - middle) for value in values)
    if len(values) < 4 or deviation == 0:
        deviation = max(deviation, statistics.stdev(values))
    return Spread(middle, _MEDIAN * deviation / math.sqrt(len(values)), len(values))


def compared(case: str | None, name: str, now: Sequence[float], before: Sequence[float]) -> Compared:
    """Two sets of runs of one quantity."""
    new, old = spread(now), spread(before)
    change = _SLOWER[name][1] * (new.median / old.median - 1)
    noise = None
    if new.error is not None or old.error is not None:
        noise = 2 * math.hypot((new.error or 0.0) / new.median, (old.error or 0.0) / old.median)
    return Compared(case, name, new, old, change, noise)


def read(
    paths: Sequence[str],
    settings: Mapping[str, float] | None = None,
    *,
    baseline: Sequence[str] = (),
    reachable: float | None = None,
) -> Evidence:
    """What the runs of some files say, all of one program.

    `settings` has the policy's `minimum_effect` and `maximum_noise`, fractions; `reachable` are the output
    tokens a second that the measured peak allows.

    Raises `InputError` for a file that is no benchmark.
    """
    defaults = {name: setting.default for name, setting in SETTINGS[INSTRUMENT].items()}
    chosen = defaults | dict(settings or {})
    now, forms = _runs(paths)
    before, _ = _runs(baseline)
    path = paths[0]
    problems: list[str] = []
    notes: list[str] = []
    failed = sum(run.failed for run in now)
    if failed:
        problems.append(f"{failed} requests failed: what is left is no fair measurement")
    if any(run.cut for run in now):
        problems.append("the benchmark was cancelled before its end: run it to its end")
    measured, told = _measured(path, now, before, chosen, problems, notes)
    if reachable:
        measured += _efficiency(path, now, reachable, notes)
    return Evidence(
        INSTRUMENT,
        path,
        ", ".join(dict.fromkeys(forms)),
        text.size(path),
        tuple(measured),
        problem="; ".join(problems) or None,
        notes=tuple(notes),
        details={
            "cases": _cases(now),
            "conditions": dict(now[0].conditions),
            "compared": told,
            "reachable_tokens_per_second": reachable,
        },
        figures=tuple(_figures(path, now)),
    )


def _figures(path: str, runs: Sequence[Run]) -> Iterator[Figure]:
    """The median of each quantity of each case, with the conditions on which all its runs agree."""
    for (case, name), values in _by_case(runs).items():
        told = [bench_formats.conditions(run) for run in runs if run.case == case and name in run.values]
        agreed = {key: value for key, value in told[0].items() if all(one.get(key) == value for one in told)}
        yield Figure(name, statistics.median(values), path, agreed)


def _runs(paths: Sequence[str]) -> tuple[list[Run], list[str]]:
    found = [bench_formats.read(path) for path in paths]
    return [run for _, runs in found for run in runs], [form for form, _ in found]


def _by_case(runs: Sequence[Run]) -> dict[tuple[str | None, str], list[float]]:
    grouped: dict[tuple[str | None, str], list[float]] = {}
    for run in runs:
        for name in QUANTITIES:
            if name in run.values:
                grouped.setdefault((run.case, name), []).append(run.values[name])
    return grouped


def _cases(runs: Sequence[Run]) -> list[dict[str, Any]]:
    rows: dict[str | None, dict[str, Any]] = {}
    for (case, name), values in _by_case(runs).items():
        row = rows.setdefault(case, {"case": case, "runs": len(values), **dict.fromkeys(QUANTITIES)})
        row[name] = statistics.median(values)
        row["runs"] = max(row["runs"], len(values))
    return list(rows.values())


def _measured(
    path: str,
    now: Sequence[Run],
    before: Sequence[Run],
    chosen: Mapping[str, float],
    problems: list[str],
    notes: list[str],
) -> tuple[list[Measurement], list[dict[str, Any]]]:
    least, most = chosen["minimum_effect"], chosen["maximum_noise"]
    new, old = _by_case(now), _by_case(before)
    measured, told = [], []
    off = _conditions_off(now, before)
    problems += off
    for (case, name), values in new.items():
        known = old.get((case, name)) if not off else None
        median = statistics.median(values)
        against = statistics.median(known) if known else None
        measured.append(Measurement(INSTRUMENT, name, median, path, case, against))
        if known is None:
            continue
        one = compared(case, name, values, known)
        slower = _SLOWER[name][0]
        measured.append(Measurement(INSTRUMENT, slower, one.lost(least), path, case))
        told.append(_told(one, least))
        if one.change > least and one.lost(least) == 0.0:
            problems.append(
                f"{_label(one)}: {one.change:.1%} worse than the baseline and within the noise of "
                f"{one.noise or 0:.1%}: run it more often"
            )
        elif one.noise is not None and one.noise > most and one.lost(least) == 0.0:
            problems.append(
                f"{_label(one)}: runs differ so much that a loss of {one.noise:.0%} would not show: run it "
                "more often, or set maximum_noise in the policy"
            )
    gone = [key for key in old if key not in new]
    if before and gone and not off:
        problems += [f"the baseline has {_name(case, name)}, and this run has not" for case, name in gone]
    if before and not off and min(len(values) for values in (*new.values(), *old.values())) < 2:
        notes.append("a single run has no spread: three or more tell a change from noise")
    return measured, told


def _conditions_off(now: Sequence[Run], before: Sequence[Run]) -> list[str]:
    """Why the runs are not comparable: a condition that both state, and differently."""
    if not before:
        return []
    off = []
    for name in dict.fromkeys(key for run in now for key in run.conditions):
        mine = {run.conditions.get(name) for run in now} - {None}
        theirs = {run.conditions.get(name) for run in before} - {None}
        if mine and theirs and mine != theirs:
            values = [", ".join(sorted(map(str, each)))[:80] for each in (mine, theirs)]
            off.append(f"not comparable: {name} is {values[0]}, and {values[1]} in the baseline")
    return off


def _name(case: str | None, name: str) -> str:
    return f"{name} of {case}" if case else name


def _label(one: Compared) -> str:
    return _name(one.case, one.name)


def _told(one: Compared, least: float) -> dict[str, Any]:
    lost = one.lost(least)
    uncertain = one.change > least and lost == 0.0
    state = "slower" if lost else "within noise" if uncertain else "faster" if one.change < -least else "same"
    return {
        "case": one.case,
        "name": one.name,
        "value": one.now.median,
        "baseline": one.before.median,
        "change": one.change,
        "noise": one.noise,
        "runs": one.now.runs,
        "baseline_runs": one.before.runs,
        "state": state,
    }


def _efficiency(path: str, now: Sequence[Run], reachable: float, notes: list[str]) -> list[Measurement]:
    found = []
    for (case, name), values in _by_case(now).items():
        if name != "output_tokens_per_second":
            continue
        part = statistics.median(values) / reachable
        found.append(Measurement(INSTRUMENT, "decode_efficiency", part, path, case))
        if part < 0.1:
            notes.append(
                f"{part:.1%} of what the measured peak allows: an order of magnitude is no matter of tuning, "
                "look for operators without a kernel (trace, counters)"
            )
        elif part > 1:
            notes.append(
                f"{part:.0%} of the reachable: more than there can be, so the peak or the bytes are off"
            )
    return found
