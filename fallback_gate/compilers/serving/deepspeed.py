r"""DeepSpeed: inference operators and collectives that run through a slower way.

    [2026-01-01 00:00:00,000] [WARNING] [torch.py:291:__init__] unable to find torch.distributed.reduce_scatter_tensor. will fall back to ...

**What falls back.** A collective that this PyTorch lacks; the inference workspace without its compiled
operators; a quantised matrix product of a shape that has no tuned split; all of it, where no accelerator is found.

**At which setting it speaks.** By default: warnings, and a print.

**When it is silent.** Where an operator's extension is not built at all, an import error or nothing tells.

**What proves the end.** Nothing.

Wording from the source at 38327e07f6; 0.19 run without an accelerator.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.compilers.serving.python_log import OPENS
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.scan.record import Record

NAME = "DeepSpeed"


def _split(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    shape = match["shape"]
    yield by_groups(rule, record, match)._replace(op="linear", names=("linear", "split-K", shape), site=shape)


COLLECTIVE = Rule(
    id="deepspeed/collective",
    compiler=NAME,
    anchor=("unable to find torch.distributed.",),
    pattern=OPENS
    + r"unable to find torch\.distributed\.(?P<op>\w{1,60})\. (?P<reason>will fall back to torch\.distributed\.\w{1,60}) which will",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="This PyTorch lacks the collective: an older one runs, with a list of tensors and copies.",
    help="Upgrade PyTorch.",
    seen_in="0.7 to 0.18 (source), WARNING",
    matches=(
        "[2026-01-01 00:00:00,000] [WARNING] [torch.py:291:__init__] unable to find torch.distributed.reduce_scatter_tensor. will fall back to torch.distributed.reduce_scatter which will result in suboptimal performance. please consider upgrading your pytorch installation.",
    ),
)
WORKSPACE = Rule(
    id="deepspeed/workspace",
    compiler=NAME,
    anchor=("Using fallback functions in workspace because of",),
    pattern=OPENS + r"Using fallback functions in (?P<op>workspace) because of (?P<reason>.{1,300})",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The inference workspace's compiled operators can't be used: PyTorch's run.",
    help="Build the transformer_inference extension (ds_report shows what is missing).",
    seen_in="0.15 to 0.18 (source), a print",
    matches=("Using fallback functions in workspace because of missing kernel",),
)
SPLIT_K = Rule(
    id="deepspeed/split-k",
    compiler=NAME,
    anchor=("The split-K setting may be suboptimal for shape",),
    pattern=OPENS
    + r"(?P<reason>The split-K setting may be suboptimal for shape (?P<shape>\d{1,9}x\d{1,9}x\d{1,9}))",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.OPERATOR,
    meaning="The quantised matrix product has no tuned split for this shape.",
    help="Add the shape to the kernel's table.",
    seen_in="0.14 to 0.18 (source), WARNING",
    matches=("The split-K setting may be suboptimal for shape 7x4096x11008...",),
    read=_split,
)
NO_ACCELERATOR = Rule(
    id="deepspeed/no-accelerator",
    compiler=NAME,
    anchor=("Setting accelerator to CPU. If you have GPU",),
    pattern=OPENS + r"(?P<reason>Setting accelerator to (?P<op>CPU)\. If you have GPU or other accelerator)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="DeepSpeed found no accelerator, and none was chosen: the whole program runs on the CPU.",
    help="Look at the driver and at which PyTorch is installed; where the CPU is meant, DS_ACCELERATOR=cpu says so.",
    seen_in="0.19 (run), 0.14 to 0.18 (public logs), WARNING",
    matches=(
        "[2026-12-01 04:22:59,513] [WARNING] [real_accelerator.py:213:get_accelerator] Setting accelerator to CPU. If you have GPU or other accelerator, we were unable to detect it.",
    ),
)
REPLACED = Rule(
    id="deepspeed/replaced",
    compiler=NAME,
    anchor=("falling back to Muon's inline Adam", "using pure-PyTorch CPU fallback for "),
    pattern=OPENS
    + r"(?:(?P<adam>FusedAdam) (?:is unavailable|initialization failed); falling back to Muon's inline Adam update"
    r"|Triton not available; using pure-PyTorch CPU fallback for (?P<what>[a-z][\w -]{1,80}))",
    kind=Kind.REFERENCE_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The compiled operator can't be used: a plain one in Python runs in its place.",
    help="Install what the operator is built with (a compiler, Triton); ds_report shows what is missing.",
    seen_in="0.19 (source), WARNING and INFO",
    matches=(
        "[2026-01-01 00:00:00,000] [WARNING] [engine.py:2407:_configure_muon] FusedAdam is unavailable; falling back to Muon's inline Adam update.",
        "[2026-01-01 00:00:00,000] [INFO] [ep_kernels.py:36:<module>] Triton not available; using pure-PyTorch CPU fallback for permutation index generation.",
    ),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(
            op=(op := match["adam"] or match["what"].strip()), names=(op,), reason=None
        ),
    ),
)
REQUIRED = frozenset({Kind.OP_FALLBACK, Kind.SLOWER_KERNEL})


READER = Reader(
    name=NAME,
    rules=(COLLECTIVE, WORKSPACE, SPLIT_K, NO_ACCELERATOR, REPLACED),
    markers=(),
    required=REQUIRED,
    prove=shared.unended("DeepSpeed does not print which of its operators were used", "", *REQUIRED),
    manual=__doc__,
    silent="partly: warned of where an operator is replaced, not where its extension was never built",
    seen_in="0.19 without an accelerator (run), 0.7 to 0.18 (source)",
)
