"""Room 3: every declaration of every reader is held to its own lines, through the real scan."""

from __future__ import annotations

import inspect
import re
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from fallback_gate.compilers import READERS
from fallback_gate.compilers.book import Book
from fallback_gate.compilers.rule import Marker, Reader, Rule, compiled
from fallback_gate.patterns import Pattern
from fallback_gate.scan.anchors import expression

ENTRIES = [(reader, entry) for reader in READERS.values() for entry in (*reader.rules, *reader.markers)]
RULES = [(reader, rule) for reader in READERS.values() for rule in reader.rules]


def name(value: object) -> str:
    """The test's name for a declaration or a line."""
    if isinstance(value, Rule | Marker):
        return value.id
    return value.name if isinstance(value, Reader) else re.sub(r"\W+", "-", str(value))[-40:]


def only(entry: Rule | Marker) -> Book:
    """A book of this declaration alone, so that no other one with its id can answer for it."""
    reader = READERS[entry.compiler]
    parts: dict[str, Any] = {f: getattr(reader, f) for f in ("name", "required", "prove")}
    rules = (entry,) if isinstance(entry, Rule) else ()
    markers = (entry,) if isinstance(entry, Marker) else ()
    return Book({entry.compiler: Reader(rules=rules, markers=markers, **parts)})


# What a line can't tell alone, since the meaning is in the lines after it.
NEEDS_MORE = {
    "TorchDynamo attempted to trace the following frames: [": "]",
    "nodes, non-cudagraphable": "    op3: reason=CUDAGraph-unsafe custom ops, ir=FallbackKernel, fx=moe.f.default(a)",
}


def with_rest(line: str) -> list[str]:
    """The line, and the least that makes a record of it."""
    for said, rest in NEEDS_MORE.items():
        if said in line:
            lines = line.split("\n")
            prefix = re.match(r".*?\] (?:\[\d+/\d+\] )?(?:\[__\w+\] )?", lines[-1])
            assert prefix
            return [*lines, prefix[0] + rest]
    return line.split("\n")


@pytest.mark.parametrize(("rule", "line"), [(r, line) for _, r in RULES for line in r.matches], ids=name)
def test_a_line_that_a_rule_must_match(rule: Rule, line: str, read: Callable[..., Any]) -> None:
    lines = with_rest(line)
    said = read(*lines, book=only(rule))
    assert rule.id in {report.id for report in said.reports}
    report = next(report for report in said.reports if report.id == rule.id)
    assert report.compiler == rule.compiler
    assert report.position in ((1,) if "\n" not in line else range(1, len(lines) + 1))
    assert report.help


@pytest.mark.parametrize(
    ("marker", "line"),
    [(m, line) for reader in READERS.values() for m in reader.markers for line in m.matches],
    ids=name,
)
def test_a_line_that_a_marker_must_match(marker: Marker, line: str, read: Callable[..., Any]) -> None:
    assert marker.id in read(*with_rest(line), book=only(marker)).markers


@pytest.mark.parametrize(("entry", "line"), [(e, line) for _, e in ENTRIES for line in e.ignores], ids=name)
def test_a_line_that_an_entry_must_ignore(entry: Rule | Marker, line: str, read: Callable[..., Any]) -> None:
    said = read(line, book=only(entry))
    assert said.reports == []
    assert said.markers == set()


@pytest.mark.parametrize(("rule", "line"), [(r, line) for _, r in RULES for line in r.matches], ids=name)
def test_a_match_survives_what_a_ci_runner_puts_around_it(
    rule: Rule, line: str, read: Callable[..., Any]
) -> None:
    around = [f"2026-11-29T12:00:00.0005305Z [rank3]: {part}\r" for part in with_rest(line)]
    said = read(*around, book=only(rule))
    assert rule.id in {report.id for report in said.reports}
    assert {process.rank for process in said.processes} == {3}


@pytest.mark.parametrize(("reader", "entry"), ENTRIES, ids=name)
def test_an_entry_is_a_manual_page(reader: Reader, entry: Rule | Marker) -> None:
    assert re.fullmatch(r"[a-z][a-z-]*/[a-z0-9]+(?:-[a-z0-9]+)*", entry.id)
    assert entry.compiler == reader.name
    assert entry.seen_in.strip()
    assert entry.matches
    for text in (entry.meaning, entry.help) if isinstance(entry, Rule) else (entry.shows,):
        assert text.strip().endswith((".", "html", ")")), text


@pytest.mark.parametrize(("reader", "entry"), ENTRIES, ids=name)
def test_an_anchor_holds_nothing_that_an_envelope_changes(reader: Reader, entry: Rule | Marker) -> None:
    for anchor in entry.anchor:
        assert anchor.isascii()
        assert not set(anchor) & set('"\\`\t\r\n\x1b')  # JSON leaves a single quote as it is
        assert "  " not in anchor.strip()
    assert all(len(anchor) >= 4 for anchor in entry.anchor)
    for line in entry.matches:
        assert any(re.search(expression(anchor.encode()), line.encode()) for anchor in entry.anchor)


@pytest.mark.parametrize("reader", READERS.values(), ids=name)
def test_a_reader_says_what_its_log_proves(reader: Reader) -> None:
    assert READERS[reader.name] is reader
    assert reader.required
    kinds = {rule.kind for rule in reader.rules}
    assert reader.required & kinds


FRAGMENTS = (
    " ", "a", "a.", "_a", "1", "::", "torch.ops.", "aten.", "aten.a_", "/a:1", ": ", "[0/0] ", "(a, ", "a = ",
    "File \"a\", line 1, in ", "# ", "skipping cudagraphs due to ", "Found from", "(reason: ", "<function ",
    "V1130 00:29:06.251000 4674 torch/a.py:1] [0/0] [__output_code] ", "C:\\a", "é", "\x1b[", "=", ",", "op=a,",
    "Error",
)  # fmt: skip
LONGEST = 16 << 10


def long_lines(entry: Rule | Marker) -> list[str]:
    """Lines of the longest kind that a pattern sees: openings of its own, and fragments over and over."""
    lines = []
    for opening in ("", *entry.matches, *(m[: len(m) * 2 // 3] for m in entry.matches)):
        for fragment in FRAGMENTS:
            body = fragment * (LONGEST // len(fragment))
            lines.append((opening + body)[:LONGEST] + "\x00")
    return lines


@pytest.mark.parametrize(("reader", "entry"), ENTRIES, ids=name)
def test_no_line_makes_a_shipped_pattern_slow(reader: Reader, entry: Rule | Marker) -> None:
    pattern = compiled(entry.pattern)
    slow = []
    for line in long_lines(entry):
        began = time.process_time()
        pattern.search(line)
        took = time.process_time() - began
        if took > 0.2:
            slow.append((took, line[:150]))
            break
    assert slow == []


def of_modules() -> list[tuple[str, Any, bool]]:
    """The patterns for what stands around a record, and whether they are searched for in it."""
    found = []
    for module in sorted(set(sys.modules)):
        if module.startswith("fallback_gate.compilers."):
            source = inspect.getsource(sys.modules[module])
            found += [
                (f"{module}.{name}", pattern, f"{name}.search" in source)
                for name, pattern in vars(sys.modules[module]).items()
                if isinstance(pattern, Pattern) and f"{name} = Pattern(" in source
            ]
    return found


OPENINGS = ("", '  File "a", line 1, in f', "1 a")


@pytest.mark.parametrize(
    ("pattern", "sought"), [of[1:] for of in of_modules()], ids=[of[0] for of in of_modules()]
)
def test_no_line_around_a_record_makes_a_pattern_slow(pattern: Pattern, sought: bool) -> None:
    for fragment in FRAGMENTS:
        for opening in OPENINGS:
            line = (opening + fragment * (LONGEST // len(fragment)))[:LONGEST] + "\x00"
            began = time.process_time()
            (pattern.search if sought else pattern.match)(line)
            assert time.process_time() - began < 0.2, line[:150]


def with_endless_number(line: str) -> list[str]:
    """The line, each of its numbers in turn replaced by one that no integer should be made of."""
    runs = list(re.finditer(r"\d+", line))
    return [line[: run.start()] + "7" * 5000 + line[run.end() :] for run in runs]


@pytest.mark.parametrize(("reader", "entry"), ENTRIES, ids=name)
def test_no_number_is_too_long_to_be_read(
    reader: Reader, entry: Rule | Marker, read: Callable[..., Any]
) -> None:
    book = only(entry)
    for line in entry.matches:
        for hostile in with_endless_number(line):
            said = read(*with_rest(hostile), book=book)
            assert len(said.reports) <= 2


@pytest.mark.parametrize(("rule", "line"), [(r, line) for _, r in RULES for line in r.matches], ids=name)
def test_a_line_is_one_event_whichever_rules_read_it(rule: Rule, line: str, read: Callable[..., Any]) -> None:
    """Two rules may tell two facts of one line; an operator twice, or with no name beside its name, is one fact."""
    told: dict[Any, dict[str, str]] = {}
    for report in read(*with_rest(line)).reports:
        if not report.hint:
            told.setdefault((report.position, report.kind), {})[report.id] = report.op
    for by_rule in told.values():
        ops = list(by_rule.values())
        assert len(ops) == 1 or ("*" not in ops and len(set(ops)) == len(ops)), by_rule
