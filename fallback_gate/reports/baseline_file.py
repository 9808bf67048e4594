"""Room 7: a baseline as a file that people merge, and as a table for a terminal.

One entry a line, sorted, with neither line numbers nor times: the file changes only where the fallbacks do.
"""

from __future__ import annotations

import json

from fallback_gate.model.history import BASELINE_SCHEMA, Baseline, Held
from fallback_gate.reports import layout, safe, words
from fallback_gate.reports.dump import plain, without_commands


def render(baseline: Baseline) -> str:
    """The file's text: ASCII JSON."""
    head = {
        "schema": BASELINE_SCHEMA,
        "tool": {"name": "fallback-gate", "version": baseline.tool_version},
        "policy": {"name": plain(baseline.policy.name), "sha256": baseline.policy.sha256},
    }
    lines = ",\n".join(f"    {json.dumps(_entry(entry))}" for entry in sorted(baseline.entries))
    body = "".join(f"  {json.dumps(key)}: {json.dumps(value)},\n" for key, value in head.items())
    entries = f"[\n{lines}\n  ]" if lines else "[]"
    text = f'{{\n{body}  "entries": {entries}\n}}\n'
    return without_commands(text)


def _entry(entry: Held) -> dict[str, str | int]:
    return {
        "compiler": plain(entry.compiler),
        "kind": entry.kind,
        "op": plain(entry.op),
        "file": plain(entry.file),
        "function": plain(entry.function),
        "class": entry.held_as,
        "sites": entry.sites,
        "fingerprint": entry.fingerprint,
    }


def table(baseline: Baseline, width: int) -> str:
    """The entries for a person."""
    policy = f"{baseline.policy.name} ({(baseline.policy.sha256 or 'no file')[:12]})"
    lines = [
        safe.inline(f"{baseline.path}: {words.number(len(baseline.entries), 'entry', 'entries')}"),
        safe.inline(f"written by fallback-gate {baseline.tool_version} under the policy {policy}"),
    ]
    rows = [["op", "kind", "sites", "class", "where", "compiler", "fingerprint"]]
    for entry in baseline.entries:
        where = " in ".join(filter(None, (entry.file, entry.function))) or "-"
        cells = (entry.op, entry.kind, str(entry.sites), entry.held_as, where, entry.compiler)
        rows.append([*(safe.inline(cell) for cell in cells), entry.fingerprint[:12]])
    if len(rows) > 1:
        lines += ["", *("  ".join(cells) for cells in layout.table(rows, width))]
    return layout.finish(lines)
