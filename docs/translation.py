"""Bring the code blocks of README.md into README.zh-CN.md, in their order; the sentences are a person's.

    python docs/translation.py [--check]

With `--check` nothing is written: the exit code is 1 where a block differs.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

README, CHINESE = (Path(__file__).parents[1] / name for name in ("README.md", "README.zh-CN.md"))
BLOCK = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def main() -> int:
    """Write the page, or compare it."""
    blocks = BLOCK.findall(README.read_text(encoding="utf-8"))
    there = CHINESE.read_text(encoding="utf-8")
    if len(BLOCK.findall(there)) != len(blocks):
        print(f"{CHINESE.name}: {README.name} has another number of code blocks; translate what is new")
        return 1
    following = iter(blocks)
    wanted = BLOCK.sub(lambda _: next(following), there)
    if "--check" in sys.argv[1:]:
        if wanted != there:
            print(f"{CHINESE.name}: its code blocks are not those of {README.name}; run `make docs`")
        return int(wanted != there)
    CHINESE.write_text(wanted, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
