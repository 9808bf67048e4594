"""Room 6: what a process owes, and when it is excused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fallback_gate import check
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Sighting, StrictMode
from fallback_gate.model import CompilerProof, Kind, Outcome, ProcessKey, ProcessVerdict, Proof, State
from fallback_gate.verdict.proof import better, lacking, located, process_verdict, weigh
from tests.policy.make import policy

PROVEN = Proof(State.PROVEN, "seen", 7)
UNOBSERVABLE = Proof(State.UNOBSERVABLE, "not shown", None, "SHOW=1")
UNPROVEN = Proof(State.UNPROVEN, "cut", None, "SHOW=1")
SAMPLES = Path(__file__).parents[2] / "sample_logs"
ME = ProcessKey("a.log", 0, 1)
ALL = [kind.value for kind in Kind]


def reader(name: str = "acme", inside: tuple[str, ...] = (), **states: Proof) -> Reader:
    """A compiler whose log proves this."""
    proof = {Kind(kind): said for kind, said in states.items()}
    required = frozenset({Kind.OP_FALLBACK, Kind.GRAPH_BREAK})
    return Reader(name, (), (), required, lambda evidence: proof, inside=frozenset(inside))


@pytest.mark.parametrize(
    ("one", "other", "best"),
    [
        (PROVEN, UNPROVEN, PROVEN), (UNPROVEN, PROVEN, PROVEN), (UNOBSERVABLE, UNPROVEN, UNOBSERVABLE),
        (UNPROVEN, UNOBSERVABLE, UNOBSERVABLE), (UNOBSERVABLE, PROVEN, PROVEN), (UNPROVEN, UNPROVEN, UNPROVEN),
    ],
)  # fmt: skip
def test_the_better_proof(one: Proof, other: Proof, best: Proof) -> None:
    assert better(one, other) is best


def test_a_final_proof_stays() -> None:
    """The process says so itself: no other evidence makes it better, and none makes it worse."""
    final = Proof(State.UNPROVEN, "killed", final=True)
    other = Proof(State.UNPROVEN, "undone", final=True)
    for one in (PROVEN, UNOBSERVABLE, UNPROVEN):
        assert better(final, one) is final
        assert better(one, final) is final
    assert better(final, other) is final
    assert better(other, final) is other


def test_kinds_stand_in_one_order(tmp_path: Path) -> None:
    """The order of a set changes from process to process, and that of a report must not."""
    said = policy(tmp_path, f"proof: {{required: {ALL}}}")
    compiler = weigh(reader(slower_kernel=PROVEN, graph_break=UNPROVEN), Evidence(), said)
    assert list(compiler.proof) == list(Kind)


@pytest.mark.parametrize(
    ("text", "graph", "op", "lacks"),
    [
        ("", PROVEN, PROVEN, []),
        ("", PROVEN, UNOBSERVABLE, ["op_fallback"]),
        ("", UNPROVEN, UNPROVEN, ["graph_break", "op_fallback"]),
        ("proof: {accept_unobservable: [op_fallback]}", PROVEN, UNOBSERVABLE, []),
        ("proof: {accept_unobservable: [op_fallback]}", PROVEN, UNPROVEN, ["op_fallback"]),
        ("proof: {accept_unobservable: [op_fallback]}", UNOBSERVABLE, PROVEN, ["graph_break"]),
        ("proof: {required: [graph_break]}", PROVEN, UNPROVEN, []),
        ("proof: {required: [graph_break, untuned_config]}", PROVEN, UNPROVEN, []),
        ("proof: {required: [untuned_config]}", PROVEN, UNPROVEN, ["op_fallback"]),
        ("proof: {required: [untuned_config]}", PROVEN, PROVEN, []),
        ("proof: {required: []}", PROVEN, UNPROVEN, []),
        ("proof: {required: []}", UNPROVEN, UNOBSERVABLE, ["graph_break", "op_fallback"]),
    ],
)
def test_what_is_lacking(text: str, graph: Proof, op: Proof, lacks: list[str], tmp_path: Path) -> None:
    said = policy(tmp_path, text)
    compiler = weigh(reader(graph_break=graph, op_fallback=op), Evidence(), said)
    assert [kind.value for kind, _ in lacking(compiler, said)] == lacks


def test_a_kind_that_no_log_can_show_is_reported_and_never_decides(tmp_path: Path) -> None:
    said = policy(tmp_path, "proof: {required: [graph_break, untuned_config]}")
    compiler = weigh(reader(graph_break=PROVEN), Evidence(), said)
    assert compiler.proof[Kind.UNTUNED_CONFIG].state is State.UNOBSERVABLE
    assert compiler.required == {Kind.GRAPH_BREAK}


def test_a_policy_for_another_compiler_excuses_no_proof(tmp_path: Path) -> None:
    """The kinds of torch.compile, as a policy may list them, are none that TVM shows."""
    lines = (SAMPLES / "tvm" / "relay-tuned.0.16.log").read_text(encoding="utf-8").splitlines()[:15]
    log, said = tmp_path / "tvm.log", tmp_path / "policy.yaml"
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    said.write_text(
        "version: 1\nproof: {required: [graph_break, eager_frame, recompile_limit, op_fallback]}\n",
        encoding="utf-8",
    )
    assert check([log], said).outcome is Outcome.UNPROVEN


def test_trouble_with_the_log_takes_every_proof_away(tmp_path: Path) -> None:
    said = policy(tmp_path, "")
    evidence = Evidence(trouble=["truncated gzip data"])
    compiler = weigh(reader(graph_break=PROVEN, op_fallback=UNOBSERVABLE), evidence, said)
    assert compiler.proof[Kind.GRAPH_BREAK].state is State.UNPROVEN
    assert compiler.proof[Kind.GRAPH_BREAK].why == "truncated gzip data"
    assert compiler.proof[Kind.OP_FALLBACK].state is State.UNOBSERVABLE


def test_a_user_marker_adds_what_the_reader_lacks(tmp_path: Path) -> None:
    said = policy(tmp_path, "")
    marker = Marker("m/x", "acme", ("x",), "x", "", "", (), proves=frozenset({Kind.OP_FALLBACK}), ends=True)
    evidence = Evidence(markers={marker.id: marker})
    lacks = [
        kind
        for kind, _ in lacking(weigh(reader(graph_break=PROVEN, op_fallback=UNPROVEN), evidence, said), said)
    ]
    assert lacks == [Kind.OP_FALLBACK]
    evidence.add(Sighting(marker.id, 5))
    assert lacking(weigh(reader(graph_break=PROVEN, op_fallback=UNPROVEN), evidence, said), said) == []


def marked(*kinds: Kind, ends: bool = True) -> Evidence:
    """Evidence with a user's marker that was seen at position 5."""
    marker = Marker("m/x", "acme", ("x",), "x", "", "", (), proves=frozenset(kinds), ends=ends)
    evidence = Evidence(markers={marker.id: marker})
    evidence.add(Sighting(marker.id, 5))
    return evidence


def test_a_user_marker_never_makes_a_proof_worse(tmp_path: Path) -> None:
    said, known = policy(tmp_path, ""), reader(graph_break=PROVEN, op_fallback=UNOBSERVABLE)
    proof = weigh(
        known, marked(Kind.GRAPH_BREAK, Kind.OP_FALLBACK, Kind.UNTUNED_CONFIG, ends=False), said
    ).proof
    assert (proof[Kind.GRAPH_BREAK], proof[Kind.OP_FALLBACK]) == (PROVEN, UNOBSERVABLE)
    assert proof[Kind.UNTUNED_CONFIG].state is State.UNPROVEN
    proof = weigh(known, marked(Kind.UNTUNED_CONFIG), said).proof
    assert (proof[Kind.UNTUNED_CONFIG].state, proof[Kind.UNTUNED_CONFIG].line) == (State.PROVEN, 5)


def test_a_strict_mode_of_a_sealed_run_proves(tmp_path: Path) -> None:
    said, modes = (
        policy(tmp_path, ""),
        (StrictMode({"FAIL": "1"}, frozenset({Kind.OP_FALLBACK, Kind.UNTUNED_CONFIG})),),
    )
    known = replace(reader(graph_break=UNPROVEN, op_fallback=UNPROVEN), strict=modes)
    proof = weigh(known, Evidence(settings={"FAIL": "1"}), said).proof
    assert {kind.value: one.state.value for kind, one in proof.items()} == {
        "graph_break": "unproven", "op_fallback": "proven", "untuned_config": "proven",
    }  # fmt: skip
    why = "the sealed run succeeded with FAIL=1, which makes it fail in place of a fallback"
    assert proof[Kind.OP_FALLBACK] == Proof(State.PROVEN, why)
    but = replace(known, strict=(modes[0]._replace(but="not of views"),))
    found = weigh(but, Evidence(settings={"FAIL": "1"}), said).proof[Kind.OP_FALLBACK]
    assert found.why == f"{why} (not of views)"
    two = replace(known, strict=(modes[0]._replace(variables={"FAIL": "1", "LOUD": "2"}),))
    found = weigh(two, Evidence(settings={"FAIL": "1", "LOUD": "2"}), said).proof[Kind.OP_FALLBACK]
    assert found.why == why.replace("FAIL=1", "FAIL=1 LOUD=2")
    later = replace(known, strict=(modes[0]._replace(variables={"OTHER": "1"}), *modes))
    assert weigh(later, Evidence(settings={"FAIL": "1"}), said).proof[Kind.OP_FALLBACK].why == why
    always = replace(known, strict=(modes[0]._replace(variables={}),))
    found = weigh(always, Evidence(settings={}), said).proof[Kind.OP_FALLBACK]
    assert found.why == "the sealed run succeeded and this stack fails in place of a fallback"
    for evidence in (Evidence(), Evidence(settings={}), Evidence(settings={"FAIL": "0"})):
        assert weigh(known, evidence, said).proof[Kind.OP_FALLBACK] is UNPROVEN
    known = replace(
        reader(graph_break=UNPROVEN, op_fallback=Proof(State.UNPROVEN, "killed", final=True)), strict=modes
    )
    assert weigh(known, Evidence(settings={"FAIL": "1"}), said).proof[Kind.OP_FALLBACK].why == "killed"
    cut = Evidence(settings={"FAIL": "1"}, trouble=["cut", "more"])
    assert {one.why for one in weigh(known, cut, said).proof.values()} == {"cut", "killed"}


def test_a_compiler_is_weighed_with_its_name_and_version(tmp_path: Path) -> None:
    known = replace(reader(graph_break=PROVEN), version=lambda evidence: "2.1" if evidence.rules else None)
    found = weigh(known, Evidence(rules={"x": 1}), policy(tmp_path, ""))
    assert (found.name, found.version) == ("acme", "2.1")
    assert found.proof[Kind.OP_FALLBACK] == Proof(State.UNOBSERVABLE, "no log of acme can show this kind")
    assert found.required == {Kind.GRAPH_BREAK}
    elsewhere = policy(tmp_path, "proof: {required: [untuned_config]}")
    assert weigh(known, Evidence(), elsewhere).required == {Kind.GRAPH_BREAK}


def test_what_two_logs_of_a_process_owe_is_owed_by_both(tmp_path: Path) -> None:
    """One log's reader owes more by what it saw; the other tells the version."""

    def prove(evidence: Evidence) -> dict[Kind, Proof]:
        told = {Kind.GRAPH_BREAK: PROVEN if "good" in evidence.rules else UNPROVEN}
        return told | ({Kind.UNTUNED_CONFIG: UNPROVEN} if "wide" in evidence.rules else {})

    known = {"acme": Reader("acme", (), (), frozenset({Kind.GRAPH_BREAK, Kind.UNTUNED_CONFIG}), prove,
                            version=lambda evidence: "2.1" if "good" in evidence.rules else None)}  # fmt: skip
    wide, good = {"acme": Evidence(rules={"wide": 1})}, {"acme": Evidence(rules={"good": 1})}
    for logs in ([("a.log", wide), ("b.log", good)], [("b.log", wide), ("a.log", good)]):
        (found,) = process_verdict(ME, logs, known, policy(tmp_path, ""), False).compilers
        assert found.required == {Kind.GRAPH_BREAK, Kind.UNTUNED_CONFIG}
        assert found.version == "2.1"
        assert found.proof[Kind.GRAPH_BREAK].state is State.PROVEN
    assert found.proof[Kind.GRAPH_BREAK] == PROVEN
    assert found.proof[Kind.UNTUNED_CONFIG].why == "cut (b.log)"
    excused = policy(tmp_path, "proof: {accept_unobservable: [untuned_config]}")
    for logs in ([("a.log", wide), ("b.log", good)], [("a.log", good), ("b.log", wide)]):
        assert process_verdict(ME, logs, known, excused, False).outcome is Outcome.UNPROVEN


def test_why_a_silent_process_is_unproven(tmp_path: Path) -> None:
    said = policy(tmp_path, "")
    whys = [process_verdict(who, [], {}, said, False).why for who in (ME, ME._replace(rank=None))]
    assert "no log shows a compiler at work in rank 0:" in (whys[0] or "")
    assert whys[1] == "this process printed nothing that shows a compiler at work"
    assert process_verdict(ME, [], {}, said, True).outcome is Outcome.BLOCKED
    blocked = process_verdict(ME._replace(host="pod-1"), [], {}, said, True)
    assert (blocked.why, blocked.host) == (None, "pod-1")


@pytest.mark.parametrize(
    ("proof", "blocked", "outcome"),
    [
        (PROVEN, False, Outcome.PASS), (PROVEN, True, Outcome.BLOCKED),
        (UNPROVEN, False, Outcome.UNPROVEN), (UNPROVEN, True, Outcome.BLOCKED),
    ],
)  # fmt: skip
def test_a_process(proof: Proof, blocked: bool, outcome: Outcome, tmp_path: Path) -> None:
    known = {"acme": reader(graph_break=PROVEN, op_fallback=proof)}
    verdict = process_verdict(ME, [("a.log", {"acme": Evidence()})], known, policy(tmp_path, ""), blocked)
    assert (verdict.log, verdict.rank, verdict.pid, verdict.outcome) == ("a.log", 0, 1, outcome)


def test_a_process_without_a_compiler_is_unproven(tmp_path: Path) -> None:
    verdict = process_verdict(ME, [], {}, policy(tmp_path, ""), False)
    assert verdict.outcome is Outcome.UNPROVEN
    assert verdict.why


def test_a_compiler_inside_another_owes_nothing(tmp_path: Path) -> None:
    known = {
        "outer": reader("outer", graph_break=PROVEN, op_fallback=PROVEN),
        "inner": reader("inner", inside=("outer",), graph_break=UNPROVEN, op_fallback=UNPROVEN),
    }
    both = {"outer": Evidence(), "inner": Evidence()}
    assert process_verdict(ME, [("a.log", both)], known, policy(tmp_path, ""), False).outcome is Outcome.PASS
    first = dict(reversed(both.items()))
    (outer,) = process_verdict(ME, [("a.log", first)], known, policy(tmp_path, ""), False).compilers
    assert outer.name == "outer"
    alone = process_verdict(ME, [("a.log", {"inner": Evidence()})], known, policy(tmp_path, ""), False)
    assert alone.outcome is Outcome.UNPROVEN


def test_of_two_logs_of_one_process_the_better_proof_counts(tmp_path: Path) -> None:
    known = {"acme": reader(graph_break=PROVEN, op_fallback=PROVEN)}
    cut = {"acme": Evidence(trouble=["cut"])}
    both = process_verdict(
        ME, [("a.log", cut), ("b.log", {"acme": Evidence()})], known, policy(tmp_path, ""), False
    )
    assert both.outcome is Outcome.PASS
    assert all("b.log" in proof.why and proof.line is None for proof in both.compilers[0].proof.values())
    swapped = [("b.log", {"acme": Evidence()}), ("a.log", cut)]
    assert process_verdict(ME, swapped, known, policy(tmp_path, ""), False).outcome is Outcome.PASS
    alone = process_verdict(ME, [("a.log", cut)], known, policy(tmp_path, ""), False)
    assert alone.outcome is Outcome.UNPROVEN


def test_positions_become_line_numbers() -> None:
    compiler = CompilerProof(
        "acme", None, {Kind.GRAPH_BREAK: PROVEN, Kind.OP_FALLBACK: UNPROVEN}, frozenset()
    )
    verdict = ProcessVerdict("a.log", 0, 1, Outcome.PASS, (compiler,))
    (known,) = located([verdict], {"a.log": {7: 3}})
    (unknown,) = located([verdict], {"b.log": {7: 3}})
    assert [proof.line for proof in known.compilers[0].proof.values()] == [3, None]
    assert [proof.line for proof in unknown.compilers[0].proof.values()] == [None, None]
