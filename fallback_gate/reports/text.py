"""Room 7: the verdict for a person at a terminal: the answer first, then what to do, then why.

The order is the order of use: verdict, next step, policy, logs; each blocked operator with the line that
proves it; what is unproven and the setting that would prove it; then what the policy allows. However
many events a log holds, the page stays short: the rest is counted, and JSON has it all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from fallback_gate.model import EXIT_CODES, Decision, LogReport, Outcome, Verdict
from fallback_gate.reports import around, layout, measured, safe, text_sections, words
from fallback_gate.reports.gaps import Gap, gaps, next_settings
from fallback_gate.reports.groups import by_operator
from fallback_gate.reports.headline import baseline, headline, waiver
from fallback_gate.reports.provenance import readers_by_log
from fallback_gate.reports.sheet import MOST_ROWS, STYLES, Sheet

MOST_PROBLEMS = 5


def render(
    verdict: Verdict, *, color: bool = False, verbose: int = 0, quiet: bool = False, width: int = 100
) -> str:
    """The report as lines of at most `width` columns, with a line feed at its end.

    `quiet` keeps the verdict and the names of the blocked operators; `verbose` (1 or more) leaves out
    nothing; `color` adds ANSI codes.
    """
    sheet = Sheet(color=color, width=width, everything=verbose > 0)
    return layout.finish(list(_short(sheet, verdict) if quiet else _full(sheet, verdict)))


def _short(sheet: Sheet, verdict: Verdict) -> Iterator[str]:
    yield from _answer(sheet, verdict)
    yield from sheet.row("waiver", waiver(verdict), style="bold yellow")
    groups = by_operator(verdict.decided(Decision.BLOCKED))
    names = words.distinct(words.op(group[0].event) for group in groups)
    yield from (layout.cut(name, sheet.width) for name in names)


def _full(sheet: Sheet, verdict: Verdict) -> Iterator[str]:
    missing = gaps(verdict.processes)
    yield from _answer(sheet, verdict)
    yield from sheet.row("waiver", waiver(verdict), style="bold yellow")
    yield from _next(sheet, verdict, missing)
    yield from _policy(sheet, verdict)
    yield from sheet.row("ratchet", baseline(verdict))
    yield from _logs(sheet, verdict)
    yield from around.head(sheet, verdict)
    for heading, lines in (
        ("Blocked", text_sections.blocked(sheet, verdict.decided(Decision.BLOCKED))),
        ("Unproven", text_sections.unproven(sheet, missing)),
        ("Why", sheet.bullets(verdict.reasons)),
        ("Measured", measured.section(sheet, verdict)),
        ("Exclusions", around.exclusions(sheet, verdict)),
        ("Claims", around.claims(sheet, verdict)),
        ("Could not be read", sheet.bullets(() if _told_above(verdict) else verdict.errors)),
        ("Warned", text_sections.warned(sheet, verdict.decided(Decision.WARNED))),
        ("Allowed", text_sections.allowed(sheet, verdict)),
        ("Proof", text_sections.proofs(sheet, verdict.processes) if sheet.everything else ()),
        ("Notes", sheet.bullets(verdict.notes, sheet.most(MOST_ROWS))),
    ):
        yield from sheet.section(heading, lines)


def _answer(sheet: Sheet, verdict: Verdict) -> Iterator[str]:
    style = STYLES[verdict.outcome]
    yield from sheet.answer(
        words.answer(verdict), verdict.exit_code, headline(verdict), style, sheet.most_lines
    )


def _told_above(verdict: Verdict) -> bool:
    """Whether the first line has said all that could not be read."""
    return verdict.outcome is None and len(verdict.errors) == 1 and "\n" not in verdict.errors[0]


def _next(sheet: Sheet, verdict: Verdict, missing: Sequence[Gap]) -> Iterator[str]:
    if verdict.outcome is Outcome.UNPROVEN:
        for setting in next_settings(missing):
            yield from sheet.row("next", f"compile again with {safe.inline(setting)}", style="bold")
    if verdict.outcome and verdict.exit_code != EXIT_CODES[verdict.outcome]:
        why = "an input could not be read" if verdict.errors else "asked for by --exit-zero"
        text = f"{verdict.exit_code}: {why}; the verdict stays {verdict.outcome.value}"
        yield from sheet.row("exit", text)


def _policy(sheet: Sheet, verdict: Verdict) -> Iterator[str]:
    name, path = verdict.policy.name, verdict.policy.path or "no policy file"
    yield from sheet.row("policy", safe.inline(name if name == path else f"{name} ({path})"))
    yield from sheet.row("rules", ", ".join(safe.inline(file.path) for file in verdict.rules_files) or None)
    if sheet.everything:
        yield from _provenance(sheet, verdict)


def _provenance(sheet: Sheet, verdict: Verdict) -> Iterator[str]:
    """What a second run needs to come to the same verdict."""
    ran = f", run at {verdict.run_at:%Y-%m-%d %H:%M:%S} UTC" if verdict.run_at else ""
    yield from sheet.row("tool", f"fallback-gate {verdict.tool_version}, judged as of {verdict.today}{ran}")
    files = [(verdict.policy.path or verdict.policy.name, verdict.policy.sha256)]
    files += [(file.path, file.sha256) for file in verdict.rules_files]
    files += [(log.path, log.sha256) for log in verdict.logs]
    for path, digest in files:
        yield from sheet.row("sha256", f"{safe.inline(digest)} {safe.inline(path)}" if digest else None)


def _logs(sheet: Sheet, verdict: Verdict) -> Iterator[str]:
    logs, readers = verdict.logs, readers_by_log(verdict)
    if len(logs) == 1:
        yield from sheet.row("log", _log(verdict, logs[0], readers[logs[0].path]))
        return
    if logs:
        tally = Counter(_log_verdict(log) for log in logs)
        yield from sheet.row(
            "logs", f"{len(logs):,}: {', '.join(f'{n:,} {what}' for what, n in tally.items())}"
        )
    telling = logs if sheet.everything else [log for log in logs if log.problem]
    shown = telling[: sheet.most(MOST_PROBLEMS)]
    for log in shown:
        yield from sheet.row("", _log(verdict, log, readers[log.path]))
    if len(telling) > len(shown):
        yield from sheet.row("", f"and {len(telling) - len(shown):,} more with a problem")


def _log(verdict: Verdict, log: LogReport, readers: Sequence[str]) -> str:
    """`compile.log (36.4 kB, torch.compile 2.11.0)`."""
    said = _log_verdict(log) if len(verdict.logs) > 1 or not log.recognised else ""
    lines = words.number(log.lines, "line") if log.lines is not None else ""
    facts = [_size(log.bytes), lines, *readers, "sealed" if log.sealed else "", said]
    detail = ", ".join(filter(None, facts))
    return words.sentence(
        f"{log.path}{f' ({detail})' if detail else ''}{f': {log.problem}' if log.problem else ''}"
    )


def _log_verdict(log: LogReport) -> str:
    verdict = log.outcome.value if log.outcome else "not judged"
    return verdict if log.recognised else f"not recognised, {verdict}"


def _size(count: int | None) -> str:
    """Bytes in a unit that fits: `1.3 MB`, of a thousand kB."""
    if count is None:
        return ""
    if count < 1000:
        return words.number(count, "byte")
    size, units = count / 1000, ["kB", "MB", "GB", "TB"]
    while size >= 999.95 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:.1f} {units[0]}"
