"""Room 3: what the closing record of a process tells of its logs: which trace is its own, and whether they are whole."""

from __future__ import annotations

from fallback_gate.compilers.closing.records import Facts, count, names, told_by
from fallback_gate.compilers.rule import Evidence
from fallback_gate.compilers.torch import proof
from fallback_gate.compilers.torch.log import NAME
from fallback_gate.model import Kind

_TELLS_EACH = frozenset({"torch/trace-started", "torch-trace/frame-started"})


def joins(text_log: Evidence, trace: Evidence) -> bool:
    """Whether the trace is of the process whose closing record names the frames, where its text names none."""
    told = [facts for state, facts, _ in told_by(NAME, text_log) if state == "ended"]
    frames = {frame for facts in told for frame in names(facts.get("traced"))}
    return (
        text_log.sealed
        and len(told) == 1
        and bool(frames)
        and not proof.frames(text_log)
        and not proof.several(text_log)
        and proof.compile_ids(text_log) <= proof.compile_ids(trace)
        and frames <= proof.frames_in_trace(trace)
    )


def untold(evidence: Evidence, facts: Facts) -> str | None:
    """Why a log that tells of each frame as it is compiled is not whole; None where it may be.

    A frame that is over its limit is counted and not started; a reset gives ids a second time.
    """
    compiles, told = count(facts.get("compiles")), len(proof.compile_ids(evidence))
    if compiles <= told or facts.get("resets") or Kind.RECOMPILE_LIMIT in evidence.reported:
        return None
    if not evidence.facts.keys() & _TELLS_EACH:
        return None
    return (
        f"the process compiled {compiles} frames, and this log tells of {told}: loggers were switched off, as "
        "logging.config does with those that are there (disable_existing_loggers)"
    )
