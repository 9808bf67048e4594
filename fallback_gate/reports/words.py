"""Room 7: the sentences that the reports for people share, so that each says the same in the same words.

Everything returned is one line, safe to print inside a line of ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from fallback_gate.model import Class, Decision, Event, Finding, Kind, Outcome, Verdict
from fallback_gate.reports import safe

KIND_WORDS: Final[Mapping[Kind, str]] = {
    Kind.GRAPH_BREAK: "graph break",
    Kind.EAGER_FRAME: "whole function runs eager",
    Kind.RECOMPILE_LIMIT: "recompile limit hit",
    Kind.COMPILE_ERROR: "compile error",
    Kind.OP_FALLBACK: "no generated kernel",
    Kind.DEVICE_FALLBACK: "runs on another device",
    Kind.REFERENCE_KERNEL: "reference kernel",
    Kind.UNTUNED_CONFIG: "default config, not tuned",
    Kind.SLOWER_KERNEL: "slower kernel",
    Kind.CUDAGRAPH_SKIP: "CUDA graph skipped",
}

SIGNS: Final[Mapping[Outcome | None, str]] = {
    Outcome.PASS: "✅ PASS",
    Outcome.WAIVED: "⚠️ WAIVED",
    Outcome.BLOCKED: "❌ BLOCKED",
    Outcome.UNPROVEN: "❓ UNPROVEN",
    None: "❌ NO VERDICT",
}

_TOLD_APART = ("why", "reason", "owner", "expires", "ticket")  # keys of an entry that select nothing
_BLANKS = re.compile(r"[ \t\r\n]+")
_ADDRESS = re.compile(r"\s*https://[^\s<>\"'\\]+")
_SOURCE_LINE = re.compile(r"^(?P<file>.+):(?P<line>\d+)$", re.S)


def sentence(text: str) -> str:
    """The text on one line: line ends and runs of blanks as one blank, the rest as `safe.inline` has it."""
    return safe.inline(_BLANKS.sub(" ", text).strip(" "))


def number(count: int, noun: str, plural: str | None = None) -> str:
    """`1 operator`, `5,000 operators`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def listed(items: Sequence[str], most: int = 3) -> str:
    """`a`, `a and b`, `a, b and 7 more`."""
    shown = list(items) if len(items) <= most else [*items[:most], f"{len(items) - most:,} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else ""


def distinct(items: Iterable[str]) -> list[str]:
    """The items in their order, each once."""
    return list(dict.fromkeys(items))


def times(count: int, at_least: bool) -> str:
    """`once`, `7 times`, `at least 7 times` where the compiler prints its message once for many."""
    return f"{'at least ' if at_least else ''}{'once' if count == 1 else f'{count:,} times'}"


def ranks(numbers: Iterable[int]) -> str | None:
    """`rank 0`, `ranks 0-3, 7`, or None without any."""
    runs: list[list[int]] = []
    for rank in sorted(set(numbers)):
        if runs and rank == runs[-1][1] + 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    if not runs:
        return None
    spans = [str(low) if low == high else f"{low}-{high}" for low, high in runs]
    few = spans if len(spans) <= 8 else [*spans[:8], "..."]
    return f"rank{'' if len(spans) == 1 and runs[0][0] == runs[0][1] else 's'} {', '.join(few)}"


def op(event: Event) -> str:
    """The operator's name; in words where the compiler names nothing."""
    return safe.inline(event.op) if event.op != "*" else "unnamed operator"


def title(event: Event) -> str:
    """`gate_attn: graph break`."""
    return f"{op(event)}: {KIND_WORDS[event.kind]}"


def title_at(event: Event) -> str:
    """`gate_attn: graph break at model/decoder.py:42 in gate_attn`, as far as the log tells it."""
    place = where(event)
    return f"{title(event)} at {place}" if place else title(event)


def answer(verdict: Verdict) -> str:
    """The verdict in capitals: `BLOCKED`."""
    return verdict.outcome.value.upper() if verdict.outcome else "NO VERDICT"


def addresses(text: str) -> list[str]:
    """The web addresses in a sentence of a rule, without the mark that ends it."""
    return [found.strip().rstrip(".,;)") for found in _ADDRESS.findall(text)]


def without_addresses(text: str) -> str:
    """The sentence alone."""
    return _ADDRESS.sub("", text)


def cost(event: Event) -> str | None:
    """`36 kernels and 69 us in a step, 73% of it (by function gate_attn)`, where a trace shows it."""
    if event.cost is None:
        return None
    one = event.cost
    kernels = f"{one.kernels:,.4g} kernel{'' if one.kernels == 1 else 's'}"
    host = f", {_us(one.host)} of the host" if one.host else ""
    doubt = "" if one.certain else "; trace and log are of two processes"
    spent = f"{kernels} and {_us(one.microseconds)} in a step{host}"
    return safe.inline(f"{spent}, {one.share:.1%} of it (by {one.by}{doubt})")


def _us(time: float) -> str:
    return f"{time:,.0f} us" if time >= 1000 else f"{time:.4g} us"


def how_often(findings: Sequence[Finding]) -> str:
    """Count and ranks of findings about one operator: `at least 7 times, ranks 0-3`."""
    events = [finding.event for finding in findings]
    count = times(sum(event.count for event in events), any(event.count_is_lower_bound for event in events))
    return ", ".join(filter(None, (count, ranks(rank for event in events for rank in event.ranks))))


def where(event: Event) -> str | None:
    """`model/decoder.py:42 in gate_attn`, as far as the log tells it."""
    place = event.location
    if place is None:
        return f"layer {safe.inline(event.layer)}" if event.layer else None
    spot = safe.inline(place.file) if place.file else ""
    if spot and place.line:
        spot += f":{place.line}"
    function = f"in {safe.inline(place.function)}" if place.function else ""
    layer = f"(layer {safe.inline(event.layer)})" if event.layer else ""
    return " ".join(filter(None, (spot, function, layer))) or None


def log_spot(log: str, line: int | None) -> str:
    """`compile.log:17`."""
    return safe.inline(log) + (f":{line}" if line else "")


def where_told(verdict: Verdict, log: str, line: int | None) -> str:
    """`line 17`, with the log where there are more."""
    return f"line {line}" if line and len(verdict.logs) == 1 else log_spot(log, line)


def _value(value: Any) -> str:
    if isinstance(value, (list, tuple, set, frozenset)):
        return f"[{', '.join(str(item) for item in value)}]"
    return str(value)


def selector(entry: Mapping[str, Any]) -> str:
    """What an entry selects: `gate_attn`, or `function: *Layer.forward, kinds: [graph_break]`."""
    keys = {key: value for key, value in entry.items() if key not in _TOLD_APART}
    if list(keys) == ["op"] and isinstance(keys["op"], str):
        return safe.inline(keys["op"])
    return safe.inline(", ".join(f"{key}: {_value(value)}" for key, value in keys.items()))


def excuse(entry: Mapping[str, Any]) -> str:
    """Why an entry is there: `sampling warm-up only, serving-team, until 2027-03-31, INF-123`."""
    parts = [entry.get("why"), entry.get("reason"), entry.get("owner")]
    expires = entry.get("expires")
    parts += [f"until {expires}" if expires else None, entry.get("ticket")]
    return safe.inline(", ".join(str(part) for part in parts if part))


def allowance(entry: Mapping[str, Any]) -> str:
    """Why something may fall back, and where the work is tracked: `sampling warm-up only, INF-123`."""
    return ", ".join(str(entry[key]) for key in ("reason", "ticket") if entry.get(key))


def rule(finding: Finding) -> str:
    """The policy entry that decided, and where it stands; in words where none did."""
    if finding.rule is None:
        listed_as = (
            "whatever is not listed" if finding.event_class is Class.UNLISTED else finding.event_class.value
        )
        verb = {Decision.BLOCKED: "blocks", Decision.ALLOWED: "is allowed", Decision.WARNED: "warns"}[
            finding.decision
        ]
        text = f"{listed_as} {verb}"
    else:
        entry = finding.rule.entry
        chosen = selector(entry)
        said = excuse(entry)
        text = f"{finding.event_class.value}: {chosen}" if chosen else finding.event_class.value
        text += f" ({said})" if said else ""
        text = f"{safe.inline(finding.rule.source)} {text}"
    return f"{text}; {safe.inline(finding.why)}" if finding.why else text


def rule_place(source: str) -> tuple[str, int] | None:
    """File and line of `policies/x.yaml:4`; None for a shipped policy, which no repository holds."""
    match = _SOURCE_LINE.match(source)
    if match is None or source.startswith("builtin:"):
        return None
    return match["file"], int(match["line"])
