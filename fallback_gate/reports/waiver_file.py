"""Room 7: a waiver as a file: what it waives stands beside each fingerprint, for those who review it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date

from fallback_gate.model import Event
from fallback_gate.reports import safe, words


def render(
    *, release: str, who: str, why: str, expires: date, events: Iterable[Event], everything: bool, source: str
) -> str:
    """The file's text. `everything` waives whatever blocks; else each event by its fingerprint."""
    lines = [
        f"# Waives what blocks in {safe.inline(source)}, for this release alone, until the day below.",
        "# It never helps a run that is unproven.",
        *(f"{key}: {json.dumps(text)}" for key, text in (("release", release), ("who", who), ("why", why))),
        f"expires: {expires.isoformat()}",
    ]
    told: dict[str, str] = {}
    for event in events:
        told.setdefault(event.fingerprint, ", ".join(filter(None, (words.title(event), words.where(event)))))
    if everything:
        lines += ["events: all", *(f"#   {text}" for text in told.values())]
    else:
        lines += ["events:", *(f"  - {json.dumps(mark)}   # {text}" for mark, text in told.items())]
    return "\n".join(lines) + "\n"
