"""Write what is made from other files: readers' pages, the code of the translated README. For `make docs`.

    python docs/generate.py [--check]

With `--check` nothing is written: the exit code is 1 where a page differs from what it is made of.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from fallback_gate.compilers import READERS, manual

PAGES = Path(__file__).parent / "readers"
README, CHINESE = (Path(__file__).parents[1] / name for name in ("README.md", "README.zh-CN.md"))
BLOCK = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
HEAD = """\
# What each compiler says, and when it is silent

One page for each compiler or runtime, generated from its reader by `make docs`; `fallback-gate explain NAME`
prints the same. A log recorded at a level that would not print a fallback proves nothing: the third column
is the setting that makes it speak. A compiler that is not here is taught in minutes:
[your-compiler.md](../your-compiler.md).

"""


def pages() -> Mapping[str, str]:
    """Each page's text by its file name."""
    found = {f"{reader.name}.md": manual.page(reader) for reader in READERS.values()}
    return found | {"README.md": HEAD + manual.table(READERS.values())}


def translated() -> str:
    """The Chinese README with the code blocks of the English one, in their order."""
    blocks = BLOCK.findall(README.read_text(encoding="utf-8"))
    text = CHINESE.read_text(encoding="utf-8")
    if len(BLOCK.findall(text)) != len(blocks):
        sys.exit(f"{CHINESE.name}: {README.name} has another number of code blocks; translate what is new")
    following = iter(blocks)
    return BLOCK.sub(lambda _: next(following), text)


def main() -> int:
    """Write the pages, or compare them."""
    wanted = pages()
    there = {path.name: path.read_text(encoding="utf-8") for path in PAGES.glob("*.md")}
    chinese = translated()
    if "--check" in sys.argv[1:]:
        stale = sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))
        for name in stale:
            print(f"docs/readers/{name}: not what the readers say; run `make docs`")
        if chinese != CHINESE.read_text(encoding="utf-8"):
            stale.append(CHINESE.name)
            print(f"{CHINESE.name}: its code is not that of {README.name}; run `make docs`")
        return 1 if stale else 0
    CHINESE.write_text(chinese, encoding="utf-8")
    PAGES.mkdir(exist_ok=True)
    for name in there.keys() - wanted.keys():
        (PAGES / name).unlink()
    for name, text in wanted.items():
        (PAGES / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
