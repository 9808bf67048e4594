"""The annex: which tool wrote a file of evidence; the first line that only one of them prints says it.

Other output may stand before that line, as a script's own does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Final

from fallback_gate.errors import InputError, Unreadable
from fallback_gate.instruments import peak, text
from fallback_gate.instruments.dcgm import ENTITY, METRIC
from fallback_gate.instruments.exclusions import amd, ascend, dcgm, engines, nvidia
from fallback_gate.instruments.exclusions.seen import Seen

KNOWN: Final = (
    "nvidia-smi -q (text or -x), nvidia-smi dmon, dcgmi dmon, DCGM's Prometheus text, amd-smi metric, "
    "rocm-smi, npu-smi info, a serving log of vLLM or SGLang, a kernel log, the JSON of `fallback-gate peak`"
)
LONGEST: Final = 4096  # characters of a line that are looked at
_DOCUMENT: Final = re.compile(r"\s*(?:<\?xml|<!DOCTYPE nvidia_smi_log|<nvidia_smi_log|[{\[])")
_READERS: Final[tuple[tuple[Callable[[str], object], Callable[[Iterator[str], Seen], None]], ...]] = (
    (lambda line: nvidia.HEAD in line, nvidia.query),
    (nvidia.DMON.match, nvidia.dmon),
    (ENTITY.match, dcgm.dmon),
    (METRIC.match, dcgm.prometheus),
    (amd.DEVICE.match, amd.metric),
    (amd.ROCM.search, amd.rocm),
    (ascend.HEAD.match, ascend.smi),
)


def read(path: str, seen: Seen) -> None:
    """Take in one file. Raises `InputError` for a file that can't be read or that no tool of ours wrote."""
    seen.files.append(path)
    before = _told(seen)
    try:
        _read(path, text.lines(path), seen)
    except Unreadable as cut:
        if _told(seen) == before:
            raise InputError(f"{path}: {cut}") from None
        seen.problems.append(f"{path}: {cut}; what stands before it was read")
    if _told(seen) == before:
        raise InputError(f"{path}: nothing in it is known as evidence; known are {KNOWN}")


def _told(seen: Seen) -> tuple[object, ...]:
    """What changes when a file says anything."""
    looks = sum(device.looks for device in seen.devices.values())
    return looks, seen.loads.lines, len(seen.errors), seen.kernel_log, len(seen.figures), seen.engine_lines


def _read(path: str, lines: Iterator[str], seen: Seen) -> None:
    """What an engine or the kernel says is heard on the way, whoever else the file is from."""
    begun = False
    heard = _heard(lines, seen)
    for line in heard:
        if not begun and line.strip():
            begun = True
            if _DOCUMENT.match(line):
                _document(path, seen, is_xml=line.lstrip().startswith("<"))
                return
        for matches, reader in _READERS:
            if matches(line):
                reader(chain([line], heard), seen)
                return


def _heard(lines: Iterable[str], seen: Seen) -> Iterator[str]:
    for line in lines:
        line = line[:LONGEST]
        seen.engine_lines += engines.line(line, seen)
        yield line


def _document(path: str, seen: Seen, *, is_xml: bool) -> None:
    """A file that has to be read as a whole."""
    whole = text.document(path)
    if is_xml:
        nvidia.xml(whole, seen)
        return
    try:
        value = json.loads(whole)
    except (ValueError, RecursionError) as wrong:
        before = seen.engine_lines
        for _ in _heard(whole.splitlines(), seen):  # a log whose lines begin with a brace or a bracket
            pass
        if seen.engine_lines == before:
            raise Unreadable(f"no whole JSON document: {wrong}") from None
        return
    if isinstance(value, dict) and value.get("schema") == peak.SCHEMA:
        seen.figures += peak.figures(path, value)
    else:
        amd.metric_json(amd.documents(value), seen)
