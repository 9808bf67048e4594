"""Room 3: what a torch.compile log proves: its markers, and how they are weighed for one process.

Two things must be shown before silence means anything: that this level would have printed the fallback,
and that the compile phase ended within the log. Both come from lines that PyTorch prints in a clean run
too: the frames that it traced, the back end that got each graph, the code that was generated, the list at
exit. What is weighed here is one process; pooling processes and deciding is the verdict's work.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from fallback_gate.compilers.rule import Evidence
from fallback_gate.compilers.torch import backwards, cache, ddp, own_graphs, trace_proof
from fallback_gate.compilers.torch.cudagraphs import partitions
from fallback_gate.compilers.torch.left_open import errors, left_open
from fallback_gate.compilers.torch.passed_over import perhaps_in_eager
from fallback_gate.model import Kind, Proof, State

REQUIRED = frozenset(
    {Kind.GRAPH_BREAK, Kind.EAGER_FRAME, Kind.RECOMPILE_LIMIT, Kind.COMPILE_ERROR, Kind.OP_FALLBACK}
)
SETTING = "TORCH_LOGS=dynamo,graph_breaks,recompiles,output_code"
_TRACE = "TORCH_TRACE=FOLDER, and give it with the log"
_EAGER = ("eager", "aot_eager")
_BACK = 60  # seconds that the clock of one process may run back
_YEAR = 300 * 24 * 3600  # ... unless it is the turn of the year, which no record tells
_FORMATTED = "torch/formatted"
_RAISED = "torch/raised"
_ENDS = ("torch/frames-listed", "torch/metrics")


class _Facts(NamedTuple):
    """The evidence of one process in words."""

    started: dict[str, str]  # frame id -> "function file:line"
    done: set[str]
    backends: dict[
        str, str
    ]  # compile id -> back end; not of an attempt given up, nor of PyTorch's own graphs
    returned: set[str]
    listed: tuple[str, ...]  # "function file:line", as each list at exit names it
    cut: bool
    ended: bool

    @classmethod
    def of(cls, evidence: Evidence) -> _Facts:
        lists = evidence.of("torch/frames-listed")
        attempts = {cid for cid, *_ in evidence.of("torch/trace-started")}
        returned = {cid for cid, _ in evidence.of("torch/backend-done")}
        started = evidence.of("torch/trace-started")
        own = {cid.split("_")[0] for cid, _, place in started if own_graphs.operator_of(place)}
        return cls(
            started={cid.split("_")[0]: f"{name} {place}" for cid, name, place in started},
            done={cid.split("_")[0] for cid, _ in evidence.of("torch/trace-done")},
            backends={
                fact[0]: fact[1]
                for fact in evidence.of("torch/backend-called")
                if (fact[0] in returned or _next_attempt(fact[0]) not in attempts)
                and not (fact[1] == "eager" and fact[0].split("_")[0] in own)
            },
            returned=returned,
            listed=tuple(frame for _, *named in sorted(lists) for frame in named),
            cut=any(state == "cut" for state, *_ in lists),
            ended=bool(lists) or "torch/metrics" in evidence.facts,
        )


def _next_attempt(compile_id: str) -> str:
    """The id of the attempt after this one: Dynamo traces a frame anew where its first idea of it did not hold."""
    frame, _, attempt = compile_id.partition("_")
    return f"{frame}_{int(attempt) + 1 if attempt.isdecimal() else 1}"


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """Weigh one process: the best that its text log and its structured trace prove of each kind."""
    proof = dict(_of_text(evidence))
    if several(evidence) or _RAISED in evidence.facts:
        return proof
    for kind, traced in (trace_proof.prove(evidence) or {}).items():
        if traced.state is State.PROVEN or proof[kind].state is not State.PROVEN:
            proof[kind] = traced
    return proof


def frames(evidence: Evidence) -> set[str]:
    """The frames that the text log of a process starts or lists, as `function file:line`."""
    started = {f"{name} {place}" for _, name, place in evidence.of("torch/trace-started")}
    return started.union(*(found[1:] for found in evidence.of("torch/frames-listed")))


def frames_in_trace(evidence: Evidence) -> set[str]:
    """The frames that the structured trace of a process tells, in the same form."""
    done = evidence.of("torch-trace/frame-done")
    return {f"{name} {file}:{line}" for _, name, file, line, *_ in done}


def compile_ids(evidence: Evidence) -> set[str]:
    """The compile ids (frame and recompile) that a process tells, in its text log or its trace."""
    told = (fact[0] for facts in evidence.facts.values() for fact in facts if fact)
    return {cid.split("_")[0] for cid in told if "/" in cid and cid[0].isdigit()}


def one_program(text: Evidence, trace: Evidence) -> bool:
    """Whether the trace has every frame that the text names, and the text is of one process.

    A text log without Dynamo's INFO level names no frame: there every compile id must be in the trace.
    """
    if several(text):
        return False
    if named := frames(text):
        return named <= frames_in_trace(trace)
    ids = compile_ids(text)
    return bool(ids) and ids <= compile_ids(trace)


def several(evidence: Evidence) -> str | None:
    """Why this can't be one process, or not one that ended; None where it can.

    A process that is started again may have the process id of the one before: in a container it is 1.
    """
    ends = [evidence.last[marker] for marker in _ENDS if marker in evidence.last]
    if ends and max(ends) < evidence.last.get("torch/trace-started", max(ends)):
        return "a frame is traced after the end of the process: another process with its id follows"
    starts = _times(evidence, "torch/trace-started")
    if starts and ("whole",) in evidence.of("torch/frames-listed"):
        return "a process with its id ended without a traced frame: another one, of which nothing is shown"
    for cid, count in starts.most_common(1):
        if count > 1:  # what one of them shows of a graph, another one may not
            return (
                f"[{cid}] is started {count} times: more than one process has this id, or torch._dynamo.reset() "
                "was called; give each its own log"
            )
    if any(evidence.counts.get(marker, 0) > 1 for marker in _ENDS):
        return "what a process prints at exit stands in the log twice: more than one process has its id"
    done = _times(evidence, "torch-trace/frame-done")
    for (cid, _), count in evidence.again.get("torch-trace/frame-started", {}).items():
        if count + 1 > done[cid]:
            return f"the structured trace starts [{cid}] more often than it is done"
    if _BACK < evidence.back < _YEAR:
        return (
            "the clock of the process runs back: more than one process has its id, or lines are out of order"
        )
    return None


def _times(evidence: Evidence, marker: str) -> Counter[str]:
    """How often the marker was seen for each compile id."""
    found: Counter[str] = Counter()
    for fact in evidence.of(marker):
        found[fact[0]] += evidence.times(marker, fact)
    return found


def _of_text(evidence: Evidence) -> Mapping[Kind, Proof]:
    """The state of each kind that torch.compile's text logs can show."""
    facts = _Facts.of(evidence)
    missing = _missing(evidence, facts)
    if missing:
        return {kind: _open(kind, evidence, facts, missing) for kind in _SHOWN}
    line = evidence.first("torch/trace-started")
    shown = Proof(
        State.PROVEN, "Dynamo's INFO level was on and its list at exit closes the compile phase", line
    )
    cudagraphs, on_device = partitions(evidence, set(facts.backends), line)
    broken, compiled = _graph_break(evidence, facts, line), shown
    if left := left_open(evidence, facts.started, facts.done) or perhaps_in_eager(evidence):
        compiled = Proof(State.UNPROVEN, left, None, _TRACE)
        broken = compiled if broken.state is State.PROVEN else broken
    failed, lowered = compiled, _op_fallback(evidence, facts, line)
    if why := backwards.unfinished(evidence):
        failed = Proof(State.UNPROVEN, why, None, _TRACE)
        lowered = failed if lowered.state is State.PROVEN else lowered
    return {
        Kind.GRAPH_BREAK: broken,
        Kind.EAGER_FRAME: compiled,
        Kind.RECOMPILE_LIMIT: shown,
        Kind.COMPILE_ERROR: failed,
        Kind.OP_FALLBACK: lowered,
        Kind.CUDAGRAPH_SKIP: cudagraphs,
        Kind.DEVICE_FALLBACK: on_device,
    }


_SHOWN = (
    Kind.GRAPH_BREAK,
    Kind.EAGER_FRAME,
    Kind.RECOMPILE_LIMIT,
    Kind.COMPILE_ERROR,
    Kind.OP_FALLBACK,
    Kind.CUDAGRAPH_SKIP,
    Kind.DEVICE_FALLBACK,
)


def _missing(evidence: Evidence, facts: _Facts) -> str | None:
    """Why no kind is proven at all, or None where the compile phase is in the log from start to end."""
    if "torch/compiler-off" in evidence.rules:
        return "the compiler was off in this process, so the log shows nothing about it"
    if facts.cut:
        return "the log ends inside Dynamo's list of traced frames"
    if _FORMATTED in evidence.facts:  # perhaps of another process
        return (
            "PyTorch's records are in a format of the program's own, without process and compile ids: unset "
            "TORCH_LOGS_FORMAT, and leave PyTorch's handlers on its loggers"
        )
    if not facts.started:
        return "nothing in the log shows which frames Dynamo traced, nor that the compile phase ended"
    if not facts.ended:
        return "the log ends before Dynamo's list of traced frames: the compile phase may go on"
    if _RAISED in evidence.facts:
        return "an exception ended the program: what it would have compiled next is not in the log"
    if mixed := several(evidence):
        return mixed
    named = set(facts.started.values())
    lost = [frame for frame in facts.listed if frame not in named]
    if lost:
        return f"lines are missing: the list at exit names {lost[0]}, but the log lacks its trace"
    open_graphs = [cid for cid in facts.backends if cid not in facts.returned]
    if len(open_graphs) > errors(evidence) + evidence.rules.get("torch/frame-not-converted", 0):
        return f"the back end got graph [{open_graphs[0]}] and the log does not show that it returned"
    return None


def _open(kind: Kind, evidence: Evidence, facts: _Facts, why: str) -> Proof:
    """The state of a kind where the compile phase is not in the log: does this level show it at all?"""
    level_shows = {
        Kind.GRAPH_BREAK: bool(facts.started) or "torch/graph-breaks-on" in evidence.facts,
        Kind.EAGER_FRAME: bool(facts.started),
        Kind.OP_FALLBACK: bool(
            {"torch/output-code", "torch/lowered", "torch/cache-hit"} & evidence.facts.keys()
        ),
        Kind.CUDAGRAPH_SKIP: "torch/partitioned" in evidence.facts,
        Kind.DEVICE_FALLBACK: "torch/partitioned" in evidence.facts,
    }
    off = "torch/compiler-off" in evidence.rules
    known = off or facts.ended or facts.cut or _FORMATTED in evidence.facts
    if known or level_shows.get(kind, True):
        return Proof(State.UNPROVEN, why, None, None if _RAISED in evidence.facts else SETTING)
    return Proof(State.UNOBSERVABLE, f"this level prints no {kind.value}, or not all; {why}", None, SETTING)


def _graph_break(evidence: Evidence, facts: _Facts, line: int | None) -> Proof:
    if "torch/dynamo-debug" in evidence.facts:
        return Proof(State.PROVEN, "Dynamo's DEBUG level was on: every graph break is printed", line)
    if "torch/graph-breaks-on" in evidence.facts:
        return Proof(State.PROVEN, "the artifact graph_breaks was on: every graph break is printed", line)
    unfinished = sorted(facts.started[frame] for frame in facts.started.keys() - facts.done)
    if not unfinished:
        return Proof(
            State.PROVEN, "each frame was traced to its end, which a graph break would have prevented", line
        )
    why = f"the trace of {unfinished[0]} did not reach its end, and this level does not say why"
    return Proof(State.UNOBSERVABLE, why, None, SETTING)


def _by_others(evidence: Evidence, facts: _Facts) -> str | None:
    """Why graphs that went to another back end than Inductor prove nothing; None where none did."""
    split = ddp.by_inductor(evidence)
    name = min(
        (
            name
            for cid, name in facts.backends.items()
            if name != "inductor" and not (name == ddp.BACKEND and cid in split)
        ),
        default=None,
    )
    if name is None:
        return None
    if name.startswith(_EAGER):
        return f"back end {name} generates no code"
    return f"back end {name} is not Inductor: its own log must show its fallbacks"


def _op_fallback(evidence: Evidence, facts: _Facts, line: int | None) -> Proof:
    if why := _by_others(evidence, facts):
        return Proof(State.UNPROVEN, why, evidence.first("torch/backend-called"))
    if not facts.backends:
        return Proof(State.UNPROVEN, "no graph was handed to a back end", None, SETTING)
    printed = {cid for cid, _ in evidence.of("torch/output-code")}
    printed &= {cid for cid, artifact in evidence.of("torch/output-code-ended") if artifact == "output_code"}
    lowered = {cid for (cid,) in evidence.of("torch/lowered")}
    cached = cache.filled_by_others(evidence, lowered)
    shown = printed | (lowered | cache.hits(evidence)) - cached
    given = set(facts.backends)
    hidden = sorted((given & facts.returned or given) - shown)  # one that failed is told, and has no code
    if "torch/cpp-wrapper" in evidence.facts and given & printed:
        return trace_proof.CPP_WRAPPER
    if not hidden:
        how = "its generated code is printed" if printed else "each scheduled node is printed"
        return Proof(State.PROVEN, f"for every graph {how}: a fallback kernel would be in it", line)
    if cached:
        why = f"graph [{hidden[0]}] came from a cache: it was not lowered, so no fallback kernel could be printed"
        return Proof(State.UNPROVEN, why, evidence.first("torch/cache-hit"), SETTING)
    if shown or "torch/output-code" in evidence.facts:
        why = f"graph [{hidden[0]}] has no whole generated code in the log: from a cache, cut, or without a call"
        return Proof(State.UNPROVEN, why, None, _TRACE if printed else SETTING)
    why = "this level prints no op_fallback"
    if "torch/perf-hints" in evidence.facts or Kind.OP_FALLBACK in evidence.reported:
        why = "this level prints only a part of op_fallback (perf_hints leaves out scatter and index_put, and all on a cache hit)"
    return Proof(State.UNOBSERVABLE, why, None, SETTING)
