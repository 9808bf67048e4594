"""Room 3: the manual pages, as Markdown: what each message means, why it is slow and what to do.

`fallback-gate explain` prints an entry, `docs/readers/` holds them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from fallback_gate.compilers.rule import Marker, Reader, Rule
from fallback_gate.model import Kind

KIND_COST: Final[Mapping[Kind, str]] = {
    Kind.GRAPH_BREAK: "The interpreter runs between two graphs: nothing is fused or captured across it, at every call.",
    Kind.EAGER_FRAME: "The whole function, often with all that it calls, runs operator by operator in the interpreter.",
    Kind.RECOMPILE_LIMIT: "From here on the function runs in the eager interpreter for each input that is not cached.",
    Kind.COMPILE_ERROR: "The compiler gave up on this code, and the program went on without the compiled version.",
    Kind.OP_FALLBACK: "A library kernel is called in place of generated code: no fusion, so each tensor goes through "
    "memory once more.",
    Kind.DEVICE_FALLBACK: "The operator runs on a slower device, and its tensors are copied there and back.",
    Kind.REFERENCE_KERNEL: "A kernel written to be right, not fast: often ten to a hundred times slower.",
    Kind.UNTUNED_CONFIG: "The kernel runs with a default configuration where a tuned one exists or could be made.",
    Kind.SLOWER_KERNEL: "A slower kernel of the same device runs where a faster one was asked for or expected.",
    Kind.CUDAGRAPH_SKIP: "Each kernel is launched from the CPU again: at small batches the launches are the time.",
}

Entry = Rule | Marker


def entries(readers: Iterable[Reader]) -> dict[str, list[Entry]]:
    """All declarations by id; the wordings of one message share an id."""
    found: dict[str, list[Entry]] = {}
    for reader in readers:
        for entry in reader.entries:
            found.setdefault(entry.id, []).append(entry)
    return found


def entry(wordings: list[Entry], reader: Reader) -> str:
    """The manual page entry of one message, in all its wordings."""
    first = wordings[0]
    lines = [f"### {first.id}", ""]
    if isinstance(first, Rule):
        lines += [
            first.meaning,
            "",
            f"- **Kind:** `{first.kind.value}`, scope `{first.scope.value}`"
            + (", printed once for many" if first.at_least else ""),
            f"- **Why it is slow:** {KIND_COST[first.kind]}",
            f"- **What to do:** {first.help}",
        ]
    else:
        lines += [first.shows, "", f"- **Evidence** that the reader of {reader.name} weighs; no fallback."]
    seen = dict.fromkeys(one.seen_in for one in wordings)
    lines += [f"- **Wording seen in:** {'; '.join(seen)}", "", "```text"]
    for line in dict.fromkeys(line for one in wordings for line in one.matches):
        lines += line.splitlines()
    lines += ["```", ""]
    ignored = list(dict.fromkeys(line for one in wordings for line in one.ignores))
    if ignored:
        lines += ["No such message:", "", "```text"]
        for line in ignored:
            lines += line.splitlines()
        lines += ["```", ""]
    return "\n".join(lines)


def page(reader: Reader) -> str:
    """The manual page of one reader."""
    title, _, body = reader.manual.partition("\n")
    name, _, subject = title.partition(": ")
    lines = [f"# {name}", "", subject, body.rstrip(), ""]
    if reader.setting:
        lines += ["## How to record a log that proves something", "", reader.setting, ""]
    needed = ", ".join(f"`{kind.value}`" for kind in Kind if kind in reader.required)
    lines += [f"Proof is required of: {needed}.", ""]
    if reader.rules:
        lines += ["## Messages that report a fallback", ""]
        lines += [entry(wordings, reader) for wordings in _by_id(reader.rules).values()]
    if reader.markers:
        lines += ["## Messages that are evidence", ""]
        lines += [entry(wordings, reader) for wordings in _by_id(reader.markers).values()]
    return "\n".join(lines).rstrip() + "\n"


def _by_id(declared: Iterable[Entry]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for one in declared:
        found.setdefault(one.id, []).append(one)
    return found


def table(readers: Iterable[Reader]) -> str:
    """All readers: whether a fallback is silent at the default level, the setting that shows it, the versions."""
    rows = [
        "| compiler or runtime | silent at its default level | setting that shows it | wording seen in |",
        "| --- | --- | --- | --- |",
    ]
    for reader in sorted(readers, key=lambda one: one.name.lower()):
        cells = (
            f"[{reader.name}]({reader.name}.md)",
            reader.silent,
            reader.setting or "a marker of your own",
            reader.seen_in,
        )
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"
