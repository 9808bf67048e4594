"""How `anchors.txt` was drawn: 230 literals of messages of AI compilers, for the peers to search.

    python benchmarks/draw_anchors.py CATALOGUE.yaml...

A catalogue is a list of messages, each with a `template` ("No tuned config for {kernel}, using {name}") and
a `role`. Of each message that is no mere line prefix the longest part without a placeholder, a quote, a
backslash or a run of spaces is taken, where it has 12 characters or more; of all these 230 are drawn by a
fixed seed. The list is fixed: nobody chooses what the peers are slow at. It knows nothing of our own anchors.
"""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

import yaml

ANCHORS = Path(__file__).with_name("anchors.txt")
DRAWN, SHORTEST, SEED = 230, 12, 230
CUT = re.compile(r"\{[^{}]*\}|\.\.\.|[^\x20-\x7e]|[\"'\\]|  +")


def literal(template: str) -> str:
    """The longest part of a message that it always has."""
    return max((part.strip() for part in CUT.split(template)), key=len)


def main(catalogues: list[str]) -> None:
    """Draw, and write the list."""
    found = set()
    for catalogue in catalogues:
        for message in yaml.safe_load(Path(catalogue).read_text(encoding="utf-8")):
            told = message["role"] not in ("silent", "envelope") and not message["template"].startswith(
                "(no "
            )
            if told:
                found.add(literal(message["template"]))
    long_enough = sorted(part for part in found if len(part) >= SHORTEST)
    drawn = sorted(random.Random(SEED).sample(long_enough, DRAWN))
    ANCHORS.write_text("".join(f"{part}\n" for part in drawn), encoding="utf-8")
    print(f"{len(drawn)} of {len(long_enough)} literals")


if __name__ == "__main__":
    main(sys.argv[1:])
