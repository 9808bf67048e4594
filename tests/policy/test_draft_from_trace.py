"""Room 5: a first policy from a kernel trace, word for word; and the edges of what a value may be."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from fallback_gate.compilers import READERS
from fallback_gate.errors import PolicyError
from fallback_gate.model.measures import Ran
from fallback_gate.policy.advice import advise
from fallback_gate.policy.draft import MOST
from fallback_gate.policy.draft_from_trace import hot_policy
from fallback_gate.policy.page import shown

from .make import OURS, TODAY, policy


def ran(name: str, steps: int = 8, of: int = 8, **said: Any) -> Ran:
    values = {"key": "op", "per_step": 2.0, "share": 0.125, "is_eager": False}
    return Ran(**{**values, "name": name, "steps": steps, "of": of, **said})


def text(*rows: Ran, compiled: bool = False) -> list[str]:
    return hot_policy(
        rows, "/x/trace.json", "llm", TODAY, lambda said: said.replace("ghp_x", "***"), compiled=compiled
    ).splitlines()


HEAD = [
    "# Read each line before you keep it; docs/policy.md explains the keys.",
    "version: 1", 'name: "llm"', "unlisted: block", "",
]  # fmt: skip
COLD = [
    "# What did not run in every step, or runs eager in a good run: it may fall back. Take the # off",
    "# where that is right, and say why, whose, until when.",
    "# cold:",
]


def excused(name: str, when: str) -> list[str]:
    return [
        f'#   - op: "{name}"   # {when}', "#     reason: FILL IN", "#     owner: FILL IN", "#     expires: 2027-03-01",
    ]  # fmt: skip


def test_what_ran_in_every_step_is_hot() -> None:
    rows = (ran("aten::mm"), ran("gate", key="function", per_step=1.0, is_eager=True), ran("aten::sort", 3), ran("aten::copy", 0), ran("my::ghp_x"), ran("x[", 8))  # fmt: skip
    hot = [
        "# What ran in every step: it may never fall back.",
        "hot:",
        '  - op: "aten::mm"',
        '    why: "2 kernels in each of 8 steps, 12.5% of kernel time"',
    ]
    gate = ['  - function: "gate"', '    why: "1 kernel in each of 8 steps, 12.5% of kernel time"']
    rest = [*excused("aten::sort", "in 3 of 8 steps"), *excused("aten::copy", "outside of the steps")]
    assert text(*rows) == [
        "# A first policy, from the kernel trace of an uncompiled run: /x/trace.json.",
        *HEAD,
        *hot,
        *gate,
        "",
        *COLD,
        *rest,
    ]
    eager = excused("gate", "in 8 of 8 steps, eager")
    eager[0] = eager[0].replace("op:", "function:")
    assert text(*rows, compiled=True) == [
        "# A first policy, from the kernel trace of a compiled run: /x/trace.json.",
        *HEAD,
        *hot,
        "",
        *COLD,
        *eager,
        *rest,
    ]


def test_a_trace_of_nothing_makes_a_policy_too() -> None:
    assert text() == [
        "# A first policy, from the kernel trace of an uncompiled run: /x/trace.json.",
        *HEAD,
        "# No operator or function that the trace names ran in every step.",
        "",
        *COLD,
    ]
    assert text(ran("a", 0, 0))[6:9] == [
        "# No operator or function that the trace names ran in every step.",
        "",
        COLD[0],
    ]


@pytest.mark.parametrize(("count", "more"), [(MOST, False), (MOST + 1, True)])
def test_a_list_of_kernels_has_an_end(count: int, more: bool) -> None:
    hot = text(*(ran(f"a{number}") for number in range(count)))
    cold = text(*(ran(f"a{number}", 1) for number in range(count)))
    assert ("  # and 1 more" in hot, "#   and 1 more" in cold) == (more, more)
    assert sum("- op:" in one for one in hot) == sum("- op:" in one for one in cold) == MOST


def test_a_value_is_shown_whole_up_to_80_characters() -> None:
    assert shown("x" * 78) == repr("x" * 78)
    assert shown("x" * 79) == "'" + "x" * 35 + " ... " + "x" * 38 + "'"
    assert shown(7) == "7"


@pytest.mark.parametrize(
    ("number", "fits"), [(10**9, True), (10**9 + 1, False), (-(10**9) - 1, False), (0, True), (-1, False)]
)
def test_how_large_a_number_may_be(tmp_path: Path, number: int, fits: bool) -> None:
    if fits:
        assert policy(tmp_path, f"budgets: {{events: {number}}}").budgets == {"events": number}
        return
    with pytest.raises(PolicyError, match=r"too (large|small)"):
        policy(tmp_path, f"budgets: {{events: {number}}}")


def test_advice_on_line_10_comes_behind_that_on_line_9(tmp_path: Path) -> None:
    entries = "".join(f"  - {{op: x{at}, max_count: 0, {OURS}}}\n" for at in range(12))
    found = advise(policy(tmp_path, f"cold:\n{entries}"), TODAY, timedelta(days=1), READERS)
    assert [int(one.source.rpartition(":")[2]) for one in found] == list(range(3, 15))
    assert {one.code for one in found} == {"allows-nothing"}
