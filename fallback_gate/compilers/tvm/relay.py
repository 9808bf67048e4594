r"""tvm.relay: TVM's former graph compiler (up to 0.19), its operator strategies, AutoTVM and MetaSchedule.

    DEBUG:autotvm:Cannot find tuning records for:
        target=llvm -keys=cpu
        key=('dense_pack.x86', ('TENSOR', (16, 64), 'float32'), ...)
    TVM will apply a default schedule which may negatively impact performance.

**What falls back.** A tunable operator has no record and gets the default schedule, which can be ten times
slower than a tuned one; or the target has no good schedule for the operator or its layout at all.

**At which setting it speaks.** By default, once a process and without a name: `One or more operators have
not been tuned`. With Python logging at DEBUG (`logging.basicConfig(level=logging.DEBUG)`) each operator is
named, once for each target and workload. A strategy that is not optimized is a WARNING, for some layouts an
INFO. Templates that are used directly, and MetaSchedule, warn by default.

**When it is silent.** With `autotvm.GLOBAL_SCOPE.silent`; in forks that print the summary at DEBUG too. A
message is printed once for each workload, so a build after a first one in the same process may say nothing.
Task extraction prints the same blocks although records may exist: mute it while it runs. An operator whose
layout is altered is reported twice, with two keys.

**What proves the end.** TVM prints no end of a build. What is used: the process printed a line of its own
after the last operator that the build chose an implementation for, which is neither TVM's nor a crash. And
a DEBUG message of autotvm must show that this level was on.

Wording seen in 0.16 (run, a fork), and in the source of 0.7 to 0.19.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers import ending
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule, Sighting
from fallback_gate.compilers.shared import hinted
from fallback_gate.compilers.tvm import names
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

NAME = "tvm.relay"
_TUNE = (
    "Tune the model and build under its records (autotvm.apply_history_best, or MetaSchedule's database), for this "
    "target and these shapes (https://tvm.apache.org/docs/)."
)
_TARGET = "target=llvm -keys=cpu -mcpu=core-avx2"
_DENSE = (
    "('dense_nopack.x86', ('TENSOR', (16, 64), 'float32'), ('TENSOR', (192, 64), 'float32'), None, 'float32')"
)


def _workload(rule: Rule, record: Record, match: Match[str], key: str) -> Report:
    """The report for a workload as AutoTVM prints it: its template names the operator, all of it the site."""
    report = by_groups(rule, record, match)
    found = _TEMPLATE.match(key)
    if not found:
        return report._replace(scope=Scope.UNKNOWN)
    return names.named(report, names.template(found["op"]))._replace(site=key[:400])


_TEMPLATE = Pattern(r"\(\s*['\"](?P<op>[\w.]+)['\"]")


def missing_record(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The block of four lines; the workload's key is on the third."""
    for line in record.following(4):
        target, found, key = line.text.partition("key=")
        if found and not any(map(str.isalnum, target)):
            yield _workload(rule, record, match, key)._replace(
                reason=f"Cannot find tuning records for key={key}"
            )
            return
    yield _workload(rule, record, match, "")


NO_RECORD = Rule(
    id="tvm-relay/no-tuning-record",
    compiler=NAME,
    anchor=("Cannot find tuning records for:",),
    pattern=r"Cannot find tuning records for:",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.OPERATOR,
    meaning="No tuning record fits the operator: TVM applies a default schedule.",
    help=_TUNE,
    seen_in="0.8 to 0.19, DEBUG of the logger autotvm",
    matches=(
        "DEBUG:autotvm:Cannot find tuning records for:",
        "DEBUG:autotvm:Cannot find tuning records for:<br/>",
    ),
    ignores=("DEBUG:autotvm:Finish loading 10 records",),
    read=missing_record,
)

FALLBACK_CONFIG = Rule(
    id="tvm-relay/fallback-config",
    compiler=NAME,
    anchor=("Cannot find config for target=", "is missing in ApplyGraphBest context"),
    pattern=r"(?:Cannot find config for|Config for) target=.*?, workload=(?P<key>.*?)"
    r"(?:\. (?P<reason>A fallback configuration is used.*)| is missing in ApplyGraphBest context.*)",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.OPERATOR,
    meaning="No configuration was found for the template: it runs with the fallback configuration.",
    help=_TUNE,
    seen_in="0.6 to 0.19, WARNING of the logger autotvm",
    matches=(
        f"Cannot find config for {_TARGET}, workload={_DENSE}. A fallback configuration is used, which may bring great performance regression.",
        f"WARNING:autotvm:Config for {_TARGET}, workload={_DENSE} is missing in ApplyGraphBest context. A fallback configuration is used, which may bring great performance regression.",
    ),
    ignores=("Cannot find config for target=prod, using defaults",),
    read=lambda rule, record, match: (_workload(rule, record, match, match["key"]),),
)

SUMMARY = Rule(
    id="tvm-relay/not-tuned",
    compiler=NAME,
    anchor=("One or more operators have not been tuned",),
    pattern=r"(?P<reason>One or more operators have not been tuned)",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.UNKNOWN,
    meaning="At least one operator has no tuning record; at this level the message names none.",
    help="Build with Python logging at DEBUG to see which operators. " + _TUNE,
    seen_in="0.8 to 0.19, WARNING of the logger autotvm, once a process",
    matches=(
        "One or more operators have not been tuned. Please tune your model for better performance. Use DEBUG logging level to see more details.",
    ),
    at_least=True,
    read=hinted,
)

_OPERATOR = (
    r"(?:sparse |\w{1,40}?_)?(?:conv[123]d|dense|matmul|Matmul|batch_norm|dilation2d|correlation|sparse|softmax|pool)\w{0,40}"
    r"|sparse add"
)
NOT_OPTIMIZED = Rule(
    id="tvm-relay/not-optimized",
    compiler=NAME,
    anchor=("is not optimized",),
    pattern=rf"(?:^\W{{0,12}}|strategy\W{{1,4}})(?:For \w{{1,20}} target, )?(?P<op>{_OPERATOR})"
    r"(?: with layout \w+| \w+ layout| with channel multiplier greater than 1)? (?P<reason>is not optimized(?: for [\w ]+)?)",
    kind=Kind.UNTUNED_CONFIG,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="The target has no optimized schedule for the operator, or for its layout: a generic one is used.",
    help="Convert the model to a layout that the target is good at (relay.transform.ConvertLayout), or use a library (-libs).",
    seen_in="0.7 to 0.19, WARNING of the logger strategy, for some layouts INFO",
    matches=(
        "WARNING:strategy:group_conv2d is not optimized for x86 with autotvm.",
        "INFO:strategy:depthwise_conv2d NHWC layout is not optimized for x86 with autotvm.",
        "dense is not optimized for this platform.",
        "WARNING:strategy:conv1d with layout NWC is not optimized for arm cpu.",
        "For x86 target, depthwise_conv2d with channel multiplier greater than 1 is not optimized",
        "Matmul is not optimized for x86. Recommend to use cblas/mkl/dnnl for better performance.",
        "sparse add is not optimized for this platform.",
    ),
    ignores=("The image is not optimized for ARM", "our model with conv2d is not optimized for x86"),
    read=names.of_template,
)

NO_WORKLOAD = Rule(
    id="tvm-relay/no-workload",
    compiler=NAME,
    anchor=("Cannot find workload: ",),
    pattern=r"\.cc:\d+: (?:Warning: )?Cannot find workload: (?P<op>[\w.]+)",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.OPERATOR,
    meaning="MetaSchedule's database holds no record for the function: it gets the default schedule.",
    help=_TUNE,
    seen_in="0.9 to 0.19 (source), WARNING",
    matches=(
        "[00:34:06] /workspace/tvm/src/relay/backend/te_compiler_cache.cc:469: Warning: Cannot find workload: tvmgen_default_fused_nn_dense_add",
    ),
    ignores=("Error: Cannot find workload: maui",),
    read=names.of_fused,
)


def lowered(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """What the process printed after this operator: `more` of the build, `ended`, `broken`, or `open`."""
    state = "open"
    for line in record.following(60):
        if _CHOSEN.search(line.text):
            state = "more"
            break
        if ending.breaks_off(line.text) or _CRASH.search(line.text):
            state = "broken"
            break
        if not _OWN.search(line.text) and not _TORN.match(line.text):
            cut = record.view.buffer.find(b"\n", line.at, record.view.end) < 0
            state = "open" if cut else "ended"
            break
    yield Sighting(marker.id, record.position, (state,))


_CHOICE = r"\bUsing \S+ for \S+ based on (?:highest priority|lowest cost)"
_CHOSEN = Pattern(_CHOICE)
_CRASH = Pattern(  # in the one line that would show that the process went on
    r"\b\w*(?:Error|Exception|Interrupt)\b|[Ee]xit(?:ed with)? (?:code|status)|[Tt]runcated|[Cc]ancel"
    r"|[Tt]ime(?:d )?out|SIG[A-Z]{3,}"
)
_AT_END = r"\W*(?:br|n|stdout|stderr)?\W*$"  # what a viewer or a collector puts behind a line
_OWN = Pattern(
    rf"^\s|^{_AT_END}|\b(?:autotvm|te_compiler|compile_engine|strategy|topi|auto_scheduler|relay)\b|\bTVM will apply"
    r"|\w\.(?:cc|h|py):\d+:|is not optimized|\bCannot find |\b(?:Config for )?target=|\bkey=\(|\bOne or more operators have not been tuned"
    r"|\bImplementation \S+ for \S+ has cost|\[\d\d:\d\d:\d\d\]"
)
_TORN = Pattern(
    r"\W*(?:D(?:E(?:B(?:UG?)?)?)?|I(?:NF?)?|W(?:A(?:R(?:N(?:IN?)?)?)?)?|(?:DEBUG|INFO|WARNING)(?::\w*)?)"
    rf"(?!\w){_AT_END}"
)

MARKERS = (
    Marker(
        id="tvm-relay/autotvm-debug",
        compiler=NAME,
        anchor=("Finish loading ", "Cannot find tuning records for:"),
        pattern=r"Finish loading \d+ records|Cannot find tuning records for:",
        shows="DEBUG of the logger autotvm was on: an operator without a record is named.",
        seen_in="0.8 to 0.19",
        matches=("DEBUG:autotvm:Finish loading 10 records", "DEBUG:autotvm:Cannot find tuning records for:"),
    ),
    Marker(
        id="tvm-relay/lowered",
        compiler=NAME,
        anchor=("based on highest priority", "based on lowest cost"),
        pattern=_CHOICE,
        shows="An implementation was chosen for an operator; and what came after it.",
        seen_in="0.7 to 0.19, INFO of the logger te_compiler (compile_engine up to 0.7)",
        matches=(
            "INFO:te_compiler:Using reshape.generic for reshape based on highest priority (10)",
            "INFO:te_compiler:Using dense_pack.x86 for nn.dense based on lowest cost (1.00e-04)",
        ),
        ignores=("sorted based on highest priority first",),
        read=lowered,
    ),
)
RULES = (NO_RECORD, FALLBACK_CONFIG, SUMMARY, NOT_OPTIMIZED, NO_WORKLOAD)
REQUIRED = frozenset({Kind.UNTUNED_CONFIG})
SETTING = "logging.basicConfig(level=logging.DEBUG) before relay.build, and a line of your own after it"


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """AutoTVM's DEBUG level was on, operators were lowered, and the process went on after the last one."""
    return {Kind.UNTUNED_CONFIG: _untuned(evidence)}


def _untuned(evidence: Evidence) -> Proof:
    after = {state for (state,) in evidence.of("tvm-relay/lowered")}
    debug = evidence.first("tvm-relay/autotvm-debug")
    if debug is None:
        why = "at this level TVM names no operator without a tuning record, or says it once for all"
        return Proof(State.UNPROVEN, why, None, SETTING)
    if not after:
        return Proof(State.UNPROVEN, "the log shows no operator that a build lowered", None, SETTING)
    if "broken" in after:
        return Proof(State.UNPROVEN, "the build broke off: an error follows the last operator", None, SETTING)
    if "open" in after or "ended" not in after:
        return Proof(State.UNPROVEN, "the log ends with a build that may go on", None, SETTING)
    why = "DEBUG of autotvm was on, which names each operator without a record, and the process went on after its build"
    return Proof(State.PROVEN, why, debug)


READER = Reader(
    name=NAME,
    rules=RULES,
    markers=MARKERS,
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    manual=__doc__,
    silent="partly: said once a process, without a name",
    seen_in="0.7 to 0.19 (0.16 run)",
)
