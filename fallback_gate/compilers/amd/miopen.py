r"""miopen: AMD's convolution library, and the solvers that it picks without a measurement.

    MIOpen(HIP): Info2 [GetSolutionsFallback] Using WTI Fallback
    MIOpen(HIP): Info2 [GetSolutionsFallback] maxSolutionCount = 1, available = 1
    MIOpen(HIP): Info2 [GetSolutionsFallback] id: 85, algo: 1, time: 1000, ws: 0, name: ConvDirectNaiveConvFwd
    MIOpen(HIP): Info [FillFindReturnParameters] FW Chosen Algorithm: ConvDirectNaiveConvFwd , 0, 31.6

**What falls back.** A problem that is not in the find-db gets a solver by estimate (WTI or TunaNet); one that
is not in the perf-db runs with default parameters; where no other solver fits, the naive convolution runs, ten
to a hundred times slower; a solver that needs more workspace than it was given is dropped.

**At which setting it speaks.** Warnings by default: dropped solvers, bad perf-db records. `MIOPEN_LOG_LEVEL=5`
(Info) adds the chosen algorithm and perf-db misses, `6` (Info2) find-db misses and the list of solutions.

**When it is silent.** At the default level a naive solver and a find-db miss show nowhere. The list holds all
solutions that were considered: the naive one counts only where it is the best of them. Up to 7.1 a
workspace warning may be a false alarm: the check ran for solvers that would not have been picked.

A missing kernel database (`Missing system database file: gfx1030_40.kdb`) is no fallback: kernels are compiled when
they are first used, and are the same ones.

**What proves the end.** Nothing: no line shows that the last convolution was found.

Wording seen in the source of 3.2 and 3.3 and in public threads of 2.9 to 7.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Line, Record

NAME = "miopen"
CONVOLUTION = ("convolution", "aten::convolution")

_SOLVER = r"\w{1,100}(?:<[\w, -]{1,40}>)?"  # a Winograd one has its tile in its name
_SAYS = r"MIOpen\((?:HIP|OpenCL)\)[ \d.]{0,16}: \w{1,8} \[[\w :~]{1,80}\] "
_SOLUTION = _SAYS + r"id: \d{1,9}, algo: \d{1,9}, time: (?P<time>[\w.+-]{1,24}), ws: \d{1,20}, name: "
_ANY_SOLUTION = Pattern(_SOLUTION)
_KEY = Pattern(r"Looking for key (?P<key>\S{1,300}) in (?:cache for )?file")
_MOST_SOLUTIONS = 40


def _time(said: str) -> tuple[bool, float]:
    """What MIOpen sorts solutions by: a positive time is a measure or an estimate, a negative one a guess."""
    try:
        time = float(said)
    except ValueError:
        time = math.nan
    return (True, math.inf) if math.isnan(time) else (time <= 0, abs(time))


def _listed(lines: Iterator[Line]) -> Iterator[tuple[bool, float]]:
    """The times of the solutions that stand next to one in its list."""
    for line in lines:
        found = _ANY_SOLUTION.search(line.text)
        if not found:
            return
        yield _time(found["time"])


def of_convolution(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A message about a solver: what it computes is a convolution."""
    report = by_groups(rule, record, match)
    names = (*report.names, *CONVOLUTION)
    yield report._replace(
        op=report.op if report.op != "*" else "convolution", names=tuple(dict.fromkeys(names))
    )


def best_is_naive(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The naive solution, where no other in the list is faster."""
    mine = _time(match["time"])
    others = chain(_listed(record.preceding(_MOST_SOLUTIONS)), _listed(record.following(_MOST_SOLUTIONS)))
    if all(mine <= other for other in others):
        for report in of_convolution(rule, record, match):
            yield report._replace(reason="the naive solution is the best one available")


_LISTED = "MIOpen(HIP): Info2 [GetSolutionsFallback] id: 85, algo: 1, time: 900, ws: 0, name: ConvDirectNaiveConvFwd"
NAIVE_LISTED = Rule(
    id="miopen/naive-solution",
    compiler=NAME,
    anchor=("name: ConvDirectNaiveConv",),
    pattern=_SOLUTION + r"(?P<op>ConvDirectNaiveConv\w{1,40})",
    kind=Kind.REFERENCE_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The convolution runs on the naive reference kernel.",
    help="Tune the problem (MIOPEN_FIND_ENFORCE=3), install the GPU's kernel database, or change layout or type.",
    seen_in="3.2 to 7.1 (source and threads), Info2",
    matches=(_LISTED,),
    ignores=("ConvDirectNaiveConvFwd: Not applicable", "name: ConvDirectNaiveConvFwd"),
    read=best_is_naive,
)
NAIVE_CHOSEN = Rule(
    id="miopen/naive-chosen",
    compiler=NAME,
    anchor=("Algorithm: ConvDirectNaiveConv", "solver_id = ConvDirectNaiveConv"),
    pattern=_SAYS
    + r"(?P<reason>(?:\w{1,8} )?Chosen Algorithm: |solver_id = )(?P<op>ConvDirectNaiveConv\w{1,40})",
    kind=Kind.REFERENCE_KERNEL,
    scope=Scope.OPERATOR,
    meaning=NAIVE_LISTED.meaning,
    help=NAIVE_LISTED.help,
    seen_in="2.9 to 7.1, Info",
    matches=(
        "MIOpen(HIP): Info [FillFindReturnParameters] FW Chosen Algorithm: ConvDirectNaiveConvFwd , 0, 0.0735833",
        "MIOpen(HIP): Info [CompileSolution] solver_id = ConvDirectNaiveConvFwd",
    ),
    ignores=("MIOpen(HIP): Info [FillFindReturnParameters] FW Chosen Algorithm: GemmFwd1x1_0_1 , 0, 0.07",),
    read=lambda rule, record, match: (
        report._replace(reason="the naive solver was chosen")
        for report in of_convolution(rule, record, match)
    ),
)


def not_found(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A find-db miss; the problem's key is the one that was looked for before."""
    report = next(iter(of_convolution(rule, record, match)))
    for line in record.preceding(60):
        if found := _KEY.search(line.text):
            yield report._replace(site=found["key"], reason=f"{report.reason} for {found['key']}")
            return
    yield report


FIND_DB_MISS = Rule(
    id="miopen/find-db-miss",
    compiler=NAME,
    anchor=("] Using WTI Fallback", "] Using TunaNet Fallback", "] Fallback path, "),
    pattern=_SAYS + r"(?P<reason>Using (?:WTI|TunaNet) Fallback|Fallback path, \w{1,40})",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.OPERATOR,
    meaning="The problem is not in the find-db: its solver is picked by an estimate, not by a measurement.",
    help="Run once with find enabled (torch.backends.cudnn.benchmark=True) and keep the user find-db, or ship one.",
    seen_in="2.9 to 7.1, Info2",
    matches=(
        "MIOpen(HIP): Info2 [GetSolutionsFallback] Using WTI Fallback",
        "MIOpen(HIP): Info2 [GetSolutionsFallback] Using TunaNet Fallback",
        "MIOpen(HIP): Info [GetForwardSolutionsFallback] Fallback path, GEMM",
    ),
    read=not_found,
)
PERF_DB_MISS = Rule(
    id="miopen/perf-db-miss",
    compiler=NAME,
    anchor=("Perf Db: record not found for: ",),
    pattern=_SAYS + rf"(?P<reason>Perf Db: record not found) for: (?P<op>{_SOLVER})",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.OPERATOR,
    meaning="The solver has no tuned parameters for the problem: it runs with default ones.",
    help="Tune it (MIOPEN_FIND_ENFORCE=3), and keep the user perf-db.",
    seen_in="2.9 to 7.1, Info",
    matches=(
        "MIOpen(HIP): Info [FindSolutionImpl] Perf Db: record not found for: ConvAsm3x3U",
        "MIOpen(HIP): Info [FindSolutionImpl] Perf Db: record not found for: ConvMPBidirectWinograd_xdlops<2-3>",
    ),
    ignores=("MIOpen(HIP): Info2 [FindSolutionImpl] Perf Db: record loaded: ConvAsm3x3U",),
    read=of_convolution,
)
PERF_DB_BAD = Rule(
    id="miopen/perf-db-invalid",
    compiler=NAME,
    anchor=("loaded from Perf Db: ",),
    pattern=_SAYS
    + rf"(?P<reason>Invalid (?:config|alternate record) loaded from Perf Db): (?P<op>{_SOLVER}): .*Performance may degrade",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.OPERATOR,
    meaning="The tuned parameters do not fit this version or GPU: the solver runs with default ones.",
    help="Delete the user perf-db of the older version and tune again.",
    seen_in="3.2 to 7.1, Warning",
    matches=(
        "MIOpen(HIP): Warning [FindSolutionImpl] Invalid config loaded from Perf Db: ConvAsm3x3U: 1,2,3. Performance may degrade.",
        "MIOpen(HIP): Warning [FindSolutionImpl] Invalid alternate record loaded from Perf Db: ConvAsm3x3U: 1. Performance may degrade.",
    ),
    read=of_convolution,
)
PERF_DB_UNREADABLE = Rule(
    id="miopen/perf-db-unreadable",
    compiler=NAME,
    anchor=("Unable to read system database file:", "] File is unreadable: "),
    pattern=_SAYS.replace(r"\w{1,8}", "Warning")
    + r"(?P<reason>Unable to read system database file: ?(?!\S{0,300}\.kdb\b)\S{1,300}(?= Performance may degrade)"
    r"|File is unreadable: \S{1,300}\.fdb\.txt\b)",
    kind=Kind.UNTUNED_CONFIG,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="The measurements that are shipped for this GPU can't be read: solvers are picked by an estimate, and run with "
    "default parameters.",
    help="Install the MIOpen package whole; the file named must be one that the process may read.",
    seen_in="2.9 (public threads) to 3.3 (source), Warning",
    matches=(
        "MIOpen(HIP): Warning [SQLiteBase] Unable to read system database file:/opt/rocm/share/miopen/db/gfx90a6e.db Performance may degrade",
        "MIOpen(HIP): Warning [Prefetch] File is unreadable: /opt/rocm/share/miopen/db/gfx90878.HIP.fdb.txt",
    ),
    ignores=(
        "MIOpen(HIP): Info [Prefetch] File is unreadable: /home/u/.config/miopen/gfx90878.HIP.ufdb.txt",
        "MIOpen(HIP): Warning [SQLiteBase] Unable to read system database file:gfx906_60.kdb Performance may degrade",
        "MIOpen(HIP): Warning [SQLiteBase] Missing system database file: gfx1030_40.kdb Performance may degrade. Please follow instructions to install: https://github.com/ROCm/MIOpen#installing-miopen-kernels-package",
    ),
    read=of_convolution,
)
WORKSPACE = Rule(
    id="miopen/not-enough-workspace",
    compiler=NAME,
    anchor=(">, workspace required: ",),
    pattern=_SAYS + rf"\[[\w ]{{1,60}}\] Solver <(?P<op>{_SOLVER})>, "
    r"(?P<reason>workspace required: \d{1,20}, provided ptr: \w{1,24} size: \d{1,20})",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The solver needs more workspace than it was given: another one, often a slower one, is used.",
    help="Give the library the workspace it asks for, or tune the problem. Up to 7.1 the check ran for solvers that "
    "would not have been picked, too: compare the time before you allow it (https://github.com/ROCm/MIOpen).",
    seen_in="3.1 to 7.1, Warning",
    matches=(
        "MIOpen(HIP): Warning [IsEnoughWorkspace] [GetSolutionsFallback WTI] Solver <GemmFwdRest>, workspace required: 1024000, provided ptr: 0 size: 0",
        "MIOpen(HIP): Warning [IsEnoughWorkspace] [EvaluateInvokers] Solver <GemmFwdRest>, workspace required: 25657344, provided ptr: 0x7f0f15e00000 size: 15982592",
        "MIOpen(HIP): Warning [IsEnoughWorkspace] [GetSolutions] Solver <ConvWinograd3x3MultipassWrW<3-6>>, workspace required: 2048, provided ptr: 0x7f0f15e00000 size: 1024",
    ),
    read=of_convolution,
)
NO_SOLUTION = Rule(
    id="miopen/no-solution",
    compiler=NAME,
    anchor=("Immediate mode Fallback unsuccessful",),
    pattern=r"(?P<reason>Requested convolution is not supported or Immediate mode Fallback unsuccessful)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="MIOpen has no solver for the convolution: the call fails, or the framework goes another way.",
    help="Change the convolution's type or layout, or install the kernels that the message's problem needs.",
    seen_in="2.9 to 7.1, Info and an exception",
    matches=(
        "MIOpen(HIP): Info [GetSolutionCountFallback] Requested convolution is not supported or Immediate mode Fallback unsuccessful.",
    ),
    read=of_convolution,
)
RULES = (
    NAIVE_LISTED,
    NAIVE_CHOSEN,
    FIND_DB_MISS,
    PERF_DB_MISS,
    PERF_DB_BAD,
    PERF_DB_UNREADABLE,
    WORKSPACE,
    NO_SOLUTION,
)
INFO2 = Marker(
    id="miopen/info2",
    compiler=NAME,
    anchor=("] Looking for key ",),
    pattern=r"MIOpen\((?:HIP|OpenCL)\)[ \d.]{0,16}: Info2 \[\w{1,60}\] Looking for key ",
    shows="MIOPEN_LOG_LEVEL=6 was on: a find-db miss and a naive solver are printed.",
    seen_in="2.9 to 7.1",
    matches=(
        "MIOpen(HIP): Info2 [FindRecordUnsafe] Looking for key 256-76-54-1x1-1024-76-54-2-0x0-1x1-1x1-0-NCHW-FP32-F in file /home/u/.config/miopen/gfx906_64.ufdb.txt",
    ),
)
SETTING = "MIOPEN_LOG_LEVEL=6, and a marker in the policy for the end of the run"


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """The default level shows neither; no level shows the end."""
    ended = Proof(State.UNPROVEN, "nothing shows that the last convolution was found", None, SETTING)
    silent = Proof(
        State.UNOBSERVABLE, "at this level naive solvers and find-db misses are silent", None, SETTING
    )
    hidden = ended if evidence.first(INFO2.id) is not None else silent
    return {Kind.REFERENCE_KERNEL: hidden, Kind.UNTUNED_CONFIG: hidden, Kind.SLOWER_KERNEL: ended}


READER = Reader(
    name=NAME,
    rules=RULES,
    markers=(INFO2,),
    required=frozenset({Kind.REFERENCE_KERNEL, Kind.UNTUNED_CONFIG}),
    prove=prove,
    setting=SETTING,
    manual=__doc__,
    silent="partly: dropped solvers are warned of, naive ones and find-db misses are not",
    seen_in="3.2 and 3.3 (source), 2.9 to 7.1 (public threads)",
)
