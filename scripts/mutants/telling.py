"""The page of the mutation test: figures of each room, and each survivor with a reason.

Reasons stand in tests/mutants.yaml: a list of `why`, and `of`, regular expressions of which one is found in
the survivor's name. The figures are those of the runs that `build/mutants` keeps.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

HEAD = """# Mutation test

Written by `make mutants-report` from the last runs of `make mutants`; CONTRIBUTING.md tells what is changed.
A mutant is killed when a test fails, or a run with it takes far more time or memory than without it.
"""


def report(root: Path, kept: Path, config: dict[str, Any]) -> None:
    """Write tests/mutants.md."""
    reasons = yaml.safe_load((root / "tests/mutants.yaml").read_text(encoding="utf-8"))
    known = [(re.compile("|".join(one["of"])), one["why"]) for one in reasons]
    rows, told = [], []
    for file in sorted(kept.glob("*.json")):
        run = json.loads(file.read_text(encoding="utf-8"))
        whole = tuple(f"{file.stem}/{name}" for name in config["whole"].get(file.stem, ()))
        parts: dict[str, list[dict[str, Any]]] = {}
        for one in run["results"]:
            name = Path(one["name"].split()[0])
            sampled = run["sample"] is not None and not any(name.match(glob) for glob in whole)
            parts.setdefault("sample" if sampled else "whole", []).append(one)
        for part, results in sorted(parts.items(), reverse=True):
            count = Counter(one["state"] for one in results)
            what = f"`{file.stem}`" + (f", of the other files {len(results)}" if part == "sample" else "")
            if part == "sample":
                what += f" (seed {run['seed']})"
            elif whole and run["sample"] is not None:
                what += f": {', '.join(config['whole'][file.stem])}"
            rows.append((what, len(results), count["killed"], count["survived"], count["unreached"]))
        told += [one for one in run["results"] if one["state"] != "killed"]
    groups: dict[str, list[str]] = {}
    for one in told:
        why = next((why for pattern, why in known if pattern.search(one["name"])), "not looked into yet")
        groups.setdefault(why, []).append(one["name"] + ("" if one["state"] == "survived" else ", unreached"))
    lines = [HEAD, "| room | mutants | killed | survived | reached by no test | killed, % |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: |")
    lines += [
        f"| {what} | {all_} | {killed} | {alive} | {unreached} | {100 * killed / all_:.1f} |"
        for what, all_, killed, alive, unreached in rows
    ]
    lines.append("\n## Survivors\n")
    for why, names in sorted(groups.items(), key=lambda group: -len(group[1])):
        lines += [f"### {why}\n", "```text", *names, "```\n"]
    (root / "tests/mutants.md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
