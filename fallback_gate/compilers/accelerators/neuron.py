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
from fallback_gate.compilers.accelerators import neuron_errors
from fallback_gate.compilers.accelerators.neuron_errors import NAME
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.patterns import BEFORE, BEHIND, Pattern
from fallback_gate.scan.record import Record

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

_COUNTED = Pattern(
    rf"^{BEFORE}(?:INFO:Neuron:|(?:[\d:, -]{{8,30}})?: INFO :)?\s{{0,3}}=> (?P<op>[a-z_]\w*::\w{{1,100}}): \d{{1,9}}"
    rf"(?: \[(?P<how>(?:not )?supported)\])?{BEHIND}"
)
_LEFT = "Not compiled operators (and operator counts) to Neuron"
_OF_SHAPES = frozenset(
    {"aten::Int", "aten::size", "aten::len", "aten::__getitem__", "aten::NumToTensor", "aten::ScalarImplicit"}
)


def left_on_cpu(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The rows below the first of the headers, each once: a second logger prints all of it once more."""
    report, seen = by_groups(rule, record, match), set[str]()
    if any(_LEFT in line.text for line in record.preceding(1)):
        return
    for line in record.following(shared.MOST):
        row = _COUNTED.match(line.text)
        if row is None and (seen or _LEFT not in line.text):
            return
        if row is None:
            continue
        if row["op"] in seen or row["op"] in _OF_SHAPES or row["op"].startswith("prim::"):
            continue
        seen.add(row["op"])
        why = "not compiled, and not supported" if row["how"] == "not supported" else "not compiled"
        one = shared.named(report, row["op"])
        yield one._replace(position=record.position_at(line.at), text=line.text, reason=why)


LEFT_ON_CPU = Rule(
    id="neuron/left-on-cpu",
    compiler=NAME,
    anchor=(_LEFT,),
    pattern=rf"(?:^|:){BEFORE}Not compiled operators \(and operator counts\) to Neuron:{BEHIND}",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The operators stay outside the compiled sub-graphs and run on the CPU; those of shapes are left out here.",
    help=HELP,
    seen_in="torch-neuron 1.11 to 1.13 (public threads), INFO of the logger Neuron",
    matches=(
        "INFO:Neuron:Not compiled operators (and operator counts) to Neuron:\nINFO:Neuron: => aten::Int: 37 [supported]\nINFO:Neuron: => aten::div: 6 [supported]\nINFO:Neuron: => aten::embedding: 2 [not supported]",
        "INFO:Neuron:Not compiled operators (and operator counts) to Neuron:\n2026-01-01 00:00:00,150 : INFO : Not compiled operators (and operator counts) to Neuron:\nINFO:Neuron: => aten::bmm: 2 [supported]\n2026-01-01 00:00:00,155 : INFO :  => aten::bmm: 2 [supported]",
    ),
    ignores=(
        "INFO:Neuron:Compiled these operators (and operator counts) to Neuron:\nINFO:Neuron: => aten::add: 36",
        "INFO:Neuron:Not compiled operators (and operator counts) to Neuron:\nINFO:Neuron: => prim::Constant: 36 [supported]",
    ),
    read=left_on_cpu,
)
ON_CPU = Rule(
    id="neuron/cpu-trace",
    compiler=NAME,
    anchor=("No operator is placed on Neuron runtime",),
    pattern=r"(?:^|:)(?P<reason>No operator is placed on Neuron runtime); returning a CPU trace",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="Nothing of the model was compiled for Neuron: all of it runs on the CPU.",
    help="Trace a larger part of the model, or lower minimum_segment_size: two operators are the least by default.",
    seen_in="torch-neuron 1.13 (public threads), WARNING",
    matches=("WARNING:Neuron:No operator is placed on Neuron runtime; returning a CPU trace",),
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
_NAMING = (UNSUPPORTED.id, NOT_COMPILED.id, LEFT_ON_CPU.id, ON_CPU.id, TRACE_FAILED.id)


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
    elif any(before == "0" for before, _ in fused):
        why = "a partition of no operators shows nothing of the model that is served"
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
    rules=(UNSUPPORTED, NOT_COMPILED, LEFT_ON_CPU, ON_CPU, TRACE_FAILED, *neuron_errors.RULES, CHECK_MODEL),
    markers=(BEGAN, SHARE, ENDED),
    required=REQUIRED,
    prove=prove,
    conclude=left_out,
    setting=SETTING,
    manual=__doc__,
    silent="no: the logger is at INFO",
    seen_in="torch-neuron 1.5 to 1.13 (public threads), tf-neuron (documentation)",
)
