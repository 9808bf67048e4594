"""Room 7: the first line of a report: the verdict in one sentence; the waiver and the baseline in another."""

from __future__ import annotations

from collections.abc import Sequence

from fallback_gate.model import Class, Decision, Outcome, Verdict
from fallback_gate.reports import safe, words
from fallback_gate.reports.gaps import Gap, gaps
from fallback_gate.reports.groups import by_operator
from fallback_gate.reports.proof_rows import excused


def waiver(verdict: Verdict) -> str | None:
    """The waiver in one sentence, or None where none was given."""
    given = verdict.waiver
    if given is None:
        return None
    by = f"release {given.release} by {given.who} until {given.expires}: {given.why} ({given.path})"
    if given.applied and verdict.outcome is Outcome.WAIVED:
        return safe.inline(f"waived for {by}")
    if given.applied:
        return safe.inline(
            f"the waiver covers what is blocked and does not let the run through; it is for {by}"
        )
    return safe.inline(f"waiver not applied{f', {given.problem}' if given.problem else ''}; it is for {by}")


def baseline(verdict: Verdict) -> str | None:
    """The baseline in one sentence, or None where none was given."""
    given = verdict.baseline
    if given is None:
        return None
    gone = f", {given.gone:,} gone" if given.gone else ""
    return safe.inline(f"baseline {given.path} ({words.number(given.entries, 'entry', 'entries')}{gone})")


def headline(verdict: Verdict) -> str:
    """One sentence why the verdict is what it is, and how many files it does not speak of."""
    return f"{_why(verdict)}{_not_judged(verdict)}"


def _not_judged(verdict: Verdict) -> str:
    left = sum(log.outcome is None for log in verdict.logs) if verdict.outcome else 0
    if not left or (left == len(verdict.logs) and verdict.outcome is Outcome.UNPROVEN):
        return ""
    return (
        f"; {left:,} of {words.number(len(verdict.logs), 'file')} {'was' if left == 1 else 'were'} not judged"
    )


def _why(verdict: Verdict) -> str:
    if verdict.outcome is None:
        return safe.inline(verdict.errors[0].split("\n")[0]) if verdict.errors else "no verdict was reached"
    blocked = _blocked_sentence(verdict)
    if verdict.outcome is Outcome.BLOCKED:
        return blocked
    if verdict.outcome is Outcome.WAIVED:
        return f"a waiver for this release overrides the block: {blocked}"
    if verdict.outcome is Outcome.UNPROVEN:
        return _unproven_sentence(verdict, gaps(verdict.processes))
    return _pass_sentence(verdict)


def _blocked_sentence(verdict: Verdict) -> str:
    groups = by_operator(verdict.decided(Decision.BLOCKED))
    blocked = [finding for group in groups for finding in group]  # in the order of the list below it
    hot = [finding for finding in blocked if finding.event_class is Class.HOT]
    names = words.distinct(words.op(finding.event) for finding in hot or blocked)
    if not names:
        return words.sentence(verdict.reasons[0]) if verdict.reasons else "the policy forbids what was found"
    kinds = words.distinct(words.KIND_WORDS[f.event.kind] for f in blocked if words.op(f.event) == names[0])
    allows = "the policy does not allow it"
    if verdict.baseline:
        allows = "neither the policy nor the baseline allows it"
    forbidden = "on the hot path" if hot else f"and {allows}"
    if len(names) == 1:
        text = f"{names[0]} fell back {forbidden} ({'; '.join(kinds[:2])})"
    else:
        text = f"{words.number(len(names), 'operator')} fell back {forbidden}: {words.listed(names)}"
    others = len(words.distinct(words.op(finding.event) for finding in blocked)) - len(names)
    if others < 1:
        return text
    return f"{text}; {words.number(others, 'other operator')} {'is' if others == 1 else 'are'} blocked"


def _unproven_sentence(verdict: Verdict, open_gaps: Sequence[Gap]) -> str:
    why = _what_is_open(verdict, open_gaps)
    if verdict.waiver is None or not verdict.waiver.applied:
        return f"nothing forbidden was seen, but {why}"
    names = words.distinct(words.op(finding.event) for finding in verdict.decided(Decision.BLOCKED))
    many = f"{words.number(len(names), 'operator')} are" if names[1:] else f"{names[0]} is" if names else ""
    waived = many or "the limit that is exceeded is"
    return f"{waived} waived, but the run is unproven, which a waiver does not cover: {why}"


def _what_is_open(verdict: Verdict, open_gaps: Sequence[Gap]) -> str:
    """Why the run is unproven: what is wrong with a log itself before what follows from it."""
    troubled = [log for log in verdict.logs if log.problem and log.outcome is Outcome.UNPROVEN]
    if troubled:
        which = f"{troubled[0].path}: " if verdict.logs[1:] else ""
        return words.sentence(f"{which}{troubled[0].problem}")
    kinds = words.distinct(kind.value for gap in open_gaps for kind in gap.kinds)
    if kinds:
        return f"the evidence could not have shown {words.listed(kinds, 6)}"
    whys = [gap.why for gap in open_gaps]
    whys += verdict.reasons
    if not whys and verdict.logs and not any(log.outcome for log in verdict.logs):
        many = f"any of the {len(verdict.logs):,} files that were found"
        whys = [f"no known compiler speaks in {many if len(verdict.logs) > 1 else 'the file that was found'}"]
    return words.sentence(whys[0]) if whys else "the evidence is incomplete"


def _pass_sentence(verdict: Verdict) -> str:
    allowed, warned = verdict.decided(Decision.ALLOWED), verdict.decided(Decision.WARNED)
    if not verdict.processes and verdict.measurements:
        return _measured_sentence(verdict)
    seen = (compiler for process in verdict.processes for compiler in process.compilers)
    compilers = words.distinct(safe.inline(compiler.name) for compiler in seen)
    ran = f"{words.listed(compilers)} ran and would have printed a fallback" if compilers else ""
    let_off = words.listed([kind.value for kind in excused(verdict.processes)], 6)
    if ran and let_off:
        ran += f", except {let_off}, which the policy excuses"
    ran += "; " if ran else ""
    if not allowed and not warned:
        return f"{ran}none was printed"
    found = len(allowed) + len(warned)
    that = "the one that was printed" if found == 1 else f"the {found:,} that were printed"
    if not warned:
        return f"{ran}{that} {'is' if found == 1 else 'are'} allowed"
    verb = "has" if len(warned) == 1 else "have"
    return f"{ran}of {that}, none is forbidden and {len(warned):,} {verb} a warning"


def _measured_sentence(verdict: Verdict) -> str:
    """Of instruments alone: which limits hold, and nothing of what no instrument looks at."""
    limited = [one for one in verdict.measurements if one.limit is not None]
    held = f"the limits of {words.listed([one.measurement.name for one in limited])} hold" if limited else ""
    return held or "no limit is set for what was measured"
