"""Room 3: what a process tells of torch.compile as it ends: its own counters, and what it was asked to compile.

It shows what no log does: a stance that sends every recompile to eager, a forward that is disabled beside others.
What logs show too (graph breaks, limits) is only hinted at, since a log tells more of it. Clean counters prove
that Dynamo gave nothing up; fallback kernels take the structured trace or the generated code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fallback_gate.compilers.closing.records import (
    Closing,
    Facts,
    Hearing,
    base,
    count,
    names,
    rows,
    rule,
    table,
    text,
)
from fallback_gate.compilers.closing.torch_logs import joins, untold
from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.torch.graph_breaks import HELP
from fallback_gate.compilers.torch.log import NAME
from fallback_gate.compilers.torch.trace import LIMITS
from fallback_gate.model import Kind, Location, Report, Scope
from fallback_gate.model.names import function
from fallback_gate.scan.record import Record

_TOLD = (NAME, NAME)
_EAGER = ("eager", "aot_eager", "pre_dispatch_eager")
_STANCES = {
    "force_eager": "everything that was called from then on ran in eager",
    "eager_on_recompile": "a call that would have been compiled anew ran in eager",
}


def _nothing(facts: Facts) -> bool:
    """Whether Dynamo was asked to compile something and traced nothing."""
    tried = count(facts.get("attempts")) or count(table(facts.get("frames")).get("total"))
    return bool(count(facts.get("calls")) and not tried and not _precompiled(facts))


def _precompiled(facts: Facts) -> int:
    return count(table(table(facts.get("counters")).get("dynamo_cache")).get("dynamo_cache_hit"))


def _traced(facts: Facts, one: Facts) -> bool:
    """Whether a frame of this function was traced; before 2.7 nothing tells."""
    place = f"{text(one.get('name'))} {text(one.get('file'))}:{one.get('line')}"
    return facts.get("traced") is None or place in names(facts["traced"])


def _eager(backend: object) -> bool:
    return text(backend).startswith(_EAGER)


def off(rule: Rule, record: Record, closing: Closing, facts: Facts) -> Iterable[Report]:
    """The compiler was asked for, and nothing was traced."""
    if _nothing(facts) and (switches := _switches(facts)):
        why = ", ".join(switches[:5])
        yield base(rule, record, closing, "*", f"torch.compile was asked for, and no frame was traced: {why}")


def _switches(facts: Facts) -> list[str]:
    """What kept Dynamo from tracing anything."""
    asked = rows(facts.get("asked"))
    return [
        *(f"{name}=1" for name in names(facts.get("switched_off"))),
        *(["torch._dynamo.config.disable"] if facts.get("config_disable") else ()),
        *(f"set_stance({text(one.get('stance'))!r})" for one in rows(facts.get("stances"))),
        *(f"{text(one.get('name'))} is disabled" for one in asked if one.get("disabled") or one.get("off")),
    ]


def _undoes(facts: Facts) -> str | None:
    """Nothing was traced, and nothing says why: what was compiled was never called, or was passed over."""
    if _nothing(facts) and not _switches(facts):
        return (
            "torch.compile was asked for, and no frame was traced: what was compiled was never called, or was "
            "passed over"
        )
    return None


def stance(rule: Rule, record: Record, closing: Closing, facts: Facts) -> Iterable[Report]:
    """A stance beside frames that were traced."""
    for one in rows(facts.get("stances")):
        effect = _STANCES.get(text(one.get("stance")))
        if _eager(one.get("backend")):
            effect = "what was compiled from then on got a back end that generates no code"
        if effect and not _nothing(facts):
            said = text(one.get("stance")) if not one.get("backend") else f"force_backend={one['backend']}"
            why = f"torch.compiler.set_stance({said}): {effect}"
            report = base(rule, record, closing, "set_stance", why, "torch.compiler.set_stance")
            yield _at(report, one)
        if one.get("stance") == "eager_then_compile" and not _nothing(facts):
            yield from _called_once(rule, record, closing, facts)


def _called_once(rule: Rule, record: Record, closing: Closing, facts: Facts) -> Iterable[Report]:
    """What was never traced under a stance that compiles from the second call on."""
    for one in (one for one in rows(facts.get("asked")) if not _traced(facts, one)):
        name = function(text(one.get("name"))) or "*"
        why = "given to torch.compile, and never called twice under eager_then_compile: it ran in eager, if at all"
        yield _at(base(rule, record, closing, name, why), one, name)


def backend(rule: Rule, record: Record, closing: Closing, facts: Facts) -> Iterable[Report]:
    """A back end that generates no code, for something that was traced."""
    for one in rows(facts.get("asked")):
        if _eager(one.get("backend")) and not _nothing(facts) and _traced(facts, one):
            said = f"backend={text(one.get('backend'))}: the graphs of {text(one.get('name'))} run in eager"
            yield base(rule, record, closing, "*", said)


def disabled(rule: Rule, record: Record, closing: Closing, facts: Facts) -> Iterable[Report]:
    """A function that was to be compiled and is marked not to be, beside others that were."""
    for one in rows(facts.get("asked")):
        switched = one.get("disabled") or one.get("off")
        if switched and not _nothing(facts) and not (facts.get("traced") and _traced(facts, one)):
            why = (
                "torch.compile was switched off for it"
                if one.get("off")
                else "torch.compiler.disable is on it"
            )
            name = function(text(one.get("name"))) or "*"
            yield _at(base(rule, record, closing, name, f"given to torch.compile, and {why}"), one, name)


def broken(rule: Rule, record: Record, closing: Closing, facts: Facts) -> Iterable[Report]:
    """Graph breaks that were counted; the log that tells where is better."""
    for reason, times in list(table(facts.get("graph_breaks")).items())[:20]:
        if count(times):
            yield base(rule, record, closing, "*", f"{times} counted: {text(reason)}", hint=True)


def given_up(rule: Rule, record: Record, closing: Closing, facts: Facts) -> Iterable[Report]:
    """Frames of which nothing was compiled, by the metrics of the last compiles."""
    for one in rows(facts.get("failed")):
        if _kind(one) is rule.kind:
            name = function(text(one.get("name"))) or "*"
            reason = text(one.get("reason")) or "the frame was given up: all of it runs in eager"
            yield _at(base(rule, record, closing, name, reason.splitlines()[0], hint=True), one, name)


def _kind(failed: Facts) -> Kind:
    reason, kind = text(failed.get("reason")), text(failed.get("type"))
    if any(said in reason for said in LIMITS):
        return Kind.RECOMPILE_LIMIT
    return Kind.COMPILE_ERROR if kind and kind != "Unsupported" else Kind.EAGER_FRAME


def skipped_cudagraphs(rule: Rule, record: Record, closing: Closing, facts: Facts) -> Iterable[Report]:
    """Graphs that were not captured, which Inductor counts."""
    skips = count(table(table(facts.get("counters")).get("inductor")).get("cudagraph_skips"))
    if skips:
        yield base(rule, record, closing, "*", f"cudagraph_skips: {skips}", hint=True)


def _at(report: Report, one: Facts, name: str | None = None) -> Report:
    """The report, with the place that the record names."""
    file, line = text(one.get("file")), count(one.get("line")) or None
    called = name or text(one.get("function")) or None
    stack = (called,) if called and called not in ("*", "<module>") else ()
    if not file:
        return report._replace(stack=stack)
    return report._replace(location=Location(file, line, called), files=(file,), stack=stack)


_OFF = '{"calls": 1, "traced": [], "attempts": 0, "frames": {}, "stances": [{"stance": "force_eager", "backend": null}]}'
_STANCE = (
    '{"calls": 1, "attempts": 1, "stances": [{"stance": "eager_on_recompile", "backend": null, "file": "/app/serve.py", '
    '"line": 20, "function": "<module>"}]}'
)
_ASKED = (
    '{"calls": 2, "attempts": 1, "traced": ["forward /app/decoder.py:148"], "asked": [{"name": "NAME", "file": '
    '"/app/decoder.py", "line": LINE, "backend": "BACKEND", "off": false, "disabled": DISABLED}]}'
)
_BACKEND = (
    _ASKED.replace("NAME", "forward")
    .replace("LINE", "148")
    .replace("BACKEND", "aot_eager")
    .replace("DISABLED", "false")
)
_DISABLED = (
    _ASKED.replace("NAME", "gate_attn")
    .replace("LINE", "42")
    .replace("BACKEND", "inductor")
    .replace("DISABLED", "true")
)
_FAILED = '{"failed": [{"name": "forward", "file": "/app/decoder.py", "line": 148, "type": TYPE, "reason": "REASON"}]}'

RULES = (
    rule(
        _TOLD, "torch/compiler-off", Kind.EAGER_FRAME, Scope.PROGRAM,
        "Dynamo traced nothing in this process: torch.compile was switched off, and all of it ran in eager.",
        "Look for TORCHDYNAMO_DISABLE, TORCH_COMPILE_DISABLE, torch.compiler.set_stance and a disabled forward.",
        off, _OFF,
    ),
    rule(
        _TOLD, "torch/stance", Kind.EAGER_FRAME, Scope.PROGRAM,
        "The program set a stance under which calls run in eager; no log setting tells which.",
        "Take the stance out of what is released; fail_on_recompile shows what would be compiled anew.",
        stance, _STANCE,
    ),
    rule(
        _TOLD, "torch/eager-backend", Kind.EAGER_FRAME, Scope.PROGRAM,
        "The back end generates no code: each operator of the graph runs as a framework call.",
        "Use backend='inductor' (the default) for what is released.",
        backend, _BACKEND,
    ),
    rule(
        _TOLD, "torch/disabled-frame", Kind.EAGER_FRAME, Scope.REGION,
        "The function was given to torch.compile and is marked not to be compiled: it and all that it calls run in eager.",
        "Take torch.compiler.disable off the function, or don't compile what is around it.",
        disabled, _DISABLED,
    ),
    rule(
        _TOLD, "torch/graph-break", Kind.GRAPH_BREAK, Scope.UNKNOWN,
        "Dynamo counted graph breaks; a log tells where.", "Record a structured trace (TORCH_TRACE). " + HELP,
        broken, '{"graph_breaks": {"Data-dependent branching": 2}}',
    ),
    rule(
        _TOLD, "torch/recompile-limit", Kind.RECOMPILE_LIMIT, Scope.REGION,
        "The function was recompiled too often; from here on new inputs run in eager.",
        "Mark what changes as dynamic (torch._dynamo.mark_dynamic), or keep Python numbers off the module.",
        given_up, _FAILED.replace("TYPE", '"Unsupported"').replace("REASON", "Dynamo recompile limit exceeded"),
    ),
    rule(
        _TOLD, "torch/frame-not-converted", Kind.COMPILE_ERROR, Scope.REGION,
        "Dynamo or its back end failed on this frame; it runs in eager, or the error was raised.",
        "Unset torch._dynamo.config.suppress_errors to see the error, and mend what the back end can't compile.",
        given_up, _FAILED.replace("TYPE", '"BackendCompilerFailed"').replace("REASON", "no kernel"),
    ),
    rule(
        _TOLD, "torch/frame-skipped", Kind.EAGER_FRAME, Scope.REGION,
        "Dynamo gave up the whole frame: it runs in eager.", HELP,
        given_up, _FAILED.replace("TYPE", "null").replace("REASON", ""),
    ),
    rule(
        _TOLD, "torch/cudagraph-skip", Kind.CUDAGRAPH_SKIP, Scope.UNKNOWN,
        "Graphs were not captured as CUDA graphs; a log tells why.",
        "Record with TORCH_LOGS=perf_hints, or look at the warning `skipping cudagraphs due to`.",
        skipped_cudagraphs, '{"counters": {"inductor": {"cudagraph_skips": 1}}}',
    ),
)  # fmt: skip


def _proves(facts: Facts) -> Mapping[Kind, str]:
    """What clean counters prove: that Dynamo kept and compiled all that it was given."""
    frames = table(facts.get("frames"))
    total, ok = count(frames.get("total")), count(frames.get("ok"))
    asked = rows(facts.get("asked"))
    unclean = (
        _nothing(facts)
        or facts.get("problem")
        or facts.get("traced") is None  # before 2.7
        or not count(facts.get("attempts"))
        or not ok
        or total != ok
        or count(facts.get("attempts")) > total  # the counters were cleared
        or count(facts.get("attempts")) != count(facts.get("compiles"))  # frames were resumed
        or any(
            facts.get(key)
            for key in ("graph_breaks", "unimplemented", "resumes", "failed", "stances", "resets")
        )
        or any(facts.get(key) for key in ("switched_off", "config_disable"))
        or any(one.get("disabled") or one.get("off") for one in asked)
        or _precompiled(facts)
    )
    if unclean:
        return {}
    why = f"the process counts {ok} frames, each compiled whole: no break, no frame given up, no limit, no error"
    found = dict.fromkeys((Kind.GRAPH_BREAK, Kind.RECOMPILE_LIMIT, Kind.COMPILE_ERROR), why)
    if asked and not facts.get("left_out") and all(one.get("backend") == "inductor" for one in asked):
        found[Kind.EAGER_FRAME] = why
    return found


HEARINGS = {NAME: Hearing(NAME, RULES, _proves, joins, _undoes, untold)}
