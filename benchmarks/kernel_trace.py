"""A kernel trace of any size: the steps of a real one again and again, each copy later than the last."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SAMPLE = Path(__file__).parent.parent / "sample_traces" / "moe-decoder.disabled.json.gz"
STEP = "ProfilerStep#"
GAP = 1000.0  # microseconds between two copies
COUNTED = ("correlation", "External id")  # what links an operator, its launch and its kernel


def make(path: Path, size: int) -> Path:
    """A trace of at least `size` bytes, as `torch.profiler` writes it."""
    trace = json.loads(gzip.decompress(SAMPLE.read_bytes()))
    events = trace.pop("traceEvents")
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(trace)[:-1] + ', "traceEvents": [\n')
        for number, copy in enumerate(_copies(events)):
            file.write(",\n" * bool(number) + copy)
            if file.tell() >= size:
                break
        file.write("\n]}\n")
    return path


def _copies(events: list[dict[str, Any]]) -> Iterator[str]:
    timed = [event for event in events if "ts" in event]
    span = (
        max(event["ts"] + event.get("dur", 0) for event in timed) - min(event["ts"] for event in timed) + GAP
    )
    steps = len({event["name"] for event in events if str(event.get("name", "")).startswith(STEP)})
    most = {key: 1 + max(event.get("args", {}).get(key, 0) for event in events) for key in COUNTED}
    number = 0
    while True:
        kept = (event for event in events if not number or event.get("ph") != "M")
        yield ",\n".join(json.dumps(_later(event, number, span, steps, most)) for event in kept)
        number += 1


def _later(
    event: dict[str, Any], number: int, span: float, steps: int, most: dict[str, int]
) -> dict[str, Any]:
    changed = dict(event)
    if "ts" in event:
        changed["ts"] = event["ts"] + number * span
    name = str(event.get("name", ""))
    if name.startswith(STEP):
        changed["name"] = f"{STEP}{int(name.removeprefix(STEP)) + number * steps}"
    counted = {
        key: value + number * most[key] for key, value in event.get("args", {}).items() if key in COUNTED
    }
    if counted:
        changed["args"] = event["args"] | counted
    return changed
