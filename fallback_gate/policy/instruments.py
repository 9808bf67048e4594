"""Room 5: the limits that a policy sets for what instruments measure, and how measurements stand to them.

    instruments:
      trace: {eager_kernel_share: "<=30%", kernels_per_step: "<=600"}
      counters: {hbm_above: 80%, fingerprints: "<=1"}

A limit `of baseline` needs one: where the policy sets it and none was given, the verdict is unproven. A
setting, such as `hbm_above`, is a percentage by which an instrument looks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fallback_gate.model import measures
from fallback_gate.model.measures import QUANTITIES, SETTINGS, Limit, Measured, Measurement, State


class Bound(NamedTuple):
    """One limit of a policy: of which instrument, of which quantity, and where it stands."""

    instrument: str
    name: str
    limit: Limit
    source: str


def settings(policy: Iterable[Bound], instrument: str) -> dict[str, float]:
    """How an instrument is to look, as fractions: what the policy sets, else the defaults."""
    own = {bound.name: bound.limit.number for bound in policy if bound.instrument == instrument}
    return {name: own.get(name, setting.default) for name, setting in SETTINGS.get(instrument, {}).items()}


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
