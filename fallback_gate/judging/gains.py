"""Beside the second walk: gains that fusions are said to bring, held against what their bytes allow.

    gains:
      - name: row dot, scale and add in one kernel
        claim: 2x                       # or 15%
        counters: ncu.csv               # bytes as measured; seen from this file
        before: [k_rowdot, k_scale, k_add]
        after: [k_fused]
      - name: attention epilogue
        claim: 15%
        device: H200
        kernels: ["0:1076MB", "0:384MB", "0:649MB"]     # FLOP:BYTES; or bytes_before: 2109MB
        bytes_after: 1873MB

Each gain is a measurement: the claim over the bound, which the policy limits. Where counters are given, the
kernels' own times say what was gained, beside it. `instruments/roofline.py` says what the bound is. It holds
for kernels that bytes bound: where counters do not show that, the claim is neither refused nor believed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fallback_gate.errors import InputError, PolicyError, reason
from fallback_gate.instruments import counters, devices, roofline
from fallback_gate.instruments.counters.kernel import Kernel
from fallback_gate.instruments.evidence import Evidence
from fallback_gate.model import quantity
from fallback_gate.model.measures import Measurement
from fallback_gate.policy import checks, document
from fallback_gate.policy.globs import matches, slashed
from fallback_gate.policy.page import Key, Page

INSTRUMENT: Final = "roofline"
NEAR: Final = 60.0  # per cent of the memory's bandwidth from which bytes bound a kernel
KEYS: Final = (
    *("name", "claim", "device", "dtype", "flops", "kernels", "bytes_before", "bytes_after"),
    *("counters", "counters_after", "before", "after"),
)


class NotComparable(Exception):
    """Why the file does not tell what a fusion can gain; the text says so."""


@dataclass(slots=True)
class _Found:
    """What came of the gains so far."""

    measurements: list[Measurement] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    details: list[dict[str, Any]] = field(default_factory=list)


def read(path: str) -> Evidence:
    """What a file of gains says.

    Raises `PolicyError` with all that is wrong with the file, and `InputError` where it, or a file or a
    device that it names, is not there.
    """
    place = Path(path)
    try:
        with place.open("rb") as file:
            data = file.read(document.LARGEST + 1)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {reason(error)}") from None
    page = document.read(data, slashed(path))
    entries = _entries(page)
    if problems := tuple(page.told()):
        raise PolicyError(problems)
    found = _Found()
    for entry in entries:
        _judge(entry, place.parent, path, found)
    return Evidence(
        INSTRUMENT,
        path,
        "gains",
        len(data),
        tuple(found.measurements),
        problem="; ".join(found.problems) or None,
        notes=tuple(found.notes),
        details={"gains": found.details},
    )


def _entries(page: Page) -> list[dict[str, Any]]:
    """The gains of a page, with their amounts; what is wrong, the page says."""
    if page.value is None:
        if not page.problems:
            page.complain((), "the file is empty", "give it `gains`, a list")
        return []
    top = checks.mapping(page, (), page.value, ("version", "gains"), ("gains",))
    said = checks.items(page, ("gains",), top["gains"]) if "gains" in top else []
    if top.get("gains") == []:
        page.complain(("gains",), "an empty list claims nothing", "name a gain, or take the file away")
    return [_entry(page, ("gains", at), value) for at, value in enumerate(said)]


def _entry(page: Page, key: Key, value: object) -> dict[str, Any]:
    values = checks.mapping(page, key, value, KEYS, ("name", "claim"))
    entry: dict[str, Any] = {
        name: checks.text(page, (*key, name), values[name])
        for name in ("name", "device", "dtype", "counters", "counters_after")
        if name in values
    }
    for name, units in _AMOUNTS.items():
        if name in values:
            entry[name] = _amount(page, (*key, name), str(values[name]), units)
    for name in ("before", "after"):
        if name in values:
            entry[name] = checks.globs(page, (*key, name), values[name])
    if "kernels" in values:
        texts = checks.texts(page, (*key, "kernels"), values["kernels"])
        if texts:
            entry["kernels"] = [_amount(page, (*key, "kernels"), text, None) for text in texts]
    measured, given = {"before", "after"} <= entry.keys(), "bytes_after" in entry
    whole = ("kernels" in entry) != ("bytes_before" in entry) if given else measured
    if value is not None and ("counters" in entry) == given or not whole:
        advice = "give counters, before and after; or bytes_after, and kernels or bytes_before"
        page.complain(key, "it does not say which bytes the fusion saves", advice)
    return entry


_AMOUNTS: Final[Mapping[str, Mapping[str, float] | str]] = {
    "claim": "gain",
    "flops": quantity.FLOPS,
    "bytes_before": quantity.BYTES,
    "bytes_after": quantity.BYTES,
}


def _amount(page: Page, key: Key, text: str, units: Mapping[str, float] | str | None) -> Any:
    """A gain, an amount of these units, or FLOP:BYTES where there are none."""
    try:
        if units is None:
            return quantity.kernel(text)
        return quantity.gain(text) if isinstance(units, str) else quantity.amount(text, units)
    except ValueError as wrong:
        page.complain(key, str(wrong), "correct it")
        return None


def _judge(entry: Mapping[str, Any], folder: Path, path: str, found: _Found) -> None:
    name, claim = entry["name"], entry["claim"]
    roof = devices.roof(entry["device"], entry.get("dtype") or "bf16") if entry.get("device") else None
    gained = None
    try:
        if "counters" in entry:
            before, after, gained = _measured(entry, folder)
        else:
            flops = entry.get("flops") or 0.0
            before = [roofline.Work(*kernel) for kernel in entry.get("kernels", ())]
            before = before or list(roofline.unsplit(flops, entry["bytes_before"], roof))
            after = roofline.Work(flops, entry["bytes_after"])
        fused = roofline.fusion(before, after, roof)
    except (NotComparable, ValueError) as why:
        found.problems.append(f"{name}: {why}")
        return
    over = claim / fused.max_speedup
    for what, value in (("claim_over_bound", over), ("max_speedup", fused.max_speedup), ("speedup", gained)):
        if value is not None:
            found.measurements.append(Measurement(INSTRUMENT, what, value, path, subject=name))
    moved = sum(work.bytes for work in before)
    saved = f"{quantity.shown(moved, 'B')} before, {quantity.shown(after.bytes, 'B')} after"
    told = f", {gained:.3g}x was measured" if gained is not None else ""
    found.notes.append(
        f"{name}: {claim:.3g}x was claimed{told}, and {fused.max_speedup:.3g}x is the most there can be: "
        f"{fused.why} ({saved})"
    )
    found.details.append(
        {
            "name": name,
            "claim": claim,
            "max_speedup": fused.max_speedup,
            "claim_over_bound": over,
            "speedup": gained,
            "bytes_before": moved,
            "bytes_after": after.bytes,
            "why": fused.why,
        }
    )


def _measured(
    entry: Mapping[str, Any], folder: Path
) -> tuple[list[roofline.Work], roofline.Work, float | None]:
    """The kernels before and after as counters saw them, and what their times say was gained."""
    old = folder / entry["counters"]
    new = folder / (entry.get("counters_after") or entry["counters"])
    before, after = _kernels(old, entry["before"]), _kernels(new, entry["after"])
    runs = {kernel.launches for kernel in after}
    if len(runs) > 1 or any(kernel.launches % max(runs) for kernel in before):
        raise NotComparable("the kernels before and after were not launched equally often")
    works = [roofline.Work(0.0, kernel.bytes or 0.0, kernel.name) for kernel in before]
    moved = sum(kernel.bytes or 0.0 for kernel in after)
    was, now = (sum(kernel.us for kernel in kernels) for kernels in (before, after))
    return works, roofline.Work(0.0, moved, "fused"), was / now if was and now else None


def _kernels(path: Path, names: Sequence[str]) -> list[Kernel]:
    """The kernels of these names. Raises `NotComparable` where they do not tell what bounds them."""
    _, kernels, problem, _ = counters.collected(str(path), None)
    if problem:
        raise NotComparable(f"{path}: {problem}")
    for name in names:
        if not any(matches((name,), kernel.name) for kernel in kernels):
            raise NotComparable(f"{path} has no kernel {name!r}")
    found = [kernel for kernel in kernels if matches(tuple(names), kernel.name)]
    if uncounted := _named(
        kernel for kernel in found if not kernel.bytes or kernel.weighed < kernel.launches
    ):
        raise NotComparable(f"{path} has no bytes of {uncounted}: collect dram__bytes.sum")
    if far := _named(kernel for kernel in found if (kernel.dram_pct or 0.0) < NEAR):
        raise NotComparable(
            f"{path}: not bound by bytes, or far from that: {far} (below {NEAR:.0f}% of the memory's "
            "bandwidth); give a device and kernels as FLOP:BYTES"
        )
    return found


def _named(kernels: Iterable[Kernel]) -> str:
    return ", ".join(kernel.name for kernel in kernels)
