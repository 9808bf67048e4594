"""Claims and the rollback in a policy: what it may say, what editors are told, what is wrong and where."""

from __future__ import annotations

import json
from datetime import date
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
import yaml

from fallback_gate.errors import PolicyError
from fallback_gate.model.claims import METRICS
from fallback_gate.policy import load
from fallback_gate.policy.claims import CLAIM_KEYS, ROLLBACK_KEYS

from .make import TODAY, policy, written

SCHEMA = json.loads(files("fallback_gate.policy").joinpath("schema.json").read_text(encoding="utf-8"))


def test_editors_know_what_the_loader_knows() -> None:
    claim, rollback = (SCHEMA["definitions"][name] for name in ("claim", "rollback"))
    assert set(claim["properties"]) == set(CLAIM_KEYS)
    assert set(claim["properties"]["metric"]["enum"]) == set(METRICS)
    assert set(rollback["properties"]) == set(ROLLBACK_KEYS)


@pytest.mark.parametrize(
    ("metric", "value", "expected"),
    [
        ("output_tokens_per_second", "24000", 24000),
        ("output_tokens_per_second", "'24,000 tok/s'", 24000),
        ("gemm_flops", "990 TFLOPS", 990e12),
        ("gemm_flops", "990TFLOP/s", 990e12),
        ("copy_bandwidth", "4.8 TB/s", 4.8e12),
        ("ttft_ms", "12", 12),
        ("ttft_ms", "12 ms", 12),
        ("tpot_ms", "0.5 s", 500),
    ],
)
def test_values(tmp_path: Path, metric: str, value: str, expected: float) -> None:
    said = policy(
        tmp_path, f"claims: [{{metric: {metric}, value: {value}, source: us, at_least: 90%, batch: 24}}]"
    )
    (claim,) = said.claims
    assert (claim.value, claim.at_least, claim.conditions) == (pytest.approx(expected), 0.9, {"batch": "24"})
    assert claim.place.endswith("policy.yaml:2")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("claims: [{metric: tokens, value: 1, source: us}]", ["claims[0].metric", "nearest"]),
        ("claims: [{metric: ttft_ms, value: fast, source: us}]", ["claims[0].value", "no amount in ms"]),
        ("claims: [{metric: ttft_ms, value: 0, source: us}]", ["claims[0].value", "not above zero"]),
        ("claims: [{metric: ttft_ms, value: 12 TFLOPS, source: us}]", ["claims[0].value"]),
        ("claims: [{metric: ttft_ms, value: true, source: us}]", ["claims[0].value", "number"]),
        ("claims: [{metric: ttft_ms, value: 1}]", ["source is missing"]),
        ("claims: [{metric: ttft_ms, value: 1, source: us, at_least: 0.9}]", ["claims[0].at_least"]),
        ("claims: [{metric: ttft_ms, value: 1, source: us, at_least: 120%}]", ["claims[0].at_least", "100%"]),
        ("claims: [{metric: ttft_ms, value: 1, source: us, gpu: H200}]", ["unknown key 'gpu'"]),
        ("claims: {metric: ttft_ms}", ["claims", "list"]),
        ("rollback: engine.plan", ["rollback", "mapping"]),
        ("rollback: {artefact: x, compiler: torch}", ["version is missing"]),
        ("rollback: {artefact: x, compiler: torch, version: 2.10}", ["rollback.version", "in quotes"]),
        ("rollback: {artefact: x, compiler: torch, version: 2.11.0, sha256: abc}", ["rollback.sha256", "64"]),
        (
            "rollback: {artefact: x, compiler: torch, version: 2.11.0, built: soon}",
            ["rollback.built", "date"],
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, text: str, words: list[str]) -> None:
    with pytest.raises(PolicyError) as caught:
        load(written(tmp_path, f"version: 1\n{text}\n"), TODAY)
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert "policy.yaml:2: " in str(caught.value)
    document = {"version": 1, **yaml.safe_load(text)}
    assert list(
        jsonschema.Draft7Validator(SCHEMA).iter_errors(json.loads(json.dumps(document, default=str)))
    ) or any(word in text for word in ("fast", "0,", "12 TFLOPS", "120%"))


def test_the_rollback_is_seen_from_the_file_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    written(
        tmp_path / "base",
        "version: 1\nclaims: [{metric: ttft_ms, value: 1, source: base}]\n"
        "rollback: {artefact: old/engine.plan, compiler: tensorrt, version: '10.9', built: 2026-11-01}\n",
        "base.yaml",
    )
    said = load(written(tmp_path, "version: 1\nextends: [base/base.yaml]\nclaims: []\n"), TODAY)
    assert said.rollback is not None
    assert Path(said.rollback.artefact) == tmp_path / "base" / "old" / "engine.plan"
    assert (said.rollback.version, said.rollback.built) == ("10.9", date(2026, 11, 1))
    assert said.rollback.place.endswith("base.yaml:3")
    assert [claim.source for claim in said.claims] == ["base"]
    own = load(
        written(
            tmp_path,
            "version: 1\nextends: [base/base.yaml]\nrollback: {artefact: e, compiler: torch, version: 2.11.0}\n",
        ),
        TODAY,
    )
    assert own.rollback is not None
    assert own.rollback.compiler == "torch"
