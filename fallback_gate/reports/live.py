"""Room 7: one line for a fallback as it comes, while its log is still being written."""

from __future__ import annotations

from fallback_gate.model import Finding
from fallback_gate.reports import layout, words

LONGEST = 300  # columns


def line(finding: Finding) -> str:
    """`BLOCKED hot gate_attn: graph break, model/decoder.py:42 in gate_attn; compile.log:17: reason`."""
    event = finding.event
    what = ", ".join(filter(None, (words.title(event), words.where(event), words.ranks(event.ranks))))
    told = f"{finding.decision.value.upper()} {finding.event_class.value} {what}"
    told += f"; {words.log_spot(event.log, event.line)}"
    return layout.cut(f"{told}: {words.sentence(event.reason)}" if event.reason else told, LONGEST)
