"""Verdicts built by hand for the report tests: each shows one thing that a release engineer may meet."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

from fallback_gate.model import (
    BaselineSummary,
    Class,
    CompilerProof,
    Decision,
    Event,
    Finding,
    Kind,
    Location,
    LogReport,
    Outcome,
    PolicySummary,
    ProcessVerdict,
    Proof,
    RuleSource,
    Scope,
    State,
    Verdict,
    WaiverSummary,
)

TODAY = date(2026, 11, 30)
SHA = "9f2c5e" + "0" * 58
LEVEL = "nothing in the log shows that this level was on"
SETTING = "TORCH_LOGS=dynamo,graph_breaks,recompiles"

HOT = RuleSource({"op": "gate_attn", "why": "every token, every layer"}, "policies/llm-decode.yaml:4")
COLD = RuleSource(
    {
        "op": "aten::sort*",
        "kinds": ["op_fallback"],
        "reason": "sampling warm-up only",
        "owner": "serving-team",
        "expires": date(2027, 3, 31),
        "ticket": "INF-123",
    },
    "policies/llm-decode.yaml:9",
)
POLICY = PolicySummary("llm-decode", "policies/llm-decode.yaml", SHA, (HOT,))


def event(**changes: Any) -> Event:
    """The graph break of gate_attn, or another event by what differs."""
    base = Event(
        id="torch/graph-break",
        compiler="torch.compile",
        kind=Kind.GRAPH_BREAK,
        scope=Scope.SITE,
        op="gate_attn",
        names=("gate_attn", "Tensor.item", "aten::_local_scalar_dense"),
        stack=("gate_attn", "DecoderLayer.forward"),
        files=("model/decoder.py",),
        reason="Unsupported Tensor.item() call with capture_scalar_outputs=False",
        log="compile.log",
        line=17,
        lines=(17, 93),
        count=2,
        sites=1,
        count_is_lower_bound=False,
        ranks=(0,),
        location=Location("model/decoder.py", 42, "gate_attn"),
        layer=None,
        text=(
            "V1130 00:40:28.873000 1495 torch/_dynamo/symbolic_convert.py:5127] [0/0] [__graph_breaks] "
            "Graph break in user code at /app/model/decoder.py:42"
        ),
        fingerprint="fp-gate-attn",
        help=(
            "Keep the value on the device, or set torch._dynamo.config.capture_scalar_outputs = True. "
            "https://docs.pytorch.org/docs/stable/torch.compiler_faq.html"
        ),
    )
    return replace(base, **changes)


def sort_event(**changes: Any) -> Event:
    """An Inductor fallback kernel, printed once for many."""
    return event(
        **{
            "id": "torch/fallback-kernel",
            "kind": Kind.OP_FALLBACK,
            "scope": Scope.OPERATOR,
            "op": "aten::sort",
            "names": ("aten.sort.stable",),
            "stack": (),
            "reason": None,
            "line": 66,
            "lines": (66,),
            "count": 3,
            "count_is_lower_bound": True,
            "location": None,
            "text": "I1130 00:40:29 1495 graph.py] Using FallbackKernel: torch.ops.aten.sort.stable",
            "fingerprint": "fp-sort",
            "help": "Write the operator without a sort, or list it as cold.",
            **changes,
        }
    )


def blocked(changed: Event | None = None, **changes: Any) -> Finding:
    """A hot finding."""
    return Finding(changed or event(**changes), Class.HOT, Decision.BLOCKED, HOT)


def allowed(**changes: Any) -> Finding:
    """A cold finding, with the reason why."""
    return Finding(sort_event(**changes), Class.COLD, Decision.ALLOWED, COLD)


def warned(**changes: Any) -> Finding:
    """An unlisted finding under `unlisted: warn`."""
    return Finding(
        sort_event(**{"op": "aten::topk", "fingerprint": "fp-topk", "line": 70, **changes}),
        Class.UNLISTED,
        Decision.WARNED,
    )


def proof(state: State = State.PROVEN, why: str = "Dynamo printed its settings", **more: Any) -> Proof:
    """One proof."""
    return Proof(state, why, **{"line": 3, **more})


def process(
    outcome: Outcome, *, log: str = "compile.log", rank: int | None = 0, **states: Proof
) -> ProcessVerdict:
    """A process of torch.compile whose kinds are all proven but for those that are given."""
    required = (Kind.GRAPH_BREAK, Kind.EAGER_FRAME, Kind.RECOMPILE_LIMIT, Kind.OP_FALLBACK)
    proofs = {kind: states.get(kind.value, proof()) for kind in required}
    compiler = CompilerProof("torch.compile", "2.11.0", proofs, frozenset(required))
    return ProcessVerdict(log, rank, 1495, outcome, (compiler,))


def log(outcome: Outcome | None, path: str = "compile.log", **more: Any) -> LogReport:
    """A log of torch.compile."""
    return LogReport(path, **{"bytes": 36_412, "recognised": True, "outcome": outcome, **more})


def verdict(outcome: Outcome | None, exit_code: int, **changes: Any) -> Verdict:
    """A run over one log."""
    base: dict[str, Any] = {
        "policy": POLICY,
        "logs": (log(outcome),),
        "processes": (process(outcome),) if outcome else (),
        "findings": (),
        "tool_version": "0.1.0",
    }
    return Verdict(outcome, exit_code, TODAY, **{**base, **changes})


def blocked_run(**changes: Any) -> Verdict:
    """gate_attn blocks, aten::sort is allowed, aten::topk warned."""
    return verdict(Outcome.BLOCKED, 1, **{"findings": (blocked(), allowed(), warned()), **changes})


def passing_run() -> Verdict:
    """All proven, one allowed."""
    return verdict(Outcome.PASS, 0, findings=(allowed(),))


def default_level_run() -> Verdict:
    """The log of a default level: clean, and proof of nothing."""
    missing = proof(State.UNPROVEN, LEVEL, line=None, setting=SETTING)
    blind = proof(
        State.UNOBSERVABLE,
        "this level prints no fallback kernel",
        line=None,
        setting="TORCH_LOGS=output_code",
    )
    return verdict(
        Outcome.UNPROVEN,
        3,
        processes=(
            process(
                Outcome.UNPROVEN,
                graph_break=missing,
                eager_frame=missing,
                recompile_limit=missing,
                op_fallback=blind,
            ),
        ),
    )


def many_ranks_run(ranks: int = 64) -> Verdict:
    """One log a rank, all at the same wrong level."""
    missing = proof(State.UNPROVEN, LEVEL, line=None, setting=SETTING)
    paths = [f"logs/rank{rank}.log" for rank in range(ranks)]
    return verdict(
        Outcome.UNPROVEN,
        3,
        logs=tuple(log(Outcome.UNPROVEN, path) for path in paths),
        processes=tuple(
            process(Outcome.UNPROVEN, log=path, rank=rank, graph_break=missing, eager_frame=missing)
            for rank, path in enumerate(paths)
        ),
    )


def many_events_run(events: int = 5_000) -> Verdict:
    """A log with thousands of blocked operators of three kinds; one of them at many places."""
    kinds = (Kind.OP_FALLBACK, Kind.GRAPH_BREAK, Kind.DEVICE_FALLBACK)
    places = [
        blocked(line=n, location=Location("model/decoder.py", n, "gate_attn"), fingerprint=f"p{n}")
        for n in range(1, 51)
    ]
    others = [
        Finding(
            sort_event(op=f"vendor::op_{n}", kind=kinds[n % 3], line=100 + n, fingerprint=f"f{n}"),
            Class.UNLISTED,
            Decision.BLOCKED,
        )
        for n in range(events - len(places))
    ]
    return verdict(Outcome.BLOCKED, 1, findings=(*others, *places))


def waived_run() -> Verdict:
    """Blocked, and overridden for one release."""
    waiver = WaiverSummary(
        "waivers/r17.yaml",
        "r17",
        "Ada Wong",
        "customer demo, fix is INF-130",
        date(2026, 12, 5),
        applied=True,
    )
    return verdict(Outcome.WAIVED, 0, findings=(blocked(),), waiver=waiver)


def baseline_run() -> Verdict:
    """One fallback that a baseline lets stay; another one that it holds is gone."""
    held = BaselineSummary("gates/baseline.json", "0.1.0", None, entries=2, used=1, gone=1, fewer=0)
    rule = RuleSource({"sites": 1, "reason": "it was there"}, held.path)
    finding = Finding(sort_event(), Class.UNLISTED, Decision.ALLOWED, rule)
    return verdict(Outcome.PASS, 0, findings=(finding,), baseline=held)


RUNS = {
    "blocked": blocked_run(),
    "pass": passing_run(),
    "default level": default_level_run(),
    "ranks": many_ranks_run(),
    "waived": waived_run(),
    "no verdict": verdict(None, 2, logs=(), errors=("compile.log: no such file",)),
}
