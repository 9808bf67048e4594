"""Room 5: a first policy, written from what a log holds, to be read by its owner before it is kept.

What it proposes is safe as it stands: hot entries block, and each cold entry is commented out until somebody
gives it a reason, an owner and a date. Hot is what the log names of the user's own code (functions, layers,
custom operators) and the operators that most of a model's time goes to; the rest is proposed as cold.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from fallback_gate.model import Event, Kind, Scope, Verdict
from fallback_gate.policy import globs
from fallback_gate.policy.advice import PLACEHOLDER

PERIOD = timedelta(days=90)
MOST = 200  # entries of one list
HEAVY = (
    *("*conv*", "*gemm*", "*matmul*", "mm", "bmm", "addmm", "baddbmm", "dense", "linear", "*_mm", "*_mm_*"),
    *("*attn*", "*attention*", "*sdpa*", "*moe*", "*expert*", "*mlp*", "*norm*", "*rope*", "*rotary*"),
    *("*softmax*", "*embedding*", "*gelu*", "*silu*", "*swiglu*", "*grid_sampler*", "*kv_cache*"),
)
FRAMEWORKS = ("aten::*", "prims::*", "prim::*", "quantized::*", "relax.*", "higher_order::*")
GENERIC = (  # functions that many files have, so that the file is named as well
    *(
        "forward",
        "_forward*",
        "backward",
        "__call__",
        "call",
        "main",
        "run",
        "step",
        "wrapper",
        "inner",
        "fn",
        "f",
    ),
    "<*>",
)
_CODE = (Kind.GRAPH_BREAK, Kind.EAGER_FRAME, Kind.RECOMPILE_LIMIT)


@dataclass(frozen=True, slots=True)
class Proposal:
    """One entry: its key, its name, the kinds that were seen, and where."""

    key: str
    name: str
    file: str | None
    kinds: tuple[str, ...]
    spot: str
    is_hot: bool


def proposals(events: Iterable[Event]) -> list[Proposal]:
    """What to list, hot first, each thing once."""
    found: dict[tuple[str, str], list[Event]] = {}
    for event in events:
        name = event.op
        if name == "*" or globs.flaw(name) is not None:
            continue
        key = "function" if event.kind in _CODE and event.scope is not Scope.OPERATOR else "op"
        found.setdefault((key, name), []).append(event)
    each = [_proposal(key, name, group) for (key, name), group in found.items()]
    return sorted(each, key=lambda one: (not one.is_hot, one.key, one.name))


def _proposal(key: str, name: str, events: Sequence[Event]) -> Proposal:
    first = events[0]
    kinds = tuple(dict.fromkeys(event.kind.value for event in events))
    spot = first.log + (f":{first.line}" if first.line else "")
    is_own = "::" in name and not globs.matches(FRAMEWORKS, name)
    is_hot = key == "function" or is_own or globs.operator_bare(HEAVY, name)
    return Proposal(key, name, _file(key, name, events), kinds, spot, is_hot)


def _file(key: str, name: str, events: Sequence[Event]) -> str | None:
    """A glob over the file of a function that many files have, where all reports are in one."""
    places = {event.location.file if event.location else None for event in events}
    file = places.pop()
    last = globs.slashed(file or "").rpartition("/")[2]
    generic = globs.matches(GENERIC, name.rpartition(".")[2])
    if key != "function" or not generic or places or not last or globs.flaw(last) is not None:
        return None
    return f"*/{last}"


def draft(verdict: Verdict, name: str, plain: Callable[[str], str]) -> str:
    """The text of a policy for the logs that this verdict is of; `plain` makes log text harmless.

    A name that it changes (a secret, a control character) is left out of the entries: it would match nothing.
    """
    events = [finding.event for finding in verdict.findings]
    kept = [one for one in proposals(events) if plain(f"{one.name}{one.file}") == f"{one.name}{one.file}"]
    hot, cold = [one for one in kept if one.is_hot], [one for one in kept if not one.is_hot]
    unnamed = sum(event.op == "*" for event in events)
    lines = [
        f"# A first policy, from {plain(_listed([log.path for log in verdict.logs]))}.",
        "# Read each line before you keep it; docs/policy.md explains the keys, and",
        "# `fallback-gate policy lint` and `policy show` tell what it does.",
        "version: 1",
        f"name: {_quoted(plain(name))}",
        '# extends: ["builtin:llm-decode"]   # also: llm-serving, moe-serving, training, vision',
        "unlisted: block",
        "",
        *_hot(hot, plain),
        *_cold(cold, verdict.today, plain),
        *_expect(verdict, plain),
    ]
    if unnamed:
        many = "1 fallback names" if unnamed == 1 else f"{unnamed} fallbacks name"
        lines += ["", f"# {many} no operator; {'it blocks' if unnamed == 1 else 'they block'}."]
    if not verdict.proven:
        lines += ["", "# These logs could not have shown every fallback: the list may be short. See what"]
        lines += ["# `fallback-gate check` says under Unproven, and record them again."]
    return "\n".join(lines) + "\n"


def _hot(entries: Sequence[Proposal], plain: Callable[[str], str]) -> Iterator[str]:
    if not entries:
        yield "# What may never fall back."
        yield '# hot: [{op: "my::operator", why: runs in every layer}]'
        return
    yield "# What may never fall back. These did; they block until they are repaired."
    yield "hot:"
    for one in entries[:MOST]:
        yield f"  - {one.key}: {_quoted(one.name)}"
        if one.file is not None:
            yield f"    file: {_quoted(one.file)}"
        yield f"    why: {_quoted(f'{_listed(one.kinds)} in {plain(one.spot)}')}"
    if len(entries) > MOST:
        yield f"  # and {len(entries) - MOST} more"


def _cold(entries: Sequence[Proposal], today: date, plain: Callable[[str], str]) -> Iterator[str]:
    yield ""
    yield "# What may fall back. Take the # off where that is right, and say why, whose, until when."
    if not entries:
        yield '# cold: [{op: "aten::sort", reason: why it may, owner: whose it is, expires: 2027-03-31}]'
        return
    told = (
        (
            f"{one.key}: {_quoted(one.name)}   # {plain(one.spot)}",
            f"kinds: [{', '.join(one.kinds)}]",
        )
        for one in entries
    )
    yield from unexcused(list(told), today)


def unexcused(entries: Sequence[Sequence[str]], today: date) -> Iterator[str]:
    """Cold entries for which nobody answers yet, commented out; each by the lines that say what it is."""
    yield "# cold:"
    for first, *rest in entries[:MOST]:
        yield f"#   - {first}"
        yield from (f"#     {line}" for line in rest)
        yield f"#     reason: {PLACEHOLDER}"
        yield f"#     owner: {PLACEHOLDER}"
        yield f"#     expires: {(today + PERIOD).isoformat()}"
    if len(entries) > MOST:
        yield f"#   and {len(entries) - MOST} more"


def _expect(verdict: Verdict, plain: Callable[[str], str]) -> Iterator[str]:
    names = dict.fromkeys(c.name for process in verdict.processes for c in process.compilers)
    ranks = {process.rank for process in verdict.processes if process.rank is not None}
    yield ""
    yield "# What must be in each run; what is absent is unproven."
    if not names and not ranks:
        yield "# expect: {compilers: [torch.compile]}"
        return
    yield "expect:"
    if names:
        yield f"  compilers: [{', '.join(_quoted(plain(name)) for name in names)}]"
    if ranks:
        yield f"  ranks: {max(ranks) + 1}"


def _quoted(text: str) -> str:
    """A text as YAML reads it back; JSON's form is YAML's."""
    return json.dumps(text)


def _listed(items: Sequence[str]) -> str:
    return ", ".join(items[:3]) + (f" and {len(items) - 3} more" if len(items) > 3 else "")
