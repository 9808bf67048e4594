"""The annex, kernel traces: Nsight Systems, as `nsys export --type sqlite` writes it.

`CUPTI_ACTIVITY_KIND_KERNEL` holds the kernels (ns; names are numbers in `StringIds`), `..._RUNTIME` the
calls by `correlationId`, `NVTX_EVENTS` the ranges that the program or PyTorch's `emit_nvtx` named. Where
CUDA graphs were traced as a whole (`--cuda-graph-trace=graph`, the default), their kernels are not in the
file, only rows of `CUPTI_ACTIVITY_KIND_GRAPH_TRACE`: the trace then proves nothing about what ran inside.

Each process numbers its calls from one, so that a call is known by its process too, which `globalPid` of a
kernel and `globalTid` of a call hold in the same bits.

Source: docs.nvidia.com/nsight-systems/UserGuide, "SQLite Schema Reference".
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fallback_gate.instruments.trace.timeline import UNKNOWN, Launch, Span, Timeline

NSYS = "nsys-sqlite"
_MAGIC = b"SQLite format 3\0"
_RANGES = (59, 60, 70, 71)  # eventType: push/pop and start/end ranges, plain and of a domain


def is_export(path: Path | None) -> bool:
    """Whether the file is an SQLite database."""
    try:
        if path is None:
            return False
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def fill(timeline: Timeline, path: Path | None) -> None:
    """Take the kernels, launches and ranges of an export; what is missing there, `problem` says."""
    assert path is not None
    timeline.format = NSYS
    database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        database.text_factory = lambda data: data.decode("utf-8", "replace")
        _take(timeline, database)
    except (sqlite3.Error, TypeError, ValueError, OverflowError) as error:
        timeline.problem = f"the database can't be read: {error}"
    finally:
        database.close()


def _take(timeline: Timeline, database: sqlite3.Connection) -> None:
    tables = {
        str(name) for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    }
    if "StringIds" not in tables:
        timeline.problem = "no export of Nsight Systems: there is no table StringIds"
        return
    texts = {number: str(text) for number, text in database.execute("SELECT id, value FROM StringIds")}
    kernel = "CUPTI_ACTIVITY_KIND_KERNEL"
    has_processes = "globalPid" in _columns(database, kernel)
    if kernel in tables:
        owner = "globalPid" if has_processes else "0"
        rows = database.execute(
            f"SELECT demangledName, start, end, correlationId, {owner} FROM {kernel} ORDER BY start"
        )
        for name, start, end, correlation, process in rows:
            call = _call(correlation, process)
            timeline.kernel(texts.get(name, "?"), start / 1000, (end - start) / 1000, call)
    for name, start, correlation, thread in _calls(database, tables):
        text = texts.get(name, "")
        if "Launch" in text:
            call = _call(correlation, thread if has_processes else 0)
            timeline.launch(call, Launch(start / 1000, thread or 0, UNKNOWN, "GraphLaunch" in text))
    for text, start, end in _ranges(database, tables, texts):
        timeline.spans.append(Span(text, start / 1000, end / 1000))
    whole = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
    if whole in tables and database.execute(f"SELECT 1 FROM {whole} LIMIT 1").fetchone():
        timeline.problem = (
            "CUDA graphs were traced as a whole, so that their kernels are not in the file: profile with "
            "--cuda-graph-trace=node"
        )


def _columns(database: sqlite3.Connection, table: str) -> set[str]:
    return {str(row[1]) for row in database.execute(f"PRAGMA table_info({table})")}


def _call(correlation: int | None, owner: int | None) -> int:
    """The number of a call, told apart from those of other processes."""
    return ((owner or 0) >> 24 & 0xFFFFFF) << 32 | (correlation or 0) & 0xFFFFFFFF


def _calls(database: sqlite3.Connection, tables: set[str]) -> Iterator[Any]:
    for table in ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER"):
        if table in tables:
            yield from database.execute(f"SELECT nameId, start, correlationId, globalTid FROM {table}")


def _ranges(
    database: sqlite3.Connection, tables: set[str], texts: dict[Any, str]
) -> Iterator[tuple[str, float, float]]:
    if "NVTX_EVENTS" not in tables:
        return
    marks = ", ".join("?" * len(_RANGES))
    rows = database.execute(
        f"SELECT text, textId, start, end FROM NVTX_EVENTS WHERE end NOT NULL AND eventType IN ({marks})",
        _RANGES,
    )
    for text, number, start, end in rows:
        yield str(text) if text is not None else texts.get(number, ""), start, end
