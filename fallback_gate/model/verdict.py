"""The vocabulary of the answer: what a process proves, what a policy decides, and the one frozen verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import Enum
from typing import Any, NamedTuple

from fallback_gate.model.claims import HeldClaim, HeldRollback
from fallback_gate.model.environment import Environment
from fallback_gate.model.event import Event, Kind, ProcessKey
from fallback_gate.model.exclusions import Exclusions
from fallback_gate.model.inputs import EntryUse, Excerpt, PolicyChange, Repository, Revision, RulesFile
from fallback_gate.model.measures import Measured

REPORT_SCHEMA = "fallback-gate/1"  # of the JSON report: it grows by adding keys only


class State(str, Enum):
    """What a log says about the absence of one kind of fallback."""

    PROVEN = "proven"  # it would have been printed, and the compile phase ended within the log
    UNOBSERVABLE = "unobservable"  # this level or this compiler does not show it, or shows only part of it
    UNPROVEN = "unproven"  # it could have been shown, but the evidence is missing


class Outcome(str, Enum):
    """The one answer, of a process, of a log, or of a whole run."""

    PASS = "pass"
    WAIVED = "waived"
    BLOCKED = "blocked"
    UNPROVEN = "unproven"


EXIT_CODES: Mapping[Outcome, int] = {
    Outcome.PASS: 0,
    Outcome.WAIVED: 0,
    Outcome.BLOCKED: 1,
    Outcome.UNPROVEN: 3,
}


class Class(str, Enum):
    """Where the policy puts an event."""

    HOT = "hot"
    COLD = "cold"
    UNLISTED = "unlisted"


class Decision(str, Enum):
    """What the policy says about an event."""

    BLOCKED = "blocked"
    ALLOWED = "allowed"
    WARNED = "warned"


@dataclass(frozen=True, slots=True)
class Proof:
    """What the evidence says about the absence of one kind: the state, why, and what would prove it.

    `final`: no other evidence about the process makes it better, since the process itself says so.
    """

    state: State
    why: str
    line: int | None = None
    setting: str | None = None
    final: bool = False


class CompilerProof(NamedTuple):
    """One compiler in one process. `required` are the kinds that decide; the rest is reported. `excused` are
    those of them that this log need not show, by the policy."""

    name: str
    version: str | None
    proof: Mapping[Kind, Proof]
    required: frozenset[Kind]
    excused: frozenset[Kind] = frozenset()


@dataclass(frozen=True, slots=True)
class ProcessVerdict:
    """One process of the run and what its compilers prove."""

    log: str
    rank: int | None
    pid: int | None
    outcome: Outcome
    compilers: tuple[CompilerProof, ...]
    why: str | None = None  # for a process in which no compiler was seen
    host: str | None = None

    @property
    def key(self) -> ProcessKey:
        """Whose verdict it is."""
        return ProcessKey(self.log, self.rank, self.pid, self.host)


class RuleSource(NamedTuple):
    """The policy entry that decided: its own keys and where it stands (`policies/x.yaml:4`)."""

    entry: Mapping[str, Any]
    source: str


@dataclass(frozen=True, slots=True)
class Finding:
    """An event under a policy."""

    event: Event
    event_class: Class
    decision: Decision
    rule: RuleSource | None = None
    why: str | None = None  # one sentence where the rule alone does not explain the decision


@dataclass(frozen=True, slots=True)
class LogReport:
    """One input of the run. `problem` says why it was not read to the end, or not judged."""

    path: str
    bytes: int | None
    lines: int | None = None
    sha256: str | None = None
    recognised: bool = False
    sealed: bool = False
    outcome: Outcome | None = None
    problem: str | None = None


class BaselineSummary(NamedTuple):
    """A baseline that was given: its entries, how many the run still shows, and which could be tighter."""

    path: str
    tool_version: str
    policy_sha256: str | None
    entries: int
    used: int
    gone: int  # entries whose fallback the run does not show
    fewer: int  # entries whose fallback has fewer sites now


class PolicySummary(NamedTuple):
    """The policy that judged: the file is named by path or as `builtin:NAME`; None is the strict rule.

    `revision` is the commit that it was taken from, where one was asked for; `changes` is then what the
    working tree makes of it.
    """

    name: str
    path: str | None
    sha256: str | None
    hot: tuple[RuleSource, ...] = ()  # each hot entry, for the reports that show what was checked
    entries: tuple[EntryUse, ...] = ()  # all entries, and whether they were used
    revision: Revision | None = None
    changes: tuple[PolicyChange, ...] = ()


class WaiverSummary(NamedTuple):
    """A waiver that was given: whether it applied, and to what."""

    path: str
    release: str
    who: str
    why: str
    expires: date
    applied: bool
    problem: str | None = None


class Recorded(NamedTuple):
    """The command whose recording was judged as it ended: its exit status (128+n for a signal), and which
    exit code the process ends with: the gate's, or the command's own where it failed."""

    exit_status: int
    signal: str | None
    exit_code: int
    exit_code_of: str  # "command" or "gate"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The one answer of a run, frozen: what every report is made of.

    `outcome` is None where no verdict was reached (exit code 2). `proven` says whether the evidence would
    have shown every forbidden fallback, whatever it did show. `notes` are for the reader and decide nothing;
    `measurements` are what instruments measured, under the policy's limits; `reasons` say in a sentence each
    why a run is unproven or a budget exceeded; `errors` are inputs that could not be read. `rules_files`,
    `repository`, `run_at` (UTC) and `excerpts` (by log and line) are for the reports that show them, and are
    there where the caller asked for them. `environment`, `exclusions`, `claims` and `rollback` are around the
    run, as far as inputs tell it and the policy asks.
    """

    outcome: Outcome | None
    exit_code: int
    today: date
    policy: PolicySummary
    logs: tuple[LogReport, ...]
    processes: tuple[ProcessVerdict, ...]
    findings: tuple[Finding, ...]
    proven: bool = False
    baseline: BaselineSummary | None = None
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    waiver: WaiverSummary | None = None
    recorded: Recorded | None = None
    tool_version: str = field(default="")
    rules_files: tuple[RulesFile, ...] = ()
    repository: Repository | None = None
    run_at: datetime | None = None
    excerpts: Mapping[tuple[str, int], Excerpt] = field(default_factory=dict)
    measurements: tuple[Measured, ...] = ()
    environment: Environment | None = None
    exclusions: Exclusions | None = None
    claims: tuple[HeldClaim, ...] = ()
    rollback: HeldRollback | None = None

    def decided(self, decision: Decision) -> tuple[Finding, ...]:
        """The findings with this decision, in the order of the report."""
        return tuple(f for f in self.findings if f.decision is decision)
