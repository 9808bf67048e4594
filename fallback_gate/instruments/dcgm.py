"""The annex: the two forms in which DCGM tells its fields: `dcgmi dmon`, and the exporter's Prometheus text.

What the fields say is for those who ask: `counters.dcgm` of use, `exclusions.dcgm` of clocks and errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

ENTITY: Final = re.compile(r"\s*#\s*Entity\b")
METRIC: Final = re.compile(r'(DCGM_FI_(?:DEV|PROF)_\w+)\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\}\s+(\S+)')
_ANY: Final = re.compile(r"\w+")
_ROW: Final = re.compile(r"\s*(GPU(?:-[A-Z]+)?)\s+(\S+)\s+(.*)")
_LABEL: Final = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def rows(lines: Iterable[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Each row of `dcgmi dmon`: what it is of (`GPU 0`, `GPU-I 1`), and its values by column."""
    columns: list[str] = []
    for line in lines:
        if ENTITY.match(line):
            columns = line.replace("#", " ").split()[1:]
        elif found := _ROW.match(line):
            yield f"{found[1]} {found[2]}", dict(zip(columns, found[3].split(), strict=False))


def looks(
    lines: Iterable[str], named: Callable[[Mapping[str, str]], str], wanted: re.Pattern[str] = _ANY
) -> Iterator[tuple[str, dict[str, str]]]:
    """Each look of the exporter at a device: what `named` calls it by its labels, and the wanted metrics.

    A scrape has each metric of a device once; one that comes again begins the next look.
    """
    told: dict[str, dict[str, str]] = {}
    for line in lines:
        found = METRIC.match(line)
        if found is None or not wanted.fullmatch(found[1]):
            continue
        name = named(dict(_LABEL.findall(found[2])))
        metrics = told.setdefault(name, {})
        if found[1] in metrics:
            yield name, metrics
            metrics = told[name] = {}
        metrics[found[1]] = found[3]
    yield from told.items()
