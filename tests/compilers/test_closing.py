"""Closing records: what they add, what they prove and when, and that no text can make them prove more."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fallback_gate import Verdict, check
from fallback_gate.compilers import READERS
from fallback_gate.compilers.closing import graphs as closing_graphs
from fallback_gate.compilers.closing import records
from fallback_gate.compilers.closing import runtimes as closing_runtimes
from fallback_gate.compilers.closing import torch as closing_torch
from fallback_gate.model import Kind, Outcome, State
from tests.compilers.lines import graph_break, listed, record, traced

FRAME = "forward /app/moe/decoder.py:148"
CLEAN: dict[str, Any] = {
    "version": "2.14.1",
    "switched_off": [],
    "config_disable": False,
    "stances": [],
    "asked": [
        {"name": "forward", "file": "/app/moe/decoder.py", "line": 148, "disabled": False, "backend": "inductor", "off": False}
    ],
    "calls": 1,
    "left_out": 0,
    "traced": [FRAME],
    "attempts": 1,
    "compiles": 1,
    "frames": {"total": 1, "ok": 1},
    "graph_breaks": {},
    "unimplemented": {},
    "resumes": {},
    "failed": [],
    "resets": 0,
    "counters": {"inductor": {"fxgraph_cache_miss": 1}},
}  # fmt: skip
DYNAMO = {Kind.GRAPH_BREAK, Kind.EAGER_FRAME, Kind.RECOMPILE_LIMIT, Kind.COMPILE_ERROR}


def line(compilers: dict[str, Any], pid: int = 4674, ended: bool = True, rank: int | None = None) -> str:
    """A closing record, as the hook writes it."""
    said = {
        "fallback_gate_closing": 1,
        "pid": pid,
        "rank": rank,
        "ended": ended,
        "status": None,
        "exception": None,
    }
    said |= {
        "began": "2026-11-30 00:29:01",
        "wrote": "2026-11-30 00:29:09",
        "python": "3.11.7",
        "argv0": "serve.py",
    }
    return json.dumps({**said, "compilers": compilers})


def judged(folder: Path, *lines: str, genuine: int | None = None) -> Verdict:
    """The strict verdict on a log; `genuine`: its seal holds and covers so many closing records."""
    log = folder / "compile.log"
    log.write_text("".join(said + "\n" for said in lines), encoding="utf-8")
    return check([log], "builtin:strict", _closings=None if genuine is None else {str(log): genuine})


def proven(verdict: Verdict, name: str = "torch.compile") -> set[Kind]:
    """The kinds that are proven of a compiler in every process."""
    found = [c for p in verdict.processes for c in p.compilers if c.name == name]
    return set.intersection(*({k for k, s in c.proof.items() if s.state is State.PROVEN} for c in found))


def events(verdict: Verdict) -> list[tuple[str, str]]:
    """Kind and operator of each event."""
    return [(f.event.kind.value, f.event.op) for f in verdict.findings]


def torch(**facts: Any) -> dict[str, Any]:
    """What a process tells of torch.compile, clean but for these facts."""
    return {"torch.compile": {**CLEAN, **facts}}


def test_clean_counters_in_a_sealed_log_prove_what_dynamo_does(tmp_path: Path) -> None:
    verdict = judged(tmp_path, line(torch()), genuine=1)
    assert events(verdict) == []
    assert proven(verdict) == DYNAMO
    assert verdict.outcome is Outcome.UNPROVEN  # fallback kernels are not counted
    assert verdict.processes[0].compilers[0].version == "2.14.1"


@pytest.mark.parametrize(("left_out", "kinds"), [(0, DYNAMO), (1, DYNAMO - {Kind.EAGER_FRAME})])
def test_why_clean_counters_prove_it(left_out: int, kinds: set[Kind]) -> None:
    """One function that is left out may have been given to another back end."""
    why = "the process counts 1 frames, each compiled whole: no break, no frame given up, no limit, no error"
    found = closing_torch.HEARINGS["torch.compile"].proves({**CLEAN, "left_out": left_out})
    assert found == dict.fromkeys(kinds, why)


@pytest.mark.parametrize(
    ("lines", "genuine"),
    [
        ([line(torch())], None),
        ([line(torch())], 0),
        ([line(torch()), line(torch(), pid=1)], 1),
        ([line(torch()), '{"fallback_gate_closing": 1, "pid": 4674, "compilers": {}}'], 1),
        (["echo '" + line(torch()) + "'"], 1),
    ],
)
def test_a_record_that_anybody_may_have_printed_proves_nothing(
    tmp_path: Path, lines: list[str], genuine: int | None
) -> None:
    verdict = judged(tmp_path, *record("x", artifact="output_code"), *lines, genuine=genuine)
    assert verdict.outcome is Outcome.UNPROVEN
    assert not any(
        proof.state is State.PROVEN
        for p in verdict.processes
        for c in p.compilers
        for proof in c.proof.values()
    )


UNCLEAN: list[dict[str, Any]] = [
    {"frames": {"total": 2, "ok": 1}}, {"attempts": 3, "compiles": 3}, {"compiles": 2}, {"attempts": 0, "traced": [], "frames": {}, "calls": 0},
    {"graph_breaks": {"Data-dependent branching": 1}}, {"unimplemented": {"x": 1}}, {"resumes": {"f": 1}},
    {"resets": 1}, {"switched_off": ["TORCHDYNAMO_DISABLE"]}, {"config_disable": True}, {"traced": None},
    {"failed": [{"name": "f", "reason": "x"}]}, {"problem": "AttributeError: x"},
    {"stances": [{"stance": "eager_then_compile"}]}, {"counters": {"dynamo_cache": {"dynamo_cache_hit": 1}}},
    {"asked": [{**CLEAN["asked"][0], "disabled": True}]}, {"asked": [{**CLEAN["asked"][0], "off": True}]},
]  # fmt: skip


@pytest.mark.parametrize("facts", UNCLEAN, ids=lambda facts: "-".join(facts))
def test_a_sealed_record_with_anything_unclean_proves_nothing(tmp_path: Path, facts: dict[str, Any]) -> None:
    verdict = judged(tmp_path, line(torch(**facts)), genuine=1)
    assert verdict.outcome is not Outcome.PASS
    assert proven(verdict) == set()


@pytest.mark.parametrize(
    "facts",
    [
        {"asked": [{**CLEAN["asked"][0], "backend": "cudagraphs"}]},
        {"asked": []},
        {"left_out": 1},
    ],
)
def test_another_back_end_is_no_proof_that_nothing_runs_in_eager(
    tmp_path: Path, facts: dict[str, Any]
) -> None:
    verdict = judged(tmp_path, line(torch(**facts)), genuine=1)
    assert proven(verdict) == DYNAMO - {Kind.EAGER_FRAME}


WHOLE = [
    *traced(), *record("Output code: ", "def call(args):", "    return (buf0, )", artifact="output_code"),
    *record("Output code written to: /tmp/x.py", artifact="output_code"), *listed(FRAME),
]  # fmt: skip


def test_what_was_compiled_and_never_ran_proves_nothing(tmp_path: Path) -> None:
    nothing = torch(traced=[], attempts=0, frames={})
    verdict = judged(tmp_path, *WHOLE, line(nothing), genuine=1)
    assert verdict.outcome is Outcome.UNPROVEN
    assert events(verdict) == []
    assert "never called" in verdict.processes[0].compilers[0].proof[Kind.EAGER_FRAME].why


def test_a_killed_process_proves_nothing_whatever_else_it_said(tmp_path: Path) -> None:
    assert judged(tmp_path, *WHOLE).outcome is Outcome.PASS
    assert judged(tmp_path, *WHOLE, line(torch()), genuine=1).outcome is Outcome.PASS
    killed = judged(tmp_path, *WHOLE, line(torch(), ended=False), genuine=1)
    assert killed.outcome is Outcome.UNPROVEN
    assert "killed" in killed.processes[0].compilers[0].proof[Kind.GRAPH_BREAK].why


def test_a_killed_process_is_not_made_good_by_another_log(tmp_path: Path) -> None:
    start = '{"dynamo_start": {}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0}'
    artifact = (
        '{"artifact": {"name": "fx_graph_cache_miss"}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0}'
    )
    graph = '{"dynamo_output_graph": {}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0}'
    code = '{"inductor_output_code": {}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0}'
    done = (
        '{"compilation_metrics": {"compile_id": "0/0", "co_name": "forward", "co_filename": "/app/moe/decoder.py", '
        '"co_firstlineno": 148, "graph_op_count": 9, "guard_count": 9, "inductor_compile_time_s": 1.0}}'
    )
    trace = tmp_path / "trace.log"
    said = [said for one in (start, artifact, graph, code, done) for said in record(one, cid="")]
    said[4:4] = ["\tdef call(args):", "\t    return (buf0, )"]
    trace.write_text("\n".join(said) + "\n", encoding="utf-8")
    log = tmp_path / "compile.log"
    outcomes = {}
    for ended in (True, False):
        log.write_text(line(torch(), ended=ended) + "\n", encoding="utf-8")
        verdict = check([log, trace], "builtin:strict", _closings={str(log): 1})
        outcomes[ended] = (verdict.outcome, len(verdict.processes))
    assert outcomes == {True: (Outcome.PASS, 1), False: (Outcome.UNPROVEN, 2)}


def test_a_record_that_is_cut_proves_nothing(tmp_path: Path) -> None:
    for end in range(40, len(line(torch())) - 1, 97):
        verdict = judged(tmp_path, *WHOLE, line(torch())[:end], genuine=1)
        assert verdict.outcome is Outcome.UNPROVEN, end


def test_counted_graph_breaks_are_those_that_the_log_tells(tmp_path: Path) -> None:
    counted = line(torch(graph_breaks={"Data-dependent branching": 2}))
    told = graph_break(
        "Graph break in user code at /app/moe/breaks.py:64", "Graph Break Reason: Data-dependent branching"
    )
    assert len(events(judged(tmp_path, *told, counted))) == 1
    alone = judged(tmp_path, counted)
    assert events(alone) == [("graph_break", "*")]
    assert "Data-dependent branching" in (alone.findings[0].event.reason or "")
    other_process = line(torch(graph_breaks={"Data-dependent branching": 2}), pid=9)
    assert len(events(judged(tmp_path, *told, other_process))) == 2


def test_a_log_that_went_silent_before_the_last_compile_proves_nothing(tmp_path: Path) -> None:
    """As `logging.config` leaves it: the frame was traced once, and was compiled anew without a word."""
    whole = judged(tmp_path, *WHOLE, line(torch()), genuine=1)
    assert whole.outcome is Outcome.PASS
    silent = judged(
        tmp_path, *WHOLE, line(torch(compiles=2, attempts=2, frames={"total": 2, "ok": 2})), genuine=1
    )
    assert (silent.outcome, events(silent), proven(silent)) == (Outcome.UNPROVEN, [], set())
    assert (
        "compiled 2 frames, and this log tells of 1"
        in silent.processes[0].compilers[0].proof[Kind.OP_FALLBACK].why
    )
    anew = judged(tmp_path, *WHOLE, line(torch(compiles=2, resets=1)), genuine=1)  # ids come a second time
    assert Kind.OP_FALLBACK in proven(anew)


GATE = {
    "name": "gate_attn",
    "file": "/app/moe/decoder.py",
    "line": 42,
    "backend": "inductor",
    "off": False,
    "disabled": True,
}


@pytest.mark.parametrize(
    ("facts", "expected", "reason"),
    [
        ({"traced": [], "attempts": 0, "frames": {}, "switched_off": ["TORCHDYNAMO_DISABLE"]}, [("eager_frame", "*")], "TORCHDYNAMO_DISABLE=1"),
        ({"traced": [], "attempts": 0, "frames": {}, "stances": [{"stance": "force_eager"}]}, [("eager_frame", "*")], "force_eager"),
        ({"stances": [{"stance": "eager_on_recompile", "file": "/app/s.py", "line": 3, "function": "serve"}]}, [("eager_frame", "set_stance")], "eager_on_recompile"),
        ({"stances": [{"stance": "eager_then_compile"}]}, [], None),  # from the second call on it is compiled
        ({"stances": [{"stance": "eager_then_compile"}], "asked": [CLEAN["asked"][0], {**GATE, "disabled": False}]}, [("eager_frame", "gate_attn")], "never called twice"),
        ({"stances": [{"stance": "default", "backend": "eager"}]}, [("eager_frame", "set_stance")], "force_backend=eager"),
        ({"asked": [CLEAN["asked"][0], GATE]}, [("eager_frame", "gate_attn")], "torch.compiler.disable"),
        ({"asked": [CLEAN["asked"][0], {**GATE, "disabled": False, "off": True}]}, [("eager_frame", "gate_attn")], "switched off"),
        ({"asked": [{**CLEAN["asked"][0], "backend": "aot_eager"}]}, [("eager_frame", "*")], "aot_eager"),
        ({"asked": [{**GATE, "backend": "eager", "disabled": False}]}, [], None),  # never called
        ({"failed": [{"name": "f", "file": "/a.py", "line": 1, "type": "Unsupported", "reason": "Dynamo recompile limit exceeded"}]}, [("recompile_limit", "f")], "limit"),
        ({"failed": [{"name": "f", "type": "RecompileLimitExceeded", "reason": "recompile_limit reached"}]}, [("recompile_limit", "f")], "limit"),
        ({"failed": [{"name": "f", "file": "/a.py", "line": 1, "type": "BackendCompilerFailed", "reason": "x"}]}, [("compile_error", "f")], "x"),
        ({"failed": [{"name": "torch_dynamo_resume_in_f_at_7", "type": None, "reason": ""}]}, [("eager_frame", "f")], "given up"),
        ({"counters": {"inductor": {"cudagraph_skips": 2}}}, [("cudagraph_skip", "*")], "2"),
    ],
)  # fmt: skip
def test_what_a_process_tells_of_torch_compile(
    tmp_path: Path, facts: dict[str, Any], expected: list[tuple[str, str]], reason: str | None
) -> None:
    verdict = judged(tmp_path, line(torch(**facts)))
    assert events(verdict) == expected
    if reason:
        assert reason in (verdict.findings[0].event.reason or "")


def session(asked: list[str] | None, got: list[str], **nodes: list[list[Any]]) -> dict[str, Any]:
    """One session of ONNX Runtime."""
    said = {"session": 0, "asked": asked, "error": None, "got": got, "nodes": nodes or None}
    return {"onnxruntime": {"version": "1.32.0", "made": 1, "sessions": [said]}}


OV, CUDA, TRT, CPU = (
    "OpenVINOExecutionProvider",
    "CUDAExecutionProvider",
    "TensorrtExecutionProvider",
    "CPUExecutionProvider",
)
MM, TOPK = ["MatMul", "mm", 3], ["TopK", "tk", 1]
BOTH = {Kind.DEVICE_FALLBACK, Kind.COMPILE_ERROR}


@pytest.mark.parametrize(
    ("facts", "expected", "proves"),
    [
        (session([CPU], [CPU]), [], BOTH),
        (session([CUDA, CPU], [CPU]), [("device_fallback", CUDA)], {Kind.COMPILE_ERROR}),
        (session([OV, CPU], [OV, CPU]), [], {Kind.COMPILE_ERROR}),  # where the nodes are is not known
        (session([OV, CPU], [OV, CPU], **{OV: [MM]}), [], BOTH),
        (session([OV, CPU], [OV, CPU], **{OV: [MM], CPU: [TOPK]}), [("device_fallback", "TopK")], BOTH),
        (session([OV, CPU], [OV, CPU], **{CPU: [MM, TOPK]}), [("device_fallback", OV)], BOTH),
        (session([TRT, CUDA], [TRT, CUDA], **{TRT: [MM], CUDA: [TOPK]}), [("device_fallback", "TopK")], BOTH),
        (session(None, [CPU]), [], {Kind.COMPILE_ERROR}),
        (session(None, [CPU], **{CPU: [MM]}), [], BOTH),
        (session(None, [OV, CPU], **{OV: [MM], CPU: [TOPK]}), [("device_fallback", "TopK")], BOTH),
    ],
)  # fmt: skip
def test_what_a_process_tells_of_its_sessions(
    tmp_path: Path, facts: dict[str, Any], expected: list[tuple[str, str]], proves: set[Kind]
) -> None:
    verdict = judged(tmp_path, line(facts), genuine=1)
    assert events(verdict) == expected
    assert proven(verdict, "onnxruntime") == proves


def test_a_session_that_is_retried_lost_its_first_provider(tmp_path: Path) -> None:
    first = {"session": 0, "asked": [TRT, CPU], "error": "RuntimeError: no TensorRT"}
    second = {"session": 0, "asked": [CPU], "error": None, "got": [CPU], "nodes": {CPU: [MM]}}
    facts = {"onnxruntime": {"made": 2, "sessions": [first, second]}}
    assert events(judged(tmp_path, line(facts), genuine=1)) == [("device_fallback", TRT)]


MODEL = {
    "asked": "CPU",
    "error": None,
    "devices": ["CPU"],
    "kernels": {"jit": 4},
    "reference": [],
    "references": 0,
}


@pytest.mark.parametrize(
    ("model", "expected", "proves"),
    [
        ({}, [], True),
        (
            {"reference": [["Gather", "ref_any_f32", "/l0/Gather"]], "references": 1},
            [("reference_kernel", "Gather")],
            True,
        ),
        (
            {"reference": [["Gather", "ref_any_f32", "/l0/Gather"]], "references": 2},
            [("reference_kernel", "Gather")],
            False,
        ),
        ({"devices": ["GPU"]}, [], False),
        ({"problem": "RuntimeError: x"}, [], False),
        ({"asked": "AUTO:GPU,CPU"}, [("device_fallback", "GPU")], True),
        ({"asked": "AUTO:CPU"}, [], True),
    ],
)
def test_what_a_process_tells_of_its_models(
    tmp_path: Path, model: dict[str, Any], expected: list[tuple[str, str]], proves: bool
) -> None:
    verdict = judged(tmp_path, line({"openvino": {"made": 1, "models": [{**MODEL, **model}]}}), genuine=1)
    assert events(verdict) == expected
    assert (Kind.REFERENCE_KERNEL in proven(verdict, "openvino")) is proves


@pytest.mark.parametrize(
    ("facts", "expected", "outcome"),
    [
        ({}, [], Outcome.PASS),
        ({"asked": "cpu"}, [], Outcome.PASS),
        ({"asked": "cuda", "platforms": ["gpu"]}, [], Outcome.PASS),
        ({"asked": "cuda,cpu"}, [("device_fallback", "cuda")], Outcome.BLOCKED),
        ({"unread": 1}, [], Outcome.UNPROVEN),
        ({"modules": 0}, [], Outcome.UNPROVEN),
        ({"sites": [{"problem": "KeyError: x"}]}, [], Outcome.UNPROVEN),
    ],
)
def test_what_a_process_tells_of_jax(
    tmp_path: Path, facts: dict[str, Any], expected: list[tuple[str, str]], outcome: Outcome
) -> None:
    told = {
        "asked": None,
        "platforms": ["cpu"],
        "modules": 3,
        "unread": 0,
        "custom_calls": {"TopK": 1},
        "sites": [],
    }
    verdict = judged(tmp_path, line({"jax": {**told, **facts}}), genuine=1)
    assert (events(verdict), verdict.outcome) == (expected, outcome)


@pytest.mark.parametrize(
    ("build", "last", "outcome"),
    [
        ({}, "watched", Outcome.PASS),
        ({"scheduled": 2}, "watched", Outcome.PASS),
        ({"scheduled": 2}, "unnamed", Outcome.UNPROVEN),
        ({"scheduled": 2}, "unknown", Outcome.UNPROVEN),
        ({"problem": "AttributeError: x"}, "watched", Outcome.UNPROVEN),
        ({"packed": {"tvm.contrib.sort.topk": 1}}, "watched", Outcome.BLOCKED),
        ({"operators": {"relax.topk": 1}}, "watched", Outcome.PASS),  # code generation lowers what is left
        ({"operators": {"relax.topk": 1}, "codegen": False}, "watched", Outcome.BLOCKED),
        ({"operators": {"relax.call_tir": 9}, "codegen": False}, "watched", Outcome.PASS),
    ],
)
def test_what_a_process_tells_of_tvm(
    tmp_path: Path, build: dict[str, Any], last: str, outcome: Outcome
) -> None:
    told = {"codegen": True, "packed": {}, "operators": {}, "functions": [], "scheduled": 0}
    facts = {"tvm": {"made": 1, "builds": [{**told, **build}], "last_resort": last}}
    assert judged(tmp_path, line(facts), genuine=1).outcome is outcome


def test_what_goes_to_code_generation_counts_and_not_what_it_was_before(tmp_path: Path) -> None:
    naive = {"name": "matmul", "scheduled": False, "reduces": True, "extern": [], "fallback": False}
    builds = [{"codegen": False, "functions": [naive]}, {"codegen": True, "functions": [], "scheduled": 1}]
    facts = {"tvm": {"made": 2, "builds": builds, "last_resort": "watched"}}
    assert events(judged(tmp_path, line(facts), genuine=1)) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
HEARINGS = [
    hearing
    for module in (closing_torch, closing_runtimes, closing_graphs)
    for hearing in module.HEARINGS.values()
]
KEYS = sorted(
    {*CLEAN, "sessions", "models", "builds", "sites", "made", "modules", "last_resort", "problem", "version"}
)


@settings(max_examples=120)
@given(
    st.sampled_from(sorted(hearing.told for hearing in HEARINGS)),
    st.dictionaries(st.sampled_from(KEYS), JSON, max_size=6),
)
def test_no_facts_are_too_strange(read: Callable[..., Any], compiler: str, facts: dict[str, Any]) -> None:
    said = read(line({compiler: facts}))
    said.evidence.attest(1)
    for by in said.evidence.processes.values():
        for name, evidence in by.items():
            READERS[name].prove(evidence)


def test_a_record_of_other_compilers_is_nothing_to_a_reader(read: Callable[..., Any]) -> None:
    said = read(line({"acme": {}}))
    assert said.evidence.processes == {}
    assert said.evidence.closings == 1
    assert said.evidence.near == {}


def test_who_wrote_a_record(read: Callable[..., Any]) -> None:
    said = read(line(torch(), pid=7, rank=3))
    assert [(key.rank, key.pid) for key in said.evidence.processes] == [(3, 7)]


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"compilers": []}', "{" * 5000, '{"a": ' + "9" * 5000 + "}"]
)
def test_what_is_no_record(text: str) -> None:
    assert records.parse(text) is None


def test_a_kernel_that_the_interpreter_ran_is_named_at_its_place(read: Callable[..., Any]) -> None:
    ran = {"name": "moe_router", "file": "/app/model/tri.py", "line": 4}
    said = read(line({"triton": {"interpreted": [ran, {"name": ""}]}}))
    (report,) = said.reports
    assert (report.id, report.kind.value, report.scope.value) == (
        "triton/interpreted",
        "eager_frame",
        "region",
    )
    assert (report.op, report.stack, report.files) == ("moe_router", ("moe_router",), ("/app/model/tri.py",))
    assert (report.location.line, report.location.function) == (4, "moe_router")
    assert read(line({"triton": {}})).reports == []
