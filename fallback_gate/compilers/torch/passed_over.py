"""Room 3: frames that Dynamo looks at and passes over, since a dispatch mode is active: DEBUG only.

A mode that a program enters to count or to watch (`FlopCounterMode`) leaves everything in it to eager, also what
was given to torch.compile. A recording tells it at any level, by its closing record.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.torch.log import NAME, base, opened
from fallback_gate.compilers.torch.user_stack import is_library
from fallback_gate.model import Kind, Location, Report, Scope
from fallback_gate.model.names import function
from fallback_gate.scan.record import Record

_DYNAMO = "V1130 00:18:20.571000 28717 torch/_dynamo/convert_frame.py:1994] skipping: "


def passed_over(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A function of the user's; those of libraries are called by what is passed over, too."""
    log = opened(record.text, match, None)
    if log and not is_library(match["file"]) and not match["file"].startswith("<"):
        name = function(match["function"])
        yield base(
            rule,
            record,
            log,
            name,
            names=(name,),
            stack=(name,),
            files=(match["file"],),
            location=Location(match["file"], None, name),
            reason="passed over: a torch dispatch mode is active",
        )


RULE = Rule(
    id="torch/frame-skipped",
    compiler=NAME,
    anchor=("torch dispatch mode present",),
    pattern=r"skipping: (?P<function>\S+) \(reason: non-infra torch dispatch mode present,[^)]{0,80}, file: (?P<file>[^)]+)\)",
    kind=Kind.EAGER_FRAME,
    scope=Scope.REGION,
    meaning="The function was called under a dispatch mode, where Dynamo traces nothing: it runs in eager.",
    help="Count or watch before the release, not in it: take FlopCounterMode and its like off the compiled call.",
    seen_in="2.11 (run), 2.7 to 2.14 (source), DEBUG of dynamo",
    matches=(
        _DYNAMO
        + "forward (reason: non-infra torch dispatch mode present, this is not supported today in torch.compile, file: /app/blocks.py)",
    ),
    ignores=(
        _DYNAMO + "_call_impl (reason: in skipfiles, file: /x/torch/nn/modules/module.py)",
        _DYNAMO
        + "__contains__ (reason: non-infra torch dispatch mode present, this is not supported today in torch.compile, file: /usr/lib/python3.12/weakref.py)",
    ),
    read=passed_over,
)
