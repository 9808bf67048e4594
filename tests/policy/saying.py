"""Write what stands in tests/policy/said.yaml: `make said`, or `python -m tests.policy.saying`; see `HEAD`."""

from __future__ import annotations

import os
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import yaml

from fallback_gate.compilers import READERS
from fallback_gate.errors import PolicyError
from fallback_gate.policy import load
from fallback_gate.policy.advice import advise

from .make import TODAY

FILE = Path(__file__).with_name("said.yaml")
HEAD = """\
# What is said of a policy, `policy.yaml`: its problems, or the advice on one that loads. `make said` writes it anew.
# Each line that changes is to be read: one that is wrong is mended, not kept. Add a `policy`, and let the rest be written.
"""


def of(text: str) -> dict[str, Any]:
    """What is said of a policy of this text, line by line; it is written where the process works."""
    Path("policy.yaml").write_text(text, encoding="utf-8", newline="\n")
    try:
        found = advise(load("policy.yaml", TODAY), TODAY, timedelta(days=14), READERS)
    except PolicyError as error:
        return {"problems": list(error.problems)}
    return {"advice": [f"{one.source} {one.code}: {one.text}" for one in found]}


def loaded() -> list[dict[str, Any]]:
    """What the file says."""
    said: list[dict[str, Any]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return said


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as they stand."""


def _text(dumper: Any, data: str) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:str", data, style="|" if "\n" in data else None)


_Dumper.add_representer(str, _text)


def main() -> None:
    """Write it."""
    entries, back = loaded(), Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        said = [{"policy": one["policy"]} | of(one["policy"]) for one in entries]
        os.chdir(back)
    text = yaml.dump(said, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1 << 20)
    FILE.write_text(HEAD + text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
