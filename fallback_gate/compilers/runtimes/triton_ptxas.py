"""Room 3: what NVIDIA's assembler says of a kernel that Triton gave it, with TRITON_DUMP_PTXAS_LOG=1.

    ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are serialized due to ... in the function 'recompute'

Spilled registers (`5380 bytes spill stores`) are no fallback: the kernel is the one that was asked for.
"""

from __future__ import annotations

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.runtimes.triton_errors import NAME
from fallback_gate.model import Kind, Scope

SERIALIZED = Rule(
    id="triton/serialized",
    compiler=NAME,
    anchor=("Potential Performance Loss: ",),
    pattern=r"^\W{0,12}ptxas (?:info|warning)\s{0,12}: (?:\(C\d{4}\) )?"
    r"(?P<reason>Potential Performance Loss: .{1,600}? in (?:the )?function) '(?P<op>[\w$]{1,500})'",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The kernel's asynchronous matrix instructions (WGMMA) run one after the other.",
    help="Make the tile smaller or take more warps: a group of warps that runs out of registers can't keep them in flight.",
    seen_in="3.8 (run, ptxas 12.9), TRITON_DUMP_PTXAS_LOG=1; nvcc prints the same",
    matches=(
        "ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient register resources for the wgmma pipeline in the function 'recompute'",
    ),
    ignores=(
        "ptxas info    : Function properties for recompute",
        "note: Potential Performance Loss: as ptxas says in function 'f'",
    ),
    read=lambda rule, record, match: (by_groups(rule, record, match)._replace(stack=(match["op"],)),),
)
