"""The page of the mutation test: figures of each room, and each survivor with a reason.

Reasons stand in tests/mutants.yaml: a list of `why`, and `of`, regular expressions of which one is found in
the survivor's name. The figures are those of the runs that `build/mutants` keeps.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

NO_REASON = "not looked into yet"
UNREACHED = ", reached by no test"
HEAD = """# Mutation test

Written by `make mutants-report` from the last runs of `make mutants`; CONTRIBUTING.md tells what is changed.
A mutant is killed when a test fails, or a run with it takes far more time or memory than without it. Where
fewer were tried than there are, the run had its time: they come in random order, so those are a sample.
"""


TABLE = """
| room | mutants | tried | killed | survived | reached by no test | killed, % of tried |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
"""


def report(root: Path, kept: Path, config: dict[str, Any]) -> None:
    """Write tests/mutants.md."""
    reasons = yaml.safe_load((root / "tests/mutants.yaml").read_text(encoding="utf-8"))
    known = [(re.compile("|".join(one["of"])), one["why"]) for one in reasons]
    rows: list[str] = []
    groups: dict[str, list[str]] = {}
    for file in sorted(kept.glob("*.json")):
        run = json.loads(file.read_text(encoding="utf-8"))
        rows += _rows(file.stem, run, config["whole"].get(file.stem, ()))
        for one in sorted(run["results"], key=lambda one: (one["name"].split()[0], one["line"])):
            if one["state"] in ("killed", "unfit"):
                continue
            why = next((why for pattern, why in known if pattern.search(one["name"])), NO_REASON)
            groups.setdefault(why, []).append(one["name"] + UNREACHED * (one["state"] == "unreached"))
    lines = [HEAD, TABLE.strip(), *rows, "\n## Survivors\n"]
    for why, names in sorted(groups.items(), key=lambda group: (group[0] == NO_REASON, -len(group[1]))):
        lines += [f"### {why[0].upper()}{why[1:]}\n", "```text", *names, "```\n"]
    (root / "tests/mutants.md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def _rows(room: str, run: dict[str, Any], whole: Sequence[str]) -> Iterator[str]:
    """The rows of a room: with a sample, one for the files of which all was chosen, and one for the rest."""

    def part(name: str) -> str:
        if run["sample"] is None:
            return "all files"
        file = Path(name.split()[0])
        if any(file.match(glob) for glob in whole):
            return ", ".join(whole)
        return f"a sample of the other files (seed {run['seed']})"

    chosen = Counter(map(part, run["chosen"]))
    for what, of in chosen.items():
        states = Counter(one["state"] for one in run["results"] if part(one["name"]) == what)
        killed, tried = states["killed"], states.total() - states["unfit"]
        share = f"{100 * killed / tried:.1f}" if tried else "-"
        figures = (of, tried, killed, states["survived"], states["unreached"], share)
        yield f"| `{room}`: {what} | {' | '.join(map(str, figures))} |"
