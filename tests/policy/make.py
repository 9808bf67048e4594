"""Events and policies for the tests of this room."""

from __future__ import annotations

import textwrap
from datetime import date
from pathlib import Path
from typing import Any

from fallback_gate.model import Event, Kind, Location, ProcessKey, Scope
from fallback_gate.policy import Policy, load

TODAY = date(2026, 12, 1)
OURS = "reason: warm-up only, owner: serving-team, expires: 2027-03-31"


def event(op: str = "gate_attn", **said: Any) -> Event:
    """An event; `at` is (file, line, function), `ranks` make its processes."""
    at = said.pop("at", None)
    ranks = said.pop("ranks", ())
    values: dict[str, Any] = {
        "id": "torch/graph-break",
        "compiler": "torch.compile",
        "kind": Kind.OP_FALLBACK,
        "scope": Scope.OPERATOR,
        "op": op,
        "names": (),
        "stack": (),
        "files": (),
        "reason": None,
        "log": "compile.log",
        "line": 1,
        "lines": (1,),
        "count": 1,
        "sites": 1,
        "count_is_lower_bound": False,
        "ranks": tuple(ranks),
        "location": Location(*at) if at else None,
        "layer": None,
        "text": "",
        "fingerprint": f"print-of-{op}",
        "help": "",
        "processes": tuple(ProcessKey("compile.log", rank) for rank in ranks) or (ProcessKey("compile.log"),),
    }
    return Event(**{**values, **said})


def written(folder: Path, text: str, name: str = "policy.yaml") -> str:
    """Write a policy file and give its path."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text), encoding="utf-8", newline="\n")
    return str(path)


def policy(folder: Path, text: str, today: date = TODAY) -> Policy:
    """A policy from its text, without `version: 1`."""
    return load(written(folder, "version: 1\n" + textwrap.dedent(text)), today)
