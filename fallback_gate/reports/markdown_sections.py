"""Room 7: the sections of the Markdown report, each a few lines, or none where it has nothing to say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from fallback_gate.model import Class, Decision, Event, Finding, Outcome, State, Verdict
from fallback_gate.model.measures import State as Held
from fallback_gate.reports import around, measured, safe, words
from fallback_gate.reports import provenance as sources
from fallback_gate.reports.gaps import Gap, next_settings
from fallback_gate.reports.groups import Group, by_operator
from fallback_gate.reports.places import link, place
from fallback_gate.reports.proof_rows import proof_rows

SHORT, LONG = 160, 600  # characters of a name, of a sentence
MOST_BLOCKED = 50
MOST_DETAILS = 20
MOST_ROWS = 30
_MEASURED = {Held.EXCEEDED: "❌", Held.OPEN: "❔", Held.MET: "✅", Held.UNLIMITED: ""}
_STATES = {State.PROVEN: "✅", State.UNPROVEN: "❌", State.UNOBSERVABLE: "❔"}


def blocked(verdict: Verdict) -> Iterator[str]:
    """Which operator, what happened, where, and what to do: a row each."""
    groups = by_operator(verdict.decided(Decision.BLOCKED))
    if groups:
        yield from _findings(verdict, groups[:MOST_BLOCKED])
        yield from _rest(len(groups) - MOST_BLOCKED, "blocked operator")


def warned(verdict: Verdict) -> Iterator[str]:
    """What the policy lets pass with a warning."""
    groups = by_operator(verdict.decided(Decision.WARNED))
    if groups:
        yield from ("#### Warned", "")
        yield from _findings(verdict, groups[:MOST_ROWS])
        yield from _rest(len(groups) - MOST_ROWS, "warned operator")


def _findings(verdict: Verdict, groups: Sequence[Group]) -> Iterator[str]:
    yield "| operator | what happened | where in your code | what to do |"
    yield "| --- | --- | --- | --- |"
    steps: dict[str, str] = {}
    for group in groups:
        first, event = group[0], group[0].event
        name = f"**{_cell(event.op)}**" if event.op != "*" else "unnamed operator"
        hot = " 🔥 hot path" if first.event_class is Class.HOT else ""
        what = f"{words.KIND_WORDS[event.kind]}{hot}, {safe.markdown(words.how_often(group))}"
        reason = f"<br>{_cell(event.reason, LONG // 2)}" if event.reason else ""
        cost = words.cost(event)
        reason += f"<br>costs {safe.markdown(cost)}" if cost else ""
        where = "<br>".join(_where(verdict, other) for other in group[:3])
        more = f"<br>and {len(group) - 3:,} more places" if len(group) > 3 else ""
        told = steps.setdefault(event.help, name)
        step = _step(event) if told == name else f"as for {told}"
        yield _row([name, what + reason, where + more, step])


def _where(verdict: Verdict, finding: Finding) -> str:
    """The place in the user's code, a link where the site is known; else where the log says so."""
    event = finding.event
    spot = event.location
    if spot is None or not spot.file:
        shown = words.where(event)
        return (
            _cell(shown)
            if shown
            else f"not told; log {_cell(words.where_told(verdict, event.log, event.line))}"
        )
    found = place(verdict, finding)
    address = link(verdict, found) if found and found.of_user else None
    file = found.file if found and found.of_user else spot.file
    name = _cell(f"{file}:{spot.line}" if spot.line else file)
    shown = f"[{name}]({address})" if address else name
    return f"{shown} in {_cell(spot.function)}" if spot.function else shown


def _step(event: Event) -> str:
    return _linked(words.sentence(event.help)) or "-"


def _linked(text: str) -> str:
    """A sentence of a rule, its addresses as links."""
    parts = []
    for word in safe.shorten(text, LONG).split(" "):
        address = word.rstrip(".,;")
        is_link = address.startswith("https://") and not set(address) & set('()[]<>|`"\\*~ ')
        parts.append(f"[docs]({address})" if is_link and len(address) < LONG else safe.markdown(word))
    return " ".join(parts)


def reasons(verdict: Verdict) -> Iterator[str]:
    """Budgets, what the run as a whole lacks, and inputs that could not be read."""
    told = [*verdict.reasons, *verdict.errors]
    if told:
        yield from ("#### Why", "")
        yield from _bullets(told)


def problems(verdict: Verdict) -> Iterator[str]:
    """Logs that were not read to their end, or not judged, unless the first line says so already."""
    told = [f"{log.path}: {log.problem}" for log in verdict.logs if log.problem]
    if told and (len(verdict.logs) > 1 or verdict.outcome is not Outcome.UNPROVEN):
        yield from ("#### Logs with a problem", "")
        yield from _bullets(told)


def next_steps(verdict: Verdict, missing: Sequence[Gap]) -> Iterator[str]:
    """What to do now, in order."""
    steps: list[str] = []
    settings = next_settings(missing)
    found = verdict.decided(Decision.BLOCKED)
    if found and verdict.outcome is Outcome.BLOCKED:
        ids = words.distinct(finding.event.id for finding in found)[:3]
        explain = ", ".join(safe.code(f"fallback-gate explain {name}") for name in ids)
        steps = [
            "Repair each one where the table says; its last column tells how.",
            f"What it means and costs: {explain}.",
            "If one of them may fall back, list it under `cold` in the policy: reason, owner, expiry date.",
        ]
        steps += [
            f"Log with {safe.code(setting)}: this log does not show everything." for setting in settings
        ]
    if verdict.outcome is Outcome.UNPROVEN:
        steps = [f"Compile again with {safe.code(setting)}." for setting in settings]
        steps += (
            []
            if steps
            else ["See why above, and record the log again: docs/proof.md tells what each setting shows."]
        )
    if steps:
        yield from ("#### Next steps", "")
        yield from (f"{number}. {step}" for number, step in enumerate(steps, 1))


def details(verdict: Verdict) -> Iterator[str]:
    """All about each blocked operator, folded in."""
    groups = by_operator(verdict.decided(Decision.BLOCKED))
    for group in groups[:MOST_DETAILS]:
        event = group[0].event
        facts = (
            ("reason", event.reason),
            ("cost", words.cost(event)),
            ("called by", " < ".join(event.stack) or None),
            ("log", words.log_spot(event.log, event.line)),
            ("policy rule", words.rule(group[0])),
            ("fingerprint", event.fingerprint),
        )
        yield from _folded(
            words.title(event),
            [
                *(
                    f"- {name}: {safe.code(safe.shorten(words.sentence(text), LONG))}"
                    for name, text in facts
                    if text
                ),
                "",
                *(safe.fence([safe.shorten(words.sentence(event.text), LONG)]) if event.text else ()),
            ],
        )


def proof(verdict: Verdict) -> Iterator[str]:
    """Each kind, whether the log would have shown it, and why."""
    rows = proof_rows(verdict.processes)
    if not rows:
        return
    yield from ("#### Proof: would the log have shown a fallback?", "")
    yield from ("| kind | state | by | why |", "| --- | --- | --- | --- |")
    for row in rows[:MOST_ROWS]:
        spot = _cell(words.where_told(verdict, row.processes[0].log, row.line))
        line = f" ({spot})" if row.line else ""
        setting = (
            f"<br>set {_cell(row.setting, LONG)}" if row.setting and row.state is not State.PROVEN else ""
        )
        by = ", ".join(filter(None, (_cell(row.compiler) if row.compiler else "", safe.markdown(row.who))))
        yield _row(
            [
                f"`{row.kind.value}`" if row.kind else "every kind",
                f"{_STATES[row.state]} {row.standing}",
                by,
                safe.markdown(safe.shorten(words.sentence(row.why), LONG)) + line + setting,
            ]
        )
    yield from _rest(len(rows) - MOST_ROWS, "row")


def measurements(verdict: Verdict) -> Iterator[str]:
    """What instruments measured, under its limits; what is over one first."""
    found = measured.pressing(verdict)
    if not found:
        return
    yield from ("#### Measured", "")
    yield from (
        "| quantity | value | baseline | limit | state | file |",
        "| --- | ---: | ---: | --- | --- | --- |",
    )
    for row in found[:MOST_ROWS]:
        limit = f"{safe.markdown(row.limit)}<br>{_cell(row.source)}" if row.limit else ""
        state = f"{_MEASURED[row.state]} {measured.WORDS[row.state]}".strip()
        yield _row([_cell(row.name), row.value, row.before, limit, state, _cell(row.file)])
    yield from _rest(len(found) - MOST_ROWS, "measurement")


def allowed(verdict: Verdict) -> Iterator[str]:
    """What the policy allows, and why, folded in."""
    groups = by_operator(verdict.decided(Decision.ALLOWED))
    if not groups:
        return
    rows = [
        "| operator | kind | count | until | owner | reason | entry |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for group in groups[:MOST_ROWS]:
        first, rule = group[0], group[0].rule
        entry = rule.entry if rule else {}
        at_least = "+" if any(finding.event.count_is_lower_bound for finding in group) else ""
        said = [
            safe.markdown(safe.shorten(str(value or "-"), LONG))
            for value in (entry.get("expires"), entry.get("owner"), words.allowance(entry))
        ]
        count = f"{sum(finding.event.count for finding in group):,}{at_least}"
        source = _cell(rule.source) if rule else "-"
        rows.append(_row([_cell(first.event.op), f"`{first.event.kind.value}`", count, *said, source]))
    rows += _rest(len(groups) - MOST_ROWS, "allowed operator")
    yield from _folded(f"Allowed: {words.number(len(groups), 'operator')}", rows)


def notes(verdict: Verdict) -> Iterator[str]:
    """Notes for the reader, folded in."""
    if verdict.notes:
        yield from _folded(f"Notes: {len(verdict.notes):,}", list(_bullets(verdict.notes)))


def provenance(verdict: Verdict) -> Iterator[str]:
    """Where this verdict comes from, folded in."""
    policy, rules = verdict.policy, verdict.rules_files
    readers = sources.readers_by_log(verdict)
    facts = [f"- fallback-gate {safe.markdown(verdict.tool_version)}"]
    facts += (
        [f"- policy {safe.code(policy.name)}, SHA-256 {safe.code(policy.sha256)}"] if policy.sha256 else []
    )
    facts += [
        f"- own messages {safe.code(file.path)}, SHA-256 {safe.code(file.sha256 or '-')}"
        for file in rules[:MOST_ROWS]
    ]
    ran = f", run at {verdict.run_at:%Y-%m-%d %H:%M:%S} UTC" if verdict.run_at else ""
    told = around.machine(verdict.environment)
    facts += [f"- machine {safe.code(safe.shorten(told, LONG))}"] if told else []
    facts += [f"- judged as of {verdict.today}{ran}", ""]
    rows = ["| log | bytes | lines | SHA-256 | read by | verdict |", "| --- | --- | --- | --- | --- | --- |"]
    for log in verdict.logs[:MOST_ROWS]:
        size = f"{log.bytes:,}" if log.bytes is not None else "-"
        lines = f"{log.lines:,}" if log.lines is not None else "-"
        by = ", ".join(_cell(reader) for reader in readers[log.path]) or "-"
        outcome = log.outcome.value if log.outcome else "not judged"
        rows.append(
            _row([_cell(log.path), size, lines, _cell(log.sha256) if log.sha256 else "-", by, outcome])
        )
    yield from _folded("Provenance", [*facts, *rows, *_rest(len(verdict.logs) - MOST_ROWS, "log")])


def _folded(title: str, lines: Sequence[str]) -> Iterator[str]:
    shown = escape(safe.shorten(words.sentence(title), SHORT))
    yield from (f"<details><summary><code>{shown}</code></summary>", "", *lines, "", "</details>", "")


def _bullets(sentences: Sequence[str]) -> Iterator[str]:
    for text in sentences[:MOST_ROWS]:
        yield f"- {safe.markdown(safe.shorten(words.sentence(text), LONG))}"
    yield from _rest(len(sentences) - MOST_ROWS, "sentence")


def _cell(text: str, most: int = SHORT) -> str:
    return safe.code_cell(safe.shorten(words.sentence(text), most))


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _rest(count: int, noun: str) -> Iterator[str]:
    if count > 0:
        yield from ("", f"And {words.number(count, f'more {noun}')}, in the JSON report.")
