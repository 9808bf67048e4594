"""Room 6: one outcome. Blocked beats unproven, unproven beats pass, and nothing passes by silence."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from fallback_gate.model import EXIT_CODES, Decision, Finding, LogReport, Outcome, ProcessVerdict
from fallback_gate.model.aliases import called, nearest
from fallback_gate.policy.entry import Policy
from fallback_gate.verdict.proof import lacking


def expectations(
    processes: Sequence[ProcessVerdict],
    policy: Policy,
    wanted: Iterable[tuple[int, str]] = (),
    sealed: Collection[int] = (),
    known: Collection[str] = (),
) -> list[str]:
    """What is expected of the run and the logs do not show, a sentence each.

    `wanted`: numbers of ranks that others than the policy ask for, and who asks; `sealed`: the ranks that
    sealed logs tell of themselves. `known`: the compilers that logs may show.
    """
    missing = []
    seen = {compiler.name for process in processes for compiler in process.compilers}
    for name in policy.expect_compilers:
        names = called(name, known) or (name,)  # of a family, any
        if seen.isdisjoint(names):
            hint = "" if not known or names[0] in known else _unknown(name, known)
            missing.append(f"the policy expects the compiler {name}, and no log shows it{hint}")
    asked = [*wanted] if policy.expect_ranks is None else [(policy.expect_ranks, "the policy"), *wanted]
    ranks = {process.rank for process in processes if process.rank is not None}.union(sealed)
    for number, who in dict(asked).items():
        absent = sorted(set(range(number)) - ranks)
        if absent:
            missing.append(f"{who} expects {number} ranks; in no log are {len(absent)}: {few(absent)}")
    return missing


def few(ranks: Sequence[int]) -> str:
    """The first of these ranks."""
    return ", ".join(map(str, ranks[:8])) + (" ..." if len(ranks) > 8 else "")


def _unknown(name: str, known: Collection[str]) -> str:
    near = nearest(name, known)
    return f": no reader or rule has that name{f', the nearest is {near}' if near else ''}"


def proven(
    processes: Sequence[ProcessVerdict], logs: Sequence[LogReport], policy: Policy, missing: Sequence[str]
) -> bool:
    """Whether the evidence would have shown every forbidden fallback, whatever it did show.

    `missing`: what is open of limits and expectations, a sentence each.
    """
    judged = [log for log in logs if log.outcome is not None]
    return bool(
        processes
        and judged
        and all(log.recognised and log.problem is None for log in judged)
        and all(process.compilers for process in processes)
        and not any(lacking(compiler, policy) for process in processes for compiler in process.compilers)
        and not missing
    )


def outcome(findings: Sequence[Finding], exceeded: Sequence[str], proven: bool) -> Outcome:
    """The outcome of the run; `exceeded`: limits, a sentence each; `proven`: what `proven` says of it."""
    if any(finding.decision is Decision.BLOCKED for finding in findings) or exceeded:
        return Outcome.BLOCKED
    return Outcome.PASS if proven else Outcome.UNPROVEN


def exit_code(outcome: Outcome, exit_zero: bool) -> int:
    """The exit code of an outcome; `exit_zero` turns that of a blocked run into 0, and no other."""
    return 0 if exit_zero and outcome is Outcome.BLOCKED else EXIT_CODES[outcome]
