"""The vocabulary of the house: every stage speaks in these words, and none of them knows a stage.

A compiler's reader turns a log record into a `Report`; `events` folds reports into an `Event`; `policy` and
`verdict` turn an event into a `Finding`, and all of them, with the `Proof` that a fallback would have been
seen, into one frozen `Verdict`. These are in `event` and `verdict`, and imported from here. Beside them:
`measures` (what instruments measure), `claims`, `environment` and `exclusions` (what is around a run),
`inputs` (what a run was given), `history` (more than one run), `matrix` (coverage), `quantity` (amounts as
people write them) and `names` (operators as compilers spell them).
"""

from fallback_gate.model.event import Event, Kind, Location, Place, ProcessKey, Report, Scope, Variants
from fallback_gate.model.verdict import (
    EXIT_CODES,
    REPORT_SCHEMA,
    BaselineSummary,
    Class,
    CompilerProof,
    Decision,
    Finding,
    LogReport,
    Outcome,
    PolicySummary,
    ProcessVerdict,
    Proof,
    Recorded,
    RuleSource,
    State,
    Verdict,
    WaiverSummary,
)

__all__ = [
    "BaselineSummary",
    "Class",
    "CompilerProof",
    "Decision",
    "EXIT_CODES",
    "Event",
    "Finding",
    "Kind",
    "Location",
    "LogReport",
    "Outcome",
    "Place",
    "PolicySummary",
    "ProcessKey",
    "ProcessVerdict",
    "REPORT_SCHEMA",
    "Proof",
    "Recorded",
    "Report",
    "RuleSource",
    "Scope",
    "State",
    "Variants",
    "Verdict",
    "WaiverSummary",
]
