"""Room 3: what a structured trace tells as a whole: fallbacks that none of its records reports, and its proof.

`trace` reads the records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fallback_gate.compilers.rule import Evidence
from fallback_gate.compilers.torch import own_graphs
from fallback_gate.compilers.torch.graph_breaks import HELP, REST_OF_FUNCTION
from fallback_gate.compilers.torch.log import NAME
from fallback_gate.compilers.torch.trace import LIMITS, LONGEST_ID, Metrics
from fallback_gate.compilers.torch.user_stack import makes_kernels
from fallback_gate.model import Kind, Location, Proof, Report, Scope, State
from fallback_gate.model.names import function

_SHOWN = (Kind.GRAPH_BREAK, Kind.EAGER_FRAME, Kind.RECOMPILE_LIMIT, Kind.COMPILE_ERROR, Kind.OP_FALLBACK)
_NO_COMPILE = "None/None"
CPP_WRAPPER = Proof(
    State.UNPROVEN,
    "the generated wrapper is C++, where not every operator's call is told apart from a library call",
    None,
    "TORCHINDUCTOR_CPP_WRAPPER=0, or TORCH_LOGS=dynamo,graph_breaks,+inductor with a cold cache",
)


def conclude(evidence: Evidence) -> Iterable[Report]:
    """The fallbacks that only the whole trace tells: frames given up, limits, graphs that got no code."""
    done = {Metrics(*facts): at for facts, at in evidence.facts.get("torch-trace/frame-done", {}).items()}
    names = {m.compile_id.split("/")[0]: m for m in sorted(done) if m.name}
    broke = {compile_id for compile_id, _ in evidence.of("torch-trace/broke")}
    artifacts = "torch-trace/artifacts" in evidence.facts
    for metrics, at in done.items():
        known = metrics if metrics.name else names.get(metrics.compile_id.split("/")[0], metrics)
        if makes_kernels(known.file):
            continue
        if any(said in metrics.fail_reason for said in LIMITS):
            yield _frame("torch/recompile-limit", Kind.RECOMPILE_LIMIT, known, at, metrics.fail_reason)
        elif metrics.fail_type and metrics.fail_type != "Unsupported":
            reason = f"{metrics.fail_type}: {metrics.fail_reason}".removesuffix(": ")
            yield _frame("torch/frame-not-converted", Kind.COMPILE_ERROR, known, at, reason)
        elif not metrics.counted and metrics.fail_type and artifacts and metrics.compile_id not in broke:
            yield _frame("torch/compile-error", Kind.COMPILE_ERROR, known, at, metrics.fail_reason)
        elif not metrics.counted and (
            metrics.fail_type or metrics.compile_id in broke or not metrics.guarded
        ):
            reason = metrics.fail_reason or "the frame was given up: all of it runs in eager"
            yield _frame("torch/frame-skipped", Kind.EAGER_FRAME, known, at, reason)
        if metrics.cut_short and metrics.compile_id not in broke:
            reason = "a graph break behind which Dynamo can't resume: the rest of the function runs in eager"
            yield _frame("torch/graph-break", Kind.GRAPH_BREAK, known, at, reason, Scope.SITE)
            yield _frame(REST_OF_FUNCTION, Kind.EAGER_FRAME, known, at, reason)
        elif metrics.restarts and not artifacts:
            yield _frame("torch/graph-break", Kind.GRAPH_BREAK, known, at, metrics.restarts, Scope.SITE)
    for (compile_id, error, said), at in evidence.facts.get("torch-trace/backward-failed", {}).items():
        known = names.get(compile_id.split("/")[0]) or Metrics(compile_id, *[""] * 9)
        yield _frame("torch/compile-error", Kind.COMPILE_ERROR, known, at, f"{error} in the backward: {said}")
    not_inductor = {m.compile_id for m in done if not m.inductor} - _failed(done)
    yield from _without_code(evidence, not_inductor, _own(done))


def _failed(done: Iterable[Metrics]) -> set[str]:
    """The frames that got no code, since their compile failed: all that they have run in eager, as is told."""
    return {m.compile_id for m in done if m.name and m.fail_type and not m.counted}


def _own(done: Iterable[Metrics]) -> dict[str, str]:
    """The graphs that PyTorch gives to the back end eager by itself: of which operator."""
    made_by = {m.compile_id: own_graphs.operator_of(m.file) for m in done if not m.inductor}
    return {compile_id: operator for compile_id, operator in made_by.items() if operator}


def _frame(
    identifier: str, kind: Kind, metrics: Metrics, at: int, reason: str, scope: Scope = Scope.REGION
) -> Report:
    name = function(metrics.name) if metrics.name else "*"
    line = int(metrics.line) if metrics.line.isdecimal() and len(metrics.line) < 10 else None
    return Report(
        id=identifier,
        compiler=NAME,
        kind=kind,
        scope=scope,
        op=name,
        position=at,
        text=f"compilation_metrics of [{metrics.compile_id}] {metrics.name}: {reason.splitlines()[0] if reason else ''}",
        names=(name,) if metrics.name else (),
        stack=(name,) if metrics.name else (),
        files=(metrics.file,) if metrics.file else (),
        reason=reason.splitlines()[0] if reason else None,
        location=Location(metrics.file, line, name) if metrics.file else None,
        help=HELP,
        compile_id=metrics.compile_id[:LONGEST_ID] or None,
    )


def _without_code(evidence: Evidence, not_inductor: set[str], own: Mapping[str, str]) -> Iterable[Report]:
    """Graphs that a back end got and for which Inductor neither wrote code nor took time.

    Not where it wrote code outside of any compile: a back end may compile the pieces of its graph as they are first run.
    """
    written = {compile_id for compile_id, _ in evidence.of("torch-trace/output-code")}
    without = not_inductor - written if _NO_COMPILE not in written else set()
    for (compile_id, _), at in evidence.facts.get("torch-trace/graph", {}).items():
        if compile_id not in without:
            continue
        report = Report(
            id="torch/eager-backend",
            compiler=NAME,
            kind=Kind.EAGER_FRAME,
            scope=Scope.PROGRAM,
            op="*",
            position=at,
            text=f"dynamo_output_graph of [{compile_id}], and no inductor_output_code",
            reason="the back end is not Inductor (eager, aot_eager or one with a log of its own)",
            help="Use backend='inductor' (the default) for what is released.",
            compile_id=compile_id[:LONGEST_ID],
        )
        if own.get(compile_id) == own_graphs.UNFUSED:
            yield own_graphs.as_unfused(report)
        elif compile_id not in own:
            yield report


def prove(evidence: Evidence) -> Mapping[Kind, Proof] | None:
    """What the trace of one process proves; None where the process has none."""
    started = {compile_id for compile_id, _ in evidence.of("torch-trace/frame-started")}
    metrics = [Metrics(*facts) for facts in evidence.of("torch-trace/frame-done")]
    done = {m.compile_id for m in metrics}
    refused = {m.compile_id for m in metrics if m.fail_type and not m.name}  # a recompile, before it began
    if not started and not done:
        return None
    line = evidence.first("torch-trace/frame-started")
    problem = None
    if "torch-trace/cut" in evidence.facts:
        problem = "a record of the structured trace is cut, or not as it was written"
    elif started - done:
        problem = f"the structured trace ends before frame [{sorted(started - done)[0]}] is done"
    elif lost := done - started - refused:
        problem = f"lines are missing: frame [{min(lost)}] is done, and its start is not in the trace"
    if problem:
        return {kind: Proof(State.UNPROVEN, problem) for kind in _SHOWN}
    whole = Proof(State.PROVEN, "the structured trace has the metrics of every frame that was traced", line)
    proof = dict.fromkeys((Kind.EAGER_FRAME, Kind.RECOMPILE_LIMIT, Kind.COMPILE_ERROR), whole)
    if "torch-trace/artifacts" in evidence.facts:
        why = "the structured trace has every graph break as an artifact"
        proof[Kind.GRAPH_BREAK] = Proof(State.PROVEN, why, line)
    else:
        why = "no artifact in the structured trace: before 2.6 PyTorch writes no graph break into it"
        proof[Kind.GRAPH_BREAK] = Proof(State.UNPROVEN, why, None, "TORCH_LOGS=graph_breaks")
    proof[Kind.OP_FALLBACK] = _op_fallback(evidence, _failed(metrics) | _own(metrics).keys(), line)
    return proof


def _op_fallback(evidence: Evidence, without: set[str], line: int | None) -> Proof:
    graphs = {compile_id for compile_id, _ in evidence.of("torch-trace/graph")} - without
    written = {compile_id for compile_id, _ in evidence.of("torch-trace/output-code")}
    if not graphs:
        return Proof(State.UNPROVEN, "no graph was handed to a back end")
    if "torch/cpp-wrapper" in evidence.facts:
        return CPP_WRAPPER
    empty = {compile_id for compile_id, _ in evidence.of("torch-trace/empty-graph")}
    if missing := graphs - written - empty:
        return Proof(State.UNPROVEN, f"graph [{min(missing)}] has no generated code in the trace")
    return Proof(State.PROVEN, "the structured trace has the generated code of every graph", line)
