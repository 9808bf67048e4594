"""The annex: hardware counters: how busy the memory was, and the matrix units, for each kernel and in all.

Memory busy while the matrix units stand idle is how a reference implementation looks from outside: weights
that are gathered before they are multiplied, attention in three kernels, a product row by row. Measured on
an H200, a mixture of experts with gathered weights keeps the memory at 81% and the tensor pipe at 1.5%, and
the same model with a grouped GEMM at 44% and 20%. So the fingerprint is: HBM above 70%, matrix units under
20%; for the whole file, weighted by time, and for each kernel that takes at least a tenth of it. The policy
sets all three.

A decode step of one sequence looks the same by nature: each weight is read for one product. Hold such runs
against a baseline (bytes), or set the thresholds for them.

`formats.py` knows the files of Nsight Compute, DCGM, rocprof and msprof.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from fallback_gate.errors import Unreadable
from fallback_gate.instruments import text
from fallback_gate.instruments.counters.fingerprint import WHOLE, Fingerprint, fingerprints, matches
from fallback_gate.instruments.counters.formats import recognise
from fallback_gate.instruments.counters.kernel import Kernel
from fallback_gate.instruments.counters.sample import Format
from fallback_gate.instruments.devices import Roof
from fallback_gate.instruments.evidence import Evidence
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.model.measures import SETTINGS, Measurement

INSTRUMENT: Final = "counters"
KNOWN: Final = 0.95  # of the time must have both counters


def read(
    path: str,
    settings: Mapping[str, float] | None = None,
    *,
    device: Roof | None = None,
    baseline: str | None = None,
) -> Evidence:
    """What the counters of a file say.

    `settings` are the policy's `hbm_above`, `tensor_below` and `kernel_share`, as fractions. `device` gives
    the bandwidth where a tool counts bytes (rocprof). `baseline` is a file of the same program in good order.

    Raises `InputError` for a file that can't be read or has no counters that are known.
    """
    chosen = {name: setting.default for name, setting in SETTINGS[INSTRUMENT].items()} | dict(settings or {})
    form, kernels, problem, notes = collected(path, device)
    whole = _whole(kernels)
    before = None
    if problem is None:
        problem = _untold(kernels)
    if baseline:
        _, good, cut, _ = collected(baseline, device)
        before = _whole(good)
        off = cut or (
            "" if _all_weighed(before) == _all_weighed(whole) else "only one of both counts all bytes"
        )
        problem = problem or (f"not comparable with the baseline: {off}" if off else None)
    found = fingerprints(form, kernels, whole, chosen)
    count = [Measurement(INSTRUMENT, "fingerprints", float(len(found)), path)]
    return Evidence(
        INSTRUMENT,
        path,
        form.name,
        text.size(path),
        (*(count if found or problem is None else ()), *_measured(path, whole, before)),
        tuple(_report(one) for one in found),
        blame=frozenset(("fingerprints",)),
        problem=problem,
        notes=tuple(notes),
        details=_details(form, kernels, whole, found, chosen),
    )


def _measured(path: str, whole: Kernel, before: Kernel | None) -> Iterator[Measurement]:
    """Use of memory and matrix units, and the bytes that were moved where all of them were counted."""
    for name, value, known in (
        ("dram_share", whole.dram_pct, before.dram_pct if before else None),
        ("tensor_share", whole.tensor_pct, before.tensor_pct if before else None),
    ):
        if value is not None:
            against = known / 100 if known is not None else None
            yield Measurement(INSTRUMENT, name, value / 100, path, baseline=against)
    if whole.bytes is not None and _all_weighed(whole):
        moved = before.bytes if before and _all_weighed(before) else None
        yield Measurement(INSTRUMENT, "dram_bytes", whole.bytes, path, baseline=moved)


def collected(path: str, device: Roof | None) -> tuple[Format, list[Kernel], str | None, list[str]]:
    """What a file is, its kernels, those that take longest first, why it was not read to the end, and notes.

    Raises `InputError` for a file that can't be read or has no counters that are known.
    """
    kernels: dict[str, Kernel] = {}
    problem = None
    form, samples = recognise(path, device)
    try:
        for sample in samples:
            kernel = kernels.get(sample.name)
            if kernel is None:
                kernel = kernels[sample.name] = Kernel(sample.name)
            kernel.add(sample)
    except Unreadable as cut:
        problem = f"read only in part: {cut}"
    if not kernels:
        problem = f"{form.title} without a single {form.unit}; {problem or form.advice}"
    ordered = sorted(kernels.values(), key=lambda kernel: -kernel.us)
    return form, ordered, problem, list(form.notes)


def _whole(kernels: Iterable[Kernel]) -> Kernel:
    """All kernels as one; each weighs by the time for which it has a counter."""
    whole = Kernel(WHOLE)
    for kernel in kernels:
        whole.launches += kernel.launches
        whole.us += kernel.us
        whole.weighed += kernel.weighed
        if kernel.bytes is not None:
            whole.bytes = (whole.bytes or 0.0) + kernel.bytes
        for mine, its in ((whole.dram, kernel.dram), (whole.tensor, kernel.tensor)):
            mine[0] += its[0]
            mine[1] += its[1]
    return whole


def _all_weighed(whole: Kernel) -> bool:
    """Whether a sum of its bytes is no lower bound."""
    return whole.launches > 0 and whole.weighed == whole.launches


def _untold(kernels: Iterable[Kernel]) -> str | None:
    """Why the file can't show the fingerprint; None where it can, for nearly all of its time."""
    kernels = list(kernels)
    total = sum(kernel.us for kernel in kernels)
    missing = []
    for what, sums in (
        ("the memory", [kernel.dram[1] for kernel in kernels]),
        ("the matrix units", [kernel.tensor[1] for kernel in kernels]),
    ):
        if sum(sums) < KNOWN * total:
            missing.append(f"{what} (there for {sum(sums) / total:.0%} of the time)" if sum(sums) else what)
    if not missing:
        return None
    return f"counters are missing of {' and of '.join(missing)}: docs/instruments.md says what to collect"


def _report(one: Fingerprint) -> Report:
    share = "" if one.scope == WHOLE else f", {one.share:.0%} of the time"
    told = f"HBM at {one.dram_pct:.0f}% and matrix units at {one.tensor_pct:.1f}%{share}: {one.likely}"
    return Report(
        id="counters/hbm-without-tensor",
        compiler=INSTRUMENT,
        kind=Kind.REFERENCE_KERNEL,
        scope=Scope.PROGRAM if one.scope == WHOLE else Scope.OPERATOR,
        op=(one.kind or WHOLE) if one.scope == WHOLE else one.name,
        position=0,
        text=f"{one.name}: {told}",
        names=(one.kind,) if one.kind else (),
        reason=told,
        help="compare with the operator's own implementation: docs/instruments.md",
    )


def _details(
    form: Format,
    kernels: list[Kernel],
    whole: Kernel,
    found: list[Fingerprint],
    chosen: Mapping[str, float],
) -> dict[str, Any]:
    total = sum(kernel.us for kernel in kernels) or 1.0

    def row(kernel: Kernel) -> dict[str, Any]:
        return {
            "name": kernel.name,
            "launches": kernel.launches,
            "microseconds": kernel.us if form.timed else None,
            "share": kernel.us / total,
            "dram_pct": kernel.dram_pct,
            "tensor_pct": kernel.tensor_pct,
            "dram_bytes": kernel.bytes,
            "fingerprint": matches(kernel, chosen),
        }

    return {
        "whole": row(whole),
        "kernels": [row(kernel) for kernel in kernels],
        "fingerprints": [
            {
                "scope": one.scope,
                "name": one.name,
                "dram_pct": one.dram_pct,
                "tensor_pct": one.tensor_pct,
                "share": one.share,
                "kind": one.kind,
                "likely": one.likely,
            }
            for one in found
        ],
        "thresholds": {f"{name}_pct": 100 * value for name, value in chosen.items()},
    }
