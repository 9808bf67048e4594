"""Write what pages take from the code: readers, proof rules, settings of `record`, keys of policies, rooms.

    python docs/generate.py [--check]

Run by `make docs`. With `--check` nothing is written: the exit code is 1 where a page differs from what the
code says.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import commands
import rooms

from fallback_gate.capture.table import DANGERS, TABLE
from fallback_gate.compilers import READERS, manual
from fallback_gate.compilers.rule import Evidence, Reader
from fallback_gate.model import Kind

DOCS = Path(__file__).parent
HEAD = """\
# What each compiler says, and when it is silent

One page for each compiler or runtime, generated from its reader by `make docs`; `fallback-gate explain NAME`
prints the same. A log recorded at a level that would not print a fallback proves nothing: the third column
is the setting that makes it speak. A compiler that is not here is taught in minutes:
[your-compiler.md](../your-compiler.md).

"""
BLOCK = re.compile(r"(<!-- generated: (?P<what>[\w ]+) -->\n).*?(<!-- end -->)", re.S)
PROOF_HEAD = """\
# Proof rules: what proves that a kind of fallback did not happen

Generated from the readers by `make docs`; [proof.md](proof.md) explains the words. A **required** kind must
be proven by default (a policy's `proof.required` changes that); the others are reported and do not decide.
*Reported by* are the messages that would have said it. A marker in the policy proves what it states, for
every compiler.

"""
SETTINGS_HEAD = """\
# What `record` sets

Generated from the settings table by `make docs`; [record.md](record.md) explains it. **Wordy** settings
print at every call: they are set where a package of that stack is found, or by `--compilers NAME`.
**Strict** modes, set by `--strict-modes`, make the stack fail rather than fall back. **Cold** settings run a
layer without its cache, which is silent on a hit.

"""
DANGERS_HEAD = """
## Variables that make any log prove less

They are left as the user set them; the recording says so, and the header keeps it.

"""


def pages() -> Mapping[str, str]:
    """Each page's text by its name below `docs/`."""
    found = {f"readers/{reader.name}.md": manual.page(reader) for reader in READERS.values()}
    return found | {
        "readers/README.md": HEAD + manual.table(READERS.values()),
        **{
            name: policy_page((DOCS / name).read_text(encoding="utf-8")) for name in ("policy.md", "trace.md")
        },
        "architecture.md": BLOCK.sub(
            lambda block: f"{block[1]}\n{rooms.table()}\n{block[3]}",
            (DOCS / "architecture.md").read_text(encoding="utf-8"),
        ),
        "rooms.svg": rooms.picture(),
        "commands.md": commands.page(),
        "proof-rules.md": PROOF_HEAD + _table(PROOF_COLUMNS, proof_rows(READERS.values())),
        "record-settings.md": SETTINGS_HEAD
        + _table(SETTINGS_COLUMNS, settings_rows())
        + DANGERS_HEAD
        + _table(("variable", "why"), ((f"`{one.variable}`", one.means) for one in DANGERS)),
    }


PROOF_COLUMNS = ("compiler", "kind", "by default", "reported by", "what proves its absence")


def proof_rows(readers: Iterable[Reader]) -> Iterable[tuple[str, ...]]:
    """A row for each kind of each compiler that its log can show."""
    for reader in sorted(readers, key=lambda one: one.name.lower()):
        weighed = reader.prove(Evidence())
        for kind in Kind:
            if kind not in weighed and kind not in reader.required:
                continue
            said = dict.fromkeys(f"`{rule.id}`" for rule in reader.rules if rule.kind is kind)
            yield (
                f"[{reader.name}](readers/{reader.name}.md)",
                f"`{kind.value}`",
                "required" if kind in reader.required else "reported",
                ", ".join(said) or "other kinds' messages",
                _evidence(reader, kind),
            )


def _evidence(reader: Reader, kind: Kind) -> str:
    """What proves one kind: the setting, what the manual says about proof, a strict mode in a sealed run."""
    parts = []
    weighed = reader.prove(Evidence()).get(kind)
    setting = (weighed.setting if weighed else None) or reader.setting
    if setting:
        parts.append(setting)
    told = re.search(r"\*\*What proves[^*]*\*\*\s+(.+?)(?:\n\s*\n|$)", reader.manual, re.S)
    if told:
        parts.append(" ".join(told[1].split()).rstrip("."))
    for mode in reader.strict:
        if kind in mode.kinds:
            named = " ".join(f"{name}={value}" for name, value in mode.variables.items())
            parts.append(
                f"**or a sealed run that succeeded with {named}**" + (f" ({mode.but})" if mode.but else "")
            )
    return "; ".join(parts)


SETTINGS_COLUMNS = ("compiler", "variable", "", "what it shows", "what works instead, or besides")


def settings_rows() -> Iterable[tuple[str, ...]]:
    """A row for each variable of each stack, or one for a stack without any."""
    for stack in TABLE:
        name = f"[{stack.name}](readers/{stack.name}.md)"
        instead = f"{stack.instead or '-'} ([source]({stack.page}))"
        rows = [
            (
                f"`{one.variable}={one.value.replace('{traces}', 'LOG.traces')}`",
                _mark(one.cold, stack.wordy),
                one.shows,
            )
            for one in stack.settings
        ]
        rows += [(f"`{one.variable}={one.value}`", "strict", one.shows) for one in stack.strict]
        for at, (variable, mark, shows) in enumerate(rows or [("none", "", "")]):
            yield (name, variable, mark, shows, "" if at else instead)


def _mark(cold: bool, wordy: bool) -> str:
    return ", ".join(word for word, on in (("cold", cold), ("wordy", wordy)) if on)


def _table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    titles = list(columns)
    lines = [titles, ["---"] * len(titles), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def policy_page(text: str) -> str:
    """The page on policies with its tables of keys as the schema has them."""
    schema = json.loads(files("fallback_gate.policy").joinpath("schema.json").read_text(encoding="utf-8"))
    return BLOCK.sub(lambda block: f"{block[1]}\n{_keys(schema, block['what'])}\n{block[3]}", text)


def _keys(schema: Mapping[str, Any], what: str) -> str:
    if what == "entries":
        return _entries(schema["definitions"])
    rows: list[list[str]] = []
    for name in what.split():
        inner = _section(schema, name)
        prefix = "" if name in ("top", *schema["definitions"]) else f"{name}."
        needed = inner.get("required", ())
        for key, value in inner["properties"].items():
            must = " Must be there." if key in needed and name != "top" else ""
            rows.append([f"`{prefix}{key}`", value["description"] + must])
    return _table(["key", "meaning"], rows)


def _section(schema: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The part of the schema that a word means: a definition, a key at the top, or an instrument."""
    if name == "top":
        return schema
    top = schema["properties"]
    found: Mapping[str, Any] = (
        schema["definitions"].get(name) or top.get(name) or top["instruments"]["properties"][name]
    )
    return found


def _entries(definitions: Mapping[str, Any]) -> str:
    """The keys of all three sorts of entries, each told once."""
    sections = ("hot", "unhot", "cold")
    keys = {key: value for name in sections for key, value in definitions[name]["properties"].items()}
    rows = []
    for key, value in keys.items():
        where = [name for name in sections if key in definitions[name]["properties"]]
        rows.append([f"`{key}`", "all" if len(where) == 3 else ", ".join(where), value["description"]])
    return _table(["key", "in", "meaning"], rows)


def main() -> int:
    """Write the pages, or compare them."""
    wanted = pages()
    names = {*wanted, *(f"readers/{path.name}" for path in (DOCS / "readers").glob("*.md"))}
    there = {
        name: (DOCS / name).read_text(encoding="utf-8") for name in sorted(names) if (DOCS / name).is_file()
    }
    if "--check" in sys.argv[1:]:
        stale = sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))
        for name in stale:
            print(f"docs/{name}: not what the code says; run `make docs`")
        return 1 if stale else 0
    (DOCS / "readers").mkdir(exist_ok=True)
    for name in there.keys() - wanted.keys():
        (DOCS / name).unlink()
    for name, text in wanted.items():
        (DOCS / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
