"""The annex: what an accelerator can reach at most, from its data sheet: `devices.yaml`, figures as data.

A data sheet prints figures with 2:4 sparsity first, twice those of a dense matrix product: both stand in
the table and are never mixed. Each device says who states its figures. A device that is not in the table
is given by its peak and bandwidth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from fallback_gate.errors import InputError
from fallback_gate.model.quantity import shown


@dataclass(frozen=True, slots=True)
class Peak:
    """FLOP a second of one precision. `vector`: of the plain units, where no matrix unit takes it."""

    dense: float
    sparse: float | None = None
    vector: bool = False


@dataclass(frozen=True, slots=True)
class Device:
    """One accelerator: peaks by precision, bytes a second, and who says so (`vendor`, `third-party`)."""

    name: str
    aliases: tuple[str, ...]
    bandwidth: float
    basis: str
    source: str
    peaks: Mapping[str, Peak]


@dataclass(frozen=True, slots=True)
class Roof:
    """The two limits that a kernel meets: FLOP a second and bytes a second, and where they come from."""

    device: str
    dtype: str
    peak: float
    bandwidth: float
    sparse: bool = False
    source: str = "given by the user"

    @property
    def balance(self) -> float:
        """FLOP for each byte at which both limits are met at once."""
        return self.peak / self.bandwidth


@lru_cache(maxsize=1)
def table() -> tuple[Device, ...]:
    """All devices, in the order of the file."""
    import yaml

    text = files("fallback_gate.instruments").joinpath("devices.yaml").read_text(encoding="utf-8")
    return tuple(
        Device(
            entry["name"],
            tuple(entry["aliases"]),
            entry["bandwidth"] * 1e12,
            entry["basis"],
            entry["source"],
            {
                dtype: Peak(
                    peak["dense"] * 1e12,
                    peak["sparse"] * 1e12 if "sparse" in peak else None,
                    peak.get("vector", False),
                )
                for dtype, peak in entry["peaks"].items()
            },
        )
        for entry in yaml.safe_load(text)
    )


def device(name: str) -> Device:
    """The device of a name or an alias, whatever its case.

    Raises `InputError` that names the nearest.
    """
    wanted = _plain(name)
    known = {_plain(alias): one for one in table() for alias in (one.name, *one.aliases)}
    if wanted in known:
        return known[wanted]
    import difflib

    near = difflib.get_close_matches(wanted, known, 1)
    hint = f"did you mean {known[near[0]].name}? " if near else ""
    raise InputError(
        f"no device {name!r} is in the table: {hint}`fallback-gate roofline --devices` lists them; "
        "for your own give --peak and --bandwidth"
    )


def _plain(name: str) -> str:
    """A name as it is compared: in any case, and with any mark between its words."""
    return "-".join(name.lower().replace("_", " ").replace("-", " ").split())


def roof(name: str, dtype: str, *, sparse: bool = False) -> Roof:
    """The limits of a device at a precision; dense unless `sparse`.

    Raises `InputError` where the table has no such figure.
    """
    one = device(name)
    peak = one.peaks.get(dtype.lower())
    if peak is None:
        raise InputError(
            f"{one.name} has no peak for {dtype!r} in the table (it has {', '.join(one.peaks)}): "
            "name one of these, or give --peak"
        )
    if sparse and peak.sparse is None:
        raise InputError(f"{one.name} has no figure with sparsity for {dtype}: leave --sparse off")
    limit = peak.sparse if sparse and peak.sparse is not None else peak.dense
    return Roof(one.name, dtype.lower(), limit, one.bandwidth, sparse, f"{one.basis}: {one.source}")


def described(limits: Roof) -> str:
    """The limits in a line."""
    kind = f"{limits.dtype}, {'2:4 sparse' if limits.sparse else 'dense'}"
    return f"{limits.device} ({kind}): {shown(limits.peak, 'FLOPS')}, {shown(limits.bandwidth, 'B/s')}"
