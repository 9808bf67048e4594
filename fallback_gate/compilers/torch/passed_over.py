"""Room 3: frames that Dynamo looks at and passes over: DEBUG only.

A mode that a program enters to count or to watch (`FlopCounterMode`) leaves everything in it to eager, also what
was given to torch.compile. A recording tells it at any level, by its closing record.

PyTorch's own modules are traced as part of the code that calls them, never by themselves. Where nothing of the user's
is around them, as in `nn.Sequential(...).compile()` or blocks under the hooks of fully_shard, each runs in eager.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.rule import Evidence, Marker, Rule, Sighting
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


def _of_library(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """The name of the module's file, and the file."""
    log = opened(record.text, match, None)
    if log and log.prefix:
        facts = (match["module"], match["file"])
        yield Sighting(marker.id, record.position, facts, log.pid, None, log.when)


def _called(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    log = opened(record.text, match, None)
    if log and log.prefix:
        yield Sighting(marker.id, record.position, (), log.pid, None, log.when)


LIBRARY_MODULE = Marker(
    id="torch/library-module",
    compiler=NAME,
    anchor=("skipping: forward (reason:",),
    pattern=r"skipping: forward \(reason: (?:in skipfiles|frame is in the Dynamo skipfiles list), "
    r"file: (?P<file>[^)]*\btorch[\\/]nn[\\/]modules[\\/](?!module\b)(?P<module>\w+)\.py)\)",
    shows="A module of PyTorch's own runs in eager, where the compiler looked at it and does not trace it.",
    seen_in="2.11 (run), 2.7 to 2.14, DEBUG of dynamo",
    matches=(
        _DYNAMO + "forward (reason: in skipfiles, file: /x/torch/nn/modules/linear.py)",
        _DYNAMO
        + "forward (reason: frame is in the Dynamo skipfiles list, file: /x/torch/nn/modules/linear.py)",
    ),
    ignores=(
        _DYNAMO + "forward (reason: in skipfiles, file: /x/torch/nn/modules/module.py)",
        _DYNAMO + "forward (reason: in skipfiles, file: /app/torch/model.py)",
    ),
    read=_of_library,
)
CALLED_BY_OTHERS = Marker(
    id="torch/module-called",
    compiler=NAME,
    anchor=("skipping: _wrapped_call_impl (reason:",),
    pattern=r"skipping: _wrapped_call_impl \(reason: ",
    shows="A module is called, compiled or not; from here on a module of PyTorch's own may have a caller of the user's.",
    seen_in=LIBRARY_MODULE.seen_in,
    matches=(_DYNAMO + "_wrapped_call_impl (reason: in skipfiles, file: /x/torch/nn/modules/module.py)",),
    read=_called,
)
_ACCOUNTS = {Kind.GRAPH_BREAK, Kind.EAGER_FRAME, Kind.RECOMPILE_LIMIT, Kind.COMPILE_ERROR}
_HOLDS_OTHERS = "container"  # and computes nothing itself


def conclude(evidence: Evidence) -> Iterable[Report]:
    """PyTorch's modules that ran in eager, where nothing else that is told leaves code to eager."""
    found = _in_eager(evidence)
    for (module, file), at in found.items() if _by_themselves(evidence) else ():
        name = f"torch.nn.modules.{module}.forward"
        yield Report(
            id=RULE.id,
            compiler=NAME,
            kind=RULE.kind,
            scope=Scope.REGION,
            op=name,
            position=at,
            text=f"skipping: forward (file: {file})",
            names=(name,),
            files=(file,),
            location=Location(file, None, "forward"),
            reason="a module of PyTorch's own was called outside of code that is traced: it runs in eager",
            help="Give torch.compile a function, or a module of a class of your own, that calls it.",
        )


def perhaps_in_eager(evidence: Evidence) -> str | None:
    """Why PyTorch's modules may have run in eager for good; None where they did not run, or did for what is told."""
    found = _in_eager(evidence)
    if not found or _by_themselves(evidence):
        return None
    names = ", ".join(sorted({module for module, _ in found})[:3])
    return (
        f"modules of PyTorch's own ran in eager ({names}): the first call under the stance eager_then_compile, or what "
        "calls them is not compiled"
    )


def _in_eager(evidence: Evidence) -> dict[tuple[str, ...], int]:
    """The modules by name and file, and where each is told of first; none where what else is told accounts for them."""
    told = {} if evidence.reported & _ACCOUNTS else evidence.facts.get(LIBRARY_MODULE.id, {})
    return {fact: at for fact, at in told.items() if fact[0] != _HOLDS_OTHERS}


def _by_themselves(evidence: Evidence) -> bool:
    """Whether a module of PyTorch's own was given to the compiler: it is looked at before any call of a module."""
    first = evidence.first(LIBRARY_MODULE.id)
    called = evidence.first(CALLED_BY_OTHERS.id)
    return first is not None and (called is None or first < called)
