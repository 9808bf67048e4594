"""Room 5: what is wrong with a policy that loads: entries that contradict, are too wide, or rot.

`notes` says what a run shows of it; this looks at the policy by itself, for `policy lint`, and at a run where
one is given.
Only what is certain is said: an entry is covered by another one where each of its globs is, whatever a log
may hold. Shipped entries are ours to keep, and only their own linting speaks of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from fallback_gate.model import Finding
from fallback_gate.model.aliases import called, nearest
from fallback_gate.policy import globs, regular
from fallback_gate.policy.cover import NAMING, Asked, Covers, covers
from fallback_gate.policy.entry import ColdEntry, Entry, HotEntry, Policy, UnhotEntry
from fallback_gate.policy.near import Near, matches_none
from fallback_gate.policy.shipped import PREFIX

PLACEHOLDER = "FILL IN"


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to change: a code for machines, where it stands (`policy.yaml:4`), and what to do."""

    code: str
    source: str
    text: str

    @property
    def is_warning(self) -> bool:
        """Whether nothing is wrong yet: a date that comes nearer must not turn a build red by itself."""
        return self.code in ("expires-soon", "near-miss", "unneeded")

    @property
    def is_fine(self) -> bool:
        """Whether it is as it should be: that nothing hot fell back is what a hot entry is for."""
        return self.code == "unneeded"


def advise(
    policy: Policy,
    today: date,
    soon: timedelta,
    compilers: Iterable[str],
    findings: Sequence[Finding] | None = None,
) -> list[Advice]:
    """All advice on a policy, in the order of its file.

    `soon`: entries that end within this time are named. `compilers` are all that a log may show. `findings`
    are those of a run with this policy: entries that it did not use are named.
    """
    ours = (policy.summary.path or "").startswith(PREFIX)
    found = [
        *_hot(policy, set(compilers)),
        *_cold(policy, set(compilers), today, soon),
        *_unhot(policy, today, soon),
        *_whole(policy, set(compilers)),
        *_claims(policy),
        *(_unused(policy, today, findings) if findings is not None else ()),
    ]
    mine = (one for one in found if ours or not one.source.startswith(PREFIX))
    return sorted(dict.fromkeys(mine), key=lambda one: _place(one.source))


def _place(source: str) -> tuple[str, int]:
    path, _, line = source.rpartition(":")
    return (path, int(line)) if line.isdecimal() else (source, 0)


def _hot(policy: Policy, compilers: set[str]) -> Iterator[Advice]:
    seen: dict[tuple[tuple[str, tuple[str, ...]], ...], HotEntry] = {}
    for entry in policy.hot:
        yield from _never("hot", entry, compilers)
        yield from _regular("hot", entry)
        asked = tuple(sorted(entry.asks().items()))
        if asked in seen:
            text = f"the same hot entry stands at {seen[asked].rule.source}; keep one"
            yield Advice("twice", entry.rule.source, text)
        seen.setdefault(asked, entry)


def _never(section: str, entry: Entry, compilers: set[str]) -> Iterator[Advice]:
    """What an entry asks for and no log can hold."""
    if unknown := _unknown_compilers(entry, compilers):
        text = f"the {section} entry can never match: no reader or rule knows a compiler like {unknown}"
        yield Advice("never-matches", entry.rule.source, text)
    folders = [glob for glob in entry.file if glob.endswith(("/", "\\"))]
    if folders and len(folders) == len(entry.file):
        text = f"the {section} entry can never match: {folders[0]} is a folder; write {folders[0]}*"
        yield Advice("never-matches", entry.rule.source, text)


def _regular(section: str, entry: Entry) -> Iterator[Advice]:
    """Globs that are written as regular expressions."""
    for key, written in entry.asks().items():
        for glob in written:
            if regular.looks_regular(key, glob):
                meant = " | ".join(regular.meant(glob))
                hint = f"write {meant}" if meant else "write a glob: * stands for anything"
                text = (
                    f"the {section} entry's {key} {glob} looks like a regular expression, and globs are asked"
                )
                yield Advice("regular-expression", entry.rule.source, f"{text}; {hint}")


def _cold(policy: Policy, compilers: set[str], today: date, soon: timedelta) -> Iterator[Advice]:
    standing = [entry for entry in policy.cold if not entry.expired(today)]
    asked = [entry.asks() for entry in standing]
    hot = Covers([entry.asks() for entry in policy.hot], hot=True)
    cold = Covers(asked, hot=False)
    for at, entry in enumerate(standing):
        source = entry.rule.source
        if not any(_names(entry, key) for key in NAMING):
            text = "the cold entry names no operator, function, file or layer: it lets whole kinds go"
            yield Advice("too-wide", source, f"{text}; name what it is for")
        over = next((hot_at for hot_at in hot.of(asked[at]) if _contradicts(policy, hot_at, source)), None)
        if over is not None:
            place = policy.hot[over].rule.source
            text = f"the cold entry allows nothing: the hot entry at {place} covers all of it"
            yield Advice("contradiction", source, f"{text}, and hot beats cold")
        if (other := _shadow(standing, asked, cold, at)) is not None:
            text = f"the cold entry at {other.rule.source} covers all of it; keep one"
            yield Advice("shadowed", source, text)
        if entry.max_count == 0:
            text = "max_count is 0: the cold entry allows nothing; take it out"
            yield Advice("allows-nothing", source, text)
    for entry in policy.cold:
        yield from _never("cold", entry, compilers)
        yield from _regular("cold", entry)
        yield from _ends("cold", entry, today, soon)


def _contradicts(policy: Policy, hot: int, source: str) -> bool:
    """Whether a hot entry speaks against a cold one; what extends a shipped policy may be stricter."""
    path, of = (place.rpartition(":")[0] for place in (source, policy.hot[hot].rule.source))
    return path == of or not path.startswith(PREFIX)


def _shadow(standing: Sequence[ColdEntry], asked: Sequence[Asked], cold: Covers, at: int) -> ColdEntry | None:
    """A cold entry that covers this one; of two that are the same, the one that would stay."""

    def rank(index: int) -> tuple[bool, int]:
        return not standing[index].rule.source.startswith(PREFIX), index

    for other in cold.of(asked[at]):
        if other == at or standing[other].max_count is not None:
            continue
        if rank(other) < rank(at) or not covers(asked[at], asked[other], hot=False):
            return standing[other]
    return None


def _unhot(policy: Policy, today: date, soon: timedelta) -> Iterator[Advice]:
    for entry in policy.unhot:
        yield from _ends("unhot", entry, today, soon)
        yield from _regular("unhot", entry)
        if not entry.expired(today) and not entry.used:
            text = "the unhot entry takes no inherited hot entry off: name one as it is written there"
            yield Advice("unused", entry.rule.source, text)


def _ends(section: str, entry: ColdEntry | UnhotEntry, today: date, soon: timedelta) -> Iterator[Advice]:
    source = entry.rule.source
    if PLACEHOLDER in (entry.reason, entry.owner):
        yield Advice("placeholder", source, f"the {section} entry has no reason or owner yet: fill it in")
    if entry.expires is None:
        return
    of = f", owner {entry.owner}" if entry.owner else ""
    if entry.expired(today):
        text = f"the {section} entry expired on {entry.expires}{of}: take it out, or decide again"
        yield Advice("expired", source, text)
    elif entry.expires - today <= soon:
        yield Advice("expires-soon", source, f"the {section} entry expires on {entry.expires}{of}")


def _whole(policy: Policy, compilers: set[str]) -> Iterator[Advice]:
    path = policy.summary.path or ""
    if policy.required is not None and not policy.required:
        text = "proof.required is empty: no kind of fallback has to be proven absent"
        yield Advice("no-proof", path, text)
    for name in policy.expect_compilers:
        if not called(name, compilers):
            near = nearest(name, compilers)
            hint = f"; the nearest is {near}" if near else ""
            text = f"expect.compilers: no reader or rule knows {name}, so each run is unproven{hint}"
            yield Advice("never-matches", path, text)


def _claims(policy: Policy) -> Iterator[Advice]:
    for claim in policy.claims:
        if lacks := claim.lacks:
            text = f"the claim of {claim.metric} can never be compared: it does not tell {', '.join(lacks)}"
            yield Advice("never-compared", claim.place, text)


def _unused(policy: Policy, today: date, findings: Sequence[Finding]) -> Iterator[Advice]:
    used = [finding.rule for finding in findings if finding.rule is not None]
    near = Near(findings)
    for entry in policy.cold:
        if not entry.expired(today) and entry.rule not in used:
            why = near.cold_hint(entry, findings) or "take it out if they show all builds"
            text = f"the cold entry allowed nothing in these logs: {why}"
            yield Advice("unused", entry.rule.source, text)
    for hot in policy.hot:
        if hot.rule in used or not matches_none(hot, findings):
            continue
        text = "the hot entry matched nothing in these logs"
        if hint := near.hot_hint(hot):
            yield Advice("near-miss", hot.rule.source, f"{text}: {hint}")
        else:
            yield Advice("unneeded", hot.rule.source, f"{text}, and no name in them is like it")


def _names(entry: Entry, key: str) -> bool:
    return any(not globs.is_wild(glob) for glob in entry.asks().get(key, ()))


def _unknown_compilers(entry: Entry, compilers: set[str]) -> str | None:
    """The entry's globs over compilers, where none of them matches one that is known."""
    asked = entry.asks().get("compiler", ())
    lower = tuple(glob.lower() for glob in asked)
    known = any(called(glob, compilers) for glob in asked)
    known = known or any(globs.matches(lower, name.lower()) for name in compilers)
    return None if known or not asked else " | ".join(asked)
