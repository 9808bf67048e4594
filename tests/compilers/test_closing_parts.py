"""Closing records, part by part: what is read of a line, and what each report says and where."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fallback_gate.compilers import READERS
from fallback_gate.compilers.closing import records
from fallback_gate.compilers.closing import torch as closing_torch
from fallback_gate.compilers.closing import torch_logs as closing_torch_logs
from fallback_gate.compilers.closing.records import (
    Closing,
    Hearing,
    count,
    heard,
    names,
    parse,
    rows,
    table,
    text,
)
from fallback_gate.compilers.rule import Evidence, Reader, Sighting
from fallback_gate.model import Kind, Location, Proof, Report, Scope, State
from tests.compilers.conftest import Read
from tests.compilers.test_closing import CLEAN, GATE, line, torch


def said(**changed: Any) -> str:
    whole = {
        "fallback_gate_closing": 1, "pid": 7, "rank": 3, "ended": True, "began": "2026-11-30 00:29:01",
        "wrote": "2026-12-01 01:30:09", "compilers": {"x": {}},
    }  # fmt: skip
    return json.dumps({key: value for key, value in {**whole, **changed}.items() if value != "left out"})


def at(month: int, day: int, hours: int, minutes: int, seconds: int) -> float:
    """As the times of log lines are counted: months of 31 days, and no years."""
    return (((month * 31 + day) * 24 + hours) * 60 + minutes) * 60.0 + seconds


def test_a_record_is_read_whole() -> None:
    assert parse(said()) == Closing(7, 3, at(11, 30, 0, 29, 1), at(12, 1, 1, 30, 9), True, {"x": {}})
    assert at(12, 1, 0, 0, 0) - at(11, 30, 0, 0, 0) == 2 * 24 * 3600


@pytest.mark.parametrize(
    ("key", "value", "read"),
    [
        ("pid", "7", None), ("pid", 0, None), ("pid", True, None), ("pid", -7, None), ("pid", "left out", None),
        ("rank", 0, 0), ("rank", None, None), ("rank", "0", None), ("rank", False, None), ("rank", 0.0, None),
        ("rank", -1, None), ("rank", "left out", None),
        ("ended", 1, False), ("ended", "true", False), ("ended", None, False), ("ended", "left out", False),
        ("began", None, None), ("began", 5, None), ("began", "2026-11-30", None), ("began", "2026-11-30 00:29:01 x", None),
        ("wrote", "yesterday", None), ("wrote", "left out", None),
    ],
)  # fmt: skip
def test_a_value_that_is_none_is_left_out(key: str, value: object, read: object) -> None:
    found = parse(said(**{key: value}))
    assert found is not None
    assert getattr(found, key) == read
    assert type(getattr(found, key)) is type(read)


def test_what_is_no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = ("", "x", "[]", "7", said()[:-1], said(compilers="left out"), said(compilers=[]), "[" * 100_000)
    assert [parse(one) for one in bad] == [None] * len(bad)
    whole = said()
    monkeypatch.setattr(records, "LARGEST", len(whole))
    assert parse(whole + "") is not None
    assert parse(whole + " ") is None


def test_what_is_asked_of_a_value() -> None:
    odd: list[Any] = [None, True, False, -1, 1.5, "7", [], {}, 1 << 53]
    assert [count(one) for one in odd] == [0] * len(odd)
    assert [count(one) for one in (0, 1, (1 << 53) - 1)] == [0, 1, (1 << 53) - 1]
    assert [text(one) for one in ("a" * 501, 5, None)] == ["a" * 500, "", ""]
    assert text("abc", 2) == "ab"
    assert [table(one) for one in ({"a": 1}, [], "x", None)] == [{"a": 1}, {}, {}, {}]
    assert [rows(one) for one in ([{"a": 1}, 5, {}], {"a": 1}, "x", None)] == [[{"a": 1}, {}], [], [], []]
    assert [names(one) for one in (["a", 5, "b" * 501], {"a": 1}, "ab", None)] == [
        ["a", "b" * 500],
        [],
        [],
        [],
    ]


def told(**facts: Any) -> Evidence:
    """Evidence with a closing record of the compiler `c`, which ended, at position 9."""
    evidence = Evidence(sealed=True)
    evidence.add(Sighting("c/closing", 9, ("ended", json.dumps(facts))))
    return evidence


SEEN, LATE = Proof(State.PROVEN, "seen", 3), Proof(State.UNPROVEN, "cut")


def reader(**said: Any) -> Reader:
    values: dict[str, Any] = {
        "prove": lambda evidence: {Kind.GRAPH_BREAK: SEEN, Kind.OP_FALLBACK: LATE},
        "required": frozenset({Kind.GRAPH_BREAK, Kind.OP_FALLBACK, Kind.UNTUNED_CONFIG}),
    }  # fmt: skip
    return Reader("c", (), (), **{**values, **said})


def proves(facts: records.Facts) -> dict[Kind, str]:
    return {Kind(kind): f"told: {kind}" for kind in names(facts.get("proves"))}


def test_a_record_proves_what_the_log_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    by = heard(reader(), Hearing("c", (), proves)).prove
    assert by(Evidence(sealed=True)) == {Kind.GRAPH_BREAK: SEEN, Kind.OP_FALLBACK: LATE}
    whole = told(proves=["graph_break", "op_fallback", "untuned_config"])
    assert by(whole) == {
        Kind.GRAPH_BREAK: SEEN,
        Kind.OP_FALLBACK: Proof(State.PROVEN, "told: op_fallback", 9),
        Kind.UNTUNED_CONFIG: Proof(State.PROVEN, "told: untuned_config", 9),
    }
    whole.sealed = False
    assert by(whole) == {Kind.GRAPH_BREAK: SEEN, Kind.OP_FALLBACK: LATE}


def test_of_two_records_of_a_process_both_must_prove_it() -> None:
    by = heard(reader(), Hearing("c", (), proves)).prove
    for first, second in ((["op_fallback"], []), ([], ["op_fallback"])):
        evidence = told(proves=first)
        evidence.add(Sighting("c/closing", 4, ("ended", json.dumps({"proves": second, "other": 1}))))
        assert by(evidence)[Kind.OP_FALLBACK] == LATE
    evidence = told(proves=["op_fallback"])
    evidence.add(Sighting("c/closing", 4, ("ended", json.dumps({"proves": ["op_fallback"], "other": 1}))))
    assert by(evidence)[Kind.OP_FALLBACK].line == 4


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ("killed", "the process was killed, or is still running"),
        ("unreadable", "a closing record is cut or can't be read"),
    ],
)
def test_a_record_that_is_not_whole_undoes_every_proof(state: str, why: str) -> None:
    by = heard(reader(), Hearing("c", (), proves)).prove
    evidence = told(proves=["op_fallback"])
    evidence.add(Sighting("c/closing", 4, (state, "{}")))
    proof = by(evidence)
    assert proof.keys() == {Kind.GRAPH_BREAK, Kind.OP_FALLBACK, Kind.UNTUNED_CONFIG}
    for one in proof.values():
        assert (one.state, one.line, one.setting, one.final) == (
            State.UNPROVEN,
            None,
            "fallback-gate record -- COMMAND",
            True,
        )
        assert one.why.startswith(why)


def test_what_a_hearing_says_undoes_the_proof_before_the_log_is_weighed() -> None:
    undone = Hearing("c", (), proves, undoes=lambda facts: "never called" if facts.get("idle") else None)
    proof = heard(reader(), undone).prove(told(idle=1))
    assert {(one.why, one.final, one.state) for one in proof.values()} == {
        ("never called", True, State.UNPROVEN)
    }
    assert heard(reader(), undone).prove(told())[Kind.GRAPH_BREAK] == SEEN
    short = Hearing(
        "c", (), proves, untold=lambda evidence, facts: "more" if evidence.rules and facts.get("n") else None
    )
    evidence = told(n=2)
    assert heard(reader(), short).prove(evidence)[Kind.GRAPH_BREAK] == SEEN
    evidence.rules["x"] = 1
    proof = heard(reader(), short).prove(evidence)
    assert len(proof) == 3
    assert {(one.why, one.final, one.state, one.setting) for one in proof.values()} == {
        ("more", True, State.UNPROVEN, "fallback-gate record -- COMMAND")
    }


def test_a_reader_that_nobody_hears_of_stays_as_it_is() -> None:
    known = reader(version=lambda evidence: "2" if evidence.rules else None)
    assert heard(known, None) is known
    whole = heard(known, Hearing("told", closing_torch.RULES[:1], proves))
    assert (whole.name, whole.rules, [one.id for one in whole.markers]) == (
        "c",
        closing_torch.RULES[:1],
        ["c/closing"],
    )
    evidence = told(version="1.0" + "x" * 60)
    assert whole.version(evidence) == ("1.0" + "x" * 60)[:50]
    evidence.rules["x"] = 1
    assert whole.version(evidence) == "2"
    assert whole.version(told()) is None


@pytest.mark.parametrize(
    ("own", "told_", "both"), [(True, False, True), (False, True, True), (False, False, False)]
)
def test_either_the_log_or_the_record_joins_a_trace(own: bool, told_: bool, both: bool) -> None:
    known = heard(
        reader(joins=lambda text, trace: own), Hearing("c", (), proves, joins=lambda text, trace: told_)
    )
    assert known.joins(Evidence(), Evidence()) is both


def test_a_sighting_tells_who_wrote_the_record_and_when(read: Read) -> None:
    evidence = read(line(torch(), pid=77, rank=5)).evidence
    ((process, compilers),) = evidence.processes.items()
    assert (process.pid, process.rank) == (77, 5)
    (fact,) = compilers["torch.compile"].of("torch-compile/closing")
    assert (fact[0], json.loads(fact[1])) == ("ended", CLEAN)
    assert compilers["torch.compile"].span == (at(11, 30, 0, 29, 1), at(11, 30, 0, 29, 9))
    (fact,) = (
        read(line(torch(), ended=False))
        .evidence.processes.popitem()[1]["torch.compile"]
        .of("torch-compile/closing")
    )
    assert fact[0] == "killed"


def test_a_record_of_others_says_nothing(read: Read) -> None:
    assert read(line({"unheard": {"a": 1}})).evidence.processes == {}
    cut = read(line(torch())[:-5]).evidence.processes.popitem()[1]
    assert all(
        one.of(f"{name.replace('.', '-')}/closing") == {("unreadable", "{}")} for name, one in cut.items()
    )
    assert set(cut) == {
        name for name in READERS if any(m.id.endswith("/closing") for m in READERS[name].markers)
    }


def report(read: Read, **facts: Any) -> Report:
    (found,) = read("noise", line(torch(**facts), pid=77, rank=5)).reports
    return found


PLACE: dict[str, Any] = {"file": "/app/s.py", "line": 3}
IDLE: dict[str, Any] = {"traced": [], "attempts": 0, "frames": {}}


def test_a_report_of_a_record_word_for_word(read: Read) -> None:
    found = report(read, stances=[{"stance": "eager_on_recompile", **PLACE, "function": "serve"}])
    why = "torch.compiler.set_stance(eager_on_recompile): a call that would have been compiled anew ran in eager"
    (rule,) = (one for one in closing_torch.RULES if one.id == "torch/stance")
    assert found == Report(
        id="torch/stance", compiler="torch.compile", kind=Kind.EAGER_FRAME, scope=Scope.PROGRAM, op="set_stance",
        position=2, text=f"closing record of process 77: {why}", names=("set_stance", "torch.compiler.set_stance"),
        stack=("serve",), files=("/app/s.py",), reason=why, location=Location("/app/s.py", 3, "serve"), pid=77, rank=5,
        when=at(11, 30, 0, 29, 9), help=rule.help,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("facts", "op", "reason", "place", "stack", "hint"),
    [
        ({**IDLE, "switched_off": ["A", "B"], "config_disable": True}, "*",
         "torch.compile was asked for, and no frame was traced: A=1, B=1, torch._dynamo.config.disable", None, (), False),
        ({**IDLE, "stances": [{"stance": "force_eager"}], "asked": [{**GATE, "disabled": True}]}, "*",
         "torch.compile was asked for, and no frame was traced: set_stance('force_eager'), gate_attn is disabled", None, (), False),
        ({**IDLE, "switched_off": list("ABCDEF")}, "*",
         "torch.compile was asked for, and no frame was traced: A=1, B=1, C=1, D=1, E=1", None, (), False),
        ({"stances": [{"stance": "default", "backend": "eager", **PLACE, "function": "<module>"}]}, "set_stance",
         "torch.compiler.set_stance(force_backend=eager): what was compiled from then on got a back end that generates no code",
         Location("/app/s.py", 3, "<module>"), (), False),
        ({"stances": [{"stance": "eager_then_compile"}], "asked": [CLEAN["asked"][0], {**GATE, "disabled": False}]}, "gate_attn",
         "given to torch.compile, and never called twice under eager_then_compile: it ran in eager, if at all",
         Location("/app/moe/decoder.py", 42, "gate_attn"), ("gate_attn",), False),
        ({"stances": [{"stance": "eager_then_compile"}], "asked": [CLEAN["asked"][0], {"backend": "inductor"}]}, "*",
         "given to torch.compile, and never called twice under eager_then_compile: it ran in eager, if at all", None, (), False),
        ({**IDLE, "stances": [{"stance": "eager_then_compile"}], "asked": [{**GATE, "disabled": False}]}, "*",
         "torch.compile was asked for, and no frame was traced: set_stance('eager_then_compile')", None, (), False),
        ({"asked": [{**CLEAN["asked"][0], "backend": "aot_eager"}]}, "*",
         "backend=aot_eager: the graphs of forward run in eager", None, (), False),
        ({"asked": [CLEAN["asked"][0], GATE]}, "gate_attn", "given to torch.compile, and torch.compiler.disable is on it",
         Location("/app/moe/decoder.py", 42, "gate_attn"), ("gate_attn",), False),
        ({"asked": [CLEAN["asked"][0], {**GATE, "disabled": False, "off": True, "line": 0}]}, "gate_attn",
         "given to torch.compile, and torch.compile was switched off for it",
         Location("/app/moe/decoder.py", None, "gate_attn"), ("gate_attn",), False),
        ({"asked": [CLEAN["asked"][0], {"disabled": True, "backend": "inductor"}]}, "*",
         "given to torch.compile, and torch.compiler.disable is on it", None, (), False),
        ({"graph_breaks": {"Data-dependent branching": 2, "other": 0}}, "*", "2 counted: Data-dependent branching", None, (), True),
        ({"failed": [{"name": "f", **PLACE, "type": "Unsupported", "reason": "recompile_limit reached\nmore"}]}, "f",
         "recompile_limit reached", Location("/app/s.py", 3, "f"), ("f",), True),
        ({"failed": [{"name": "f", "type": None, "reason": ""}]}, "f",
         "the frame was given up: all of it runs in eager", None, ("f",), True),
        ({"counters": {"inductor": {"cudagraph_skips": 2}}}, "*", "cudagraph_skips: 2", None, (), True),
    ],
)  # fmt: skip
def test_what_each_report_of_torch_compile_says(
    read: Read,
    facts: dict[str, Any],
    op: str,
    reason: str,
    place: Location | None,
    stack: tuple[str, ...],
    hint: bool,
) -> None:
    found = report(read, **facts)
    assert (found.op, found.reason, found.location, found.stack, found.hint) == (
        op,
        reason,
        place,
        stack,
        hint,
    )
    assert found.files == ((place.file,) if place else ())


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"calls": 0, **IDLE, "switched_off": ["A"]},  # nothing was asked for
        {**IDLE, "counters": {"dynamo_cache": {"dynamo_cache_hit": 1}}, "switched_off": ["A"]},  # it came compiled
        {"switched_off": ["A"]},  # frames were traced all the same
        {"frames": {"total": 1}, "attempts": 0, "switched_off": ["A"]},
        {"stances": [{"stance": "default"}]},
        {"stances": [{"stance": "default"}], "asked": [CLEAN["asked"][0], {**GATE, "disabled": False}]},  # nor called, it may be
        {"asked": [{**GATE, "backend": "eager", "disabled": False}]},  # never traced
        {"asked": [{**CLEAN["asked"][0], "disabled": True}]},  # traced all the same
        {"graph_breaks": {"x": 0}},
    ],
)  # fmt: skip
def test_what_a_record_does_not_report(read: Read, facts: dict[str, Any]) -> None:
    assert read(line(torch(**facts))).reports == []


def test_many_graph_breaks_are_twenty_reasons(read: Read) -> None:
    counted = {f"reason {number}": 1 for number in range(25)}
    assert len(read(line(torch(graph_breaks=counted))).reports) == 20


def test_a_version_before_2_7_tells_no_frames(read: Read) -> None:
    """There a back end counts for all that was asked for, and what is disabled is told."""
    asked = [{**CLEAN["asked"][0], "backend": "eager"}, {**GATE, "backend": "eager"}]
    found = read(line(torch(traced=None, asked=asked))).reports
    assert [(one.id, one.op) for one in found] == [
        ("torch/eager-backend", "*"), ("torch/eager-backend", "*"), ("torch/disabled-frame", "gate_attn"),
    ]  # fmt: skip


FRAMES = ["forward /app/moe/decoder.py:148"]


def text_log(frames: list[str] | None = FRAMES, state: str = "ended", sealed: bool = True) -> Evidence:
    evidence = Evidence(sealed=sealed)
    evidence.add(Sighting("torch-compile/closing", 1, (state, json.dumps({"traced": frames}))))
    return evidence


def trace(*ids: str) -> Evidence:
    evidence = Evidence()
    for cid in ids:
        evidence.add(Sighting("torch-trace/frame-done", 1, (cid, "forward", "/app/moe/decoder.py", "148")))
    return evidence


def test_a_record_joins_the_trace_that_has_its_frames() -> None:
    joins = closing_torch_logs.joins
    assert joins(text_log(), trace("0/0"))
    assert not joins(text_log(sealed=False), trace("0/0"))
    assert not joins(text_log(state="killed"), trace("0/0"))
    assert not joins(text_log([]), trace("0/0"))
    assert not joins(text_log(None), trace("0/0"))
    assert not joins(text_log([*FRAMES, "decode /app/m.py:1"]), trace("0/0"))
    assert not joins(text_log(), Evidence())
    twice = text_log()
    twice.add(Sighting("torch-compile/closing", 2, ("ended", json.dumps({"traced": FRAMES, "x": 1}))))
    assert not joins(twice, trace("0/0"))
    other = text_log()
    other.add(Sighting("torch/output-code", 2, ("7/0", "x")))
    assert not joins(other, trace("0/0"))
    assert joins(other, trace("0/0", "7/0"))
    named = text_log()
    named.add(Sighting("torch/trace-started", 2, ("0/0", "forward", "/app/moe/decoder.py:148")))
    assert not joins(named, trace("0/0"))  # the text's own frames decide


@pytest.mark.parametrize(
    ("compiles", "ids", "facts", "limit", "whole"),
    [
        (1, ["0/0"], {}, False, True), (2, ["0/0"], {}, False, False), (2, ["0/0", "0/1"], {}, False, True),
        (2, ["0/0"], {"resets": 1}, False, True), (2, ["0/0"], {}, True, True), (5, ["0/0", "1/0"], {}, False, False),
    ],
)  # fmt: skip
def test_a_log_that_tells_of_fewer_frames_than_were_compiled(
    compiles: int, ids: list[str], facts: dict[str, Any], limit: bool, whole: bool
) -> None:
    evidence = Evidence(reported={Kind.RECOMPILE_LIMIT} if limit else set())
    for cid in ids:
        evidence.add(Sighting("torch/trace-started", 1, (cid, "f", "m.py:1")))
    why = closing_torch_logs.untold(evidence, {"compiles": compiles, **facts})
    assert (why is None) is whole
    if why:
        assert why.startswith(f"the process compiled {compiles} frames, and this log tells of {len(ids)}: ")
    silent = Evidence()
    silent.add(Sighting("torch/output-code", 1, ("0/0", "x")))
    assert closing_torch_logs.untold(silent, {"compiles": 9}) is None
