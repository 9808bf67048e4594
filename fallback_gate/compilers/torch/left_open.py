"""Room 3: the frames of a text log whose compile neither ended nor is said to have failed.

A program that catches the error of `fullgraph=True` and goes on in eager prints nothing. What Dynamo then lacks
is a line that it prints after each compile that ended, in one graph or in several: `put_code_state`.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from fallback_gate.compilers.rule import Evidence
from fallback_gate.model.names import function

_RESUMED = "torch_dynamo_resume_in_"


def left_open(evidence: Evidence, started: Mapping[str, str], done: Set[str]) -> str | None:
    """Why not every frame that was started (`function file:line` by id) was compiled; None where all are told."""
    ended = _frames(evidence, "torch/frame-ended")
    gave_up = evidence.of("torch/gave-up")  # not every version tells the compile id with it
    by_name = {f"{found[1]} {found[2]}:{found[3]}" for found in gave_up if len(found) == 4}
    told = ended | done | _frames(evidence, "torch/frame-broke") | _frames(evidence, "torch/gave-up")
    left = sorted(frame for key, frame in started.items() if key not in told and frame not in by_name)
    if not ended:  # before 2.6: no such line, and a break is told once, for whichever frame comes first
        in_parts = {_name(frame) for frame in started.values() if _RESUMED in frame}
        in_parts |= {_name(started[key]) for key in _frames(evidence, "torch/backend-done") & started.keys()}
        left = [frame for frame in left if _name(frame) not in in_parts]
    if len(left) <= evidence.rules.get("torch/compile-error", 0):
        return None
    return (
        f"the compile of {left[0]} did not end, and no line says why: the program may have caught an error, and "
        "run the function without the compiler"
    )


def _frames(evidence: Evidence, marker: str) -> set[str]:
    return {compile_id.split("_")[0] for compile_id, *_ in evidence.of(marker)}


def _name(frame: str) -> str:
    return function(frame.split()[0])
