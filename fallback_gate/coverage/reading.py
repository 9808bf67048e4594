"""The annex, the coverage matrix: what each file is, and who reads it.

A file is known by its first characters, whatever its name. What is none of the structured files is a log: the
gate reads it, and its output code is read here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from fallback_gate.coverage import kernel_trace, onnxruntime, openvino, output_code, printed, store, tensorrt
from fallback_gate.coverage.collect import backend
from fallback_gate.coverage.output_code import OutputCode
from fallback_gate.errors import InputError, Unreadable
from fallback_gate.instruments import trace
from fallback_gate.instruments.text import lines_of, text_of
from fallback_gate.model.matrix import SCHEMA, Cell, Read
from fallback_gate.sources import Source, expand
from fallback_gate.sources.reader import Ahead

_HEAD = 16_384  # bytes that are looked at


class Format(str, Enum):
    """What a file is."""

    LOG = "log"
    TRACE = "kernel trace"
    ONNXRUNTIME = "ONNX Runtime profile"
    TENSORRT = "TensorRT layers"
    TENSORRT_TIMES = "TensorRT profile"
    OPENVINO = "OpenVINO executed graph"
    MATRIX = "coverage matrix"


_FORMATS = (
    (Format.MATRIX, re.compile(rf'^\s*\{{\s*"schema"\s*:\s*"{SCHEMA.rpartition("-")[0]}-')),
    (Format.OPENVINO, re.compile(r"^\s*(?:<\?xml[^>]*>\s*)?<net[\s>]")),
    (Format.TENSORRT, re.compile(r'^\s*\{\s*"Layers"\s*:\s*\[')),
    (Format.TENSORRT_TIMES, re.compile(r'(?s)^\s*\[\s*\{\s*"count"\s*:.{0,80}?"name".{0,2000}?"averageMs"')),
    (Format.ONNXRUNTIME, re.compile(r'(?s)^\s*\[.{0,4000}?"cat"\s*:\s*"(?:Session|Node)"')),
    (Format.TRACE, re.compile(r'(?s)^\s*\{.{0,8000}?"(?:traceEvents|deviceProperties|baseTimeNanoseconds)"')),
)  # fmt: skip


class Inputs(NamedTuple):
    """What the arguments name: those that the gate reads as logs, as given, and the files by format."""

    logs: list[str]
    sources: list[Source]
    files: list[tuple[Source, Format]]


@dataclass(frozen=True, slots=True)
class Asked:
    """How files are read: the back end's name, the provider or device that was asked, and what lies beside.

    `code` is the output code of the logs, `times` are those of TensorRT's layers.
    """

    backend: str | None = None
    target: str | None = None
    code: OutputCode = field(default_factory=OutputCode)
    times: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """What one file says. `step` is the kernel time of a step in microseconds, where a trace tells it."""

    read: Read
    cells: tuple[Cell, ...] = ()
    functions: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    step: float | None = None


def sort_out(arguments: Sequence[str], cwd: Path) -> Inputs:
    """What each argument names. Raises `InputError` for what can't be read at all."""
    found = Inputs([], [], [])
    for argument in arguments:
        sources, errors = expand([argument], cwd)
        if errors:
            raise InputError("\n".join(errors))
        kinds = [(source, format_of(source)) for source in sources]
        found.files.extend((source, kind) for source, kind in kinds if kind is not Format.LOG)
        logs = [source for source, kind in kinds if kind is Format.LOG]
        if logs:
            found.logs.append(argument)
            found.sources.extend(logs)
    return found


def format_of(source: Source) -> Format:
    """What a file is, by its first characters. A pipe is a log: it can't be read twice."""
    if source.once or source.problem:
        return Format.LOG
    try:
        with source.open() as stream:
            head = Ahead(stream).peek(_HEAD).decode("utf-8", "replace").lstrip("\ufeff")
    except Unreadable:
        return Format.LOG
    return next((kind for kind, pattern in _FORMATS if pattern.search(head)), Format.LOG)


def code_of(sources: Iterable[Source]) -> tuple[OutputCode, list[Read]]:
    """The output code in logs and structured traces of PyTorch."""
    whole, read = OutputCode(), []
    for source in sources:
        if source.once or source.problem:
            continue
        problem = None
        try:
            said = output_code.read(lines_of(source))
        except Unreadable as cut:
            problem, said = str(cut), OutputCode()
        whole.kernels.update(said.kernels)
        whole.starts.extend(said.starts)
        if said.kernels or said.starts or problem:
            cells = len(list(said.cells()))
            read.append(Read(source.path, "output code of Inductor", cells, problem))
    return whole, read


def tables_of(sources: Iterable[Source], target: str | None) -> tuple[list[Cell], list[Read]]:
    """The tables of kernels that logs of ONNX Runtime and OpenVINO print."""
    cells, read = list[Cell](), list[Read]()
    for source in sources:
        if not source.once and not source.problem:
            rows, told = printed.read(source, target)
            cells += rows
            read += [told] if told else []
    return cells, read


def times_of(files: Iterable[tuple[Source, Format]]) -> dict[str, float]:
    """The times of TensorRT's layers, by their names; a damaged profile is told where it is read."""
    found: dict[str, float] = {}
    for source, kind in files:
        if kind is Format.TENSORRT_TIMES:
            with suppress(Unreadable):
                found |= tensorrt.profile(text_of(source))
    return found


def read(source: Source, kind: Format, asked: Asked, cwd: Path) -> Found:
    """Read one structured file; what is damaged proves less. Raises `InputError` for an invalid matrix."""
    if kind is Format.TRACE:
        return read_trace(str(source.file) if source.file and not source.member else source.path, asked, cwd)
    try:
        cells, problem, notes = _read(source, kind, asked)
    except Unreadable as wrong:
        return Found(Read(source.path, kind.value, 0, str(wrong)))
    named = cells if kind is Format.MATRIX else backend(cells, asked.backend)
    return Found(Read(source.path, kind.value, len(named), problem), tuple(named), notes=notes)


def _read(source: Source, kind: Format, asked: Asked) -> tuple[list[Cell], str | None, tuple[str, ...]]:
    if kind is Format.ONNXRUNTIME:
        with source.open() as stream:
            return onnxruntime.cells(stream, asked.target)
    if kind is Format.OPENVINO:
        with source.open() as stream:
            return (*openvino.cells(stream, asked.target), ())
    if kind is Format.TENSORRT:
        return (*tensorrt.layers(text_of(source), asked.times), ())
    if kind is Format.TENSORRT_TIMES:
        tensorrt.profile(text_of(source))
    if kind is Format.MATRIX:
        return list(store.parse(text_of(source), source.path).cells), None, ()
    return [], None, ()


def read_trace(path: str, asked: Asked, cwd: Path) -> Found:
    """Read one kernel trace. Raises `InputError`."""
    timeline = trace.timeline(path, cwd)
    said = kernel_trace.cells(timeline, asked.code)
    named = tuple(backend(said.cells, asked.backend))
    return Found(
        Read(path, timeline.format, len(named), said.problem), named, said.functions, said.notes, said.step
    )
