r"""Room 3: ExecuTorch's partitioner for Arm's Ethos-U, VGF and TOSA: nodes that stay out of the delegate.

    INFO:executorch.backends.arm.tosa.partitioner:The following nodes were rejected for TOSA-1.0+INT:
    INFO:executorch.backends.arm.tosa.partitioner:
    | Node name         | Target            | Torch func | Reason                                         |
    | aten_sort_default | aten.sort.default | -          | Not included in BaseTOSASupportList or a       |
    |                   |                   |            | registered tosa_support_check                  |

The table is drawn with the lines of `tabulate`'s `fancy_grid`, and a cell wider than 35 characters goes on below.

**What falls back.** A node that TOSA's partitioner refuses runs as a portable kernel on the CPU: on a Cortex-M beside
an Ethos-U, by far the slowest part.

**At which setting it speaks.** INFO of Python's logging, one table for each partitioning; with `intermediate_path`
in the compile spec the file `partition_report.txt` has it too.

**When it is silent.** By default.

Some checks refuse a node without a row. `executorch` is the manual page.

Wording seen in the source of ExecuTorch 1.5: `TOSAPartitioner.partition` and `WhyNoPartitionReporter`,
https://github.com/pytorch/executorch/blob/main/backends/arm/tosa/partitioner.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.runtimes.executorch_names import NAME
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

LONGEST = 20_000  # lines of one table

_ROW = Pattern(r"^\s{0,40}│(?P<cells>.{1,2000})│\s*$")
_OPERATOR = Pattern(r"^[a-z_]\w{0,80}\.[\w.]{1,160}$")


def rejected(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """One report for each row: its node, its operator and the reason, put together from the lines of the row."""
    report = by_groups(rule, record, match)
    pieces: list[list[str]] = []
    for line in record.following(LONGEST):
        row = _ROW.match(line.text)
        if row:
            cells = [cell.strip() for cell in row["cells"].split("│")]
            if len(cells) != 4:
                return
            if not pieces:
                at, said = record.position_at(line.at), line.text
            pieces.append(cells)
        elif pieces:
            node, target, _, why = zip(*pieces, strict=True)
            op = "".join(target)
            if _OPERATOR.match(op):
                named = shared.named(report, op, "".join(node))
                reason = " ".join(part for part in why if part)
                yield named._replace(position=at, text=said, site="".join(node), reason=reason)
            pieces = []
            if not line.text.strip().startswith("├"):
                return
        elif not line.text.strip().startswith(("╞", "├")):
            return


_TABLE = """│ Node name                │ Target                   │ Torch func                          │ Reason                              │
╞══════════════════════════╪══════════════════════════╪═════════════════════════════════════╪═════════════════════════════════════╡
│ aten_convolution_default │ aten.convolution.default │ ('conv2d_1', 'builtin_function_or_m │ Convolution needs to have           │
│                          │                          │ ethod.conv2d')                      │ kernel_y<=64,                       │
├──────────────────────────┼──────────────────────────┼─────────────────────────────────────┼─────────────────────────────────────┤
│ aten_sort_default        │ aten.sort.default        │ -                                   │ Not included in BaseTOSASupportList │
╘══════════════════════════╧══════════════════════════╧═════════════════════════════════════╧═════════════════════════════════════╛"""

REJECTED = Rule(
    id="executorch-arm/not-delegated",
    compiler=NAME,
    anchor=(" Torch func ",),
    pattern=r"│ Node name\s{1,40}│ Target\s{1,40}│ Torch func\s{1,40}│ Reason\s{1,40}│",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="TOSA's partitioner refuses the node: it runs on the CPU, and the graph is split around it.",
    help="The last column gives the reason: quantise the node, or rewrite it within the limits of the target.",
    seen_in="ExecuTorch 1.5 (source), INFO",
    matches=(_TABLE,),
    ignores=("│ Node name │ Op │ Domain │ Reason │",),
    read=rejected,
)

RULES = (REJECTED,)
