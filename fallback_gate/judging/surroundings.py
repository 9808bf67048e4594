"""The second walk, beside the evidence: the machine of a run, what is ruled out, and what the policy wants of
claims and of the artefact to fall back to.

None of it can let a fallback go. A claim that was missed blocks, where the policy says how much of it must be
reached; a claim that can't be compared then, and an artefact that nobody can fall back to, leave the verdict
unproven. All else is for the reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fallback_gate.instruments.evidence import Evidence
from fallback_gate.model import Decision, Finding, ProcessVerdict
from fallback_gate.model import environment as environments
from fallback_gate.model.claims import ClaimState, Figure, HeldClaim, HeldRollback
from fallback_gate.model.environment import Environment, Version
from fallback_gate.model.exclusions import Exclusions, Outside
from fallback_gate.policy.entry import Policy
from fallback_gate.sources.seal import Seal

AUTO, OFF = "auto", "off"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What came of it: `exceeded` blocks, `open` leaves the verdict unproven, a sentence each."""

    environment: Environment | None = None
    exclusions: Exclusions | None = None
    claims: tuple[HeldClaim, ...] = ()
    rollback: HeldRollback | None = None
    exceeded: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def environment(
    asked: Environment | str,
    seals: Mapping[str, Seal],
    processes: Sequence[ProcessVerdict],
    outside: Outside | None,
) -> Environment | None:
    """The machine of the run: what was given, or what logs and files tell of it; this machine is never asked.

    Versions that compilers print in their logs stand for the packages that no seal tells.
    """
    if asked == OFF:
        return None
    if isinstance(asked, Environment):
        return environments.joined([asked])
    parts = [
        seal.environment._replace(sources=(log,)) for log, seal in seals.items() if any(seal.environment)
    ]
    parts += [outside.environment] if outside else []
    known = [one.version for part in parts for one in part.compilers]
    printed = dict.fromkeys(
        Version(compiler.name, compiler.version)
        for process in processes
        for compiler in process.compilers
        if compiler.version and not any(version.startswith(compiler.version) for version in known)
    )
    logs = tuple(dict.fromkeys(process.log for process in processes if process.compilers))
    parts += [Environment(compilers=tuple(printed), sources=logs)] if printed else []
    return environments.joined(parts)


def surroundings(
    policy: Policy,
    asked: Environment | str,
    machine: Environment | None,
    outside: Outside | None,
    evidence: Sequence[Evidence],
    findings: Sequence[Finding],
) -> Surroundings:
    """Judge what is around a run by its policy. Without an environment (`off`) no artefact is looked at."""
    looked = asked != OFF
    figures = [figure for said in evidence for figure in said.figures]
    figures += outside.figures if outside else ()
    given = outside.exclusions if outside else None
    claims: tuple[HeldClaim, ...] = ()
    back: HeldRollback | None = None
    if policy.claims:
        from fallback_gate.judging.comparable import held

        claims = tuple(held(claim, _placed(figures, machine)) for claim in policy.claims)
    if policy.rollback and looked:
        from fallback_gate.judging.rollback import held as held_rollback

        back = held_rollback(policy.rollback, machine)
    return Surroundings(
        environment=machine,
        exclusions=given.concluded(_fallbacks(findings)) if given else None,
        claims=claims,
        rollback=back,
        exceeded=tuple(missed(one) for one in claims if one.state is ClaimState.MISSED),
        open=tuple(_open(claims, back)),
        notes=(
            *(
                f"no file measures {one.claim.metric}, which is claimed ({one.claim.place})"
                for one in claims
                if one.state is ClaimState.NOT_MEASURED and one.claim.at_least is not None
            ),
            *(
                ("the rollback was not looked at: --environment off",)
                if policy.rollback and not looked
                else ()
            ),
            *(environments.warnings(machine) if machine else ()),
        ),
    )


def _open(claims: Iterable[HeldClaim], back: HeldRollback | None) -> Iterator[str]:
    """What leaves the verdict unproven, a sentence each."""
    for one in claims:
        if one.state is ClaimState.NOT_COMPARABLE and one.claim.at_least is not None:
            yield f"the claim of {one.claim.metric} ({one.claim.place}) is not comparable: {one.why}"
    if back and back.problem:
        yield f"the rollback {back.rollback.artefact} ({back.rollback.place}): {back.problem}"


def missed(one: HeldClaim) -> str:
    """That a claim was missed, in a sentence."""
    return (
        f"{one.share or 0:.0%} of the claimed {one.claim.metric} ({one.claim.source}) was measured, and "
        f"{one.claim.at_least or 0:.0%} of it must be reached ({one.claim.place})"
    )


def _placed(figures: Sequence[Figure], machine: Environment | None) -> list[Figure]:
    """Figures with the run's device, where it has one and their file names none: all inputs are one run."""
    devices = machine.devices if machine else ()
    if len(devices) != 1:
        return list(figures)
    return [one._replace(conditions={"device": devices[0], **one.conditions}) for one in figures]


def _fallbacks(findings: Sequence[Finding]) -> list[str]:
    """The operators that fell back and that nothing allows, each once."""
    names = (
        finding.event.op if finding.event.op != "*" else "an unnamed operator"
        for finding in findings
        if finding.decision is not Decision.ALLOWED
    )
    return list(dict.fromkeys(names))
