"""Room 3: backward graphs of a text log, which are compiled at the first backward, behind Dynamo's back.

A frame's compile has ended long before its backward graph is compiled; where that fails, and the program catches
the error, no line says so. What is then missing: the end of a lowering that began (INFO of inductor), or the wrapper
of the backward graph beside that of its forward graph, in a process whose times at exit tell of a backward compile.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.rule import Evidence, Marker, Sighting
from fallback_gate.compilers.torch.log import parse
from fallback_gate.compilers.torch.markers import marker
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

_PREFIX = "1130 00:35:14.025000 7839 torch/_inductor/x.py:1266] "


def _arguments(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """Of which graph a wrapper is, by the names of what it is given: the frame, and `forward` or `backward`."""
    log = parse(record.whole_line())  # none where the line is longer than what is read before a hit
    if log and log.artifact == "output_code":
        for which, named in _ARGUMENTS.items():
            if named.search(log.message):
                yield Sighting(marker.id, record.position, (log.frame, which), log.pid, None, log.when)
                return


_ARGUMENTS = {"backward": Pattern(r"\btangents_\d"), "forward": Pattern(r"\bprimals_\d")}


MARKERS = (
    marker(
        "torch/graph-written",
        (" = args", "assert_size_stride(tangents_"),
        r"\w,? = args\s*$|\bassert_size_stride\(tangents_",
        "Whether a wrapper is that of a forward or of a backward graph.",
        "V" + _PREFIX + "[0/0] [__output_code]         primals_1, mm, tangents_1 = args",
        _arguments,
        "2.1 to 2.14, artifact output_code",
    ),
    marker(
        "torch/backward-begun",
        "torchinductor compiling BACKWARDS graph",
        r"Step 3: torchinductor compiling BACKWARDS graph (\d{1,9})\s*$",
        "Inductor lowers a backward graph.",
        "I" + _PREFIX + "[0/0] Step 3: torchinductor compiling BACKWARDS graph 0",
        seen_in="2.7 to 2.14, INFO of inductor",
    ),
    marker(
        "torch/backward-ended",
        "torchinductor done compiling BACKWARDS graph",
        r"Step 3: torchinductor done compiling BACKWARDS graph (\d{1,9})\s*$",
        "The backward graph was lowered to its end.",
        "I" + _PREFIX + "[0/0] Step 3: torchinductor done compiling BACKWARDS graph 0",
        seen_in="2.7 to 2.14, INFO of inductor",
    ),
    marker(
        "torch/backward-timed",
        "bw_compiler",
        r"compile_fx\.(?:<|&lt;)locals(?:>|&gt;)\.bw_compiler(?:,|\s)",
        "A backward graph was given to Inductor, as the times at exit tell.",
        "I" + _PREFIX + "compile_fx.<locals>.bw_compiler                            10.0092",
        seen_in="2.11 (run)",
    ),
)


def unfinished(evidence: Evidence) -> str | None:
    """Why not every backward graph that was to be compiled is shown to be; None where all are."""
    begun = {graph for _, graph in evidence.of("torch/backward-begun")}
    ended = {graph for _, graph in evidence.of("torch/backward-ended")}
    if failed := begun - ended:
        return _because(f"the compile of backward graph {min(failed, key=int)} began and did not end")
    written = set(evidence.of("torch/graph-written"))
    missing = {frame for frame, which in written if which == "forward" and (frame, "backward") not in written}
    if not missing or begun:
        return None
    if "torch/backward-timed" in evidence.facts:
        return _because(f"backward graphs were compiled, and the log does not have that of [{min(missing)}]")
    if "torch/metrics" not in evidence.facts:
        return f"the log ends before the times at exit, which tell whether the backward of [{min(missing)}] was compiled"
    return None


def _because(what: str) -> str:
    return f"{what}: the program may have caught an error, and taken the step without the compiler"
