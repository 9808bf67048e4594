"""Room 7: the sections of the text report: blocked, unproven, warned, allowed, and the proof."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from fallback_gate.model import Decision, Finding, ProcessVerdict, State, Verdict
from fallback_gate.reports import layout, safe, words
from fallback_gate.reports.gaps import Gap
from fallback_gate.reports.groups import Group, by_operator
from fallback_gate.reports.sheet import ELSEWHERE, LABEL_COLUMNS, MOST_ROWS, Sheet

MOST_BLOCKS = 20
MOST_PLACES = 4
MOST_FRAMES = 6
EXCERPT_COLUMNS = 300
TABLE_COLUMNS = 80  # below this a table's cells are too narrow to read


def blocked(sheet: Sheet, findings: Sequence[Finding]) -> Iterator[str]:
    """A block for each operator; beyond the first twenty a count for each kind."""
    groups = by_operator(findings)
    shown = groups[: sheet.most(MOST_BLOCKS)]
    steps: dict[str, str] = {}
    for index, group in enumerate(shown):
        yield from ([""] if index else [])
        yield from _block(sheet, group, steps)
    rest = [finding for group in groups[len(shown) :] for finding in group]
    if rest:
        operators = words.number(len({finding.event.op for finding in rest}), "more operator")
        yield ""
        yield from sheet.paragraph(f"and {operators} {ELSEWHERE}", "bold")
        for kind, count in Counter(finding.event.kind for finding in rest).most_common():
            yield from sheet.paragraph(f"{count:,} {kind.value}: {words.KIND_WORDS[kind]}", indent=4)


def _block(sheet: Sheet, group: Sequence[Finding], steps: dict[str, str]) -> Iterator[str]:
    """All about one operator. `steps` remembers which next step was told for which operator."""
    first, event = group[0], group[0].event
    places = f", at {len(group):,} places" if len(group) > 1 else ""
    head = f"{words.title(event)}{places}, {words.how_often(group)} [{safe.inline(event.id)}]"
    yield from sheet.head(head, "bold red")
    yield from sheet.row("where", words.where(event), indent=4)
    yield from sheet.row("cost", words.cost(event), indent=4)
    stack = event.stack[: sheet.most(MOST_FRAMES)]
    yield from sheet.row("called", " < ".join(map(words.sentence, stack)) or None, indent=4)
    yield from sheet.row("reason", words.sentence(event.reason) if event.reason else None, indent=4)
    yield from _excerpt(sheet, first)
    others = group[1:][: sheet.most(MOST_PLACES)]
    for number, other in enumerate(others):
        spot, where = words.log_spot(other.event.log, other.event.line), words.where(other.event)
        yield from sheet.row("" if number else "also", f"{where} ({spot})" if where else spot, indent=4)
    if len(group) > 1 + len(others):
        more = words.number(len(group) - 1 - len(others), "more place")
        yield from sheet.row("", f"and {more}", indent=4)
    yield from sheet.row("rule", words.rule(first), indent=4)
    name = words.op(event)
    told = steps.setdefault(event.help, name)
    step = words.sentence(event.help) if told == name or sheet.everything else f"as for {told}"
    yield from sheet.row("next", step or None, indent=4, style="cyan")
    yield from _fingerprints(sheet, group)


def _fingerprints(sheet: Sheet, group: Group) -> Iterator[str]:
    """What a waiver or a baseline names, where everything is asked for."""
    told = words.distinct(safe.inline(finding.event.fingerprint) for finding in group)
    yield from sheet.row("id", f"fingerprint {', '.join(told)}" if sheet.everything else None, indent=4)


def _excerpt(sheet: Sheet, finding: Finding) -> Iterator[str]:
    """The line that proves it: beside its place where both fit, else below, behind a bar."""
    event, start = finding.event, 4 + LABEL_COLUMNS
    spot, text = words.log_spot(event.log, event.line), words.sentence(event.text)
    beside = f"{spot} | {text}" if text else spot
    if not text or layout.columns(beside) <= sheet.width - start:
        yield from sheet.row("log", beside, indent=4)
        return
    room = sheet.width - start - 2
    yield from sheet.row("log", spot, indent=4)
    for line in layout.wrap(text, room, sheet.most(max(3, EXCERPT_COLUMNS // room))):
        yield f"{' ' * start}{sheet.paint('|', 'dim')} {line}"


def unproven(sheet: Sheet, missing: Sequence[Gap]) -> Iterator[str]:
    """One sentence for each gap, and the setting that would close it."""
    return sheet.each(missing, MOST_ROWS, partial(_gap, sheet))


def _gap(sheet: Sheet, gap: Gap) -> Iterator[str]:
    kinds = ", ".join(kind.value for kind in gap.kinds) or "everything"
    state = "not shown" if gap.state is State.UNOBSERVABLE else "not proven"
    yield from sheet.head(f"{kinds}: {state} by {_who(gap)}", "yellow")
    spot = f" ({words.log_spot(gap.processes[0].log, gap.line)})" if gap.line else ""
    yield from sheet.row("why", f"{words.sentence(gap.why)}{spot}", indent=4)
    yield from sheet.row("set", words.sentence(gap.setting or "") or None, indent=4, style="cyan")


def _who(gap: Gap) -> str:
    """`torch.compile in 64 logs (rank0.log to rank63.log), ranks 0-63`."""
    logs = [safe.inline(log) for log in words.distinct(process.log for process in gap.processes)]
    ranks = words.ranks(process.rank for process in gap.processes if process.rank is not None)
    many = f"{len(gap.processes):,} processes" if len(gap.processes) > len(logs) and not ranks else ""
    spots = f"{len(logs):,} logs ({logs[0]} to {logs[-1]})" if len(logs) > 2 else " and ".join(logs)
    compiler = f"{safe.inline(gap.compiler)} in " if gap.compiler else ""
    return ", ".join(filter(None, (f"{compiler}{spots}", ranks, many)))


def warned(sheet: Sheet, findings: Sequence[Finding]) -> Iterator[str]:
    """A sentence for each operator that the policy lets pass with a warning."""
    return sheet.each(by_operator(findings), MOST_ROWS, partial(_warned, sheet))


def _warned(sheet: Sheet, group: Group) -> Iterator[str]:
    event = group[0].event
    where, spot = words.where(event), words.log_spot(event.log, event.line)
    place = f"at {where} ({spot})" if where else f"({spot})"
    yield from sheet.paragraph(f"{words.title(event)}, {words.how_often(group)} {place}")
    yield from sheet.row("rule", words.rule(group[0]), indent=4)
    yield from _fingerprints(sheet, group)


def allowed(sheet: Sheet, verdict: Verdict) -> Iterator[str]:
    """A row for each operator and cold entry: until when, whose, why, and which entry."""
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in verdict.decided(Decision.ALLOWED):
        source = finding.rule.source if finding.rule else ""
        groups.setdefault((finding.event.op, finding.event.kind.value, source), []).append(finding)
    if not groups:
        return
    shown = list(groups.values())[: sheet.most(MOST_ROWS)]
    rows = [_allowed_row(group, f"{verdict.policy.path}:") for group in shown]
    if sheet.width >= TABLE_COLUMNS:
        heading = ["op", "kind", "count", "until", "owner", "reason", "rule"]
        told = [at for at in range(len(heading)) if any(row[at] != "-" for row in rows)]
        table = [[row[at] for at in told] for row in (heading, *rows)]
        for number, cells in enumerate(layout.table(table, sheet.width - 2)):
            line = "  ".join(cells).rstrip()
            yield "  " + (line if number else sheet.paint(line, "dim"))
    else:
        for name, kind, count, until, owner, reason, rule in rows:
            yield from sheet.paragraph(f"{name}: {kind}, count {count}")
            yield from sheet.row("until", f"{until}, {owner}: {reason} ({rule})", indent=4)
    for group in shown if sheet.everything else ():
        yield from sheet.paragraph(words.op(group[0].event))
        yield from _fingerprints(sheet, group)
    yield from sheet.rest(len(groups) - len(shown))


def _allowed_row(group: Sequence[Finding], own_policy: str) -> list[str]:
    first, rule = group[0], group[0].rule
    entry = rule.entry if rule else {}
    source = rule.source if rule else "-"
    if source.startswith(own_policy):
        source = f"line {source.removeprefix(own_policy)}"
    at_least = any(finding.event.count_is_lower_bound for finding in group)
    return [
        words.op(first.event),
        first.event.kind.value,
        f"{sum(finding.event.count for finding in group):,}{'+' if at_least else ''}",
        safe.inline(str(entry.get("expires") or "-")),
        safe.inline(str(entry.get("owner") or "-")),
        words.sentence(words.allowance(entry) or first.why or "-"),
        safe.inline(source),
    ]


def proofs(sheet: Sheet, processes: Iterable[ProcessVerdict]) -> Iterator[str]:
    """What each process proves, kind by kind."""
    for process in processes:
        rank = f", rank {process.rank}" if process.rank is not None else ""
        pid = f", process {process.pid}" if process.pid is not None else ""
        host = f" on {safe.inline(process.host)}" if process.host is not None else ""
        yield from sheet.paragraph(f"{safe.inline(process.log)}{rank}{pid}{host}: {process.outcome.value}")
        yield from sheet.row("why", words.sentence(process.why or "") or None, indent=4)
        for compiler in process.compilers:
            for kind, proof in compiler.proof.items():
                needed = "" if kind in compiler.required else ", not required"
                line = f" (line {proof.line})" if proof.line else ""
                setting = f"; set {proof.setting}" if proof.setting else ""
                text = (
                    f"{compiler.name} {kind.value}: {proof.state.value}{needed}: {proof.why}{line}{setting}"
                )
                yield from sheet.paragraph(words.sentence(text), indent=4)
