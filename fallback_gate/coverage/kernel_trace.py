"""The annex, the coverage matrix: the kernels of a trace, by the operators that they compute.

An operator is known by the call that started the kernel, by the output code of the same program, or by the
kernel's name. A kernel that a compiler fused counts for each operator in it, with all of its time.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fallback_gate.compilers.runtimes import jax_xla
from fallback_gate.compilers.torch import log as torch_log
from fallback_gate.coverage import shapes
from fallback_gate.coverage.alignment import aligned, calls
from fallback_gate.coverage.collect import bounded
from fallback_gate.coverage.gathered import Pairs
from fallback_gate.coverage.kernel_names import column, computes, family
from fallback_gate.coverage.output_code import OutputCode, Part
from fallback_gate.instruments.trace import kernels, steps
from fallback_gate.instruments.trace.chrome import PYTORCH, XLA
from fallback_gate.instruments.trace.links import Link, Links, function, location
from fallback_gate.instruments.trace.ran import operators
from fallback_gate.instruments.trace.summary import Operator, summarise
from fallback_gate.instruments.trace.timeline import Timeline
from fallback_gate.model import Kind
from fallback_gate.model.matrix import Cell, Column
from fallback_gate.model.names import operator

LONGEST_NAME = 120  # characters of a kernel's name: a mangled one has thousands
_BACKENDS = {PYTORCH: torch_log.NAME, XLA: jax_xla.READER.name}


class Traced(NamedTuple):
    """What a trace says: cells, the user's functions that ran, and why it proves less than it should."""

    cells: list[Cell]
    functions: frozenset[str]
    problem: str | None
    notes: tuple[str, ...]
    step: float | None = None  # kernel time in a step, in microseconds


class _Key(NamedTuple):
    link: Link
    kernel: str
    part: Part | None


@dataclass(slots=True)
class _Sum:
    time: float = 0.0
    functions: dict[str, None] = field(default_factory=dict)


def cells(timeline: Timeline, code: OutputCode) -> Traced:
    """The cells of a trace; `code` is the output code of the same program, empty where there is none."""
    walked = ([], steps.NONE) if timeline.totals else steps.find(timeline)
    whole = summarise(timeline, walked)
    backend = _BACKENDS.get(timeline.format, timeline.format.partition("-")[0])
    if timeline.totals:
        sums_only = [cell for one in whole.operators.values() for cell in _of_total(one, backend)]
        return Traced(sums_only, frozenset(), whole.problem, tuple(whole.notes))
    sums: dict[_Key, _Sum] = defaultdict(_Sum)
    functions: dict[str, None] = {}
    pairs, links, wrapped = Pairs(), Links(timeline), calls(code)
    found = walked[0] or [steps.Step(0.0, 0.0, list(range(len(timeline.kernel_names))))]
    for step in found:
        order = sorted(step.kernels, key=timeline.kernel_starts.__getitem__)
        ran = [timeline.names[timeline.kernel_names[kernel]] for kernel in order]
        pairs.take(ran, [timeline.kernel_times[kernel] for kernel in order])
        told = aligned(ran, code.kernels, wrapped) if wrapped else {}
        for at, kernel in enumerate(order):
            link = links.of(kernel)
            total = sums[_Key(link._replace(stack=()), ran[at], told.get(at))]
            total.time += timeline.kernel_times[kernel]
            for frame in link.stack:
                if location(frame) is not None:
                    functions.setdefault(function(frame))
                    total.functions.setdefault(function(frame))
    count = whole.steps
    result = [cell for key, total in sums.items() for cell in _cells(key, total, backend, count, code)]
    gathered = pairs.cell(count, whole.microseconds, backend) if count else None
    return Traced(
        [*result, *([gathered] if gathered else [])], frozenset(functions), whole.problem, tuple(whole.notes),
        whole.microseconds / count if count else None,
    )  # fmt: skip


def _cells(key: _Key, total: _Sum, backend: str, count: int, code: OutputCode) -> Iterator[Cell]:
    parts = list(_parts(key, code))
    at = column(key.link.origin, key.kernel, parts[0].op)
    for part in parts:
        yield bounded(
            Cell(
                op=part.op,
                backend=backend,
                column=at,
                shape=part.shape,
                dtype=part.dtype,
                by=(kernels.short(key.kernel)[:LONGEST_NAME],),
                microseconds=total.time / count if count else None,
                shared=len(parts) > 1,
                functions=tuple(total.functions),
                kind=Kind.OP_FALLBACK if at is Column.FALLBACK else None,
                reason="the framework's eager kernels" if at is Column.FALLBACK else None,
            )
        )


def _parts(key: _Key, code: OutputCode) -> Iterable[Part]:
    """The operators that a kernel computes, best told first."""
    link, kernel = key.link, key.kernel
    if key.part is not None and link.origin != kernels.GENERATED:
        return (key.part,)
    if link.origin == kernels.GENERATED and (known := code.kernels.get(kernel)):
        return known
    told = operators(Operator(link.operator, link.origin))
    if told and link.operator != kernels.short(kernel):
        shape, dtype = _inputs(link.inputs)
        return [Part(operator(name), shape, dtype) for name in told]
    if told:
        inside = [Part(operator(name)) for name in told if computes(kernel, name)]
        return inside or (Part(_unnumbered(kernel)),)
    named = family(kernel) if link.origin in (kernels.LIBRARY, kernels.OTHER, kernels.GENERATED) else None
    return (Part(named or _unnumbered(link.operator)),)


def _unnumbered(name: str) -> str:
    """A kernel's name without the number that a compiler gave it, which changes with the program."""
    return re.sub(r"[._]\d+$", "", name)[:LONGEST_NAME]


def _inputs(said: str) -> tuple[str, str]:
    """The shapes and the first type of an operator's inputs, as the timeline keeps them."""
    tensors: Sequence[tuple[str, str, str]] = [one.partition(" ") for one in said.split(", ") if one]
    types = [shapes.dtype(kind) for _, _, kind in tensors]
    return shapes.inputs([shape for shape, _, _ in tensors]), types[0] if types else ""


def _of_total(one: Operator, backend: str) -> Iterator[Cell]:
    """The cells of an operator of which the file has sums over an unknown number of steps."""
    for kernel in one.kernel_names:
        yield from _cells(_Key(Link(one.origin, one.name), kernel, None), _Sum(), backend, 0, OutputCode())
