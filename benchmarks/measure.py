"""Commands side by side: in turn, so that what disturbs the machine disturbs all of them; medians."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

LAUNCH = Path(__file__).with_name("launch.py")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
MIB = 1 << 20


class Command(NamedTuple):
    """What to run: the words, whether on one core, which exit codes mean that it did its work, and what is
    to be done before it starts."""

    words: Sequence[str]
    one_core: bool = True
    fine: frozenset[int] = frozenset({0, 1})
    before: Callable[[], None] | None = None


class Cost(NamedTuple):
    """Seconds by the clock and of CPU, and the most memory, in bytes."""

    wall: float
    cpu: float
    memory: float


def once(command: Command, *, sampled: bool = False) -> Cost:
    """Run a command, and see that it did its work. `sampled`: the memory of all its processes together."""
    if command.before:
        command.before()
    how = "sampled" if sampled else "one" if command.one_core else "all"
    done = subprocess.run(
        [sys.executable, "-I", "-S", LAUNCH, how, *command.words],
        capture_output=True,
        text=True,
        check=True,
        env=ENVIRONMENT,
    )
    told = json.loads(done.stdout)
    if told["status"] not in command.fine:
        raise SystemExit(f"exit code {told['status']} of: {' '.join(command.words)[:300]}")
    return Cost(told["wall"], told["cpu"], told["bytes"])


def side_by_side(commands: Mapping[str, Command], runs: int) -> dict[str, Cost]:
    """Run all of them in turn, `runs` times: the medians, and the most memory."""
    found: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            found[name].append(once(command))
    return {
        name: Cost(
            statistics.median(cost.wall for cost in costs),
            statistics.median(cost.cpu for cost in costs),
            max(cost.memory for cost in costs),
        )
        for name, costs in found.items()
    }
