"""Where a start goes: the import time of each package, held against a written budget."""

from __future__ import annotations

import re
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from benchmarks import peers
from benchmarks.measure import ENVIRONMENT, Cost
from benchmarks.section import Bar, Section, number, seconds, size

BUDGET = Path(__file__).with_name("import_budget.yaml")
_ROW = re.compile(r"import time: +(\d+) \| +\d+ \| *(\S+)")
SLOWEST = 8


def import_times(words: Sequence[str]) -> dict[str, float]:
    """The seconds that each module took by itself, without those that it imports."""
    command = [words[0], "-X", "importtime", *words[1:]]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    return {name: int(taken) / 1e6 for taken, name in _ROW.findall(done.stderr)}


def by_package(modules: Mapping[str, float], known: Mapping[str, float]) -> dict[str, float]:
    """The seconds of each package that has a budget, and of all others together."""
    found = dict.fromkeys((*known, "other"), 0.0)
    for module, taken in modules.items():
        package = module.partition(".")[0]
        found[package if package in known else "other"] += taken
    return found


def section(found: Mapping[str, Cost], bar: Bar, runs: int) -> Section:
    """The start-up of a whole command, and the share of each package in the median of its imports."""
    budget: dict[str, float] = yaml.safe_load(BUDGET.read_text(encoding="utf-8"))
    told = [import_times(peers.gate(peers.SMALL).words) for _ in range(runs)]
    bare = statistics.median(sum(import_times(peers.imports().words).values()) for _ in range(runs))
    ours = {name: statistics.median(each.get(name, 0.0) for each in told) for name in told[0]}
    packages = by_package(ours, budget)
    packages["total"] = sum(ours.values())
    slowest = sorted(ours, key=ours.__getitem__, reverse=True)[:SLOWEST]
    whole, python = found["fallback-gate"], found["python"]
    return Section(
        "Start-up",
        f"A log of {size(peers.SMALL.stat().st_size)} takes {seconds(whole.wall)}, and "
        f"`python -c 'import click, yaml'` {seconds(python.wall)}. What is "
        "imported, in parts of that, against the budget in `benchmarks/import_budget.yaml`. The slowest: "
        f"{', '.join(f'{name} {ours[name] * 1e3:.1f} ms' for name in slowest)}.",
        ("package", "imports", "of click and yaml", "budget"),
        [
            (name, f"{packages[name] * 1e3:.1f} ms", f"{number(packages[name] / bare)}×", f"{limit:g}×")
            for name, limit in budget.items()
        ],
        [bar, Bar("import time beside click and yaml", packages["total"] / bare, budget["total"])]
        + [
            Bar(f"imports of {name}", packages[name] / bare, limit)
            for name, limit in budget.items()
            if packages[name] / bare > limit and name != "total"
        ],
    )
