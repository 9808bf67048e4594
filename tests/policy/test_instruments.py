"""Limits of what instruments measure: what a policy may say, what editors are told, and how numbers stand to them."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fallback_gate.errors import PolicyError
from fallback_gate.model import Class, Decision, Finding
from fallback_gate.model.measures import QUANTITIES, SETTINGS, Cost, Limit, Measurement, State, limit
from fallback_gate.policy import judge, load
from fallback_gate.policy.instruments import hold

from .make import TODAY, event, policy, written

SCHEMA = json.loads(files("fallback_gate.policy").joinpath("schema.json").read_text(encoding="utf-8"))


def test_editors_know_the_quantities_that_the_loader_knows() -> None:
    said = SCHEMA["properties"]["instruments"]["properties"]
    assert {name: set(inner["properties"]) for name, inner in said.items()} == {
        name: {*known, *SETTINGS.get(name, {})} for name, known in QUANTITIES.items()
    }
    assert set(SCHEMA["properties"]["expect"]["properties"]["instruments"]["items"]["enum"]) == set(
        QUANTITIES
    )


def test_every_default_is_a_limit_of_its_quantity() -> None:
    for known in QUANTITIES.values():
        for quantity in known.values():
            assert all(isinstance(limit(text, quantity.unit), Limit) for text in quantity.default)


@pytest.mark.parametrize(
    ("text", "unit", "value", "baseline", "holds"),
    [
        ("<=30%", "share", 0.30, None, True),
        ("<=30%", "share", 0.301, None, False),
        (">= 900", "tok/s", 900, None, True),
        ("<600", "kernels", 600, None, False),
        (">2%", "share", 0.02, None, False),
        ("<=110% of baseline", "kernels", 515.9, 469, True),
        ("<=110% of baseline", "kernels", 516, 469, False),
        ("<=1.1 of baseline", "kernels", 515.9, 469, True),
        ("<=110% of baseline", "kernels", 1, None, None),
    ],
)
def test_a_limit(text: str, unit: str, value: float, baseline: float | None, holds: bool | None) -> None:
    read = limit(text, unit)
    assert isinstance(read, Limit)
    assert read.holds(value, baseline) is holds


@pytest.mark.parametrize("text", ["", "30%", "=30%", "<=", "<=30", "<=-1%", "<=30% of", "<=1e999x%", "<=٣%"])
def test_what_is_no_limit_of_a_share(text: str, tmp_path: Path) -> None:
    assert isinstance(limit(text, "share"), str)
    path = written(
        tmp_path, f"version: 1\ninstruments: {{trace: {{eager_kernel_share: {json.dumps(text)}}}}}\n"
    )
    with pytest.raises(PolicyError, match=r"2: .*eager_kernel_share"):
        load(path, TODAY)


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ("counters: {hbm_above: lots}", "'lots' is no percentage (instruments.counters.hbm_above); write one, \"70%\""),
        ("counters: {hbm_above: 130%}", "'130%' is no percentage (instruments.counters.hbm_above); write one, \"70%\""),
        ("counters: {hbm_above: 70}", "must be text and is a number (instruments.counters.hbm_above); "),
        ("trace: {steps: 2}", "must be text and is a number (instruments.trace.steps); "),
    ],
)  # fmt: skip
def test_what_is_no_amount_is_told_once(tmp_path: Path, said: str, what: str) -> None:
    path = written(tmp_path, f"version: 1\ninstruments: {{{said}}}\n")
    with pytest.raises(PolicyError) as caught:
        load(path, TODAY)
    (problem,) = caught.value.problems
    assert problem.startswith(f"{path}:2: {what}")


@given(st.text(alphabet="<>=0123456789.%e+- ofbaseline", max_size=24))
@example("<=5")
@example("<=5%")
def test_editors_refuse_what_the_loader_refuses(text: str) -> None:
    document = {"version": 1, "instruments": {"trace": {"kernels_per_step": text}}}
    allowed = not list(jsonschema.Draft7Validator(SCHEMA).iter_errors(document))
    if isinstance(limit(text, "kernels"), Limit):
        assert allowed
    elif allowed:
        assert "percentage" in str(limit(text, "kernels"))  # which the schema can't tell


def test_a_policys_limit_takes_the_place_of_the_default(tmp_path: Path) -> None:
    eager = Measurement("trace", "eager_kernel_share", 0.5, "t.json")
    assert [one.state for one in hold([eager], ())] == [State.EXCEEDED]
    own = policy(tmp_path, "instruments: {trace: {eager_kernel_share: '<=60%'}}")
    assert [(one.state, one.source is not None) for one in hold([eager], own.bounds)] == [(State.MET, True)]


def test_what_a_file_says_holds_over_what_it_extends(tmp_path: Path) -> None:
    written(
        tmp_path, "version: 1\ninstruments: {trace: {steps: '>=2', kernels_per_step: '<=9'}}\n", "base.yaml"
    )
    path = written(
        tmp_path, "version: 1\nextends: [base.yaml]\ninstruments: {trace: {kernels_per_step: '<=5'}}\n"
    )
    assert {bound.name: bound.limit.text for bound in load(path, TODAY).bounds} == {
        "steps": ">=2",
        "kernels_per_step": "<=5",
    }


def test_a_share_of_the_step_that_nobody_measured_lets_nothing_pass(tmp_path: Path) -> None:
    said = policy(tmp_path, "unlisted: {block_if_share_above: '2%'}")
    for cost, decision in (
        (None, Decision.BLOCKED),
        (Cost(1, 1.0, 0.0201, ""), Decision.BLOCKED),
        (Cost(1, 1.0, 0.02, ""), Decision.WARNED),
    ):
        assert judge(event(cost=cost), said, TODAY).decision is decision


def test_why_what_is_unlisted_and_costs_little_only_warns(tmp_path: Path) -> None:
    said = policy(tmp_path, "unlisted: {block_if_share_above: '2%'}")
    cheap = event(cost=Cost(1, 1.0, 0.0123, ""))
    why = "it costs 1.2% of the step, and what is unlisted may cost that"
    assert judge(cheap, said, TODAY) == Finding(cheap, Class.UNLISTED, Decision.WARNED, None, why)
    guessed = event(cost=Cost(1, 1.0, 0.0123, "", certain=False))
    why = "no entry of the policy names it"
    assert judge(guessed, said, TODAY) == Finding(guessed, Class.UNLISTED, Decision.BLOCKED, None, why)


def test_a_hot_entry_by_share(tmp_path: Path) -> None:
    said = policy(
        tmp_path, "unlisted: warn\nhot:\n  - share_of_step: '>2%'\n  - {op: mul, share_of_step: '>1%'}"
    )
    assert judge(event("add", cost=Cost(1, 1.0, 0.03, "")), said, TODAY).decision is Decision.BLOCKED
    assert judge(event("add", cost=Cost(1, 1.0, 0.015, "")), said, TODAY).decision is Decision.WARNED
    assert judge(event("mul", cost=Cost(1, 1.0, 0.015, "")), said, TODAY).decision is Decision.BLOCKED
    assert judge(event("mul"), said, TODAY).decision is Decision.BLOCKED  # a fact that is not told
    assert judge(event("add"), said, TODAY).decision is Decision.WARNED
    assert judge(event("mul", cost=Cost(1, 1.0, 0.01, "")), said, TODAY).decision is Decision.WARNED
    guessed = event("mul", cost=Cost(1, 1.0, 0.01, "", certain=False))
    assert judge(guessed, said, TODAY).decision is Decision.BLOCKED  # nor is a guess a fact
