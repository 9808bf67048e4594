"""Write what the pages take from the code: `docs/readers/`, and the tables of keys in `policy.md`.

    python docs/generate.py [--check]

With `--check` nothing is written: the exit code is 1 where a page differs from what the code says.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from fallback_gate.compilers import READERS, manual

HERE = Path(__file__).parent
PAGES = HERE / "readers"
POLICY = HERE / "policy.md"
HEAD = """\
# What each compiler says, and when it is silent

One page for each compiler or runtime, generated from its reader by `make docs`; `fallback-gate explain NAME`
prints the same. A log recorded at a level that would not print a fallback proves nothing: the third column
is the setting that makes it speak. A compiler that is not here is taught in minutes:
[your-compiler.md](../your-compiler.md).

"""
BLOCK = re.compile(r"(<!-- generated: (?P<what>[\w ]+) -->\n).*?(<!-- end -->)", re.S)


def pages() -> Mapping[str, str]:
    """Each page's text by its file name."""
    found = {f"{reader.name}.md": manual.page(reader) for reader in READERS.values()}
    return found | {"README.md": HEAD + manual.table(READERS.values())}


def policy_page(text: str) -> str:
    """The page on policies with its tables of keys as the schema has them."""
    schema = json.loads(files("fallback_gate.policy").joinpath("schema.json").read_text(encoding="utf-8"))
    return BLOCK.sub(lambda block: f"{block[1]}\n{_table(schema, block['what'])}\n{block[3]}", text)


def _table(schema: Mapping[str, Any], what: str) -> str:
    if what == "entries":
        return _entries(schema["definitions"])
    rows: list[list[str]] = []
    for name in what.split():
        inner = schema if name == "top" else schema["definitions"].get(name) or schema["properties"][name]
        prefix = "" if name in ("top", *schema["definitions"]) else f"{name}."
        needed = inner.get("required", ())
        for key, value in inner["properties"].items():
            must = " Must be there." if key in needed and name != "top" else ""
            rows.append([f"`{prefix}{key}`", value["description"] + must])
    return _rows(["key", "meaning"], rows)


def _entries(definitions: Mapping[str, Any]) -> str:
    """The keys of all three sorts of entries, each told once."""
    sections = ("hot", "unhot", "cold")
    keys = {key: value for name in sections for key, value in definitions[name]["properties"].items()}
    rows = []
    for key, value in keys.items():
        where = [name for name in sections if key in definitions[name]["properties"]]
        rows.append([f"`{key}`", "all" if len(where) == 3 else ", ".join(where), value["description"]])
    return _rows(["key", "in", "meaning"], rows)


def _rows(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def main() -> int:
    """Write the pages, or compare them."""
    wanted = {PAGES / name: text for name, text in pages().items()}
    there = {path: path.read_text(encoding="utf-8") for path in (*PAGES.glob("*.md"), POLICY)}
    wanted[POLICY] = policy_page(there[POLICY])
    if "--check" in sys.argv[1:]:
        stale = sorted(path for path in wanted.keys() | there.keys() if wanted.get(path) != there.get(path))
        for path in stale:
            print(f"docs/{path.relative_to(HERE).as_posix()}: not what the code says; run `make docs`")
        return 1 if stale else 0
    PAGES.mkdir(exist_ok=True)
    for path in there.keys() - wanted.keys():
        path.unlink()
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
