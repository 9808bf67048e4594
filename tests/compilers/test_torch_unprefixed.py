"""Room 3: PyTorch's records under an empty TORCH_LOGS_FORMAT, which have no prefix at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fallback_gate.compilers import READERS
from fallback_gate.model import Kind, State

Read = Callable[..., Any]

BREAK = (
    "Graph break in user code at /app/moe/breaks.py:{0}",
    "Graph Break Reason: Call to `torch._dynamo.graph_break()`",
    "  Explanation: User-inserted graph break. Message: None",
    "",
    "User code traceback:",
    '  File "/app/moe/run.py", line 7, in <module>',
    "    step(x)",
    '  File "/app/moe/breaks.py", line {0}, in {1}',
    "    torch._dynamo.graph_break()",
    "",
)


def broke(line: int, function: str) -> list[str]:
    return [said.format(line, function) for said in BREAK]


def test_each_break_has_its_own_frames(read: Read) -> None:
    said = read(*broke(8, "gate_attn"), *broke(21, "route")).reports
    assert [(one.op, one.location.line, one.position) for one in said] == [
        ("gate_attn", 8, 1),
        ("route", 21, 11),
    ]


def test_the_frames_of_what_follows_are_not_of_the_break(read: Read) -> None:
    other = ("Traceback (most recent call last):", '  File "/app/other.py", line 3, in unrelated', "    go()")
    (one,) = read(*broke(8, "gate_attn"), *other).reports
    assert one.stack == ("gate_attn",)
    assert one.files == ("/app/moe/breaks.py", "/app/moe/run.py")


def test_a_limit_tells_its_function(read: Read) -> None:
    (one,) = read(
        "torch._dynamo hit config.recompile_limit (8)",
        "   function: 'gate_attn' (/app/moe/decoder.py:148)",
        "   last reason: 0/7: tensor 'x' size mismatch at index 0. expected 2, actual 3",
    ).reports
    assert (one.op, one.location.line, one.kind.value) == ("gate_attn", 148, "recompile_limit")
    assert one.reason == "recompile_limit (8): 0/7: tensor 'x' size mismatch at index 0. expected 2, actual 3"


@pytest.mark.parametrize(
    "lines",
    [
        ("Graph break in user code at model.py:3", "means that the compiler stopped there."),
        ("Graph break in user code at model.py:3",),
        ("why: " + BREAK[0].format(8), BREAK[1]),
        ("torch._dynamo hit config.recompile_limit (8)", "is the message to look for."),
        ("WON'T CONVERT forward /app/moe/decoder.py line 148 ", "is another one."),
    ],
)
def test_a_quotation_is_none(lines: tuple[str, ...], read: Read) -> None:
    assert read(*lines).reports == []


def test_nothing_is_proven_by_them(read: Read) -> None:
    ((_, evidence),) = read(*broke(8, "gate_attn")).evidence.processes.items()
    proof = READERS["torch.compile"].prove(evidence["torch.compile"])
    assert State.PROVEN not in {one.state for one in proof.values()}


def test_a_break_of_an_older_version_without_its_prefix_is_told_by_the_frame_below(read: Read) -> None:
    said = read(
        "Graph break: skip: from user code at:",
        '  File "/tmp/ipykernel_1/2.py", line 10, in step',
        "    torch._dynamo.graph_break()",
        "Traceback (most recent call last):",
        '  File "/x/site-packages/torch/_dynamo/symbolic_convert.py", line 1, in call',
        "torch._dynamo.exc.Unsupported: 'skip function graph_break in file'",
        "ValueError: of another program",
    )
    broken, frame = said.reports
    assert (broken.kind, broken.op, broken.reason) == (
        Kind.GRAPH_BREAK,
        "step",
        "'skip function graph_break in file'",
    )
    assert (frame.kind, frame.op) == (Kind.EAGER_FRAME, "step")


def test_a_break_of_an_older_version_that_is_quoted_is_none(read: Read) -> None:
    assert not read("Graph break: skip: from user code at:", "is what the log says").reports


def test_a_wrappers_calls_are_told_up_to_what_runs_it(read: Read) -> None:
    said = read(
        "Output code: ",
        "# AOT ID: ['0_inference']",
        "def call(args):",
        "        buf0 = torch.ops.aten.kthvalue.default(arg0_1, 2, -1, False)",
        "    return (buf0, )",
        'if __name__ == "__main__":',
        "    main()",
        "        kthvalue = torch.ops.aten.sort.default(arg0_1)",
    )
    assert [(one.op, one.position) for one in said.reports] == [("aten::kthvalue", 4)]
