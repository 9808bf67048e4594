"""Text about a message is no message; and a line with two messages has two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fallback_gate.compilers import READERS

RULES = [rule for reader in READERS.values() for rule in reader.rules]
FORM = "fallback to eager: op="
WRAPPED = (
    'INFO 11-30 10:00:00 [logger.py:39] Received request cmpl-1: prompt: "Why does my log say: {}", params: 1',
    'user> what does "{}" mean?',
    '    logger.warning("{}")',
    "# {}",
    '+ grep -c "{}" compile.log',
    "> {}",
    "V1130 00:31:36.193000 5156 torch/_inductor/graph.py:2722] [0/0] [__output_code]     # {}",
)


@pytest.mark.parametrize("around", WRAPPED)
def test_what_quotes_a_message_is_none(around: str, read: Callable[..., Any]) -> None:
    fired = []
    for rule in RULES:
        line = rule.matches[0].split("\n")[0]
        if '"' in line or "\t" in line:
            continue
        said = read(around.format(line))
        fired += [report.id for report in said.reports]
    assert fired == []


def test_a_message_after_a_closed_quote_is_one(read: Callable[..., Any]) -> None:
    assert [one.op for one in read(f'building "moe": {FORM}gate_attn').reports] == ["gate_attn"]


def test_two_messages_on_one_line_are_two(read: Callable[..., Any]) -> None:
    assert [one.op for one in read(f"{FORM}cold_op ; retry: {FORM}gate_attn").reports] == [
        "cold_op",
        "gate_attn",
    ]


@pytest.mark.parametrize("gap", [100, 9_000, 20_000, 300_000])
def test_messages_far_apart_on_one_line_are_all_found(gap: int, read: Callable[..., Any]) -> None:
    said = read(f"{FORM}cold_op {'y' * gap} {FORM}gate_attn")
    assert {one.op for one in said.reports} == {"cold_op", "gate_attn"}
    assert {one.position for one in said.reports} == {1}
