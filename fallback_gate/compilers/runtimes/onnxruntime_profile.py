r"""Room 3: ONNX Runtime's profile (`enable_profiling`), a JSON trace: each kernel that ran, and on which provider.

    {"cat" : "Node","pid" :7,"name" :"/attn/TopK_kernel_time","args" : {"provider" : "CPUExecutionProvider","op_name" : "TopK"}},

Each kernel has a line. A kernel of the CPU is a fallback where the same profile has kernels of another
provider. A profile tells what ran while it was on, no more: it proves no absence.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.rule import Evidence, Marker, Sighting
from fallback_gate.compilers.runtimes.onnxruntime_placement import CPU, NAME, NODES
from fallback_gate.model import Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

_FIELD = Pattern(r"\"(?P<key>provider|op_name)\"\s?:\s?\"(?P<value>[^\"]{1,300})\"")
_SHOWN = "onnxruntime/kernel-profiled"


def kernel(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """The provider, operator and node of one kernel."""
    fields: dict[str, str] = {}
    rest = record.text
    while len(fields) < 2 and (found := _FIELD.search(rest)):
        fields[found["key"]] = found["value"]
        rest = rest[found.end() :]
    if len(fields) == 2:
        yield Sighting(marker.id, record.position, (fields["provider"], fields["op_name"], match["node"]))


def profiled_on_cpu(evidence: Evidence) -> Iterable[Report]:
    """The kernels of the CPU in a profile that has kernels of another provider too."""
    kernels = evidence.facts.get(_SHOWN, {})
    others = sorted({provider for provider, *_ in kernels} - {CPU, "AzureExecutionProvider"})
    if not others:
        return
    for (provider, op, node), position in kernels.items():
        if provider == CPU:
            yield Report(
                id=NODES.id,
                compiler=NAME,
                kind=NODES.kind,
                scope=Scope.OPERATOR,
                op=op,
                position=position,
                text=f'"provider" : "{CPU}", "op_name" : "{op}", "name" : "{node}"',
                names=(op, node),
                layer=node,
                site=node,
                reason=f"ran on {CPU}, beside {', '.join(others)}",
                help=NODES.help,
            )


MARKERS = (
    Marker(
        id=_SHOWN,
        compiler=NAME,
        anchor=("_kernel_time",),
        pattern=r"\"cat\"\s?:\s?\"Node\".{0,400}?\"name\"\s?:\s?\"(?P<node>[^\"]{1,300})_kernel_time\"",
        shows="A kernel ran on a provider, by ONNX Runtime's profile.",
        seen_in="1.20 (run), 1.4 to 1.32 (source)",
        matches=(
            '{"cat" : "Node","pid" :7,"tid" :8,"dur" :12,"ts" :99,"ph" : "X","name" :"/attn/TopK_kernel_time","args" : {"op_name" : "TopK","provider" : "CPUExecutionProvider","node_index" : "3"}},',
            '{"cat" : "Node","pid" :7,"tid" :7,"dur" :4428,"ts" :111381,"ph" : "X","name" :"OpenVINOExecutionProvider_OpenVINO-EP-subgraph_1_0_kernel_time","args" : {"output_size" : "64","provider" : "OpenVINOExecutionProvider","op_name" : "OpenVINO-EP-subgraph_1"}},',
        ),
        ignores=('{"name": "my_kernel_time"}',),
        read=kernel,
    ),
)
