r"""Room 3: PyTorch's structured trace (TORCH_TRACE), the best evidence of torch.compile that there is.

A process writes one file, `dedicated_log_torch_trace_*.log`: each record is a line with PyTorch's usual
prefix and one JSON object, whose payload follows on lines that start with a tab. It needs no TORCH_LOGS, and
a warm cache hides nothing in it: the generated code is written again.

| record | tells |
| --- | --- |
| `dynamo_start` | a frame is traced |
| artifact `dynamo_graph_break_reason` | a graph break, with the text of the log; from 2.6 |
| `dynamo_output_graph` | a graph goes to the back end |
| `inductor_output_code` | Inductor's wrapper: a call in it that is no generated kernel is a fallback |
| `compilation_metrics` | the frame is done: what became of it |
| `bwd_compilation_metrics` | the same of a backward graph, which is compiled later |

**What became of a frame.** `graph_op_count` and `guard_count` are null where a frame was given up, and where
it held no operation; the first has an error, or a graph break of its own, or no guarded code. Up to 2.5 no
artifact tells of a break (those that there are have a cache's `_hash`): a break is `restart_reasons` of the
frame, and one in a branch leaves even that empty, so there the absence of graph breaks is not proven. Up to 2.2
there is no trace at all.

**When it is silent.** A process that compiles nothing writes no record, with the compiler off for instance.
The file has no end mark: that each frame that started is done is all that shows its end. That an exception ended
the process, only its text log tells: give both.

Seen in 2.4.1, 2.7.1, 2.9.1, 2.11.0, 2.13.0 and 2.14.1; 2.5.1 and 2.6.0 read in their source.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache, partial
from re import Match
from typing import Any, NamedTuple

from fallback_gate.compilers.rule import Marker, Rule, Sighting
from fallback_gate.compilers.torch.graph_breaks import HEADER, HELP, LONGEST_BREAK, MEANING, break_reports
from fallback_gate.compilers.torch.log import NAME, LogRecord, parse
from fallback_gate.compilers.torch.markers import marker
from fallback_gate.compilers.torch.wrapper import is_written, payload
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

_V = "V1130 00:27:53.046000 4423 torch/_dynamo/symbolic_convert.py:5098] "
_HEADER = Pattern(HEADER)
LONGEST_ID = 40  # characters of a compile id
_NO_REASON = "Unknown fail_and_restart_analysis"  # up to 2.8; later it is said, and the break is an artifact
LIMITS = ("recompile limit", "recompile_limit", "cache_size_limit")  # in the reasons of 2.13, 2.7 and before


def metadata(record: Record) -> tuple[LogRecord, dict[str, Any]] | None:
    """The prefix and the JSON object of a trace record; None for any other line, or one that is cut."""
    log = parse(record.text)
    if not log or not log.message.startswith("{"):
        return None
    said = _object(record.whole_line())
    return (log, said) if said is not None else None


@lru_cache(maxsize=2)  # several rules ask of one record
def _object(line: str) -> dict[str, Any] | None:
    try:
        said = json.loads(line[line.index("] {") + 2 :])
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


def _as_written(record: Record) -> tuple[LogRecord, dict[str, Any]] | None:
    """As `metadata`, of a record that no unknown text stands before: that would stand before its payload, too."""
    found = metadata(record)
    return found if found and record.text.startswith(found[0].prefix) else None


def compile_id_of(said: Mapping[str, Any]) -> str:
    """The compile that a trace record is of."""
    return f"{said.get('frame_id')}/{said.get('frame_compile_id')}"


def compile_around(record: Record) -> str | None:
    """The compile whose payload a line stands in, as far as the window reaches back."""
    buffer, start = record.view.buffer, record.view.before(record.start, b"\nV") + 1
    opening = buffer[start : buffer.find(b"\n", start, record.start)].decode("utf-8", "replace")
    found = _FRAME_IDS.search(opening) if start else None
    return f"{found['frame']}/{found['compile']}" if found else None


_FRAME_IDS = Pattern(r'"frame_id": (?P<frame>\d{1,9}), "frame_compile_id": (?P<compile>\d{1,9})\b')


def rank_of(said: Mapping[str, Any]) -> int | None:
    """The rank that a trace record names."""
    rank = said.get("rank")
    return rank if isinstance(rank, int) else None


def graph_break(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The artifact of a graph break: its payload is the text that the log prints."""
    found = metadata(record)
    if not found:
        return
    log, said = found
    lines = list(payload(record, LONGEST_BREAK))
    header = _HEADER.match(lines[0].text) if lines else None
    if header:
        for report in break_reports(rule, record, log, header, lines[1:]):
            yield report._replace(rank=rank_of(said), compile_id=compile_id_of(said))


GRAPH_BREAK = Rule(
    id="torch/graph-break",
    compiler=NAME,
    anchor=("dynamo_graph_break_reason",),
    pattern=r'\{"artifact": \{"name": "dynamo_graph_break_reason"',
    kind=Kind.GRAPH_BREAK,
    shared_anchor=True,
    scope=Scope.SITE,
    meaning=MEANING,
    help=HELP,
    seen_in="2.7 to 2.14, structured trace",
    matches=(
        _V + '{"artifact": {"name": "dynamo_graph_break_reason", "encoding": "string"}, "frame_id": 0, '
        '"frame_compile_id": 0, "attempt": 0, "has_payload": "fa31"}\n'
        "\tGraph break in user code at /app/moe/breaks.py:64\n"
        "\tGraph Break Reason: Data-dependent branching",
    ),
    ignores=(_V + '{"artifact": {"name": "recompile_reasons", "encoding": "json"}, "frame_id": 0}',),
    read=graph_break,
)


def _seen(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """The compile id and the attempt of the record."""
    found = _as_written(record)
    if found:
        log, said = found
        facts = (compile_id_of(said), str(said.get("attempt")))
        yield Sighting(marker.id, record.position, facts, log.pid, rank_of(said), log.when)


class Metrics(NamedTuple):
    """What became of a frame, as strings: a `Sighting`'s facts."""

    compile_id: str
    name: str
    file: str
    line: str
    fail_type: str
    fail_reason: str
    counted: str  # "yes" where the frame has a count of operations or guards
    guarded: str
    inductor: str
    restarts: str
    cut_short: str = ""  # "yes" where it was traced anew for a break behind which it can't be resumed


def _metrics(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """The metrics of a frame; a record that is cut is told as such."""
    log = parse(record.text)
    found = _as_written(record)
    if not found:
        if log and log.message.startswith('{"compilation_metrics"'):
            yield Sighting("torch-trace/cut", record.position, (), log.pid)
        return
    log, outer = found
    said = outer.get("compilation_metrics")
    if not isinstance(said, dict):
        return
    restarts = said.get("restart_reasons")
    facts = Metrics(
        compile_id=str(said.get("compile_id") or compile_id_of(outer)),
        name=str(said.get("co_name") or ""),
        file=str(said.get("co_filename") or ""),
        line=str(said.get("co_firstlineno") or ""),
        fail_type=str(said.get("fail_type") or ""),
        fail_reason=str(said.get("fail_reason") or "")[:300],
        counted="" if said.get("graph_op_count") is None and said.get("guard_count") is None else "yes",
        guarded="" if said.get("has_guarded_code") is False else "yes",
        inductor="" if said.get("inductor_compile_time_s") is None else "yes",
        restarts="; ".join(map(str, restarts))[:300] if isinstance(restarts, list) else "",
        cut_short="yes" if isinstance(restarts, list) and _NO_REASON in restarts else "",
    )
    yield Sighting(marker.id, record.position, facts, log.pid, rank_of(outer), log.when)


def _backward(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """A backward graph whose compile failed: the compile id, and the error."""
    found = metadata(record)
    said = found[1].get("bwd_compilation_metrics") if found else None
    if found and isinstance(said, dict) and said.get("fail_type"):
        facts = (str(said.get("compile_id") or compile_id_of(found[1])), str(said["fail_type"]))
        reason = str(said.get("fail_reason") or "")[:300]
        yield Sighting(
            marker.id, record.position, (*facts, reason), found[0].pid, rank_of(found[1]), found[0].when
        )


def _written(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """As `_seen`, and that it is cut where the wrapper does not stand as it was written."""
    for sighting in _seen(marker, record, match):
        yield sighting
        if not is_written(record):
            yield sighting._replace(marker="torch-trace/cut", facts=())


def _empty(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """The compile id of a graph without a call, as one that only makes views of its inputs: it needs no code."""
    lines = [line.text.strip() for line in payload(record, MOST_OF_EMPTY)]
    returns = any(line.startswith("return ") for line in lines)
    if returns and not any(" = " in line and not line.startswith("#") for line in lines):
        yield from _seen(marker, record, match)


MOST_OF_EMPTY = 200  # lines


_marker = partial(marker, read=_seen, seen_in="2.4 to 2.14")
MARKERS = (
    _marker(
        "torch-trace/frame-started",
        ("dynamo_start",),
        r'\] \{"dynamo_start": ',
        "Dynamo traces a frame.",
        _V + '{"dynamo_start": {"stack": []}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0}',
    ),
    _marker(
        "torch-trace/graph",
        ("dynamo_output_graph",),
        r'\] \{"dynamo_output_graph": ',
        "A graph goes to the back end.",
        _V
        + '{"dynamo_output_graph": {"sizes": {}}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0, "has_payload": "1f67"}',
    ),
    _marker(
        "torch-trace/output-code",
        ("inductor_output_code",),
        r'\] \{"inductor_output_code": ',
        "Inductor wrote the wrapper of this graph.",
        _V
        + '{"inductor_output_code": {"filename": "/tmp/x.py"}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0, "has_payload": "aa"}\n'
        "\tdef call(args):\n\t    return (buf0, )",
        read=_written,
    ),
    _marker(
        "torch-trace/artifacts",
        (
            "aotautograd_cache_",
            "fx_graph_cache_",
            "aot_forward_graph_fw_metadata",
            "dynamo_graph_break_reason",
        ),
        r'\] \{"artifact": \{"name": "(?!\w+_hash")',
        "This version writes artifacts of its caches' hits and misses, so it would write a graph break.",
        _V
        + '{"artifact": {"name": "fx_graph_cache_miss", "encoding": "json"}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0}',
    ),
    _marker(
        "torch-trace/broke",
        ("dynamo_graph_break_reason",),
        r'\] \{"artifact": \{"name": "dynamo_graph_break_reason"',
        "A graph broke while this frame was traced.",
        _V
        + '{"artifact": {"name": "dynamo_graph_break_reason"}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0}',
    ),
    _marker(
        "torch-trace/frame-done",
        ("compilation_metrics",),
        r'\] \{"compilation_metrics": ',
        "The frame is done; its metrics say what became of it.",
        _V
        + '{"compilation_metrics": {"compile_id": "0/0", "co_name": "forward", "graph_op_count": 94, "guard_count": 218}}',
        read=_metrics,
    ),
    _marker(
        "torch-trace/backward-failed",
        ("bwd_compilation_metrics",),
        r'\] \{"bwd_compilation_metrics": ',
        "What became of a backward graph.",
        _V
        + '{"bwd_compilation_metrics": {"compile_id": "0/0", "fail_type": "InductorError", "fail_reason": "no tile"}}',
        read=_backward,
    ),
    _marker(
        "torch-trace/empty-graph",
        ("aot_inference_graph", "aot_forward_graph"),
        r'\] \{"aot_(?:inference|forward)_graph": ',
        "The graph holds no call, so there is no code to generate.",
        _V
        + '{"aot_inference_graph": {}, "frame_id": 0, "frame_compile_id": 0, "attempt": 1, "has_payload": "7651"}\n'
        '\tclass <lambda>(torch.nn.Module):\n\t    def forward(self, arg0_1: "f32[8, 32]"):\n\t        return (arg0_1,)',
        read=_empty,
    ),
)
