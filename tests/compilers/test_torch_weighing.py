"""Room 3: what the sightings of one torch.compile process prove, one missing or added at a time."""

from __future__ import annotations

from typing import Any

import pytest

from fallback_gate.compilers.rule import Evidence, Sighting
from fallback_gate.compilers.torch.proof import (
    SETTING,
    compile_ids,
    frames,
    frames_in_trace,
    one_program,
    prove,
    several,
)
from fallback_gate.compilers.torch.trace_proof import CPP_WRAPPER, conclude
from fallback_gate.model import Kind, Proof, Report, Scope, State

Told = list[tuple[str, tuple[str, ...]]]
PROVEN, UNOBSERVABLE, UNPROVEN = State.PROVEN, State.UNOBSERVABLE, State.UNPROVEN
CUDA = (Kind.CUDAGRAPH_SKIP, Kind.DEVICE_FALLBACK)
BREAK, FRAME, OP = Kind.GRAPH_BREAK, Kind.EAGER_FRAME, Kind.OP_FALLBACK
SHOWN = (BREAK, FRAME, Kind.RECOMPILE_LIMIT, Kind.COMPILE_ERROR, OP, *CUDA)

STARTED = ("torch/trace-started", ("0/0", "forward", "m.py:1"))
DONE = ("torch/trace-done", ("0/0", "RETURN_VALUE"))
CALLED = ("torch/backend-called", ("0/0", "inductor"))
RETURNED = ("torch/backend-done", ("0/0", "inductor"))
CODE = ("torch/output-code", ("0/0", "x"))
CODE_END = ("torch/output-code-ended", ("0/0", "output_code"))
LISTED = ("torch/frames-listed", ("whole", "forward m.py:1"))
METRICS = ("torch/metrics", ("",))
LOWERED = ("torch/lowered", ("0/0",))
HIT = ("torch/cache-hit", ("0/0", "key"))
PARTS = ("torch/partitioned", ("0/0", "2"))
TRACE = "TORCH_TRACE=FOLDER, and give it with the log"
WHOLE = [STARTED, DONE, CALLED, CODE, CODE_END, RETURNED, LISTED]


def evidence(told: Told, reported: tuple[Kind, ...] = (), rules: tuple[str, ...] = ()) -> Evidence:
    """Sightings in this order, at the places 1, 2, 3 and so on."""
    found = Evidence(reported=set(reported), rules=dict.fromkeys(rules, 1))
    for place, (marker, facts) in enumerate(told, 1):
        found.add(Sighting(marker, place, facts))
    return found


def but(*left_out: Any, **more: Any) -> Told:
    return [one for one in WHOLE if one not in left_out] + list(more.get("add", ()))


def states(found: Any) -> set[State]:
    return {proof.state for proof in found.values()}


def test_a_whole_log_proves_all_but_cuda_graphs() -> None:
    listed = "Dynamo's INFO level was on and its list at exit closes the compile phase"
    assert prove(evidence(WHOLE)) == {
        BREAK: Proof(PROVEN, "each frame was traced to its end, which a graph break would have prevented", 1),
        FRAME: Proof(PROVEN, listed, 1),
        Kind.RECOMPILE_LIMIT: Proof(PROVEN, listed, 1),
        Kind.COMPILE_ERROR: Proof(PROVEN, listed, 1),
        OP: Proof(PROVEN, "for every graph its generated code is printed: a fallback kernel would be in it", 1),
        **dict.fromkeys(CUDA, Proof(UNOBSERVABLE, "this level prints no partitions", None, "TORCH_LOGS=dynamo,graph_breaks,output_code,cudagraphs")),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (but(add=[("torch/frames-listed", ("cut", "forward m.py:1"))]), "the log ends inside Dynamo's list of traced frames"),
        (but(LISTED, add=[("torch/frames-listed", ("whole", "g n.py:3"))]), "lines are missing: the list at exit names g n.py:3, but the log lacks its trace"),
        (but(add=[("torch/formatted", ("x",))]), "PyTorch's records are in a format of the program's own, without process and compile ids: unset TORCH_LOGS_FORMAT, and leave PyTorch's handlers on its loggers"),
        (but(STARTED), "nothing in the log shows which frames Dynamo traced, nor that the compile phase ended"),
        (but(LISTED), "the log ends before Dynamo's list of traced frames: the compile phase may go on"),
        ([*WHOLE, STARTED], "a frame is traced after the end of the process: another process with its id follows"),
        ([STARTED, *WHOLE], "[0/0] is started 2 times: more than one process has this id, or torch._dynamo.reset() was called; give each its own log"),
        ([("torch/trace-started", ("0/0", "other", "n.py:2")), *WHOLE], "[0/0] is started 2 times: more than one process has this id, or torch._dynamo.reset() was called; give each its own log"),
        ([STARTED, STARTED, *WHOLE, LISTED], "[0/0] is started 3 times: more than one process has this id, or torch._dynamo.reset() was called; give each its own log"),
        (but(LISTED, add=[("torch/frames-listed", ("whole", "forward m.py:1", "decode m.py:9"))]), "lines are missing: the list at exit names decode m.py:9, but the log lacks its trace"),
        ([*WHOLE, LISTED], "what a process prints at exit stands in the log twice: more than one process has its id"),
        ([*WHOLE, METRICS, METRICS], "what a process prints at exit stands in the log twice: more than one process has its id"),
        (but(RETURNED), "the back end got graph [0/0] and the log does not show that it returned"),
    ],
)  # fmt: skip
def test_what_is_missing_takes_every_proof(told: Told, why: str) -> None:
    found = prove(evidence(told))
    assert found.keys() == set(SHOWN)
    assert all(
        why in proof.why and proof.line is None and proof.setting == SETTING for proof in found.values()
    )
    assert states(found) <= {UNPROVEN, UNOBSERVABLE}
    assert all(found[kind].state is UNPROVEN for kind in (Kind.RECOMPILE_LIMIT, Kind.COMPILE_ERROR, OP))


def test_a_process_of_which_the_compiler_was_off() -> None:
    found = prove(evidence(WHOLE, rules=("torch/compiler-off",)))
    assert states(found) == {UNPROVEN}
    assert {proof.why for proof in found.values()} == {
        "the compiler was off in this process, so the log shows nothing about it"
    }
    assert states(prove(evidence([], rules=("torch/compiler-off",)))) == {UNPROVEN}


def test_a_graph_that_failed_is_told_by_its_error() -> None:
    for rule in ("torch/compile-error", "torch/frame-not-converted"):
        assert prove(evidence(but(RETURNED), rules=(rule,)))[FRAME].state is PROVEN
    assert prove(evidence(but(RETURNED), rules=("torch/fallback-kernel",)))[FRAME].state is UNPROVEN


def test_errors_of_one_chain_are_one_failed_compile() -> None:
    told = evidence([*but(RETURNED), ("torch/error-led-on", ())], rules=("torch/compile-error",))
    assert prove(told)[FRAME].state is UNPROVEN  # of the chain, the last one is not in the log
    told.rules["torch/compile-error"] = 2
    assert prove(told)[FRAME].state is PROVEN


def test_the_error_of_one_graph_does_not_tell_of_another() -> None:
    other = [
        ("torch/trace-started", ("1/0", "heads", "m.py:9")),
        ("torch/backend-called", ("1/0", "inductor")),
    ]
    found = prove(evidence([*other, *but(RETURNED)], rules=("torch/compile-error",)))
    assert states(found) <= {UNPROVEN, UNOBSERVABLE}
    assert "the log does not show that it returned" in found[FRAME].why


SWALLOWED = ("torch/trace-started", ("1/0", "heads", "m.py:9"))
ENDED = ("torch/frame-ended", ("0/0",))


@pytest.mark.parametrize(
    ("told", "state"),
    [
        ([SWALLOWED], UNPROVEN),
        ([ENDED, SWALLOWED], UNPROVEN),
        ([ENDED, SWALLOWED, ("torch/frame-ended", ("1/0_1",))], PROVEN),  # without an operator: never done
        ([SWALLOWED, ("torch/graph-breaks-on", ("1/0", "graph_breaks"))], PROVEN),
        ([ENDED, SWALLOWED, ("torch/graph-breaks-on", ("1/0", "graph_breaks"))], UNPROVEN),  # broke, and then failed
        ([SWALLOWED, ("torch/graph-breaks-on", ("2/0", "graph_breaks"))], UNPROVEN),
        ([ENDED, SWALLOWED, ("torch/gave-up", ("", "heads", "m.py", "9"))], PROVEN),
        ([ENDED, SWALLOWED, ("torch/gave-up", ("", "heads", "m.py", "90"))], UNPROVEN),
        ([ENDED, SWALLOWED, ("torch/gave-up", ("1/0",))], PROVEN),
        (
            [SWALLOWED, ("torch/trace-started", ("2/0", "torch_dynamo_resume_in_heads_at_10", "m.py:10")), ("torch/trace-done", ("2/0", "x"))],
            PROVEN,
        ),
        (
            [ENDED, SWALLOWED, ("torch/trace-started", ("2/0", "torch_dynamo_resume_in_heads_at_10", "m.py:10")), ("torch/trace-done", ("2/0", "x"))],
            UNPROVEN,
        ),
    ],
)  # fmt: skip
def test_a_frame_of_which_nothing_says_why_it_was_not_compiled(told: Told, state: State) -> None:
    found = prove(evidence([*told, *WHOLE]))
    assert (found[FRAME].state, found[Kind.COMPILE_ERROR].state) == (state, state)
    assert found[Kind.RECOMPILE_LIMIT].state is PROVEN
    assert found[FRAME].why.startswith("the compile of heads m.py:9 did not end") == (state is UNPROVEN)


RESUME = "torch_dynamo_resume_in_heads_at_"
LATER = ("torch/trace-started", ("2/0", f"{RESUME}12", "m.py:12"))
LATER_DONE = ("torch/frame-ended", ("2/0",))
GRAPH = [SWALLOWED, ("torch/backend-called", ("1/0_1", "inductor")), ("torch/backend-done", ("1/0_1", "inductor")), ENDED, ("torch/frame-ended", ("1/0_1",))]  # fmt: skip
AGAIN = [
    LATER,
    ("torch/backend-called", ("2/0", "inductor")),
    ("torch/backend-done", ("2/0", "inductor")),
    LATER_DONE,
]
ON = ("torch/graph-breaks-on", ("0/0", "graph_breaks"))


@pytest.mark.parametrize(
    ("told", "state"),
    [
        (GRAPH, UNPROVEN),  # a graph, and no line of what became of the rest
        ([*GRAPH, LATER, LATER_DONE], PROVEN),
        ([*GRAPH, ("torch/graph-breaks-on", ("1/0", "graph_breaks"))], PROVEN),
        ([*GRAPH, ("torch/trace-done", ("1/0_1", "x"))], PROVEN),
        ([*GRAPH, ("torch/dynamo-debug", ("1/0",))], PROVEN),  # DEBUG tells why each graph ends
        ([*GRAPH, ("torch/trace-started", ("2/0", f"{RESUME}12", "other.py:12")), LATER_DONE], UNPROVEN),
        ([*GRAPH, ("torch/trace-started", ("2/0", f"{RESUME}5", "m.py:5")), LATER_DONE], UNPROVEN),  # above it
        # another function of that name begins in between
        ([*GRAPH, ("torch/trace-started", ("3/0", "heads", "m.py:11")), ("torch/frame-ended", ("3/0",)), LATER, LATER_DONE], UNPROVEN),
        ([*GRAPH, *AGAIN], UNPROVEN),  # the rest is cut short in its turn
        ([*GRAPH, *AGAIN, ("torch/trace-started", ("3/0", f"{RESUME}14", "m.py:14")), ("torch/frame-ended", ("3/0",))], PROVEN),
    ],
)  # fmt: skip
def test_a_graph_without_a_word_about_what_follows_it(told: Told, state: State) -> None:
    found = prove(evidence([*told, ON, *WHOLE]))
    assert (found[FRAME].state, found[BREAK].state) == (state, state)
    assert found[FRAME].why.startswith("the trace of ") == (state is UNPROVEN)


def test_a_trace_that_ended_is_no_compile_that_did() -> None:
    made = [SWALLOWED, ("torch/trace-done", ("1/0", "x")), ("torch/backend-called", ("1/0", "inductor")), ("torch/backend-done", ("1/0", "inductor"))]  # fmt: skip
    assert prove(evidence([*made, *WHOLE]))[FRAME].state is PROVEN  # before 2.6
    assert prove(evidence([*made, ENDED, *WHOLE]))[FRAME].state is UNPROVEN


def test_a_frame_with_an_id_like_no_other_is_a_frame() -> None:
    odd = [("torch/trace-started", ("-", "heads", "m.py:99999999999999999999")), ENDED, ON]
    assert prove(evidence([*odd, *WHOLE]))[FRAME].state is UNPROVEN


def test_as_many_errors_as_frames_that_did_not_end_are_told() -> None:
    two = [SWALLOWED, ("torch/trace-started", ("2/0", "tail", "m.py:20")), *WHOLE]
    one = evidence(two, rules=("torch/compile-error",))
    assert prove(one)[Kind.COMPILE_ERROR].state is UNPROVEN
    one.rules["torch/compile-error"] = 2
    assert prove(one)[Kind.COMPILE_ERROR].state is PROVEN


def test_two_processes_of_one_id_prove_nothing_though_both_ended() -> None:
    """A container that was started again: its generated code may be that of the first, printed at another level."""
    without_code = [one for one in WHOLE if one not in (CODE, CODE_END)]
    for told in (
        [*WHOLE, *WHOLE],
        [*WHOLE, *without_code],
        [*without_code, *WHOLE],
        [STARTED, *WHOLE, LISTED],
        but(LISTED, add=[("torch/metrics", ()), STARTED]),
    ):
        assert states(prove(evidence(told))) == {UNPROVEN}
    metrics = but(LISTED, add=[("torch/metrics", ())])
    assert prove(evidence(metrics))[FRAME].state is PROVEN


@pytest.mark.parametrize(
    ("told", "seen"),
    [
        ([], set()),
        ([("torch/graph-breaks-on", ())], {BREAK}),
        ([STARTED], {BREAK, FRAME}),
        ([CODE], {OP}), ([LOWERED], {OP}), ([HIT], {OP}), ([PARTS], set(CUDA)),
    ],
)  # fmt: skip
def test_what_a_level_shows_of_an_unfinished_log(told: Told, seen: set[Kind]) -> None:
    """What it could have shown is unproven; what it never prints is unobservable."""
    found = prove(evidence(told))
    shows = {*seen, Kind.RECOMPILE_LIMIT, Kind.COMPILE_ERROR}
    assert {kind for kind, proof in found.items() if proof.state is UNPROVEN} == shows
    assert {kind for kind, proof in found.items() if proof.state is UNOBSERVABLE} == {*SHOWN} - shows
    hidden = [proof.why for proof in found.values() if proof.state is UNOBSERVABLE]
    assert all(why.startswith("this level prints no ") and ", or not all; " in why for why in hidden)
    ended = [one for one in (*told, ("torch/metrics", ())) if one != STARTED]
    assert states(prove(evidence(ended))) == {UNPROVEN}


@pytest.mark.parametrize(
    ("told", "state", "why"),
    [
        (but(DONE), UNOBSERVABLE, "the trace of forward m.py:1 did not reach its end, and this level does not say why"),
        (but(DONE, add=[("torch/dynamo-debug", ())]), PROVEN, "Dynamo's DEBUG level was on: every graph break is printed"),
        (but(DONE, add=[("torch/graph-breaks-on", ("0/0", "x"))]), PROVEN, "the artifact graph_breaks was on: every graph break is printed"),
        (but(DONE, add=[("torch/trace-done", ("0/0_1", "x"))]), PROVEN, "each frame was traced to its end"),
        (but(DONE, add=[("torch/trace-done", ("0/1", "x"))]), UNOBSERVABLE, "did not reach its end"),
    ],
)  # fmt: skip
def test_graph_breaks(told: Told, state: State, why: str) -> None:
    proof = prove(evidence(told))[BREAK]
    assert (proof.state, proof.line) == (state, 1 if state is PROVEN else None)
    assert why in proof.why
    assert proof.setting == (None if state is PROVEN else SETTING)


@pytest.mark.parametrize(
    ("told", "state", "why", "line", "setting"),
    [
        (but(CALLED, add=[("torch/backend-called", ("0/0", "aot_eager"))]), UNPROVEN, "back end aot_eager generates no code", 7, None),
        (but(CALLED, add=[("torch/backend-called", ("0/0", "eager"))]), UNPROVEN, "back end eager generates no code", 7, None),
        (but(CALLED, add=[("torch/backend-called", ("0/0", "tensorrt"))]), UNPROVEN, "back end tensorrt is not Inductor: its own log must show its fallbacks", 7, None),
        (but(add=[("torch/backend-called", ("0/1", "eager")), ("torch/backend-done", ("0/1", "eager"))]), UNPROVEN, "back end eager generates no code", 3, None),
        (but(CALLED), UNPROVEN, "no graph was handed to a back end", None, SETTING),
        (but(CODE_END), UNPROVEN, "graph [0/0] has no whole generated code in the log: from a cache, cut, or without a call", None, SETTING),
        (but(CODE_END, add=[("torch/output-code-ended", ("0/0", "cudagraphs"))]), UNPROVEN, "graph [0/0] has no whole generated code", None, SETTING),
        (but(CODE), UNOBSERVABLE, "this level prints no op_fallback", None, SETTING),
        (but(CODE, CODE_END), UNOBSERVABLE, "this level prints no op_fallback", None, SETTING),
        (but(CODE, CODE_END, add=[("torch/perf-hints", ())]), UNOBSERVABLE, "this level prints only a part of op_fallback (perf_hints leaves out", None, SETTING),
        (but(CODE, CODE_END, add=[LOWERED]), PROVEN, "for every graph each scheduled node is printed: a fallback kernel would be in it", 1, None),
        (but(CODE, CODE_END, add=[LOWERED, HIT]), UNPROVEN, "graph [0/0] came from a cache: it was not lowered, so no fallback kernel could be printed", 8 - 1, SETTING),
        (but(add=[HIT]), PROVEN, "for every graph its generated code is printed", 1, None),
        (but(CODE, CODE_END, add=[HIT]), UNPROVEN, "graph [0/0] came from a cache", 6, SETTING),
        (but(add=[("torch/backend-called", ("1/0", "inductor")), ("torch/backend-done", ("1/0", "inductor"))]), UNPROVEN, "graph [1/0] has no whole generated code", None, TRACE),
        (but(CODE, CODE_END, add=[LOWERED, ("torch/backend-called", ("1/0", "inductor")), ("torch/backend-done", ("1/0", "inductor"))]), UNPROVEN, "graph [1/0] has no whole generated code", None, SETTING),
        (but(add=[("torch/cpp-wrapper", ())]), UNPROVEN, CPP_WRAPPER.why, None, CPP_WRAPPER.setting),
        (but(CODE, CODE_END, add=[LOWERED, ("torch/cpp-wrapper", ())]), PROVEN, "each scheduled node is printed", 1, None),
    ],
)  # fmt: skip
def test_fallback_kernels(told: Told, state: State, why: str, line: int | None, setting: str | None) -> None:
    proof = prove(evidence(told))[OP]
    assert why in proof.why
    assert (proof.state, proof.line, proof.setting) == (state, line, setting)


def test_a_graph_that_failed_as_is_told_owes_no_code() -> None:
    failed: Told = [
        ("torch/trace-started", ("1/0", "g", "m.py:9")),
        ("torch/backend-called", ("1/0", "inductor")),
    ]
    told = [*WHOLE[:-1], *failed, ("torch/frames-listed", ("whole", "forward m.py:1", "g m.py:9"))]
    error = evidence(told, (Kind.COMPILE_ERROR,), ("torch/frame-not-converted",))
    assert prove(error)[OP].state is PROVEN
    assert prove(evidence(told))[OP].state is UNPROVEN
    assert prove(evidence([*told, ("torch/backend-done", ("1/0", "inductor"))]))[OP].state is UNPROVEN


def split(buckets: int, wrappers: int, *more: tuple[str, tuple[str, ...]], ended: int | None = None) -> Told:
    """A graph under DDP's optimiser, and how often a wrapper of it began and ended."""
    calls: Told = [
        ("torch/backend-called", ("0/0", "compile_fn")),
        ("torch/backend-done", ("0/0", "compile_fn")),
    ]
    cut: Told = [("torch/ddp-buckets", ("0/0", str(buckets)))] if buckets else []
    printed = [CODE] * wrappers + [CODE_END] * (wrappers if ended is None else ended)
    return [STARTED, DONE, *calls, *cut, *printed, *more, ("torch/metrics", ()), LISTED]


FORWARD, BACKWARD = (("torch/graph-written", ("0/0", which)) for which in ("forward", "backward"))


@pytest.mark.parametrize(
    ("told", "state"),
    [
        (split(1, 1), PROVEN),
        (split(3, 3), PROVEN),
        (split(3, 2), UNPROVEN),  # one bucket went elsewhere, or its wrapper is not in the log
        (split(3, 3, ended=2), UNPROVEN),
        (split(0, 1), UNPROVEN),  # a back end of this name that is not DDP's
        (split(3, 5, FORWARD, BACKWARD), UNPROVEN),  # each has a forward and a backward graph
        (split(3, 6, FORWARD, BACKWARD), PROVEN),
        (split(1, 1, ("torch/backward-timed", ())), UNPROVEN),
        (split(2, 0, LOWERED, LOWERED), PROVEN),
        (split(2, 0, LOWERED), UNPROVEN),
        (split(2, 0, LOWERED, LOWERED, ("torch/backward-begun", ("0/0", "0")), ("torch/backward-ended", ("0/0", "0"))), UNPROVEN),
        (split(1, 1, ("torch/ddp-buckets", ("1/0", "1")), ("torch/backend-called", ("1/0", "compile_fn")), ("torch/backend-done", ("1/0", "compile_fn"))), UNPROVEN),
    ],
)  # fmt: skip
def test_the_buckets_of_data_parallel_training(told: Told, state: State) -> None:
    proof = prove(evidence(told))[OP]
    assert proof.state is state, proof.why


def test_a_part_of_the_fallback_kernels_was_reported() -> None:
    proof = prove(evidence(but(CODE, CODE_END), reported=(OP,)))[OP]
    assert proof.state is UNOBSERVABLE
    assert "only a part of op_fallback" in proof.why


@pytest.mark.parametrize(
    ("told", "state"),
    [
        (but(add=[PARTS]), PROVEN), (but(add=[LOWERED]), PROVEN), (but(), UNOBSERVABLE), (but(CALLED, add=[PARTS]), UNOBSERVABLE),
        (but(add=[PARTS, ("torch/backend-called", ("1/0", "inductor")), ("torch/backend-done", ("1/0", "inductor"))]), UNOBSERVABLE),
    ],
)  # fmt: skip
def test_cuda_graphs(told: Told, state: State) -> None:
    found = prove(evidence(told))
    assert {found[kind].state for kind in CUDA} == {state}
    assert {found[kind].line for kind in CUDA} == {1 if state is PROVEN else None}


METRICS = ("0/0", "forward", "m.py", "1", *[""] * 6)
METRICS_TOLD = ("torch/metrics", ("1",))
NONE_LISTED = ("torch/frames-listed", ("whole",))


def test_the_clock_of_one_process_may_run_back_a_little() -> None:
    for back, one in ((60.0, True), (61.0, False), (299 * 86400.0, False), (300 * 86400.0, True)):
        found = evidence(WHOLE)
        found.back = back
        assert (several(found) is None) is one
        assert (prove(found)[FRAME].state is PROVEN) is one


def test_a_trace_starts_no_frame_more_often_than_it_is_done() -> None:
    start, done = ("torch-trace/frame-started", ("0/0", "x")), ("torch-trace/frame-done", ("0/0", "f"))
    assert several(evidence([start, done])) is None
    assert several(evidence([start, done, start, done])) is None
    assert (
        several(evidence([start, done, start]))
        == "the structured trace starts [0/0] more often than it is done"
    )
    assert several(evidence([start])) is None  # told by the trace's own proof


@pytest.mark.parametrize(
    ("told", "one"),
    [
        ([STARTED], True),  # it has not ended, which is told elsewhere
        ([LISTED], True),
        ([LISTED, STARTED], False),
        ([STARTED, LISTED, NONE_LISTED], False),
        ([NONE_LISTED], True),
        ([METRICS_TOLD, STARTED], False),
        ([STARTED, METRICS_TOLD, LISTED], True),
        ([STARTED, STARTED, METRICS_TOLD, LISTED], False),
        ([STARTED, STARTED, LISTED, LISTED], False),
    ],
)
def test_a_process_ends_once_behind_all_that_it_traces(told: Told, one: bool) -> None:
    for first in (0, 1):
        found = Evidence()
        for place, (marker, facts) in enumerate(told, first):
            found.add(Sighting(marker, place, facts))
        assert (several(found) is None) is one


def test_frames_and_ids() -> None:
    text = evidence(
        [
            STARTED,
            ("torch/trace-started", ("1/0", "g", "n.py:2")),
            ("torch/frames-listed", ("whole", "h o.py:3")),
        ]
    )
    assert frames(text) == {"forward m.py:1", "g n.py:2", "h o.py:3"}
    trace = evidence([("torch-trace/frame-done", ("0/0", "forward", "m.py", "1", "x", "y"))])
    assert frames_in_trace(trace) == {"forward m.py:1"}
    told = evidence([STARTED, ("x", ("12/3_1", "0/9")), ("y", ("a/b",)), ("z", ()), ("w", ("7",))])
    assert compile_ids(told) == {"0/0", "12/3"}


def test_a_trace_of_the_same_program() -> None:
    done = ("torch-trace/frame-done", ("0/0", "forward", "m.py", "1"))
    more = ("torch-trace/frame-done", ("1/0", "g", "n.py", "2"))
    text = evidence([STARTED])
    assert one_program(text, evidence([done]))
    assert one_program(text, evidence([done, more]))
    assert not one_program(text, evidence([more]))
    assert not one_program(text, evidence([("torch-trace/frame-done", ("0/0", "other", "m.py", "1"))]))
    assert not one_program(evidence([STARTED, STARTED]), evidence([done]))  # of two processes
    nameless = evidence([CODE])
    assert one_program(nameless, evidence([done]))
    assert not one_program(nameless, evidence([more]))
    assert not one_program(evidence([]), evidence([done]))


def test_text_and_trace_together_have_the_better_of_each() -> None:
    trace: Told = [("torch-trace/frame-started", ("0/0", "x")), ("torch-trace/frame-done", METRICS)]
    both = prove(evidence([*but(LISTED), *trace, ("torch-trace/artifacts", ("x",))]))
    assert both[FRAME].state is PROVEN
    assert "structured trace" in both[FRAME].why
    assert both[OP] == Proof(UNPROVEN, "no graph was handed to a back end")
    whole = prove(evidence([*WHOLE, *trace]))
    assert whole[OP].state is PROVEN  # by the text alone
    assert whole[BREAK].state is PROVEN
    cut = prove(evidence([*WHOLE, *trace, ("torch-trace/cut", ())]))
    assert cut[FRAME].state is PROVEN
    mixed = prove(evidence([*WHOLE, *trace, STARTED]))
    assert states(mixed) == {UNPROVEN}


def test_a_trace_of_very_many_graphs_is_weighed_graph_by_graph() -> None:
    graphs = [("torch-trace/graph", (f"{n}/0", "0")) for n in range(40_000)]
    done = [
        ("torch-trace/frame-done", (f"{n}/0", *METRICS[1:6], "yes", "yes", "", "")) for n in range(40_000)
    ]
    written = [("torch-trace/output-code", (f"{n}/0", "0")) for n in range(1, 40_000)]
    told = conclude(evidence([*graphs, *done, *written]))
    assert [(report.id, report.compile_id) for report in told] == [("torch/eager-backend", "0/0")]


def test_what_is_reported_is_no_proof() -> None:
    found = evidence(WHOLE)
    found.count(Report("torch/x", "torch.compile", FRAME, Scope.REGION, "f", 1, ""))
    assert prove(found)[FRAME].state is PROVEN
