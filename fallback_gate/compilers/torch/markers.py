"""Room 3: the lines of torch.compile that are evidence: who traced what, what was shown, where it ended.

`proof` weighs them; `compile` is the manual page.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.rule import Marker, Sighting
from fallback_gate.compilers.torch.at_exit import raised
from fallback_gate.compilers.torch.frames import traced_frames
from fallback_gate.compilers.torch.log import NAME, formatted, opened, parse
from fallback_gate.compilers.torch.unprefixed import leads
from fallback_gate.compilers.torch.wrapper import is_printed
from fallback_gate.patterns import GLOG, Pattern
from fallback_gate.scan.record import Record

_I = "I1130 00:35:14.025000 7839 torch/_dynamo/symbolic_convert.py:5335] "
_V = "V1130 00:35:14.025000 7839 torch/_inductor/graph.py:2613] "


def _fact(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """The compile id, and what the pattern captured."""
    log = opened(record.text, match, None, "recompiles")
    if log and log.prefix:
        said = tuple(group or "" for group in match.groups())
        yield Sighting(marker.id, record.position, (log.compile_id, *said), log.pid, None, log.when)


def _debug(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """As `_fact`, for records of the logger's own DEBUG level, not of an artifact."""
    log = opened(record.text, match, None)
    if log and log.prefix and log.level == "V":
        yield Sighting(marker.id, record.position, (log.compile_id,), log.pid, None, log.when)


def _artifact(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """The compile id and the artifact, for records that an artifact's setting printed."""
    log = parse(record.text)
    if log and log.artifact:
        yield Sighting(marker.id, record.position, (log.compile_id, log.artifact), log.pid, None, log.when)


def _printed(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """As `_artifact`, for a wrapper whose lines stand as they were printed."""
    return _artifact(marker, record, match) if is_printed(record) else ()


def _formatted(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """That records are in a format of the program's own."""
    started = _STARTED.match(record.text)
    if (started and leads(record.text, started.end("lead"))) or (
        not parse(record.text) and formatted(record.text)
    ):
        yield Sighting(marker.id, record.position)


_STARTED = Pattern(r"(?P<lead>.{0,200}?)Step 1: torchdynamo start tracing \S{1,300} \S.{0,500}:\d")


def _wrapper(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """That a wrapper is C++, in the log or in the payload of a structured trace."""
    log = parse(record.text)
    yield Sighting(marker.id, record.position, (), log.pid if log else None)


def _listed(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """The list at exit: `whole` and each frame as `function file:line`, or `cut`."""
    log = opened(record.text, match, None)
    if not log or not log.prefix:
        return
    listed = traced_frames(record, log)
    if listed is None:
        yield Sighting(marker.id, record.position, ("cut",), log.pid, None, log.when)
    else:
        frames = tuple(f"{name} {place}" for name, place in listed)
        yield Sighting(marker.id, record.position, ("whole", *frames), log.pid, None, log.when)


def marker(
    id: str,
    anchor: str | tuple[str, ...],
    pattern: str,
    shows: str,
    match: str,
    read: object = _fact,
    seen_in: str = "2.1 to 2.14",
) -> Marker:
    """A marker of torch.compile."""
    return Marker(
        id=id,
        compiler=NAME,
        anchor=(anchor,) if isinstance(anchor, str) else anchor,
        pattern=pattern,
        shows=shows,
        seen_in=seen_in,
        matches=(match,),
        read=read,  # type: ignore[arg-type]
    )


MARKERS = (
    marker(
        "torch/trace-started",
        "torchdynamo start tracing",
        r"Step 1: torchdynamo start tracing (\S+) (\S.*:\d+)\s*$",
        "Dynamo's INFO level is on, and this frame was traced.",
        _I + "[0/0] Step 1: torchdynamo start tracing forward /app/moe/decoder.py:148",
    ),
    marker(
        "torch/trace-done",
        "torchdynamo done tracing",
        r"Step 1: torchdynamo done tracing (\S+) \(RETURN_\w+",
        "The frame was traced to its end without a break.",
        _I + "[0/0] Step 1: torchdynamo done tracing forward (RETURN_VALUE)",
    ),
    marker(
        "torch/frame-ended",
        "put_code_state:",
        r"put_code_state: ",
        "The compile of the frame ended without an error, in one graph or several.",
        _I + "[0/0_1] put_code_state: no cache key, skipping",
        seen_in="2.7 to 2.14 (2.6: source)",
    ),
    marker(
        "torch/gave-up",
        "T CONVERT ",
        r"WON'T CONVERT (\S+) (.+) line (\d{1,9})\s*$",
        "The frame was given up, as is told.",
        _I + "[0/0] WON'T CONVERT forward /app/moe/decoder.py line 148 ",
    ),
    marker(
        "torch/gave-up",
        "Skipping frame because there is a graph break in a",
        r"Skipping frame because there is a graph break in a for/while loop",
        "The frame was given up for a break in a loop, as is told.",
        _I + "[0/0] Skipping frame because there is a graph break in a for/while loop",
    ),
    marker(
        "torch/gave-up",
        "intentionally decided to skip the frame",
        r"torch\.compile intentionally decided to skip the frame (\S+) \((.+) line (\d{1,9})\) and fall back to eager",
        "The frame was given up: for a break in a loop, as is told, or since it has no operator (DEBUG).",
        _I
        + "[0/0] torch.compile intentionally decided to skip the frame forward (/app/moe/decoder.py line 148) and fall back to eager.",
        seen_in="2.10",
    ),
    marker(
        "torch/not-captured",
        "speculate_subgraph: while introspecting",
        r"speculate_subgraph: while introspecting (\S.{0,200}?), we were unable to trace function `",
        "A break in what must be captured whole, which is reported by itself.",
        _I
        + "[0/0] speculate_subgraph: while introspecting autograd.Function, we were unable to trace function "
        "`forward` into a single graph. This means that Dynamo was unable to prove safety for this API and will fall back to eager-mode PyTorch",
    ),
    marker(
        "torch/backend-called",
        "compiler function",
        r"Step 2: calling compiler function (\S+(?: \S+)*)",
        "This back end got the graph.",
        _I + "[0/0] Step 2: calling compiler function inductor",
    ),
    marker(
        "torch/backend-done",
        "compiler function",
        r"Step 2: done compiler function (\S+(?: \S+)*)",
        "The back end returned.",
        _I + "[0/0] Step 2: done compiler function inductor",
    ),
    marker(
        "torch/frames-listed",
        "attempted to trace the following frames",
        r"TorchDynamo attempted to trace the following frames: \[",
        "The process ended in order; the list names each frame that was traced.",
        _I + "TorchDynamo attempted to trace the following frames: [",
        _listed,
        seen_in="2.7 to 2.14",
    ),
    marker(
        "torch/metrics",
        "TorchDynamo compilation metrics:",
        r"TorchDynamo compilation metrics:",
        "The process ended in order.",
        _I + "TorchDynamo compilation metrics:",
    ),
    Marker(
        id="torch/raised",
        compiler=NAME,
        anchor=("attempted to trace the following frames", "TorchDynamo compilation metrics:"),
        pattern=r"TorchDynamo (?:attempted to trace the following frames: \[|compilation metrics:)",
        shows="An exception ended the program: what it would have compiled next is not in the log.",
        seen_in="2.7 to 2.14",
        matches=(
            'Traceback (most recent call last):\n  File "/app/serve.py", line 12, in <module>\n    step(x)\n'
            f"AssertionError\n{_I}TorchDynamo attempted to trace the following frames: [",
        ),
        ignores=(f"served 12 requests\n{_I}TorchDynamo attempted to trace the following frames: [",),
        read=raised,
    ),
    marker(
        "torch/dynamo-debug",
        "COMPILING GRAPH due to",
        r"COMPILING GRAPH due to GraphCompileReason\(",
        "Dynamo's DEBUG level is on, which prints every graph break.",
        _V
        + "[0/0] COMPILING GRAPH due to GraphCompileReason(reason='return_value', user_stack=[], graph_break=False)",
        _debug,
    ),
    marker(
        "torch/graph-breaks-on",
        "Graph break",
        r"\[__graph_breaks\] Graph break[ :]|\.__graph_breaks: \[DEBUG\] Graph break",
        "The artifact graph_breaks is on, and the graph of this frame broke, as is told.",
        _V + "[0/0] [__graph_breaks] Graph break: skip: from user code at:",
        _artifact,
    ),
    marker(
        "torch/recompiled",
        "Recompiling function",
        r"Recompiling function (\S+)",
        "The artifact recompiles is on: a recompile below its limit, which is no fallback.",
        _V + "[0/1] [__recompiles] Recompiling function forward in /app/moe/decoder.py:131",
    ),
    marker(
        "torch/output-code",
        "Output code:",
        r"(?:\[__output_code\]|\.__output_code: \[\w+\]) Output code:",
        "The artifact output_code is on: the generated wrapper of this graph follows.",
        _V + "[0/0] [__output_code] Output code: ",
        _printed,
    ),
    marker(
        "torch/output-code-ended",
        "code] Output code w",
        r"Output code written to:",
        "The generated wrapper was printed to its end.",
        _V + "[0/0] [__output_code] Output code written to: /tmp/torchinductor/zj/czj.py",
        _artifact,
    ),
    marker(
        "torch/lowered",
        "Finished codegen for all nodes",
        r"Finished codegen for all nodes",
        "Inductor's DEBUG level is on, and this graph was lowered: each scheduled node was printed.",
        _V + "[0/0] Finished codegen for all nodes. The list of kernel names available: OrderedSet([])",
        _debug,
    ),
    marker(
        "torch/perf-hints",
        "Skip comprehensive padding on CPU",
        r"\[__perf_hints\] Skip comprehensive padding on CPU",
        "The artifact perf_hints is on, and Inductor lowered a graph.",
        _I + "[0/0] [__perf_hints] Skip comprehensive padding on CPU",
        _artifact,
    ),
    marker(
        "torch/partitioned",
        "graph partitions: ",
        r"Created \d+ graph partitions: ",
        "The artifact cudagraphs is on: what is not captured is listed.",
        _V + "[0/0] [__cudagraphs] Created 1 graph partitions: 1 cudagraphable, 0 non-cudagraphable",
        _artifact,
    ),
    Marker(
        id="torch/formatted",
        compiler=NAME,
        anchor=("torchdynamo start tracing", "Graph break", "Output code:", "compiler function"),
        pattern=rf"^(?!{GLOG}).*?(?:Step [12]: |Graph break |Output code:)",
        shows="PyTorch's records are in a format of the program's own, without process and compile ids.",
        seen_in="2.14 (run), TORCH_LOGS_FORMAT and logging.config",
        matches=(
            "INFO:torch._dynamo.symbolic_convert:Step 1: torchdynamo start tracing forward /app/moe/decoder.py:148",
            "[2026-11-30 12:11:07,051][torch._inductor.graph.__output_code][DEBUG] - Output code: ",
            "[2026-11-30 12:11:07,051: INFO/MainProcess] Step 1: torchdynamo start tracing forward /app/moe/decoder.py:148",
        ),
        ignores=("INFO:app:Step 1: torchdynamo start tracing",),
        read=_formatted,
    ),
    Marker(
        id="torch/cpp-wrapper",
        compiler=NAME,
        anchor=("csrc/inductor/aoti", "csrc/inductor/cpp_wrapper"),
        pattern=r"(?:^\t|\[__output_code\])(?!.*/(?:aoti_torch/c/shim|aoti_runtime/utils)\.h)",  # a kernel's own
        shows="The wrapper is C++: its calls of operators are not all told apart from library calls.",
        seen_in="2.7 to 2.14",
        matches=(
            _V + "[0/0] [__output_code] #include <torch/csrc/inductor/cpp_wrapper/cpu.h>",
            _V + "[0/0] [__output_code] #include <torch/csrc/inductor/aoti_runtime/interface.h>",
            "\t#include <torch/csrc/inductor/cpp_wrapper/cpu.h>",
        ),
        ignores=(
            _V + "[0/0] [__output_code] #include <torch/csrc/inductor/aoti_torch/c/shim.h>",
            "\t#include <torch/csrc/inductor/aoti_runtime/utils.h>",
        ),
        read=_wrapper,
    ),
)
