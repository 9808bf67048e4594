"""Room 3: a user's rule is held to its own lines before it reads a log."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO

import pytest

from fallback_gate.compilers import READERS
from fallback_gate.compilers.book import Book
from fallback_gate.compilers.log import read_log
from fallback_gate.compilers.rule import USER_PATTERN_SECONDS, Marker, Rule
from fallback_gate.compilers.user_markers import by_markers
from fallback_gate.compilers.user_rules import UserRule, faults, read
from fallback_gate.model import Kind, Location, Report, Scope, State
from fallback_gate.scan.window import Scan
from fallback_gate.verdict.processes import processes

GOOD = UserRule(
    id="acme/no-kernel",
    compiler="acme",
    anchor="acme: no kernel",
    pattern=r"acme: no kernel for (?P<op>\w+)(?: because (?P<reason>.+))?",
    matches=(
        "acme: no kernel for sort",
        "[rank1]: 2026-11-30T09:14:07Z acme: no kernel for topk because why",
    ),
    ignores=("acme: no kernel", "acme: kernel for sort"),
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
)
MARKER = UserRule(
    id="acme/end",
    compiler="acme",
    anchor="acme: finished",
    pattern=r"acme: finished, (?P<ops>\d+) ops",
    matches=("acme: finished, 9 ops",),
    proves=frozenset({Kind.OP_FALLBACK}),
    ends=True,
    is_marker=True,
)


def test_a_rule() -> None:
    assert faults(GOOD) == ()
    rule = read(GOOD, "policy.yaml:7")
    assert isinstance(rule, Rule)
    assert (rule.id, rule.compiler, rule.anchor) == ("acme/no-kernel", "acme", ("acme: no kernel",))
    assert (rule.kind, rule.scope, rule.limit) == (Kind.OP_FALLBACK, Scope.OPERATOR, USER_PATTERN_SECONDS)
    assert rule.seen_in == "policy.yaml:7"
    assert rule.matches == GOOD.matches


def test_a_marker() -> None:
    assert faults(MARKER) == ()
    marker = read(replace(MARKER, setting="set ACME_REPORT=2"), "policy.yaml:7")
    assert isinstance(marker, Marker)
    assert (marker.proves, marker.ends, marker.limit) == ({Kind.OP_FALLBACK}, True, USER_PATTERN_SECONDS)
    assert marker.setting == "set ACME_REPORT=2"


@pytest.mark.parametrize("missing", ["id", "compiler", "anchor", "pattern", "kind", "scope"])
def test_half_a_rule_is_no_rule(missing: str) -> None:
    with pytest.raises(ValueError, match="faults"):
        read(replace(GOOD, **{missing: None}), "policy.yaml:7")


A = "a" * 40
LONG = "x" * 4097


@pytest.mark.parametrize(
    ("changed", "key", "word"),
    [
        ({"anchor": "no "}, ("anchor",), "3 characters"),
        ({"pattern": "(?P<op>a){99999999}z", "matches": ()}, ("pattern",), "repeats"),
        ({"pattern": "(?P<op>a){1, 99999999}z", "matches": ()}, ("pattern",), "repeats"),
        ({"anchor": "acme: no" + "x" * 200, "matches": ()}, ("anchor",), "longer"),
        ({"anchor": 'no "kernel', "matches": ()}, ("anchor",), "quote"),
        ({"anchor": "no 'kernel", "matches": ()}, ("anchor",), "quote"),
        ({"anchor": "no \\kernel", "matches": ()}, ("anchor",), "backslash"),
        ({"anchor": "no\tkernel", "matches": ()}, ("anchor",), "tab"),
        ({"anchor": "no kernél", "matches": ()}, ("anchor",), "ASCII"),
        ({"anchor": "no  kernel", "matches": ()}, ("anchor",), "run of blanks"),
        ({"anchor": "for sort"}, ("matches", 1), "does not stand"),
        ({"anchor": "T09:14:07Z acme", "matches": GOOD.matches[1:]}, ("matches", 0), "does not stand"),
        ({"pattern": "(((a{1000}){1000}){1000})", "matches": ()}, ("pattern",), "counted repeats of groups"),
        ({"pattern": "(?P<op>"}, ("pattern",), "not valid"),
        ({"pattern": "acme: no kernel for (?P<name>.*)"}, ("pattern",), "unknown named group name"),
        ({"pattern": "(acme: no kernel for .*)?"}, ("pattern",), "empty text"),
        ({"pattern": LONG}, ("pattern",), "longer than 4096"),
        ({"pattern": "acme: no kernel for sort"}, ("matches", 1), "does not match"),
        ({"pattern": r"^\[rank|sort", "ignores": ()}, ("matches", 1), "without its envelope"),
        ({"ignores": ("acme: no kernel for x",)}, ("ignores", 0), "matches this line"),
        (
            {"matches": ("acme: no kernel for sort\nacme: no kernel for topk",)},
            ("matches", 0),
            "more than one line",
        ),
        (
            {"anchor": "aaaa", "pattern": "(a|aa)+$", "matches": (A,), "ignores": (A + "!",)},
            ("pattern",),
            "takes longer",
        ),
        (
            {"anchor": "aaaa", "pattern": "(a|aa)+$", "matches": (A + "!",), "ignores": ()},
            ("pattern",),
            "takes longer",
        ),
    ],
)
def test_faults(changed: dict[str, object], key: tuple[str | int, ...], word: str) -> None:
    (fault,) = faults(replace(GOOD, **changed))  # type: ignore[arg-type]
    assert fault.key == key
    assert word in fault.what
    assert fault.advice


def test_a_number_in_an_anchor_is_what_the_scan_takes_for_one() -> None:
    numbered = replace(GOOD, anchor="acme {n}: no", pattern=r"acme \d+: no (?P<op>\w+)", ignores=())
    assert faults(replace(numbered, matches=("acme 17: no sort",))) == ()
    (fault,) = faults(replace(numbered, pattern=r"no (?P<op>\w+)", matches=("acme {n}: no sort",)))
    assert fault.key == ("matches", 0)
    assert "stands for a number" in fault.what
    (fault, *_) = faults(replace(numbered, anchor="{n}{n}"))
    assert "0 characters beside its numbers" in fault.what


@pytest.mark.parametrize(
    "line", ["# acme: no kernel for sort", '"acme: no kernel for sort"', "$ acme: no kernel for x"]
)
def test_a_message_in_a_form_that_is_never_taken_for_one_is_a_fault(line: str) -> None:
    (fault,) = faults(replace(GOOD, matches=(line,)))
    assert (fault.key, "a comment" in fault.what) == (("matches", 0), True)


def test_each_line_is_tried_whatever_is_wrong_with_those_before_it() -> None:
    lines = (
        "acme: no kernel for\nsort",
        "# acme: no kernel for sort",
        "acme: no kernel",
        "acme: no kernel for x",
    )
    said = replace(GOOD, matches=lines, ignores=("acme: no kernel for x", "acme: no kernel for y"))
    keys = [fault.key for fault in faults(said)]
    assert keys == [("matches", 0), ("matches", 1), ("matches", 2), ("ignores", 0), ("ignores", 1)]


def test_all_faults_at_once() -> None:
    said = replace(GOOD, anchor="no", pattern="nothing (?P<opp>x)", ignores=())
    keys = [fault.key for fault in faults(said)]
    assert keys == [("anchor",), ("pattern",), ("matches", 0), ("matches", 1)]


def test_half_a_surrogate_pair_is_a_character_as_any_other() -> None:
    """A policy can hold one, as YAML's \\ud800."""
    pattern, line = "acme: no kernel for \ud800(?P<op>\\w+)", "acme: no kernel for \ud800sort"
    assert faults(replace(GOOD, pattern=pattern, matches=(line,))) == ()
    (fault,) = faults(replace(GOOD, pattern="\ud800" * 1400))
    assert "longer than 4096 bytes" in fault.what  # of three bytes each


def test_counted_repeats_of_a_usual_size_are_none() -> None:
    said = r"(?:\d{1,3}\.){3}\d{1,3} (?:[0-9a-f]{2}:){5} acme: no kernel for (?P<op>\w+)"
    line = "10.0.0.1 aa:bb:cc:dd:ee: acme: no kernel for sort"
    assert faults(replace(GOOD, pattern=said, matches=(line,))) == ()


@pytest.mark.parametrize(
    "changed",
    [
        {"pattern": r"(?P<op>\w+)", "ignores": ()},
        {
            "anchor": "acme-X: no",
            "pattern": "acme-X: no (?P<op>.+)",
            "matches": ("acme-X: no sort",),
            "ignores": (),
        },
        {"anchor": "acme", "ignores": ()},
        {"anchor": "a" * 200, "matches": ()},
        {"pattern": "é" * 2048, "matches": ()},
        {"pattern": "acme.*a{1000}", "matches": ("acme: no kernel " + "a" * 1000,)},
        {"pattern": "(b){100}a{200}", "matches": ()},
        {"pattern": "(?P<op>a)(?P<reason>b)(?P<file>c)(?P<line>d)(?P<function>e)(?P<layer>f)", "matches": ()},
        {"id": None, "compiler": None, "anchor": None, "pattern": None},
    ],
)
def test_what_is_no_fault(changed: dict[str, object]) -> None:
    assert faults(replace(GOOD, **changed)) == ()  # type: ignore[arg-type]


@pytest.mark.parametrize("pattern", ["^$|acme: no kernel for (?P<op>.+)", "(acme: no kernel for .*)?"])
def test_a_pattern_that_matches_the_empty_text(pattern: str) -> None:
    (fault,) = faults(replace(GOOD, pattern=pattern))
    assert (fault.key, fault.what) == (("pattern",), "the pattern matches the empty text")


@pytest.mark.parametrize(
    "pattern", ["[", "a{2,1}", "(?<=a", "\\", "(" * 300, "(?P<op>a)(?P=x)", "[[:alpha:]", "*"]
)
def test_any_bad_pattern_is_a_fault(pattern: str) -> None:
    assert faults(replace(GOOD, pattern=pattern))


def test_a_marker_may_name_its_facts_as_it_likes() -> None:
    assert faults(replace(MARKER, pattern=r"acme: finished, (?P<anything>\d+) ops")) == ()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"anchor": "no "}, (("anchor",), "the anchor has 3 characters", "take at least 4 that stand in the message as they are")),
        ({"anchor": "{n} no", "matches": ()}, (("anchor",), "the anchor has 3 characters beside its numbers", "take at least 4 that stand in the message as they are")),
        ({"anchor": "a" * 201, "matches": ()}, (("anchor",), "the anchor is longer than 200 characters", "a few words are enough")),
        ({"anchor": "for sort"}, (("matches", 1), "the anchor does not stand in this line", "correct one of them")),
        ({"anchor": "kernel {n}", "matches": GOOD.matches[:1]},
         (("matches", 0), "the anchor does not stand in this line ({n} in it stands for a number)", "correct one of them")),
        ({"pattern": "é" * 2048 + "a", "matches": ()}, (("pattern",), "the pattern is longer than 4096 bytes", "declare two messages")),
        ({"pattern": "a{1001}", "matches": ()}, (("pattern",), "the pattern repeats something more than 1000 times", "use + or *")),
        ({"pattern": "(a{10}){1000}b", "matches": ()},
         (("pattern",), "the pattern's counted repeats of groups make more than 20000 in all", "use + or *")),
        ({"pattern": "(?P<opp>acme)x", "matches": ()}, (("pattern",), "the pattern has an unknown named group opp",
         "the nearest known one is op (known: op, reason, file, line, function, layer)")),
        ({"matches": ("acme: no kernel for a\r",)}, (("matches", 0), "this is more than one line", "give one record an item, and say with `lines` how many it may have")),
        ({"pattern": "acme: no kernel for sort"}, (("matches", 1), "the pattern does not match this line", "correct one of them")),
        ({"pattern": r"^\[rank|sort", "ignores": ()}, (("matches", 1), "the pattern does not match this line without its envelope"
         " (timestamp, rank, colour), which is taken off first", "correct one of them")),
        ({"matches": ("$ acme: no kernel for x",)}, (("matches", 0), "in this line the message stands in quotes, a comment or a"
         " shell's command", "there it is no message: give the line as the compiler prints it")),
        ({"ignores": ("x", "[rank1]: acme: no kernel for x")}, (("ignores", 1), "the pattern matches this line", "correct one of them")),
        ({"pattern": "x*"}, (("pattern",), "the pattern matches the empty text", "say what must stand there")),
        ({"anchor": "aaaa", "pattern": "(a|aa)+$", "matches": (A,), "ignores": (A + "!",)},
         (("pattern",), "the pattern takes longer than 0.2 s on one of its own lines", "take nested repetition out of it")),
    ],
)  # fmt: skip
def test_a_fault_in_its_own_words(changed: dict[str, object], said: tuple[object, str, str]) -> None:
    assert faults(replace(GOOD, **changed)) == (said,)  # type: ignore[arg-type]


def test_a_rule_whole() -> None:
    said = replace(GOOD, meaning="No kernel", next="Write one.")
    assert read(said, "p.yaml:7") == Rule(
        "acme/no-kernel", "acme", ("acme: no kernel",), GOOD.pattern or "", Kind.OP_FALLBACK, Scope.OPERATOR,
        meaning="No kernel", help="No kernel. Write one.", seen_in="p.yaml:7", matches=GOOD.matches,
        ignores=GOOD.ignores, limit=USER_PATTERN_SECONDS,
    )  # fmt: skip
    way_out = "The message is declared in the policy (p.yaml:7); ask who declared it for the way out."
    for meaning, told in (
        (None, way_out),
        ("Why? ", f"Why?  {way_out}"),
        ("No! ", f"No!  {way_out}"),
        ("No", f"No. {way_out}"),
        ("No\n", f"No. {way_out}"),  # as YAML's blocks end
    ):
        rule = read(replace(GOOD, meaning=meaning), "p.yaml:7")
        assert isinstance(rule, Rule)
        assert (rule.meaning, rule.help) == (meaning or "what the policy says of it (p.yaml:7)", told)


def test_a_marker_whole() -> None:
    said = replace(MARKER, meaning="The end.", ignores=("acme",), starts=True)
    assert read(said, "p.yaml:7") == Marker(
        "acme/end", "acme", ("acme: finished",), MARKER.pattern or "", "The end.", "p.yaml:7",
        matches=MARKER.matches, ignores=("acme",), proves=frozenset({Kind.OP_FALLBACK}), ends=True, starts=True,
        limit=USER_PATTERN_SECONDS,
    )  # fmt: skip
    bare = read(replace(MARKER, ends=False), "p.yaml:7")
    assert isinstance(bare, Marker)
    assert (bare.shows, bare.ends, bare.starts) == ("what the policy says of it (p.yaml:7)", False, False)


RECORD = replace(
    GOOD,
    anchor="acme: left",
    pattern=r"acme: left (?P<op>\S+)\n\s+reason: (?P<reason>.+)(?:\n\s+at (?P<file>\S+):(?P<line>\d+))?",
    lines=4,
    matches=(
        "acme: left sort\n  reason: no lowering\n  at /app/model.py:7",
        "acme: left sort\n  reason: shape",
    ),
    ignores=("acme: left sort",),
)


def test_a_record_of_several_lines_has_its_reason_and_place() -> None:
    assert faults(RECORD) == ()
    book = Book(READERS, (read(RECORD, "policy.yaml:7"),))
    lines = [
        "[rank0]: acme: left sort",
        "[rank1]: acme: left topk",
        "[rank0]:   reason: no lowering",
        "[rank1]:   reason: a shape",
        "[rank0]:   at /app/model.py:7",
        "[rank1]: acme: done",
    ]
    told: list[Report] = []
    text = "".join(line + "\n" for line in lines).encode()
    read_log("x.log", Scan(book.anchors, BytesIO(text), count_lines=True), book, lambda r, _: told.append(r))
    assert [(one.op, one.reason, one.location, one.position) for one in told] == [
        ("sort", "no lowering", Location("/app/model.py", 7), 1),
        ("topk", "a shape", None, 2),
    ]


@pytest.mark.parametrize(
    ("changed", "key", "word"),
    [
        ({"lines": 2}, ("matches", 0), "more than 2 lines"),
        ({"anchor": "reason: "}, ("matches", 0), "the first line of this"),
        ({"pattern": r"reason: (?P<reason>.+)", "ignores": ()}, ("matches", 0), "does not match"),
    ],
)
def test_faults_of_a_record(changed: dict[str, object], key: tuple[str | int, ...], word: str) -> None:
    fault, *_ = faults(replace(RECORD, **changed))  # type: ignore[arg-type]
    assert fault.key == key
    assert word in fault.what


DONE = UserRule(
    id="acme/done",
    compiler="acme",
    anchor="acme: done",
    pattern="acme: done",
    matches=("acme: done",),
    proves=frozenset({Kind.OP_FALLBACK}),
    ends=True,
    is_marker=True,
)
UNKNOWN = replace(RECORD, ignores=("acme: left out",))


def _proof(*lines: str) -> State:
    """Of the one kind, once this log is read with `UNKNOWN` and `DONE`."""
    book = Book(READERS, (read(UNKNOWN, "policy.yaml:7"), read(DONE, "policy.yaml:9")))
    text = "".join(line + "\n" for line in lines).encode()
    log = {
        "x.log": read_log("x.log", Scan(book.anchors, BytesIO(text), count_lines=True), book, lambda *_: None)
    }
    (one,) = processes(log, book.readers).evidence.values()
    evidence = one["acme"]
    return (
        State.UNPROVEN
        if evidence.trouble
        else by_markers(evidence, frozenset({Kind.OP_FALLBACK}))[Kind.OP_FALLBACK].state
    )


@pytest.mark.parametrize(
    ("lines", "state"),
    [
        (("acme: done",), State.PROVEN),
        (("acme: left sort", "  reason: shape", "acme: done"), State.PROVEN),
        (("acme: done", "acme: left sort"), State.UNPROVEN),  # cut off
        (("acme: left sort", "step 7", "  reason: shape", "acme: done"), State.UNPROVEN),
        (("acme: left sort", "  cause: shape", "acme: done"), State.UNPROVEN),
        (("acme: left out", "acme: done"), State.PROVEN),  # as the rule's own line
        (('user: "acme: left sort"', "acme: done"), State.PROVEN),
    ],
)
def test_a_record_that_is_not_all_there_leaves_the_log_unproven(lines: tuple[str, ...], state: State) -> None:
    assert _proof(*lines) is state


def _told(rule: UserRule, text: str) -> list[Report]:
    """What a log says by one rule."""
    book = Book(READERS, (read(rule, "policy.yaml:7"),))
    told: list[Report] = []
    scan = Scan(book.anchors, BytesIO(text.encode()), count_lines=True)
    read_log("x.log", scan, book, lambda report, _: told.append(report))
    return told


@pytest.mark.parametrize(
    ("lines", "reason", "file"),
    [(1, None, None), (2, "shape", None), (3, "shape", "/app/m.py"), (4, "shape", "/app/m.py")],
)
def test_a_pattern_sees_so_many_lines_as_the_rule_says(
    lines: int, reason: str | None, file: str | None
) -> None:
    pattern = r"acme: left (?P<op>\S+)(?:\n +reason: (?P<reason>\S+))?(?:\n +at (?P<file>\S+))?"
    rule = replace(RECORD, pattern=pattern, lines=lines, matches=("acme: left sort",), ignores=())
    (found,) = _told(rule, "acme: left sort\n  reason: shape\n  at /app/m.py\nacme: done\n")
    assert (found.op, found.reason, found.files) == ("sort", reason, (file,) if file else ())


def test_a_pattern_may_begin_where_the_first_line_ends() -> None:
    rule = replace(RECORD, pattern=r"\n +reason: (?P<reason>.+)", ignores=())
    assert faults(rule) == ()
    (found,) = _told(rule, "acme: left sort\n  reason: shape\n  at /app/m.py\nacme: done\n")
    assert (found.op, found.reason) == ("*", "shape")


@pytest.mark.parametrize(
    ("pattern", "line", "op", "place"),
    [
        (r"acme: no kernel for (?P<function>\S+)", "DecoderLayer.forward", "DecoderLayer.forward", Location(None, None, "DecoderLayer.forward")),
        (r"acme: no kernel for (?P<op>\S+)", "aten.sort.stable", "aten::sort", None),
        (r"acme: no kernel for (?P<file>\S+)", "m.py", "*", Location("m.py", None, None)),
        (r"acme: no kernel for line (?P<line>\S+)", "line 7", "*", Location(None, 7, None)),
        (r"acme: no kernel for (?P<file>\S+):(?P<line>\S+)", "m.py:999999999", "*", Location("m.py", 999999999, None)),
        (r"acme: no kernel for (?P<file>\S+):(?P<line>\S+)", "m.py:1000000000", "*", Location("m.py", None, None)),
        (r"acme: no kernel for (?P<file>\S+):(?P<line>\S+)", "m.py:x", "*", Location("m.py", None, None)),
    ],
)  # fmt: skip
def test_each_group_tells_its_part(pattern: str, line: str, op: str, place: Location | None) -> None:
    (found,) = _told(replace(GOOD, pattern=pattern, ignores=()), f"acme: no kernel for {line}\n")
    assert (found.op, found.location) == (op, place)
    assert found.files == ((place.file,) if place and place.file else ())


def test_a_message_begins_on_its_line_and_is_not_told_of() -> None:
    assert (
        _told(replace(RECORD, pattern=r"reason: (?P<reason>.+)"), "acme: left sort\n  reason: shape\n") == []
    )
    said = "acme: no kernel for a"
    quoted = [
        f"# {said}",
        f"+ echo {said}",
        f"> {said}",
        f"$ echo {said}",
        f'user: "{said}"',
        said[:-1] + "b",
    ]
    assert [one.op for one in _told(GOOD, "\n".join(quoted))] == ["b"]


def test_a_message_whole() -> None:
    said = replace(
        GOOD,
        pattern=r"acme: no kernel for (?P<op>\S+) in (?P<layer>\S+), (?P<function>\S+) (?P<file>\S+):(?P<line>\d+): (?P<reason>.+)",
        meaning="No kernel.",
        next="Write one.",
    )
    line = "acme: no kernel for aten.sort.stable in l.0, f m.py:7: no lowering"
    (found,) = _told(said, f"acme: begins\n{line}\n")
    assert found == Report(
        id="acme/no-kernel", compiler="acme", kind=Kind.OP_FALLBACK, scope=Scope.OPERATOR, op="aten::sort", position=2,
        text=line, names=("aten::sort", "aten.sort.stable"), stack=("f",), files=("m.py",), reason="no lowering",
        location=Location("m.py", 7, "f"), layer="l.0", help="No kernel. Write one.",
    )  # fmt: skip


def test_the_end_of_a_line_in_a_pattern_is_that_of_any_line() -> None:
    rule = replace(UNKNOWN, pattern=r"acme: left (?P<op>\S+)\n\s+reason: (?P<reason>.+)$")
    assert faults(rule) == ()
    book = Book(READERS, (read(rule, "policy.yaml:7"),))
    told: list[Report] = []
    text = b"acme: left sort\n  reason: shape\nacme: more\nacme: done\n"
    read_log("x.log", Scan(book.anchors, BytesIO(text), count_lines=True), book, lambda r, _: told.append(r))
    assert [(one.op, one.reason) for one in told] == [("sort", "shape")]
