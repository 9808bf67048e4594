r"""neuron: AWS Neuron's tracers for Inf1, torch-neuron and tf-neuron: what stays on the CPU.

    INFO:Neuron:The following operations are currently not supported in torch-neuron for this model:
    INFO:Neuron:aten::nonzero
    INFO:Neuron:Neuron successfully compiled 3 sub-graphs, Total fused subgraphs = 4, ...

**What falls back.** Operators without support run on the CPU between the compiled sub-graphs; a sub-graph whose
compile failed runs there as well.

**At which setting it speaks.** INFO of the logger Neuron, which the package turns on. Rows of one shape stand
under "currently supported" and "currently not supported": the header decides.

**When it is silent.** With the logger above INFO. On operators that were left out of sub-graphs for their size:
the share of compiled operators tells that there are some, not which.

**What proves the end.** For each partition that began (pre-compilation share) the line `Neuron successfully
compiled a sub-graphs`; and that all arithmetic operators were compiled, or that those left out are named.

Wording seen in public threads on torch-neuron 1.5 to 1.13 and in the documentation of tf-neuron.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.patterns import BEFORE, BEHIND, Pattern
from fallback_gate.scan.record import Record

NAME = "neuron"
SEEN = "torch-neuron 1.5 to 1.13 (public threads), INFO of the logger Neuron"
SETTING = "logging.getLogger('Neuron').setLevel(logging.INFO)"
HELP = "Move the operator out of the traced model, or rewrite it with supported ones (neuron-cc's operator list)."

_HEADER = "operations are currently not supported in torch-neuron for this model"
_ROW = Pattern(r"^(?:INFO:Neuron:)?\s*(?P<op>[a-z_]\w*::\w[\w.]*)\s*$")
_TABLE_ROW = Pattern(rf"^{BEFORE}(?P<op>[A-Z]\w*)\s+(?P<count>\d{{1,9}})\s+(?P<supported>Yes|No){BEHIND}")
_RULED = Pattern(rf"^{BEFORE}[\s=-]*{BEHIND}")


def unsupported(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The rows below the header, up to the first line of another shape; a logger may print the header twice."""
    report, rows = by_groups(rule, record, match), 0
    for line in record.following(shared.MOST):
        row = _ROW.match(line.text)
        if row:
            rows += 1
            yield shared.named(report, row["op"])._replace(
                position=record.position_at(line.at), text=line.text, reason="not supported in torch-neuron"
            )
        elif rows or _HEADER not in line.text:
            break
    if not rows:
        yield report._replace(scope=Scope.UNKNOWN)


UNSUPPORTED = Rule(
    id="neuron/unsupported-operations",
    compiler=NAME,
    anchor=("are currently not supported in torch-neuron",),
    pattern=rf"(?:^|:){BEFORE}The following operations are currently not supported in torch-neuron for this model:{BEHIND}",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="Neuron has no support for the operator: it runs on the CPU between two sub-graphs.",
    help=HELP,
    seen_in=SEEN,
    matches=(
        "INFO:Neuron:The following operations are currently not supported in torch-neuron for this model:\nINFO:Neuron:aten::nonzero",
    ),
    ignores=(
        "INFO:Neuron:The following operations are currently supported in torch-neuron for this model:\nINFO:Neuron:aten::relu",
    ),
    read=unsupported,
)

NOT_COMPILED = Rule(
    id="neuron/not-compiled",
    compiler=NAME,
    anchor=("that are not compiled by neuron-cc: ",),
    pattern=r"There are \d{1,9} ops of \d{1,9} different types in the \w+ that are (?P<reason>not compiled by neuron-cc): (?P<ops>(?:[A-Za-z_][\w.:]{0,120}, ?)+)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The operators stay outside the compiled sub-graphs and run on the CPU.",
    help=HELP,
    seen_in=SEEN,
    matches=(
        "INFO:Neuron:There are 6 ops of 2 different types in the TorchScript that are not compiled by neuron-cc: aten::multinomial, aten::nonzero, (For more information see https://github.com/aws/aws-neuron-sdk/blob/master/release-notes/neuron-cc-ops/neuron-cc-ops-pytorch.md)",
    ),
    read=shared.listed,
)

TRACE_FAILED = Rule(
    id="neuron/trace-failed",
    compiler=NAME,
    anchor=("torch.neuron.trace failed on ",),
    pattern=r"torch\.neuron\.trace failed on (?P<function>\S{1,200}); (?P<reason>falling back to native python function call)",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.REGION,
    meaning="Compiling the sub-graph failed: it runs on the CPU, and the trace goes on.",
    help="The command line of neuron-cc and its error are in the lines around this one.",
    seen_in="torch-neuron 1.5 to 1.13 (public threads), WARNING",
    matches=(
        "WARNING:Neuron:torch.neuron.trace failed on _NeuronGraph$12; falling back to native python function call",
    ),
)


WRAPPED = Rule(
    id="neuron/compiler-failed",
    compiler=NAME,
    anchor=("||: Failed compilation with [",),
    pattern=r"\|\|NEURON_\w{1,30}\|\|: Failed compilation with \[.{1,3000}\](?:: (?P<reason>\S.{0,400}))?",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="neuronx-cc failed on a graph: the program ends, or runs without it.",
    help="The text behind the command line is the compiler's own error.",
    seen_in="libneuronxla 0.5 to 2.x (public threads), ERROR",
    matches=(
        "2024-09-21 16:17:37.000815:  4816  ERROR ||NEURON_CC_WRAPPER||: Failed compilation with ['neuronx-cc', 'compile', '/tmp/m.hlo_module.pb', '--output', '/tmp/m.neff']: 2024-09-21T16:17:32Z walrus_driver: error while loading shared libraries: libxml2.so.2",
    ),
)

_MESSAGE = Pattern(r"\[neuronx?-cc\]: +Error message: +(?P<reason>\S.{0,400})")


def internal(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The banner, with the message that stands below it; what made the graph may tell of the failure as well."""
    told = next(filter(None, (_MESSAGE.search(line.text) for line in record.following(10))), None)
    reason = told["reason"].strip() if told else match["reason"]
    yield by_groups(rule, record, match)._replace(reason=reason, hint=True)


INTERNAL = Rule(
    id="neuron/internal-error",
    compiler=NAME,
    anchor=("An Internal Compiler Error has occurred",),
    pattern=r"\[neuronx?-cc\]: +(?P<reason>An Internal Compiler Error has occurred)\s*$",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="neuron-cc, or neuronx-cc, failed on a graph: the program ends, or runs that part on the CPU.",
    help="The block gives the compiler's message, its class and the command line; a smaller graph or another version may compile.",
    seen_in="neuron-cc 1.0 to 1.22, neuronx-cc 2.x (public threads), ERROR",
    matches=(
        "04/19/2022 09:09:57 AM ERROR 1203 [neuron-cc]:  An Internal Compiler Error has occurred\n04/19/2022 09:09:57 AM ERROR 1203 [neuron-cc]: ***\n04/19/2022 09:09:57 AM ERROR 1203 [neuron-cc]: Error message:  NEFF archive is empty",
        "2023-06-10T18:52:46Z ERROR 291220 [neuronx-cc]:  An Internal Compiler Error has occurred",
    ),
    ignores=("error XS9999: An internal compiler error has occurred: 'Index was out of range",),
    read=internal,
)


_LEFT = "Not compiled operators (and operator counts) to Neuron:"
_LEFT_ROW = Pattern(
    r"=> (?P<op>[a-z_]\w*::\w[\w.]*): (?P<count>\d{1,9})(?: \[(?P<why>(?:not )?supported)\])?\s*$"
)


def left_rows(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The rows below the header; a second handler of the logger prints it, and each row, once more."""
    if any(_LEFT in line.text for line in record.preceding(1)):
        return
    report, told = by_groups(rule, record, match), set()
    for line in record.following(shared.MOST):
        if row := _LEFT_ROW.search(line.text):
            if row[0] in told:
                continue
            told.add(row[0])
            reason = f"{row['count']} not compiled" + (f", {row['why']}" if row["why"] else "")
            yield shared.named(report, row["op"])._replace(
                position=record.position_at(line.at), text=line.text, reason=reason
            )
        elif _LEFT not in line.text:
            break


LEFT = Rule(
    id="neuron/left-out",
    compiler=NAME,
    anchor=(_LEFT,),
    pattern=r"Not compiled operators \(and operator counts\) to Neuron:",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The operator is in no sub-graph that was compiled: it runs on the CPU, though Neuron may support it.",
    help="Where the row says supported, its sub-graph failed or was too small: look at neuron-cc's error above the list.",
    seen_in=SEEN,
    matches=(
        "INFO:Neuron:Not compiled operators (and operator counts) to Neuron:\nINFO:Neuron:Not compiled operators (and operator counts) to Neuron:\nINFO:Neuron: => aten::embedding: 2 [not supported]\nINFO:Neuron: => aten::gelu: 6 [supported]",
    ),
    ignores=(
        "INFO:Neuron:Compiled these operators (and operator counts) to Neuron:\nINFO:Neuron: => aten::Int: 96",
    ),
    read=left_rows,
)


def table(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The rows of the model check that say No."""
    report = by_groups(rule, record, match)
    for line in record.following(shared.MOST):
        row = _TABLE_ROW.match(line.text)
        if row and row["supported"] == "No":
            yield shared.named(report, row["op"])._replace(
                position=record.position_at(line.at), text=line.text, reason=f"{row['count']} not supported"
            )
        elif not row and not _RULED.match(line.text):
            break


CHECK_MODEL = Rule(
    id="neuron/check-model",
    compiler=NAME,
    anchor=("Neuron Supported ?",),
    pattern=rf"^{BEFORE}Op Type\s{{1,40}}Num Instances\s{{1,40}}Neuron Supported \?{BEHIND}",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The check of the model says that Neuron does not support the operator.",
    help=HELP,
    seen_in="tf_neuron_check_model.py (documentation)",
    matches=(
        "    Op Type           Num Instances   Neuron Supported ?\n    Where             54              No",
    ),
    ignores=(
        "    Op Type           Num Instances   Neuron Supported ?\n    Pad               7               Yes",
    ),
    read=table,
)

BEGAN = Marker(
    id="neuron/partition",
    compiler=NAME,
    anchor=("(pre-compilation) before = ",),
    pattern=r"Number of arithmetic operators \(pre-compilation\) before = (?P<all>\d{1,9}), fused = (?P<part>\d{1,9})",
    shows="The partitioner began with a model, at the level INFO.",
    seen_in=SEEN,
    matches=(
        "INFO:Neuron:Number of arithmetic operators (pre-compilation) before = 120, fused = 114, percent fused = 95.0%",
    ),
)
SHARE = Marker(
    id="neuron/compiled-share",
    compiler=NAME,
    anchor=("(post-compilation) before = ",),
    pattern=r"(?P<text>Number of arithmetic operators \(post-compilation\) before = (?P<all>\d{1,9}), compiled = (?P<part>\d{1,9}).{0,60})",
    shows="How many arithmetic operators were compiled.",
    seen_in=SEEN,
    matches=(
        "INFO:Neuron:Number of arithmetic operators (post-compilation) before = 120, compiled = 60, percent compiled = 50.0%",
    ),
)
ENDED = Marker(
    id="neuron/sub-graphs",
    compiler=NAME,
    anchor=("Neuron successfully compiled ",),
    pattern=r"Neuron successfully compiled (?P<part>\d{1,9}) sub-graphs, Total fused subgraphs = (?P<all>\d{1,9})",
    shows="The partitioner ended, and how many sub-graphs were compiled.",
    seen_in="the documentation of torch-neuron",
    matches=(
        "INFO:Neuron:Neuron successfully compiled 1 sub-graphs, Total fused subgraphs = 1, Percent of model sub-graphs successfully compiled = 100.0%",
    ),
)

REQUIRED = frozenset({Kind.DEVICE_FALLBACK, Kind.COMPILE_ERROR})
_NAMING = (UNSUPPORTED.id, NOT_COMPILED.id, TRACE_FAILED.id, LEFT.id)


def left_out(evidence: Evidence) -> Iterable[Report]:
    """A share below 100% where no line names an operator or a sub-graph that was left out."""
    if any(rule in evidence.rules for rule in _NAMING):
        return
    for (text, before, compiled), position in sorted(
        evidence.facts.get(SHARE.id, {}).items(), key=lambda item: item[1]
    ):
        if int(compiled) < int(before):
            help = "The level INFO of the logger Neuron names the operators that are not supported."
            reason = f"{compiled} of {before} arithmetic operators are compiled"
            kind = Kind.DEVICE_FALLBACK
            yield shared.partly("neuron/partly-compiled", NAME, kind, position, text, help, reason)


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """Each partition that began has ended, at a level that names what was left out."""
    began, shares, ended = (evidence.counts.get(marker.id, 0) for marker in (BEGAN, SHARE, ENDED))
    fused = evidence.of(BEGAN.id)
    compiled = {(before, part) for _, before, part in evidence.of(SHARE.id)}
    lost = TRACE_FAILED.id not in evidence.rules and not compiled <= fused
    lost |= NOT_COMPILED.id not in evidence.rules and any(before != part for before, part in fused | compiled)
    if lost or sum(before != part for before, part in fused) > 1:
        why = "operators were left out, and the log does not tell which of them are named"
        shown = Proof(State.UNPROVEN, why, None, SETTING)
    elif began and began == shares == ended:
        why = "each partition that began has ended, and the logger's level names what is left on the CPU"
        shown = Proof(State.PROVEN, why, evidence.first(ENDED.id))
    elif began or ended:
        shown = Proof(State.UNPROVEN, "a partition that began did not end within the log", None, SETTING)
    else:
        shown = Proof(State.UNPROVEN, "no line shows that the partitioner ran to its end", None, SETTING)
    return dict.fromkeys((*REQUIRED, Kind.OP_FALLBACK), shown)


READER = Reader(
    name=NAME,
    rules=(UNSUPPORTED, NOT_COMPILED, TRACE_FAILED, WRAPPED, INTERNAL, LEFT, CHECK_MODEL),
    markers=(BEGAN, SHARE, ENDED),
    required=REQUIRED,
    prove=prove,
    conclude=left_out,
    setting=SETTING,
    manual=__doc__,
    silent="no: the logger is at INFO",
    seen_in="torch-neuron 1.5 to 1.13 (public threads), tf-neuron (documentation)",
)
