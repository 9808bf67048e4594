"""Real messages of the whole field: each gives an event of its kind and operator, and what only looks so, none.

The count is printed (`pytest -rP`). What is left out stands in `NONE`, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from fallback_gate.model import Report

RECORDS: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[1] / "data" / "messages.yaml").read_text(encoding="utf-8")
)
FALLBACKS = [record for record in RECORDS if "kind" in record]
TRAPS = [record for record in RECORDS if "kind" not in record]
NONE = {
    "torchtrt.nccl": "a notice at start-up that a plugin is not installed; most programs never need it",
    "xla.profiler_freq": "the graph is compiled too often, and it runs compiled: no kind of fallback",
}
LEAST = 0.95  # share of the records that must be read


def reports(record: dict[str, Any], read: Callable[..., Any]) -> list[Report]:
    found: list[Report] = read(*record["lines"].split("\n")).reports
    return found


def missing(record: dict[str, Any], read: Callable[..., Any]) -> str | None:
    """What is wrong with what was read, or None."""
    right = [report for report in reports(record, read) if report.kind.value == record["kind"]]
    if not right:
        return "no report of its kind"
    said = " ".join(
        " ".join((report.op, *report.names, report.layer or "", report.reason or "")) for report in right
    )
    named = said.casefold().replace("::", ".")
    if "ops" in record and not any(op.casefold().replace("::", ".") in named for op in record["ops"]):
        return f"names {said!r}"
    return None


@pytest.mark.parametrize("record", FALLBACKS, ids=lambda record: record["id"])
def test_a_message_gives_its_event(record: dict[str, Any], read: Callable[..., Any]) -> None:
    if record["id"] in NONE:
        assert reports(record, read) == []
    else:
        assert missing(record, read) is None


@pytest.mark.parametrize("record", TRAPS, ids=lambda record: record["id"])
def test_what_only_looks_like_a_fallback_gives_none(record: dict[str, Any], read: Callable[..., Any]) -> None:
    assert reports(record, read) == []


def test_the_count() -> None:
    read = len(FALLBACKS) - len(NONE)
    print(f"{read} of {len(FALLBACKS)} messages give their event; {len(TRAPS)} look so and give none")
    for id, why in NONE.items():
        print(f"  not {id}: {why}")
    assert {record["id"] for record in FALLBACKS} >= NONE.keys()
    assert read / len(FALLBACKS) >= LEAST
