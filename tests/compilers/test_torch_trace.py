"""Room 3: structured traces of frames that failed, were refused, or hold nothing to generate code for.

The records are those of runs with PyTorch 2.11 on a GPU, shortened; what truly happened is from its counters there.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fallback_gate import check
from fallback_gate.compilers.torch.trace_proof import conclude, prove
from fallback_gate.model import Kind, Location, Scope, State

Read = Callable[..., Any]
CODE_GEN = {"graph_op_count": 3, "guard_count": 8, "has_guarded_code": True, "inductor_compile_time_s": 0.3}
FAILED = {
    "graph_op_count": None,
    "guard_count": None,
    "has_guarded_code": False,
    "inductor_compile_time_s": None,
}
WRAPPER = ("import torch", "def call(args):", "    args.clear()", "    return (buf0, )", "")
PLACE = {"co_name": "forward", "co_filename": "/app/serve.py", "co_firstlineno": 5}


def said(record: str, frame: int = 0, recompile: int = 0, *payload: str, **facts: Any) -> list[str]:
    """A record of the trace, and its payload."""
    ids = {"frame_id": frame, "frame_compile_id": recompile, "attempt": 0}
    opening = "V1130 17:46:04.209000 767 torch/_dynamo/x.py:1796] "
    return [opening + json.dumps({record: facts, **ids}), *(f"\t{line}" for line in payload)]


def frame(
    number: int = 0, recompile: int = 0, *, graph: bool = True, code: bool = True, **facts: Any
) -> list[str]:
    """A frame that was traced, from its start to its metrics."""
    lines = said("dynamo_start", number, recompile)
    lines += said("dynamo_output_graph", number, recompile) * graph
    lines += said("inductor_output_code", number, recompile, *WRAPPER) * code
    metrics = {"compile_id": f"{number}/{recompile}", **PLACE, **CODE_GEN, **facts}
    return lines + said("artifact", number, recompile, name="fx_graph_cache_miss") + metrics_of(metrics)


def metrics_of(metrics: dict[str, Any], record: str = "compilation_metrics") -> list[str]:
    number, recompile = map(int, metrics["compile_id"].split("/"))
    return said(record, number, recompile, **metrics)


@pytest.fixture
def found(read: Read) -> Callable[[list[str]], tuple[list[Any], dict[Kind, State]]]:
    """The fallbacks that the whole trace tells, and what it proves."""

    def of(lines: list[str]) -> tuple[list[Any], dict[Kind, State]]:
        (process,) = read(*lines).evidence.processes.values()
        evidence = process["torch.compile"]
        return list(conclude(evidence)), {
            kind: proof.state for kind, proof in (prove(evidence) or {}).items()
        }

    return of


Found = Callable[[list[str]], tuple[list[Any], dict[Kind, State]]]


def test_a_recompile_that_was_refused_has_no_start(found: Found) -> None:
    """The limit, or error_on_recompile: metrics without a name, and all other frames are proven."""
    limit = {"fail_type": "Unsupported", "fail_reason": "Dynamo recompile limit exceeded", "co_name": None}
    (event,), proof = found([*frame(), *metrics_of({"compile_id": "0/1", **FAILED, **limit})])
    assert (event.kind, event.op, event.location.line) == (Kind.RECOMPILE_LIMIT, "forward", 5)
    assert set(proof.values()) == {State.PROVEN}
    error = {"fail_type": "RecompileError", "fail_reason": "Recompiling function forward", "co_name": None}
    (event,), proof = found([*frame(), *metrics_of({"compile_id": "0/1", **FAILED, **error})])
    assert (event.kind, event.op) == (Kind.COMPILE_ERROR, "forward")
    assert set(proof.values()) == {State.PROVEN}
    _, proof = found([*frame(), *metrics_of({"compile_id": "1/0", **PLACE, **CODE_GEN})])
    assert proof[Kind.OP_FALLBACK] is State.UNPROVEN  # its start is lost, and who knows what else


def test_a_frame_whose_compile_failed_owes_no_code_and_has_no_back_end_of_its_own(found: Found) -> None:
    error = {"fail_type": "InductorError", "fail_reason": "LoweringException: no tile shape fits"}
    events, proof = found([*frame(), *frame(1, code=False, **FAILED, **error)])
    assert [(event.kind, event.scope) for event in events] == [(Kind.COMPILE_ERROR, Scope.REGION)]
    assert set(proof.values()) == {State.PROVEN}
    _, alone = found(frame(code=False, **FAILED, **error))
    assert alone[Kind.OP_FALLBACK] is State.UNPROVEN
    eager, _ = found([*frame(), *frame(1, code=False, inductor_compile_time_s=None)])
    assert [(event.kind, event.scope) for event in eager] == [(Kind.EAGER_FRAME, Scope.PROGRAM)]


def test_a_back_end_that_compiles_the_pieces_of_its_graph_as_they_run(found: Found) -> None:
    """A profile of such a run has Inductor's kernels: the graph is not said to run in eager, and nothing is proven."""
    piece = "V1130 17:46:05.209000 767 torch/_inductor/graph.py:2575] " + json.dumps(
        {"inductor_output_code": {}}
    )
    whole = frame(code=False, inductor_compile_time_s=None)
    events, proof = found([*whole, piece, *(f"\t{line}" for line in WRAPPER)])
    assert events == []
    assert proof[Kind.OP_FALLBACK] is State.UNPROVEN
    events, _ = found(whole)
    assert [event.kind for event in events] == [Kind.EAGER_FRAME]


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("/opt/torch/_higher_order_ops/cond.py", []),
        ("/opt/torch/nn/attention/flex_attention.py", [(Kind.REFERENCE_KERNEL, "flex_attention")]),
        ("/app/_higher_order_ops/cond.py", [(Kind.EAGER_FRAME, "*")]),
    ],
)
def test_graphs_that_pytorch_gives_to_the_back_end_eager_by_itself(
    found: Found, file: str, told: list[tuple[Kind, str]]
) -> None:
    """Counters of such a run: four graphs, one of which the program asked for."""
    own = {"co_name": "wrapper", "co_filename": file, "inductor_compile_time_s": None}
    events, proof = found([*frame(), *frame(1, code=False, **own)])
    assert [(event.kind, event.op) for event in events] == told
    assert proof[Kind.OP_FALLBACK] is (State.UNPROVEN if file.startswith("/app") else State.PROVEN)


@pytest.mark.parametrize(
    ("body", "state"),
    [
        (("return (arg0_1,)",), State.PROVEN),
        (('sin: "f32[8]" = torch.ops.aten.sin.default(arg0_1)', "return (sin,)"), State.UNPROVEN),
        ((), State.UNPROVEN),  # the payload is cut
    ],
)
def test_a_graph_without_a_call_needs_no_code(found: Found, body: tuple[str, ...], state: State) -> None:
    graph = ("class <lambda>(torch.nn.Module):", '    def forward(self, arg0_1: "f32[8]"):', *body)
    _, proof = found([*frame(), *said("aot_inference_graph", 1, 0, *graph), *frame(1, code=False)])
    assert proof[Kind.OP_FALLBACK] is state


def test_a_backward_that_failed_is_told_with_the_frame_of_its_forward(found: Found) -> None:
    failed = {"compile_id": "0/0", "fail_type": "InductorError", "fail_reason": "LoweringException: no tile"}
    (event,), _ = found([*frame(), *metrics_of(failed, "bwd_compilation_metrics")])
    assert (event.kind, event.op, event.location.line) == (Kind.COMPILE_ERROR, "forward", 5)
    assert event.reason == "InductorError in the backward: LoweringException: no tile"
    fine = {"compile_id": "0/0", "fail_type": None}
    assert found([*frame(), *metrics_of(fine, "bwd_compilation_metrics")])[0] == []


SKIPPED = "skipping cudagraphs due to "
CALLED = 'Found from   File "/app/serve.py", line 14, in step\n    def step(x): return lookup(x)\n\n'


@pytest.mark.parametrize(
    ("why", "reason", "op", "function", "line"),
    [
        (
            f"disabling cudagraphs due to incompatible op serve.lookup.default {CALLED}",
            "incompatible op serve.lookup.default",
            "serve::lookup",
            "step",
            14,
        ),
        (f"{SKIPPED}cpu device (_to_copy). {CALLED}", "cpu device (_to_copy)", "step", "step", 14),
        ("mutated inputs (1 instances)", "mutated inputs (1 instances)", "forward", "forward", 5),
    ],
)
def test_a_graph_without_its_cuda_graph_is_told_by_its_metrics(
    why: str, reason: str, op: str, function: str, line: int, tmp_path: Path
) -> None:
    trace = tmp_path / "dedicated_log_torch_trace_1.log"
    metrics = {"guards": "g" * 20_000, "cudagraph_skip_reason": SKIPPED + why}  # a long line, as most are
    trace.write_text("\n".join(frame(**metrics)) + "\n", encoding="utf-8")
    (event,) = (finding.event for finding in check(trace, "builtin:strict", environ={}).findings)
    assert (event.kind, event.scope, event.op) == (Kind.CUDAGRAPH_SKIP, Scope.PROGRAM, op)
    assert event.reason == reason
    assert event.location == Location("/app/serve.py", line, function)


HARMS = {
    "a bar before each line": lambda line: f"| {line}",
    "a name of a container": lambda line: f"[app] {line}",
    "lines without their tab": str.lstrip,
    "blanks squeezed": lambda line: line.replace("    ", " "),
    "blanks as tabs": lambda line: line.replace("    ", "\t"),
    "blanks that do not break": lambda line: line.replace("  ", " \xa0"),
}


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_a_wrapper_whose_lines_are_not_as_written(found: Found, harm: Callable[[str], str]) -> None:
    """A call in it could not be told: what stands before each line stands before that, too."""
    assert found(frame())[1][Kind.OP_FALLBACK] is State.PROVEN
    assert State.PROVEN not in found(list(map(harm, frame())))[1].values()


@pytest.mark.parametrize("kept", range(5))
def test_a_wrapper_that_is_cut(found: Found, kept: int) -> None:
    lines = frame()
    at = next(number for number, line in enumerate(lines) if "inductor_output_code" in line) + 1
    _, proof = found(lines[: at + kept] + lines[at + len(WRAPPER) :])
    assert proof[Kind.OP_FALLBACK] is (State.PROVEN if kept == 4 else State.UNPROVEN)


def test_frames_of_a_kernel_compiler_compute_nothing(found: Found) -> None:
    numba = {"co_filename": "/opt/venv/lib/python3.12/site-packages/numba/core/typing/typeof.py"}
    given_up = {"fail_type": "Unsupported", "fail_reason": "Unsupported ndarray attribute access", **FAILED}
    events, _ = found([*frame(), *frame(1, graph=False, code=False, **{**given_up, **numba})])
    assert events == []
    (event,), _ = found([*frame(), *frame(1, graph=False, code=False, **given_up)])
    assert event.op == "forward"
