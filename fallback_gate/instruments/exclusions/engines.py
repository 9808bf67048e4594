"""The annex: lines of logs: what a serving engine says of its load, and what the kernel says of the driver.

vLLM      `Avg prompt throughput: X tokens/s, Avg generation throughput: Y tokens/s, Running: N reqs,
          Waiting: M reqs, ...`, every ten seconds (in 2024 `Pending` in place of `Waiting`, and `Swapped`
          before it). Seen: lines of 2024 to 2026 that others published.
SGLang    `Decode batch, #running-req: N, #token: ..., gen throughput (token/s): Y, #queue-req: M` (a dot
          after `batch` in 2025, a counter in brackets at times), every 40 decode steps. Seen: a real line,
          and lines of 2024 to 2026 that others published.
Kernel    `NVRM: Xid (PCI:0000:3b:00): 79, ...`: an error that the driver reports. A kernel log is known by
          its `NVRM:` lines or its time stamps; without a line of an Xid it rules one out.

The time for a token of one sequence is running requests over tokens a second, since neither prints it.
"""

from __future__ import annotations

import re
from typing import Final

from fallback_gate.instruments.exclusions.seen import MOST_ERRORS, Seen

_NUMBER: Final = r"(\d{1,12}(?:\.\d{1,6})?)"
_VLLM: Final = re.compile(
    rf"Avg generation throughput: {_NUMBER} tokens/s, Running: (\d{{1,9}}) reqs"
    r"(?:, Swapped: \d{1,9} reqs)?, (?:Waiting|Pending): (\d{1,9}) reqs"
)
_SGLANG: Final = re.compile(r"Decode batch(?: \[\d{1,12}\])?[.,] #running-req: (\d{1,9})\b")
_SGLANG_RATE: Final = re.compile(rf"gen throughput \(token/s\): {_NUMBER}")
_SGLANG_QUEUE: Final = re.compile(r"#queue-req: (\d{1,9})")
_XID: Final = re.compile(r"NVRM: Xid \(PCI:[^)]{1,40}\): (\d{1,5}),?.{0,160}")
_KERNEL: Final = re.compile(r"\[ *\d{1,8}\.\d{6}\] |.{0,200}?\bNVRM: ")


def line(text: str, seen: Seen) -> bool:
    """Take in a line of a log; whether it said anything, so that the file is known to be such a log."""
    if "Avg generation throughput" in text:
        found = _VLLM.search(text)
        if found:
            seen.loads.add(float(found[2]), float(found[3]), float(found[1]))
        return found is not None
    if "#running-req" in text:
        found = _SGLANG.search(text)
        if found:
            rate, queue = _SGLANG_RATE.search(text), _SGLANG_QUEUE.search(text)
            seen.loads.add(
                float(found[1]), float(queue[1]) if queue else None, float(rate[1]) if rate else None
            )
        return found is not None
    if "NVRM: Xid" in text:
        found = _XID.search(text)
        if found and len(seen.errors) < MOST_ERRORS:
            seen.errors.append(found[0].removeprefix("NVRM: "))
    if _KERNEL.match(text):
        seen.kernel_log = True
        return True
    return False
