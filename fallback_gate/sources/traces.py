"""Room 1: the structured traces that a sealed log names, beside it on disk or in the same archive.

A name is taken only if it leads into the log's own folder of traces: `compile.log.traces/x.log` beside
`compile.log`, packed or not. The log may have another name by now; the folder keeps its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from fallback_gate.errors import Unreadable
from fallback_gate.sources.names import shown
from fallback_gate.sources.remote import Remote
from fallback_gate.sources.seal import Trace
from fallback_gate.sources.source import Source

FOLDER = ".traces"  # the ending of the folder's name
_PACKED = ("", ".gz", ".xz", ".zst", ".bz2")


def is_trace(source: Source) -> bool:
    """Whether it stands in a folder of traces: it is read after the log whose seal may cover it."""
    if source.file is None:
        return False
    if source.member:
        folder = source.member.filename.rpartition("/")[0]
    else:
        folder = source.file.folder if isinstance(source.file, Remote) else source.file.parent.name
    return folder.endswith(FOLDER)


def beside(log: Source, trace: Trace, known: Iterable[Source]) -> Source | str:
    """The source of a trace that the seal of `log` names, or why there is none, in a sentence.

    `known` are the sources of the run: members of an archive are among them.
    """
    folder, slash, name = trace.name.partition("/")
    if not slash or not _is_plain(folder) or not _is_plain(name) or not folder.endswith(FOLDER):
        return f"the seal names a trace outside of the log's own folder: {trace.name!r:.200}"
    if log.file is None or log.once:
        return f"the sealed trace {name} can't be looked for: the log is no file"
    if log.member is not None:
        above = log.member.filename.rpartition("/")[0]
        wanted = {f"{above}/{trace.name}{ending}".lstrip("/") for ending in _PACKED}
        for other in known:
            if other.file == log.file and other.member is not None and other.member.filename in wanted:
                return other._replace(trace=trace)
        return f"the sealed trace {trace.name} is not in the archive"
    if isinstance(log.file, Remote):
        return _remote(log.file, trace)
    for ending in _PACKED:
        file = log.file.parent / folder / (name + ending)
        if file.is_file():
            shown = os.path.join(os.path.dirname(log.path), folder, name + ending)
            return Source(shown, False, file.stat().st_size, file, trace=trace)
    return f"the sealed trace {trace.name} is not beside the log: keep the folder {folder} with it"


def _remote(log: Remote, trace: Trace) -> Source | str:
    """The same where the log stands behind a URL."""
    from fallback_gate.sources import store

    for ending in _PACKED:
        file = log.beside(trace.name + ending)
        try:
            return Source(shown(str(file)), False, store.info(file).get("size"), file, trace=trace)
        except FileNotFoundError:
            continue
        except Unreadable as problem:
            return f"the sealed trace {trace.name} {problem}"
    return f"the sealed trace {trace.name} is not beside the log: keep its folder with it"


def _is_plain(part: str) -> bool:
    """One part of a path, which leads nowhere else on any system."""
    return part.isprintable() and part not in ("", ".", "..") and not set(part) & set('/\\:*?"<>|')
