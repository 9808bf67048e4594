"""Room 6: a baseline file, read strictly: all that is wrong with it at once, with its lines.

It is JSON, one entry a line. The quick reader of JSON tells no lines, so a file with a fault is read once
more by the reader of policies, which does.
"""

from __future__ import annotations

import json
from typing import Any

from fallback_gate.errors import PolicyError, reason
from fallback_gate.model import Class, PolicySummary
from fallback_gate.model.history import BASELINE_SCHEMA, Baseline, Held
from fallback_gate.policy import HERE, Shelf, checks, document
from fallback_gate.policy.globs import slashed
from fallback_gate.policy.mistaken import is_another
from fallback_gate.policy.page import Key, Page, shown
from fallback_gate.verdict.baseline import print_of

LARGEST = 16 << 20  # bytes
KEYS = ("schema", "tool", "policy", "entries")
ENTRY_KEYS = ("compiler", "kind", "op", "file", "function", "class", "sites", "fingerprint")
HIDDEN = "***"  # stands where a secret was: such an entry no longer makes its fingerprint
_CLASSES = {Class.COLD.value: Class.COLD, Class.UNLISTED.value: Class.UNLISTED}


def load(path: str, shelf: Shelf = HERE) -> Baseline:
    """Read a baseline. Raises PolicyError with all of its problems."""
    try:
        data = shelf.read(path, LARGEST + 1)
    except (OSError, ValueError) as error:
        advice = "name a baseline, or write one with `fallback-gate baseline create`"
        raise PolicyError([f"the baseline {shown(path)} can't be read ({reason(error)}); {advice}"]) from None
    if len(data) > LARGEST:
        raise PolicyError([f"the baseline {shown(path)} is larger than {LARGEST >> 20} MiB"])
    name = shelf.named(slashed(path))
    page = _quick(data, name)
    found = _checked(page, shelf.named(path))
    if page.problems and len(data) <= document.LARGEST:
        page = document.read(data, name)
        found = _checked(page, shelf.named(path))
    problems = tuple(page.told())
    if problems or found is None:
        raise PolicyError(problems or [f"{name}:1: the file is no baseline"])
    return found


def _quick(data: bytes, name: str) -> Page:
    """The page without the lines of its keys."""
    page = Page(name)
    try:
        page.value = json.loads(data, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        page.complain_line(error.lineno, f"this is not valid JSON: {error.msg}; write the baseline again")
    except (ValueError, RecursionError) as error:
        page.complain_line(1, f"this is not valid JSON: {error}; write the baseline again")
    return page


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _checked(page: Page, path: str) -> Baseline | None:
    if page.value is None:
        if not page.problems:
            page.complain((), "the file is empty", "write one with `fallback-gate baseline create`")
        return None
    if is_another(page, "baseline"):
        return None
    top = checks.mapping(page, (), page.value, KEYS, KEYS)
    if "schema" in top and top["schema"] != BASELINE_SCHEMA:
        page.complain(
            ("schema",), f"{shown(top['schema'])} is not known", f"this tool reads {BASELINE_SCHEMA}"
        )
    tool = checks.mapping(page, ("tool",), top.get("tool", {}), ("name", "version"))
    policy = checks.mapping(page, ("policy",), top.get("policy", {}), ("name", "sha256"))
    digest = policy.get("sha256")
    entries: dict[tuple[str, str], Held] = {}
    for index, value in enumerate(checks.items(page, ("entries",), top.get("entries", []))):
        entry = _entry(page, ("entries", index), value)
        if entry is None:
            continue
        if (entry.fingerprint, entry.held_as) in entries:
            page.complain(("entries", index), "the entry stands twice", "keep one")
        entries[entry.fingerprint, entry.held_as] = entry
    return Baseline(
        path=path,
        entries=tuple(sorted(entries.values())),
        tool_version=str(tool.get("version", "")),
        policy=PolicySummary(str(policy.get("name", "")), None, None if digest is None else str(digest)),
    )


def _entry(page: Page, key: Key, value: object) -> Held | None:
    before = len(page.problems)
    said = checks.mapping(page, key, value, ENTRY_KEYS, ENTRY_KEYS)
    if len(page.problems) > before or not isinstance(value, dict):
        return None
    words = {name: _word(page, (*key, name), said[name]) for name in ("file", "function")}
    for name in ("compiler", "op", "fingerprint"):
        words[name] = checks.text(page, (*key, name), said[name]) or ""
    kind = checks.choice(page, (*key, "kind"), said["kind"], checks.KINDS)
    held_as = checks.choice(page, (*key, "class"), said["class"], _CLASSES)
    sites = checks.whole(page, (*key, "sites"), said["sites"], 1)
    if len(page.problems) > before or kind is None or held_as is None or sites is None:
        return None
    entry = Held(**words, kind=kind.value, held_as=held_as.value, sites=sites)
    if HIDDEN not in "".join(words.values()) and print_of(entry) != entry.fingerprint:
        advice = "entries are written by `fallback-gate baseline`, not by hand: take it out"
        page.complain((*key, "fingerprint"), "the fingerprint is not that of this entry", advice)
        return None
    return entry


def _word(page: Page, key: Key, value: object) -> str:
    if value == "":
        return ""
    return checks.text(page, key, value) or ""
