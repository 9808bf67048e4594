"""Write the pages of `docs/readers/` from the readers themselves. Run by `make docs`.

    python docs/generate.py [--check]

With `--check` nothing is written: the exit code is 1 where a page differs from what the readers say.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from fallback_gate.compilers import READERS, manual

PAGES = Path(__file__).parent / "readers"
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


def main() -> int:
    """Write the pages, or compare them."""
    wanted = pages()
    there = {path.name: path.read_text(encoding="utf-8") for path in PAGES.glob("*.md")}
    if "--check" in sys.argv[1:]:
        stale = sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))
        for name in stale:
            print(f"docs/readers/{name}: not what the readers say; run `make docs`")
        return 1 if stale else 0
    PAGES.mkdir(exist_ok=True)
    for name in there.keys() - wanted.keys():
        (PAGES / name).unlink()
    for name, text in wanted.items():
        (PAGES / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
