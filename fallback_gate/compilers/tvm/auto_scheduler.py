r"""tvm.auto_scheduler: TVM's auto-scheduler (Ansor), up to 0.19: functions without a tuned schedule.

    -----------------------------------
    fused_nn_dense
    Cannot find tuned schedules for target=llvm, workload_key=[...]. A fallback TOPI schedule is used, ...

**What falls back.** A function has no record in the log that the build applies, so it gets the schedule of
the operator library. Its name is on the line before the message; before 0.8 no name is printed, and the
computation below the message tells what it does.

**At which setting it speaks.** By default (`verbose=1`) for functions with a complex operator, with
`verbose=2` of `ApplyHistoryBest` for all, once for each target and workload.

**When it is silent.** At `verbose=0`; at the default, on all functions that it calls simple.

**What proves the end.** Nothing: a clean build prints no line.

Wording seen in 0.16 (run, a fork), and in the source of 0.7 to 0.19.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.compilers.tvm import names
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

NAME = "tvm.auto_scheduler"

_FUNCTION = Pattern(r"^\s*(?P<name>[A-Za-z_]\w*)\s*$")
_STAGE = Pattern(r"^(?P<name>\w+)\(.*\) (?P<how>\S*=) ")


def no_schedule(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The function is on the line before; where there is none, the stage that reduces names the computation."""
    report = by_groups(rule, record, match)._replace(site=match["site"][:400])
    before = next(record.preceding(1), None)
    if before and (found := _FUNCTION.match(before.text)):
        yield names.named(report, names.fused(found["name"]))
        return
    stages: dict[str, bool] = {}
    for line in record.following(60):
        if not line.text.strip():
            break
        if stage := _STAGE.match(line.text):
            stages.setdefault(stage["name"], stage["how"] != "=")
    telling = [name for name, reduces in stages.items() if reduces] or list(stages)[-1:]
    if telling:
        yield names.named(report, tuple(dict.fromkeys((telling[0], *stages))))
    else:
        yield report._replace(scope=Scope.UNKNOWN)


NO_SCHEDULE = Rule(
    id="tvm-auto-scheduler/no-tuned-schedule",
    compiler=NAME,
    anchor=("Cannot find tuned schedules for target=",),
    pattern=r"Cannot find tuned schedules for target=.*?, workload_key=(?P<site>.*?)\. (?P<reason>A fallback TOPI schedule is used[^.]*)",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.OPERATOR,
    meaning="No tuned schedule fits the function: it gets the schedule of the operator library.",
    help="Tune the model for this target and these shapes, and build under auto_scheduler.ApplyHistoryBest.",
    seen_in="0.7 to 0.19, WARNING of the logger auto_scheduler",
    matches=(
        'Cannot find tuned schedules for target=llvm -keys=cpu, workload_key=["a601c6375393779317910dc2f89a7efc", [16, 64], [192, 64]]. A fallback TOPI schedule is used, which may bring great performance regression or even compilation failure. Compute DAG info:',
        'WARNING:auto_scheduler:Cannot find tuned schedules for target=cuda, workload_key=["a6"]. A fallback TOPI schedule is used, which may hurt performance or fail to compile. Compute DAG info:',
    ),
    ignores=("Cannot find tuned schedules for target=llvm",),
    read=no_schedule,
)

REQUIRED = frozenset({Kind.UNTUNED_CONFIG})
SETTING = "auto_scheduler.ApplyHistoryBest with DispatchContext.current.verbose = 2, and a marker in the policy for the end"


READER = Reader(
    name=NAME,
    rules=(NO_SCHEDULE,),
    markers=(),
    required=REQUIRED,
    prove=shared.unshown(
        "the default shows functions with a complex operator only, and nothing shows the end of the build",
        SETTING,
        *REQUIRED,
    ),
    setting=SETTING,
    manual=__doc__,
    silent="partly: functions that it calls simple are not named",
    seen_in="0.7 to 0.19 (0.16 run)",
)
