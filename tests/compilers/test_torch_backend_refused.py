"""A graph that the back end could not take, a tensor that can't be traced: PyTorch warns of the break at the default level."""

from __future__ import annotations

from pathlib import Path

import pytest

from fallback_gate import check
from fallback_gate.model import Kind, Location
from tests.compilers.conftest import Read
from tests.compilers.lines import SITE, graph_break, record


def _warning(error: list[str], frame: str, function: str) -> list[str]:
    first, *more = error
    return record(
        "Backend compiler exception",
        f"  Explanation: Backend compiler `inductor` failed with {first}",
        *(f"    {line}" for line in more),
        "  Hint: Report an issue to the backend compiler repo.",
        "",
        "  Developer debug context: Backend: inductor",
        "    Exception:...",
        "    Traceback:",
        f'      File "{frame}", line 6, in {function}',
        "        return x + 1",
        "",
        level="W",
    )


@pytest.mark.parametrize(
    ("error", "names"),
    [
        (["aten.foo.default. Adding a graph break."], ("fn", "aten.foo.default", "aten.foo")),
        (
            [
                "c10d.allreduce_.default",
                "",
                "While executing %all_reduce_1 : [num_users=1] = call_function[target=torch.ops.x.all_reduce](args = (%y,), kwargs = {})",
                "Original traceback:",
                '  File "/app/other.py", line 2, in other',
                "Adding a graph break.",
            ],
            ("fn", "c10d.allreduce_.default", "c10d.allreduce_", "x.all_reduce"),
        ),
        (["quantized nyi in meta tensors. Adding a graph break."], ("fn",)),
    ],
)
def test_the_frame_and_the_operator_are_named(error: list[str], names: tuple[str, ...], read: Read) -> None:
    (report,) = read(*_warning(error, "/app/model.py", "fn")).reports
    assert (report.id, report.kind, report.op) == ("torch/backend-refused", Kind.GRAPH_BREAK, "fn")
    assert report.names == names
    assert report.location == Location("/app/model.py", 6, "fn")
    assert str(report.reason).startswith("the back end failed with ")


def test_the_wording_up_to_two_point_six_in_a_librarys_frame(read: Read) -> None:
    lines = record(
        "Backend compiler failed with a fake tensor exception at ",
        f'  File "{SITE}/sparse/jagged.py", line 1957, in dist_init',
        "    return kjt.sync()",
        "Adding a graph break.",
        level="W",
    )
    (report,) = read(*lines).reports
    assert (report.kind, report.op) == (Kind.GRAPH_BREAK, "dist_init")
    assert report.reason == "the back end failed on fake tensors"


def test_the_same_words_in_the_artifact_and_in_an_error_are_told_by_their_own_rules(read: Read) -> None:
    assert not read("Backend compiler exception").reports
    assert not read(*record("Backend compiler exception", artifact="graph_breaks")).reports


def test_a_tensor_that_cannot_be_traced_is_told_where_the_break_is_not(tmp_path: Path) -> None:
    said = "Encountered exception (quantized nyi in meta tensors) during fake tensor propagation."
    warning = record(said, level="W")
    broke = graph_break(
        "Graph break in user code at /app/model.py:5",
        "Graph Break Reason: Fake tensor propagation exception",
        "User code traceback:",
        '  File "/app/model.py", line 5, in fn',
        "    return y * q.dequantize()",
    )
    log = tmp_path / "compile.log"
    for lines, op in ((warning, "*"), ([*warning, *broke], "fn")):
        log.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        (finding,) = check([str(log)]).findings
        assert (finding.event.kind, finding.event.op) == (Kind.GRAPH_BREAK, op)
