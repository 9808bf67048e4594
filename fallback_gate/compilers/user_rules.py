"""Room 3: a user's own messages, declared in a policy and held to what we hold our own rules to.

A `UserRule` is what the policy says, with keys and types already checked. `faults` tries it on its own
lines, as the scan would: the anchor finds the line, the envelope comes off, the pattern runs within its
time. `read` makes it a `Rule` (it has a kind) or a `Marker` (it proves kinds, or starts or ends the compile phase).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from re import Match
from typing import NamedTuple, cast

import regex

from fallback_gate.compilers.matching import is_said
from fallback_gate.compilers.rule import USER_PATTERN_SECONDS, Marker, Rule
from fallback_gate.model import Kind, Scope
from fallback_gate.scan.anchors import expression
from fallback_gate.sources.envelope import unwrap

SHORTEST_ANCHOR = 4
LONGEST_ANCHOR = 200
LONGEST_PATTERN = 4096  # bytes
MOST_LINES = 40  # of one record
MOST_REPEATS = 1000  # of a counted repeat
MOST_UNROLLED = 20_000  # of counted repeats in each other, which `regex` writes out when it compiles

GROUPS = ("op", "reason", "file", "line", "function", "layer")


@dataclass(frozen=True, slots=True)
class UserRule:
    """What a policy says of one message; None where it says nothing, or nothing valid."""

    id: str | None = None
    compiler: str | None = None
    anchor: str | None = None
    pattern: str | None = None
    matches: tuple[str, ...] = ()
    ignores: tuple[str, ...] = ()
    kind: Kind | None = None
    scope: Scope | None = None
    proves: frozenset[Kind] = frozenset()
    ends: bool = False
    starts: bool = False
    setting: str | None = None
    lines: int | None = None
    is_marker: bool = False
    meaning: str | None = None
    next: str | None = None


class Fault(NamedTuple):
    """One thing wrong with a rule: under which of its keys, what, and what to do."""

    key: tuple[str | int, ...]
    what: str
    advice: str


def faults(said: UserRule) -> tuple[Fault, ...]:
    """All that is wrong with a rule, tried on its own lines."""
    return (*_anchor(said), *_pattern(said))


def read(said: UserRule, source: str) -> Rule | Marker:
    """The rule or marker that a policy declares at `source` (`path:line`); it must be free of faults."""
    if said.id is None or said.compiler is None or said.anchor is None or said.pattern is None:
        raise ValueError("a rule with faults can't be read")
    if said.is_marker:
        return Marker(
            id=said.id,
            compiler=said.compiler,
            anchor=(said.anchor,),
            pattern=said.pattern,
            shows=said.meaning or f"what the policy says of it ({source})",
            seen_in=source,
            matches=said.matches,
            ignores=said.ignores,
            proves=said.proves,
            ends=said.ends,
            starts=said.starts,
            setting=said.setting,
            limit=USER_PATTERN_SECONDS,
        )
    if said.kind is None or said.scope is None:
        raise ValueError("a rule with faults can't be read")
    way_out = f"The message is declared in the policy ({source}); ask who declared it for the way out."
    return Rule(
        id=said.id,
        compiler=said.compiler,
        anchor=(said.anchor,),
        pattern=said.pattern,
        kind=said.kind,
        scope=said.scope,
        meaning=said.meaning or f"what the policy says of it ({source})",
        help=" ".join(filter(None, (said.meaning and _sentence(said.meaning), said.next or way_out))),
        seen_in=source,
        matches=said.matches,
        ignores=said.ignores,
        limit=USER_PATTERN_SECONDS,
        lines=said.lines or 1,
    )


def _sentence(text: str) -> str:
    """The text with a mark at its end, for another sentence to follow."""
    return text if text.rstrip().endswith((".", "!", "?")) else f"{text.rstrip()}."


def _anchor(said: UserRule) -> Iterator[Fault]:
    anchor, key = said.anchor, ("anchor",)
    if anchor is None:
        return
    if (given := len(anchor.replace("{n}", ""))) < SHORTEST_ANCHOR:
        what = f"the anchor has {given} characters" + (" beside its numbers" if given < len(anchor) else "")
        yield Fault(key, what, f"take at least {SHORTEST_ANCHOR} that stand in the message as they are")
    if len(anchor) > LONGEST_ANCHOR:
        yield Fault(key, f"the anchor is longer than {LONGEST_ANCHOR} characters", "a few words are enough")
    if any(character in "\"'\\`" for character in anchor):
        yield Fault(key, "the anchor holds a quote or a backslash", "envelopes escape these: leave them out")
    if not anchor.isascii() or not anchor.isprintable():
        what = "the anchor holds a tab, a control or a non-ASCII character"
        yield Fault(key, what, "take plain ASCII that no envelope changes")
    if "  " in anchor:
        yield Fault(key, "the anchor holds a run of blanks", "take a part without it")
    sought = re.compile(expression(anchor.encode()))
    for index, line in enumerate(said.matches):
        if not sought.search(_text(line).partition("\n")[0].encode("utf-8", "replace")):
            number = " ({n} in it stands for a number)" if "{n}" in anchor else ""
            where = "the first line of this" if "\n" in line else "this line"
            what = f"the anchor does not stand in {where}{number}"
            yield Fault(("matches", index), what, "correct one of them")


def _pattern(said: UserRule) -> Iterator[Fault]:
    key = ("pattern",)
    if said.pattern is None:
        return
    if len(said.pattern.encode("utf-8", "surrogatepass")) > LONGEST_PATTERN:
        yield Fault(key, f"the pattern is longer than {LONGEST_PATTERN} bytes", "declare two messages")
        return
    if any(count > MOST_REPEATS for count in _counts(said.pattern)):
        yield Fault(key, f"the pattern repeats something more than {MOST_REPEATS} times", "use + or *")
        return
    if _unrolled(said.pattern) > MOST_UNROLLED:
        what = f"the pattern's counted repeats of groups make more than {MOST_UNROLLED} in all"
        yield Fault(key, what, "use + or *")
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pattern = regex.compile(said.pattern, regex.MULTILINE)
    except regex.error as error:
        yield Fault(key, f"the pattern is not valid: {error}", "correct it (the syntax of Python's regex)")
        return
    except (ArithmeticError, LookupError, MemoryError, RecursionError, TypeError, ValueError):
        yield Fault(key, "the pattern can't be compiled", "make it simpler")
        return
    if not said.is_marker:
        for group in pattern.groupindex:
            if group not in GROUPS:
                from difflib import get_close_matches

                near = get_close_matches(group, GROUPS, cutoff=0.0)[0]
                advice = f"the nearest known one is {near} (known: {', '.join(GROUPS)})"
                yield Fault(key, f"the pattern has an unknown named group {group}", advice)
    yield from _tried(said, pattern)


def _counts(pattern: str, after: str = "") -> list[int]:
    """The counts of all counted repeats behind what the pattern `after` matches."""
    return [int(n[:9]) for n in re.findall(rf"{after}\{{\s*(?:\d*\s*,)?\s*(\d+)", pattern)]


def _unrolled(pattern: str) -> int:
    """How much counted repeats may make of one item, as if all groups stood in each other."""
    return prod(_counts(pattern, r"\)\s*")) * max(_counts(pattern), default=1)


def _tried(said: UserRule, pattern: regex.Pattern[str]) -> Iterator[Fault]:
    """The pattern on the rule's own lines; the first that takes too long ends the trial."""
    try:
        if _found(pattern, ""):
            yield Fault(("pattern",), "the pattern matches the empty text", "say what must stand there")
            return
        for index, line in enumerate(said.matches):
            place = ("matches", index)
            most = said.lines or 1
            if "\r" in line or line.count("\n") >= most:
                what = "this is more than one line" if most == 1 else f"this is more than {most} lines"
                yield Fault(place, what, "give one record an item, and say with `lines` how many it may have")
                continue
            text = _text(line)
            first = text.partition("\n")[0]
            found = [
                match
                for match in pattern.finditer(text, timeout=USER_PATTERN_SECONDS)
                if match.start() <= len(first)
            ]
            if not found:
                what = "the pattern does not match this line"
                if _found(pattern, line):
                    what += " without its envelope (timestamp, rank, colour), which is taken off first"
                yield Fault(place, what, "correct one of them")
            elif not any(is_said(text, cast("Match[str]", match)) for match in found):
                what = "in this line the message stands in quotes, a comment or a shell's command"
                yield Fault(place, what, "there it is no message: give the line as the compiler prints it")
        for index, line in enumerate(said.ignores):
            if _found(pattern, _text(line)):
                yield Fault(("ignores", index), "the pattern matches this line", "correct one of them")
    except (TimeoutError, MemoryError):
        what = f"the pattern takes longer than {USER_PATTERN_SECONDS} s on one of its own lines"
        yield Fault(("pattern",), what, "take nested repetition out of it")


def _text(record: str) -> str:
    """The lines of a record without their envelopes."""
    return "\n".join(unwrap(line)[0] for line in record.splitlines())


def _found(pattern: regex.Pattern[str], line: str) -> bool:
    return pattern.search(line, timeout=USER_PATTERN_SECONDS) is not None
