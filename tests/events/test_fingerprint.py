"""Room 4: an event keeps its name when the model is built again, and no two events share one."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback_gate.events.fingerprint import fingerprint
from fallback_gate.model import Kind, Location

PLACE = Location("/build/7/model/decoder.py", 42, "gate_attn")


def print_of(
    compiler: str = "torch.compile",
    kind: Kind = Kind.OP_FALLBACK,
    op: str = "aten::sort",
    place: Location | None = PLACE,
) -> str:
    """The fingerprint of an event that differs in one thing."""
    return fingerprint(compiler, kind, op, place)


@pytest.mark.parametrize(
    "place",
    [
        PLACE._replace(line=99),
        PLACE._replace(line=None),
        PLACE._replace(file="/home/runner/other/decoder.py"),
        PLACE._replace(file="C:\\build\\decoder.py"),
        PLACE._replace(function="torch_dynamo_resume_in_gate_attn_at_42"),
    ],
)
def test_a_rebuild_moves_lines_and_folders(place: Location) -> None:
    assert print_of(place=place) == print_of()


@pytest.mark.parametrize("op", ["aten.sort", "aten.sort.stable", "torch.ops.aten.sort.default", "ATEN::sort"])
def test_an_operator_has_one_name(op: str) -> None:
    assert print_of(op=op) == print_of()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<f at 0x7f1010>", "<f at 0x7fAA99>"),
        ("kernel[2, 8]", "kernel[16, 64]"),
        ("kernel[2x8]", "kernel[1x4]"),
    ],
)
def test_addresses_and_shapes_pass(one: str, other: str) -> None:
    assert print_of(op=one) == print_of(op=other)


def test_all_that_differs_shows() -> None:
    prints = [
        print_of(),
        print_of(compiler="generic"),
        print_of(kind=Kind.GRAPH_BREAK),
        print_of(op="aten::topk"),
        print_of(op="aten::sort_"),
        print_of(place=None),
        print_of(place=PLACE._replace(function="other")),
        print_of(place=PLACE._replace(file="other.py")),
        print_of(place=Location()),
    ]
    assert len(set(prints)) == len(prints) - 1  # no place and an empty one are the same


def test_the_fingerprints_of_this_version_stay() -> None:
    """Waivers and baselines hold them: a change here breaks what users have written."""
    import hashlib

    covered = "v1\x1ftorch.compile\x1fop_fallback\x1faten.sort\x1fgate_attn\x1fdecoder.py"
    assert print_of() == hashlib.sha256(covered.encode()).hexdigest()[:32]


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=30))
def test_any_text_has_a_fingerprint(op: str, file: str, function: str) -> None:
    assert re.fullmatch("[0-9a-f]{32}", print_of(op=op, place=Location(file, 1, function)))


def test_an_upgrade_of_the_compiler_keeps_the_names() -> None:
    """One program under PyTorch 2.4.1, 2.7.1 and 2.14.1: other wording, other counts, the same breaks."""
    from pathlib import Path

    from fallback_gate import check

    samples = Path(__file__).parents[2] / "sample_logs" / "torch"
    prints = []
    for version in ("2.4.1", "2.7.1", "2.14.1"):
        verdict = check([samples / f"graph-breaks.{version}.log"], "builtin:strict")
        breaks = [f.event.fingerprint for f in verdict.findings if f.event.kind is Kind.GRAPH_BREAK]
        prints.append(sorted(breaks))
    assert prints[0] == prints[1] == prints[2]
    assert len(prints[0]) == 7
