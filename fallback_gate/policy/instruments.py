"""Room 5: the limits that a policy sets for what instruments measure, and how measurements stand to them.

    instruments:
      trace: {eager_kernel_share: "<=30%", kernels_per_step: "<=600"}
      counters: {hbm_above: 80%, fingerprints: "<=1"}

A limit `of baseline` needs one: where the policy sets it and none was given, the verdict is unproven. A
setting, such as `hbm_above`, is a percentage by which an instrument looks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from fallback_gate import measures
from fallback_gate.measures import QUANTITIES, SETTINGS, Limit, Measured, Measurement, State
from fallback_gate.policy import checks
from fallback_gate.policy.document import Key, Page, shown


class Bound(NamedTuple):
    """One limit of a policy: of which instrument, of which quantity, and where it stands."""

    instrument: str
    name: str
    limit: Limit
    source: str


def bounds(page: Page, top: Mapping[str, object]) -> tuple[Bound, ...]:
    """The limits under `instruments` of a page."""
    found = []
    said = checks.mapping(page, ("instruments",), top.get("instruments", {}), tuple(QUANTITIES))
    for instrument, limits in said.items():
        known, settable = QUANTITIES[instrument], SETTINGS.get(instrument, {})
        place = ("instruments", instrument)
        for name, value in checks.mapping(page, place, limits, (*known, *settable)).items():
            text = checks.text(page, (*place, name), value)
            if name in settable:
                setting = None if text is None else measures.fraction(text)
                if setting is not None:
                    source = page.source((*place, name))
                    found.append(Bound(instrument, name, Limit(str(text), "=", setting), source))
                elif text is not None:
                    page.complain((*place, name), f"{shown(text)} is no percentage", 'write one, "70%"')
                continue
            read = None if text is None else measures.limit(text, known[name].unit)
            if isinstance(read, str):
                example = "<=30%" if known[name].unit == "share" else "<=600"
                page.complain((*place, name), f"{shown(text)} {read}", f'write a limit, "{example}"')
            elif read is not None:
                found.append(Bound(instrument, name, read, page.source((*place, name))))
    return tuple(found)


def settings(policy: Iterable[Bound], instrument: str) -> dict[str, float]:
    """How an instrument is to look, as fractions: what the policy sets, else the defaults."""
    own = {bound.name: bound.limit.number for bound in policy if bound.instrument == instrument}
    return {name: own.get(name, setting.default) for name, setting in SETTINGS.get(instrument, {}).items()}


def share_limit(page: Page, key: Key, value: object) -> Limit | None:
    """A limit of a share of the step: `">2%"`."""
    text = checks.text(page, key, value)
    read = None if text is None else measures.limit(text, "share")
    if isinstance(read, Limit) and not read.of_baseline:
        return read
    if text is not None:
        page.complain(key, f"{shown(text)} is no limit of a share", 'write one such as ">2%"')
    return None


def share(page: Page, key: Key, value: object) -> float | None:
    """A share of the step: `"2%"`."""
    text = checks.text(page, key, value)
    read = None if text is None else measures.limit(f"<={text}", "share")
    if isinstance(read, Limit) and not read.of_baseline:
        return read.number
    if text is not None:
        page.complain(key, f"{shown(text)} is no share", 'write one such as "2%"')
    return None


def hold(measurements: Iterable[Measurement], policy: tuple[Bound, ...]) -> tuple[Measured, ...]:
    """Each measurement with the limit that holds for it: the policy's, else the quantity's own."""
    own = {(bound.instrument, bound.name): bound for bound in policy}
    return tuple(
        _held(measurement, own.get((measurement.instrument, measurement.name)))
        for measurement in measurements
    )


def _held(measurement: Measurement, bound: Bound | None) -> Measured:
    if bound is not None:
        return Measured(measurement, _state(measurement, bound.limit), bound.limit, bound.source)
    quantity = QUANTITIES[measurement.instrument][measurement.name]
    limits = [measures.limit(text, quantity.unit) for text in quantity.default]
    for read in limits:
        if isinstance(read, Limit) and (state := _state(measurement, read)) is not State.OPEN:
            return Measured(measurement, state, read)
    return Measured(measurement, State.UNLIMITED)


def _state(measurement: Measurement, limit: Limit) -> State:
    held = limit.holds(measurement.value, measurement.baseline)
    return State.OPEN if held is None else State.MET if held else State.EXCEEDED
