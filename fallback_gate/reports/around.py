"""Room 7: what is around a run: the machine, what is ruled out, claims, the artefact to fall back to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from fallback_gate.model import Verdict
from fallback_gate.model.claims import METRICS, ClaimState, HeldClaim
from fallback_gate.model.environment import Environment, as_data
from fallback_gate.model.exclusions import Exclusions, Standing
from fallback_gate.model.quantity import digits, shown
from fallback_gate.reports import safe, words
from fallback_gate.reports.sheet import Sheet

STANDINGS: Final = {
    Standing.RULED_OUT: "ruled out",
    Standing.FOUND: "found",
    Standing.OPEN: "not ruled out",
}
_STYLES: Final = {Standing.RULED_OUT: "green", Standing.FOUND: "bold red", Standing.OPEN: "yellow"}
_CLAIMS: Final = {
    ClaimState.REACHED: "reached",
    ClaimState.MISSED: "missed",
    ClaimState.COMPARED: "compared",
    ClaimState.NOT_COMPARABLE: "not comparable",
    ClaimState.NOT_MEASURED: "not measured",
}
MOST_VERSIONS: Final = 8
MOST_CLAIMS: Final = 20


def data(verdict: Verdict) -> dict[str, Any]:
    """The keys of the JSON report; null where there is nothing."""
    given, back = verdict.exclusions, verdict.rollback
    return {
        "environment": as_data(verdict.environment) if verdict.environment else None,
        "exclusions": given
        and {
            "conclusion": given.conclusion,
            "causes": [
                {"cause": one.cause.value, "state": one.standing.value, "short": one.short, "why": one.why}
                for one in given.causes
            ],
            "facts": list(given.facts),
            "files": list(given.files),
        },
        "claims": [_claim(one) for one in verdict.claims],
        "rollback": back
        and {
            "artefact": back.rollback.artefact,
            "compiler": back.rollback.compiler,
            "version": back.rollback.version,
            "source": back.rollback.place,
            "problem": back.problem,
            "facts": list(back.facts),
        },
    }


def _claim(one: HeldClaim) -> dict[str, Any]:
    claim, figure = one.claim, one.figure
    return {
        "metric": claim.metric,
        "value": claim.value,
        "unit": METRICS[claim.metric],
        "conditions": dict(claim.conditions),
        "claimed_by": claim.source,
        "at_least": claim.at_least,
        "source": claim.place,
        "state": one.state.value,
        "share": one.share,
        "why": one.why,
        "measured": figure
        and {"value": figure.value, "path": figure.path, "conditions": dict(figure.conditions)},
    }


def machine(environment: Environment | None) -> str | None:
    """The machine in a line: devices, drivers, the first packages; None where nothing was recorded."""
    if environment is None or not (environment.devices or environment.drivers or environment.caches):
        return None
    versions = [f"{one.name} {one.version}" for one in environment.compilers]
    drivers = [f"{one.name} {one.version}" for one in environment.drivers]
    more = len(versions) - MOST_VERSIONS
    parts = [
        *environment.devices,
        *([f"drivers {', '.join(drivers)}"] if drivers else []),
        *versions[:MOST_VERSIONS],
        *([f"{more} more"] if more > 0 else []),
    ]
    return safe.inline(", ".join(parts)) or None


def head(sheet: Sheet, verdict: Verdict) -> Iterator[str]:
    """The rows at the top of the text report."""
    yield from sheet.row("machine", machine(verdict.environment))
    if verdict.exclusions:
        yield from sheet.row("causes", safe.inline(verdict.exclusions.conclusion), style="bold")


def exclusion_rows(given: Exclusions) -> list[tuple[str, str, str]]:
    """Each cause: its name, how it stands, and why."""
    return [
        (one.cause.value.replace("_", " "), STANDINGS[one.standing], f"{one.short}: {one.why}"
         if one.standing is not Standing.OPEN else one.why)
        for one in given.causes
    ]  # fmt: skip


def exclusions(sheet: Sheet, verdict: Verdict) -> Iterator[str]:
    """The section of the text report."""
    given = verdict.exclusions
    if given is None:
        return
    for one, (name, state, why) in zip(given.causes, exclusion_rows(given), strict=True):
        yield from sheet.head(f"{name}: {state}", _STYLES[one.standing])
        yield from sheet.row("why", safe.inline(why), indent=4)
    yield from sheet.bullets(given.facts)


def claim_rows(verdict: Verdict) -> list[tuple[str, str, str]]:
    """Each claim in words: what is claimed, what became of it, what was measured or why it is not."""
    return [_claim_row(one) for one in verdict.claims]


def _claim_row(one: HeldClaim) -> tuple[str, str, str]:
    claim, figure = one.claim, one.figure
    conditions = ", ".join(f"{name} {value}" for name, value in claim.conditions.items())
    amount = _amount(claim.metric, claim.value)
    said = f"{claim.metric} {amount} ({conditions or 'no conditions'}) by {claim.source}"
    if one.why is not None:
        return said, f"not comparable: {one.why}", _measured(one)
    if figure is None:
        return said, _CLAIMS[one.state], "no file measures it"
    least = f", {claim.at_least:.0%} must be reached" if claim.at_least is not None else ""
    return said, f"{_CLAIMS[one.state]}: {one.share or 0:.0%} of it{least}", _measured(one)


def _measured(one: HeldClaim) -> str:
    figure = one.figure
    return f"{_amount(figure.metric, figure.value)} ({figure.path})" if figure else ""


def _amount(metric: str, value: float) -> str:
    unit = METRICS[metric]
    return shown(value, unit) if unit in ("FLOPS", "B/s") else f"{digits(value)} {unit}"


def claims(sheet: Sheet, verdict: Verdict) -> Iterator[str]:
    """The section of the text report."""
    rows = claim_rows(verdict)
    most = sheet.most(MOST_CLAIMS) or len(rows)
    for one, (said, state, measured) in zip(verdict.claims[:most], rows, strict=False):
        style = "bold red" if one.state is ClaimState.MISSED else "bold"
        yield from sheet.head(safe.inline(said), style)
        yield from sheet.row("is", safe.inline(state), indent=4)
        yield from sheet.row("was", safe.inline(measured) or None, indent=4)
    yield from sheet.rest(len(rows) - most)
    told = rollback(verdict)
    if told:
        yield from sheet.paragraph(words.sentence(f"rollback: {told}"))


def rollback(verdict: Verdict) -> str | None:
    """The artefact to fall back to, and what is wrong with it, in a sentence."""
    back = verdict.rollback
    if back is None:
        return None
    return f"{back.rollback.artefact}: {back.problem or '; '.join(back.facts)}"


def page(verdict: Verdict) -> dict[str, Any]:
    """What the HTML page shows."""
    given, told = verdict.exclusions, verdict.environment
    tones = {
        Standing.RULED_OUT: "proven",
        Standing.FOUND: "unproven",
        Standing.OPEN: "unobservable",
    }
    return {
        "exclusions": given
        and {
            "conclusion": given.conclusion,
            "rows": [
                (*row, tones[one.standing])
                for one, row in zip(given.causes, exclusion_rows(given), strict=True)
            ],
            "facts": given.facts,
        },
        "claims": claim_rows(verdict)[:200],
        "rollback": rollback(verdict),
        "machine": list(_machine_lines(told)) if told and machine(told) else [],
    }


def _machine_lines(told: Environment) -> Iterator[str]:
    """Devices, platform, drivers, packages and caches, a line each."""
    yield from told.devices
    yield from told.platform
    yield from (f"driver {one.name} {one.version}" for one in told.drivers)
    for one in told.compilers:
        since = f", installed {one.installed}" if one.installed else ""
        yield f"{one.name} {one.version}{since}"
    for cache in told.caches:
        written = f", written {cache.oldest} to {cache.newest}" if cache.oldest else ""
        yield f"kernel cache of {cache.compiler}: {cache.path}, {words.number(cache.files, 'file')}{written}"
