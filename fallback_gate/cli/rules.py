"""The front door: `fallback-gate rules` and `fallback-gate explain`, the tool's knowledge laid open."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

import click

from fallback_gate import policy as policies
from fallback_gate.cli.options import day, form, together
from fallback_gate.cli.output import to_stdout
from fallback_gate.compilers import READERS, manual
from fallback_gate.compilers.book import Book
from fallback_gate.compilers.log import read_log
from fallback_gate.compilers.rule import Marker, Rule
from fallback_gate.errors import InputError
from fallback_gate.model import Kind, ProcessKey, Report
from fallback_gate.model.aliases import called, plain
from fallback_gate.reports import safe
from fallback_gate.reports.dump import dump
from fallback_gate.scan.window import Scan
from fallback_gate.sources import expand

_TOPICS = {"policy", "waiver", "baseline", "budget", "hot", "cold", "unhot", "unlisted", "proof", "rule"}
_HOW = "docs/your-compiler.md shows how to write one"
SHOWN = 20  # lines that `rules test` prints of one log


OWN = together(
    click.option("-p", "--policy", metavar="FILE|builtin:NAME", help="Also the messages of this policy."),
    click.option("--rules", metavar="FILE", multiple=True, help="Also your own messages."),
)
"""The user's own messages, beside the built-in ones."""


class Known:
    """All messages that are known: the built-in ones, and the user's own where files with them are named."""

    def __init__(self, files: Iterable[str], policy: str | None) -> None:
        loaded = [policies.load(policy, day(None))] if policy else []
        for file in files:
            loaded.append(_loaded(file))
        self.own = tuple(dict.fromkeys(rule for policy in loaded for rule in policy.rules))
        self.readers = Book(READERS, self.own).readers

    def entries(self, compilers: Collection[str] | None = None) -> dict[str, list[manual.Entry]]:
        """The declarations by id, of all compilers or of some."""
        names = self.readers.keys() if compilers is None else compilers
        found = manual.entries([reader for reader in self.readers.values() if reader.name in names])
        for rule in self.own:
            if rule.compiler in names:
                found.setdefault(rule.id, []).append(rule)
        return found


def _loaded(file: str) -> policies.Policy:
    """A file with messages of the user's own. Raises `InputError` for one without."""
    found = policies.load(file, day(None))
    if not found.rules:
        raise InputError(f"{file}: no `rules` stand in it; {_HOW}")
    return found


def _say(text: str) -> None:
    """Print lines that hold words of a policy or of a log, which no terminal and no CI runner obeys."""
    said = text.removesuffix("\n").split("\n")
    lines = ("\t".join(map(safe.inline, line.split("\t"))) for line in said)
    to_stdout("\n".join(f"| {line}" if line.lstrip().startswith("::") else line for line in lines))


@click.group(name="rules")
def rules_command() -> None:
    """List, show and try the messages that are known: the built-in ones and your own."""


@rules_command.command(name="list")
@click.option("-c", "--compiler", metavar="NAME", help="Only the messages of this compiler.")
@form("text", "json")
@OWN
def list_command(compiler: str | None, format: str, rules: tuple[str, ...], policy: str | None) -> None:
    """List all messages: id, kind, compiler, versions.

    \b
    Examples:
      fallback-gate rules list
      fallback-gate rules list --compiler torch.compile --format json
    """
    known = Known(rules, policy)
    named = None if compiler is None else called(compiler, known.readers)
    if compiler is not None and not named:
        raise click.UsageError(_unknown("compiler", compiler, known.readers))
    found = known.entries(named)
    if format == "json":
        to_stdout(dump([_as_data(wordings) for wordings in found.values()]))
        return
    wide = max(len(one) for one in found)
    for one, wordings in found.items():
        first = wordings[0]
        kind = first.kind.value if isinstance(first, Rule) else "(evidence)"
        _say(f"{one:{wide}}  {kind:16}  {first.compiler:16}  {first.seen_in}")


@rules_command.command(name="show")
@click.argument("id")
@OWN
def show_command(id: str, rules: tuple[str, ...], policy: str | None) -> None:
    """Show how a message is recognised: its anchors, its pattern, its lines.

    ID is what `rules list` prints first.

    \b
    Example:
      fallback-gate rules show torch/graph-break
    """
    wordings = _wordings(id, Known(rules, policy))
    for one in wordings:
        said = _as_data([one])
        for key, value in said.items():
            if isinstance(value, list):
                _say(f"{key}:")
                for line in value:
                    _say(f"  - {line}")
            else:
                _say(f"{key}: {value}")
        _say("")


@rules_command.command(name="anchors")
def anchors_command() -> None:
    """Print every literal that the scan looks for, one a line.

    \b
    Example:
      fallback-gate rules anchors | grep -c .
    """
    anchors = {anchor for reader in READERS.values() for entry in reader.entries for anchor in entry.anchor}
    for literal in sorted({max(anchor.split("{n}"), key=len) for anchor in anchors}):
        to_stdout(literal)


@rules_command.command(name="test")
@click.argument("file", metavar="FILE")
@click.argument("logs", nargs=-1, metavar="[LOG]...")
def test_command(file: str, logs: tuple[str, ...]) -> None:
    """Try your own messages on their own lines, and on logs.

    FILE is a policy, or a file with `version` and `rules` alone. LOG is as for `check`.

    \b
    Example:
      fallback-gate rules test my-compiler.yaml build.log
    """
    policy = _loaded(file)
    for rule in policy.rules:
        lines = len(rule.matches) + len(rule.ignores)
        _say(f"{rule.id}: right on {'its 1 line' if lines == 1 else f'all its {lines} lines'}")
    if logs:
        _try(policy.rules, logs)


def _try(rules: Iterable[Rule | Marker], logs: Iterable[str]) -> None:
    """Print what the rules find in logs."""
    book = Book({}, rules)
    sources, errors = expand(list(logs), Path.cwd())
    if errors:
        raise InputError("; ".join(str(error) for error in errors))
    for source in sources:
        reports: list[Report] = []

        def tell(report: Report, process: ProcessKey, reports: list[Report] = reports) -> None:
            reports.append(report)

        with source.open() as stream:
            scan = Scan(book.anchors, stream, count_lines=True)
            said = read_log(source.path, scan, book, tell)
        seen = {
            marker: count
            for compilers in said.processes.values()
            for evidence in compilers.values()
            for marker, count in evidence.counts.items()
        }
        _say(f"\n{source.path}: {len(reports)} reports, {sum(seen.values())} markers")
        for report in islice(reports, SHOWN):
            _say(f"  {report.position}: {report.id} {report.op}")
            _say(f"    {safe.shorten(safe.log_line(report.text), 160)}")
        if len(reports) > SHOWN:
            _say(f"  and {len(reports) - SHOWN} more")
        for marker, count in seen.items():
            _say(f"  {marker}: {count}")
        for near in said.near.values():
            if near.rule:
                _say(f"  {near.position}: has the anchor of {near.rule}, but its pattern does not match")
                _say(f"    {safe.shorten(safe.log_line(near.text), 160)}")
        if said.extent.problem:
            _say(f"  not read to its end: {said.extent.problem}")


@click.command(name="explain")
@click.argument("id")
@OWN
def explain_command(id: str, rules: tuple[str, ...], policy: str | None) -> None:
    """Explain a message, a kind or a compiler: what it means, why it is slow, what to do.

    ID is what reports print in brackets (`torch/graph-break`), a kind (`graph_break`) or a compiler
    (`torch.compile`).

    \b
    Examples:
      fallback-gate explain torch/graph-break
      fallback-gate explain TensorRT
    """
    known = Known(rules, policy)
    named = () if "/" in id or id in known.readers.keys() - READERS.keys() else _compilers(id)
    if len(named) == 1:
        _say(manual.page(READERS[named[0]]))
        return
    if id in {kind.value for kind in Kind}:
        kind = Kind(id)
        _say(f"### {id}\n\n{manual.KIND_COST[kind]}\n\n")
        for one, wordings in known.entries().items():
            first = wordings[0]
            if isinstance(first, Rule) and first.kind is kind:
                _say(f"- {one}: {first.meaning}")
        return
    if id in known.readers:
        for wordings in known.entries([id]).values():
            _say(manual.entry(wordings, known.readers[id]))
        return
    wordings = _wordings(id, known)
    reader = known.readers[wordings[0].compiler]
    _say(manual.entry(wordings, reader))
    if reader.setting:
        _say(f"How to record a log that shows it: {reader.setting}")
    if reader.name in READERS:
        _say(f"All of this compiler: fallback-gate explain {reader.name}")


def _wordings(id: str, known: Known) -> list[manual.Entry]:
    found = known.entries()
    if id not in found:
        if family := sorted(_compilers(id)):
            raise click.UsageError(f"{id!r} is not one compiler; near it are {', '.join(family)}")
        names = [*found, *known.readers, *(kind.value for kind in Kind)]
        raise click.UsageError(_unknown("message, kind or compiler", id, names))
    return found[id]


def _compilers(id: str) -> tuple[str, ...]:
    """The built-in compilers that are called so, or else those in whose names it stands."""
    inside = (name for name in READERS if len(plain(id)) > 1 and plain(id) in plain(name))
    return called(id, READERS) or tuple(inside)


def _unknown(what: str, name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, list(known), 1, 0.8)  # by less, `waiver` is near AITER
    hint = f"; the nearest is {near[0]}" if near else ""
    if not near and "::" in name:
        hint = ", which looks like an operator: a policy names those (docs/policy.md)"
    elif not near and name.rstrip("s").lower() in _TOPICS:
        hint = ": docs/policy.md and docs/baseline.md explain what policies, waivers and baselines hold"
    return f"no {what} has the name {name!r}{hint}. `fallback-gate rules list` prints all."


def _as_data(wordings: list[manual.Entry]) -> dict[str, str | list[str]]:
    first = wordings[0]
    said: dict[str, str | list[str]] = {"id": first.id, "compiler": first.compiler}
    if isinstance(first, Rule):
        said |= {
            "kind": first.kind.value,
            "scope": first.scope.value,
            "meaning": first.meaning,
            "help": first.help,
        }
    else:
        said["shows"] = first.shows
    said["seen_in"] = [one.seen_in for one in wordings]
    said["anchor"] = [anchor for one in wordings for anchor in one.anchor]
    said["pattern"] = [one.pattern for one in wordings]
    said["matches"] = [line for one in wordings for line in one.matches]
    said["ignores"] = [line for one in wordings for line in one.ignores]
    return said
