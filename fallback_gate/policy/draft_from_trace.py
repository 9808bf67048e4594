"""Room 5: a first policy from a kernel trace: hot is what ran in every step, by what was measured.

The trace of an uncompiled run tells most: each kernel is an operator's there. In the trace of a compiled
run, what runs eager although all is well can't be hot: it is proposed as cold, as is what did not run in each
step.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import date

from fallback_gate.model.measures import Ran
from fallback_gate.policy import globs
from fallback_gate.policy.draft import MOST, unexcused


def hot_policy(
    rows: Sequence[Ran], path: str, name: str, today: date, plain: Callable[[str], str], *, compiled: bool
) -> str:
    """The text of a policy. `plain` makes names harmless; one that it changes is left out."""
    kept = [one for one in rows if plain(one.name) == one.name and globs.flaw(one.name) is None]
    hot = [one for one in kept if one.steps == one.of > 0 and not (compiled and one.is_eager)]
    cold = [one for one in kept if one not in hot]
    kind = "a compiled" if compiled else "an uncompiled"
    return (
        "\n".join(
            [
                f"# A first policy, from the kernel trace of {kind} run: {plain(path)}.",
                "# Read each line before you keep it; docs/policy.md explains the keys.",
                "version: 1",
                f"name: {json.dumps(plain(name))}",
                "unlisted: block",
                "",
                *_hot(hot),
                "",
                *_cold(cold, today),
            ]
        )
        + "\n"
    )


def _hot(rows: Sequence[Ran]) -> Iterator[str]:
    if not rows:
        yield "# No operator or function that the trace names ran in every step."
        return
    yield "# What ran in every step: it may never fall back."
    yield "hot:"
    for one in rows[:MOST]:
        yield f"  - {one.key}: {json.dumps(one.name)}"
        yield f"    why: {json.dumps(_why(one))}"
    if len(rows) > MOST:
        yield f"  # and {len(rows) - MOST} more"


def _why(one: Ran) -> str:
    times = f"{one.per_step:.4g} kernel{'' if one.per_step == 1 else 's'} in each of {one.of} steps"
    called = f"called {one.calls:.4g} times, " if one.calls > 1 else ""
    return f"{called}{times}, {one.share:.1%} of kernel time"


def _cold(rows: Sequence[Ran], today: date) -> Iterator[str]:
    yield "# What did not run in every step, or runs eager in a good run: it may fall back. Take the # off"
    yield "# where that is right, and say why, whose, until when."
    yield from unexcused([[_told(one)] for one in rows], today)


def _told(one: Ran) -> str:
    when = f"in {one.steps} of {one.of} steps" if one.steps else "outside of the steps"
    return f"{one.key}: {json.dumps(one.name)}   # {when}{', eager' if one.is_eager else ''}"
