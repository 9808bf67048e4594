"""Every sample trace is read as its origin says, by numbers that another program counted."""

from __future__ import annotations

import gzip
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from fallback_gate.instruments.trace import Summary, evidence, read
from fallback_gate.instruments.trace.kernels import EAGER
from fallback_gate.judging.weigh import judge
from fallback_gate.model import Class, Decision, Outcome, Verdict

TRACES = Path(__file__).parents[2] / "sample_traces"
ORIGINS = sorted(TRACES.glob("*.origin.yaml"))
TODAY = date(2026, 11, 30)
ATTENTION = {"aten::softplus", "aten::log1p", "aten::sigmoid", "aten::exp", "aten::amax", "aten::index_copy_"}


def origin(path: Path) -> dict[str, Any]:
    said: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return said


def verdict(name: str, baseline: str | None = None, policy: str = "builtin:strict") -> Verdict:
    path = TRACES / f"{name}.json.gz"
    before = read(TRACES / f"{baseline}.json.gz") if baseline else None
    return judge([evidence(str(path), read(path), before)], policy, today=TODAY)


def eager(summary: Summary) -> set[str]:
    return {one.name for one in summary.operators.values() if one.origin == EAGER}


@pytest.mark.parametrize("path", ORIGINS, ids=lambda path: path.name.removesuffix(".origin.yaml"))
def test_a_sample_is_counted_as_its_origin_says(path: Path) -> None:
    said = origin(path)
    found, truth = read(TRACES / said["trace"]), said["truth"]
    assert found.problem is None
    assert found.format == said["format"]
    assert found.steps == truth["steps"]
    assert found.kernels_per_step == pytest.approx(truth["kernels_per_step"], rel=0.01)
    assert found.graphs_per_step == truth["graph_launches_per_step"]
    assert set(said["eager"]) <= eager(found)
    if "triton_kernels" in truth:
        assert found.by_origin["generated"] == truth["triton_kernels"] * truth["steps"]
        assert found.kernel_us_per_step == pytest.approx(truth["kernel_us_per_step"], rel=0.01)
    assert verdict(path.name.removesuffix(".origin.yaml")).outcome is Outcome(said["verdict"])


def test_every_sample_has_an_origin() -> None:
    assert {origin(path)["trace"] for path in ORIGINS} == {path.name for path in TRACES.glob("*.gz")}


@pytest.mark.parametrize(
    "name", ["moe-decoder.disabled", "moe-decoder.custom-op", "moe-decoder.eager-backend"]
)
@pytest.mark.parametrize("baseline", [None, "moe-decoder.compiled"])
def test_a_silent_fallback_of_the_attention_blocks_by_the_trace_alone(
    name: str, baseline: str | None
) -> None:
    found = verdict(name, baseline)
    blocked = {finding.event.op for finding in found.decided(Decision.BLOCKED)}
    assert found.outcome is Outcome.BLOCKED
    assert blocked >= ATTENTION
    assert any("eager_kernel_share" in reason for reason in found.reasons)


def test_against_a_baseline_only_what_was_not_eager_before_is_named() -> None:
    """The router's topk, sort and histc are ATen's in the good run too."""
    found = verdict("moe-decoder.custom-op", "moe-decoder.compiled")
    blocked = {finding.event.op for finding in found.findings}
    assert not blocked & {"aten::topk", "aten::sort", "aten::histc", "aten::fill_"}


def test_a_hot_entry_is_judged_by_what_ran_eager() -> None:
    found = verdict("moe-decoder.disabled", policy="builtin:moe-serving")
    hot = {finding.event.op for finding in found.findings if finding.event_class is Class.HOT}
    assert hot == {"aten::index_copy_"}
    assert verdict("moe-decoder.compiled", policy="builtin:moe-serving").outcome is Outcome.PASS


def test_a_recorded_stack_names_the_function(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "version: 1\nhot: [{function: gate_attn}]\ninstruments: {trace: {eager_kernel_share: '<=90%'}}\n",
        "utf-8",
    )
    found = verdict("small-decoder.disabled", policy=str(policy))
    hot = [finding.event for finding in found.decided(Decision.BLOCKED)]
    assert {"aten::softplus", "aten::sigmoid", "aten::_softmax"} <= {event.op for event in hot}
    places = {event.location for event in hot if event.op == "aten::softplus"}
    assert {(place.file, place.function) for place in places if place} == {("decoder.py", "gate_attn")}


def test_steps_are_found_without_annotations(tmp_path: Path) -> None:
    """By CUDA graphs where there is one a step, else by the period; layers are shorter and no step."""
    for name, how in (
        ("moe-decoder.compiled", "CUDA graph launches"),
        ("moe-decoder.disabled", "periodicity"),
        ("moe-decoder.eager-backend", "periodicity"),
    ):
        whole = json.loads(gzip.decompress((TRACES / f"{name}.json.gz").read_bytes()))
        whole["traceEvents"] = [e for e in whole["traceEvents"] if "annotation" not in e.get("cat", "")]
        bare = tmp_path / "bare.json"
        bare.write_text(json.dumps(whole), "utf-8")
        found = read(bare)
        assert found.steps_from == how
        assert found.kernels_per_step == read(TRACES / f"{name}.json.gz").kernels_per_step
