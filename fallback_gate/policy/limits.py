"""Room 5: how often is too often: `max_count` of cold entries and budgets.

Both count distinct sites (operator times location) in the worst single rank: eight ranks that report the
same break are one site, not eight. Evidence without a rank counts as one rank of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fallback_gate.model import Event, Finding
from fallback_gate.policy.entry import Policy


class Limits(NamedTuple):
    """What the counts say, a sentence each: `exceeded` blocks, `open` leaves the verdict unproven."""

    exceeded: tuple[str, ...] = ()
    open: tuple[str, ...] = ()


def limits(findings: Sequence[Finding], policy: Policy) -> Limits:
    """Hold the findings against every limit of the policy; allowed events count too."""
    exceeded: list[str] = []
    open_: list[str] = []
    for what, limit, events in _limited(findings, policy):
        most, rank = worst(events)
        where = "" if rank is None else f" on rank {rank}"
        counted = f"{sites(most)}{where}"
        if most > limit:
            exceeded.append(f"{what} is {limit}, exceeded by {counted}")
        elif any(event.count_is_lower_bound for event in events):
            open_.append(f"{what} is {limit}, met by at least {counted}: the compiler says it once for many")
    return Limits(tuple(exceeded), tuple(open_))


def _limited(findings: Sequence[Finding], policy: Policy) -> Iterable[tuple[str, int, list[Event]]]:
    """Each limit: its name, its number, and the events that count against it."""
    for name, limit in policy.budgets.items():
        events = [f.event for f in findings if name in ("events", f.event.kind.value)]
        yield f"the budget for {name}", limit, events
    for entry in policy.cold:
        if entry.max_count is not None:
            events = [f.event for f in findings if f.rule == entry.rule]
            yield f"max_count of the cold entry {entry}", entry.max_count, events


def sites(count: int) -> str:
    """`1 site`, `3 sites`."""
    return f"{count} site{'' if count == 1 else 's'}"


def worst(events: Iterable[Event]) -> tuple[int, int | None]:
    """The distinct sites in the rank that has most, and that rank."""
    found: Counter[int | None] = Counter()
    for event in events:
        ranks: set[int | None] = {process.rank for process in event.processes} or set(event.ranks) or {None}
        for rank in ranks:
            found[rank] += event.sites
    if not found:
        return 0, None
    in_order = sorted(found, key=lambda rank: -1 if rank is None else rank)
    most = max(in_order, key=lambda rank: found[rank])
    return found[most], most
