"""Annotations, read back by the rules of GitHub's runner."""

from __future__ import annotations

from hypothesis import given, settings

from fallback_gate.model import Location, Outcome, Verdict
from fallback_gate.model.inputs import Repository
from fallback_gate.reports import github, safe, words
from tests.reports import consumers, sample
from tests.reports.test_safe import HOSTILE


def commands(verdict: Verdict) -> list[consumers.Command]:
    text = github.render(verdict)
    found = consumers.obeyed(text)
    assert len(found) == len(text.splitlines())
    return found


def test_a_blocked_run() -> None:
    error, warning = commands(sample.blocked_run())
    assert error.name == "error"
    assert error.told == {"file": "model/decoder.py", "line": "42", "title": "gate_attn: graph break"}
    assert error.message.split("\n")[:3] == [
        "blocked, hot: 2 times, rank 0",
        "where: model/decoder.py:42 in gate_attn",
        "reason: Unsupported Tensor.item() call with capture_scalar_outputs=False",
    ]
    assert "\nlog: compile.log:17\n" in error.message
    assert warning.name == "warning"
    assert warning.told["title"] == "aten::topk: no generated kernel"
    assert (warning.told["file"], warning.told["line"]) == ("policies/llm-decode.yaml", "1")


def test_at_the_policy_where_the_code_is_not_in_the_repository() -> None:
    elsewhere = sample.blocked(location=Location("/opt/lib/x.py", 3, "f"))
    found = Repository({"policies/llm-decode.yaml": "ci/policies/llm-decode.yaml"})
    (error,) = commands(sample.blocked_run(findings=(elsewhere,), repository=found))
    assert (error.told["file"], error.told["line"]) == ("ci/policies/llm-decode.yaml", "4")


def test_nine_and_the_rest_counted_the_most_important_first() -> None:
    found = commands(sample.many_events_run())
    assert [command.name for command in found] == ["error"] * 10
    assert found[0].told["title"] == "gate_attn: graph break"  # the only one on the hot path
    assert found[-1].told["title"] == "fallback-gate: and 4,942 more"


def test_what_is_not_proven_and_the_setting() -> None:
    found = commands(sample.default_level_run())
    assert found[0].told["title"] == "fallback-gate: not proven: graph_break, eager_frame, recompile_limit"
    assert f"\nset: {sample.SETTING}\n" in found[0].message
    assert found[0].told["file"] == "policies/llm-decode.yaml"
    assert [command.name for command in found] == ["error", "error"]


def test_a_waived_run_warns() -> None:
    found = commands(sample.waived_run())
    assert {command.name for command in found} == {"warning"}
    assert found[0].message.startswith("waived for release r17 by Ada Wong until 2026-12-05")


def test_a_pass_is_one_notice() -> None:
    (notice,) = commands(sample.passing_run())
    assert (notice.name, notice.told) == ("notice", {"title": "fallback-gate: PASS"})


def test_no_verdict() -> None:
    (error,) = commands(sample.verdict(None, 2, logs=(), errors=("compile.log: no such file",)))
    assert error.told["title"] == "fallback-gate: NO VERDICT"
    assert error.message == "compile.log: no such file"


@settings(max_examples=80)
@given(HOSTILE, HOSTILE, HOSTILE)
def test_hostile_text_arrives_as_text(op: str, reason: str, file: str) -> None:
    event = sample.event(op=op, reason=reason, location=Location(file, 1, op))
    (error,) = commands(sample.verdict(Outcome.BLOCKED, 1, findings=(sample.blocked(event),)))
    assert set(error.told) == {"file", "line", "title"}
    assert error.told["title"] == safe.shorten(words.title(event), 200)
    assert len(error.message) <= 4096
