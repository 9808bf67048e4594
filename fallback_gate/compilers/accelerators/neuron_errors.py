"""Room 3: graphs that neuronx-cc, or neuron-cc, failed on. `neuron` is the manual page."""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

NAME = "neuron"

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

RULES = (WRAPPED, INTERNAL)
