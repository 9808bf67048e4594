"""Room 5: claimed figures and the artefact to fall back to, read from a page of YAML.

claims:
  - {metric: output_tokens_per_second, value: 24000 tok/s, device: H200, dtype: fp8, model: m-8b,
     shape: in 1024 out 128, concurrency: 256, source: "https://vendor.example/blog", at_least: 90%}
rollback: {artefact: engines/decode-2026.11.plan, compiler: tensorrt, version: 10.9.0}
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import partial
from typing import Final

from fallback_gate.model import measures, quantity
from fallback_gate.model.claims import CONDITIONS, METRICS, Claim, Rollback
from fallback_gate.policy import checks
from fallback_gate.policy.checks import Said
from fallback_gate.policy.page import BROKEN, Key, Page, shown

CLAIM_KEYS: Final = ("metric", "value", *CONDITIONS, "source", "at_least")
CLAIM_NEEDS: Final = ("metric", "value", "source")
ROLLBACK_KEYS: Final = ("artefact", "compiler", "version", "sha256", "built")
ROLLBACK_NEEDS: Final = ("artefact", "compiler", "version")
_UNITS: Final = {
    "tok/s": {"": 1.0, "tok/s": 1.0, "tokens/s": 1.0, "token/s": 1.0},
    "ms": {"": 1.0, "ms": 1.0, "s": 1e3, "us": 1e-3},
    "FLOPS": quantity.RATE,
    "B/s": quantity.BANDWIDTH,
}
_SHA256: Final = re.compile(r"[0-9a-fA-F]{64}")


def claims(page: Page, top: Mapping[str, object]) -> tuple[Claim, ...]:
    """The figures under `claims` of a page."""
    found = []
    for index, value in enumerate(checks.items(page, ("claims",), top.get("claims", []))):
        key = ("claims", index)
        said = Said(page, key, checks.mapping(page, key, value, CLAIM_KEYS, CLAIM_NEEDS))
        metric = said.read("metric", partial(checks.choice, known={one: one for one in METRICS}))
        amount = said.read("value", partial(_amount, metric=metric)) if metric else None
        source, least = said.text("source"), said.read("at_least", _share)
        conditions = {name: text for name in CONDITIONS if (text := said.read(name, _condition)) is not None}
        if metric and amount is not None and source:
            found.append(Claim(metric, amount, conditions, source, least, page.source(key)))
    return tuple(found)


def _condition(page: Page, key: Key, value: object) -> str | None:
    """A text, or a number as its text."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{value:g}" if isinstance(value, float) else str(value)
    return checks.text(page, key, value)


def _amount(page: Page, key: Key, value: object, metric: str) -> float | None:
    """A number above zero, with the metric's unit or without."""
    unit = METRICS[metric]
    wrong = "must be a number"
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        try:
            found = quantity.amount(str(value), _UNITS[unit])
        except ValueError:
            wrong = f"{shown(value)} is no amount in {unit}"
        else:
            if found > 0 and math.isfinite(found):
                return found
            wrong = f"{shown(value)} is not above zero"
    if value is not BROKEN:
        page.complain(key, wrong, f"write a number, with {unit} behind it or nothing")
    return None


def _share(page: Page, key: Key, value: object) -> float | None:
    """A percentage from 0% to 100%, as a fraction."""
    text = checks.text(page, key, value)
    part = None if text is None else measures.fraction(text)
    if text is not None and part is None:
        page.complain(key, f"{shown(text)} is no percentage up to 100%", 'write one, "90%"')
    return part


def rollback(page: Page, top: Mapping[str, object]) -> Rollback | None:
    """The artefact under `rollback` of a page."""
    if "rollback" not in top:
        return None
    key = ("rollback",)
    said = Said(page, key, checks.mapping(page, key, top["rollback"], ROLLBACK_KEYS, ROLLBACK_NEEDS))
    artefact, compiler, version = (said.text(name) for name in ROLLBACK_NEEDS)
    sha256, built = said.text("sha256"), said.day("built")
    if sha256 is not None and not _SHA256.fullmatch(sha256):
        page.complain((*key, "sha256"), f"{shown(sha256)} is no SHA-256", "write its 64 digits")
        sha256 = None
    if not (artefact and compiler and version):
        return None
    return Rollback(artefact, compiler, version, sha256 and sha256.lower(), built, page.source(key))
