r"""LMDeploy: the TurboMind engine that was asked for is not the one that serves.

    2026-01-01 00:00:01,000 - lmdeploy - WARNING - archs.py:41 - Fallback to pytorch engine because `/app/model` not supported by turbomind engine.

**What falls back.** The whole model runs in LMDeploy's PyTorch engine; there, an operator without a kernel
for the device runs through a default implementation.

**At which setting it speaks.** The engine is a WARNING, shown by default; operators need `--log-level DEBUG`.

**When it is silent.** Where a PyTorch engine's configuration was passed, the engine is what was asked for.

**What proves the end.** A line of TurboMind itself (`[TM][INFO]`, `[TM][WARNING]`): that engine serves.
Operators of the PyTorch engine stay unobservable below DEBUG, and nothing says that all of them were named.

Wording from the source at 1263d5cd88 and from public threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule
from fallback_gate.compilers.serving.python_log import OPENS
from fallback_gate.compilers.shared import called
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.scan.record import Record

NAME = "LMDeploy"


def _engine(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    model = (match["model"] or "").strip("'`\"")
    names = tuple(filter(None, ("turbomind", "pytorch", model)))
    yield by_groups(rule, record, match)._replace(op="turbomind", names=names)


def _operator(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    said = match["said"] or "hadamard_transform"
    op = said.rpartition(".")[2]
    yield by_groups(rule, record, match)._replace(op=op, names=tuple(dict.fromkeys((op, said))))


ENGINE = Rule(
    id="lmdeploy/pytorch-engine",
    compiler=NAME,
    anchor=("Fallback to pytorch engine because",),
    pattern=OPENS
    + r"(?P<reason>Fallback to pytorch engine because (?:(?P<model>\S{1,500}) not supported by turbomind engine"
    r"|turbomind engine is not installed correctly))",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="The model runs in the PyTorch engine, not in TurboMind's compiled one.",
    help="Serve a model that TurboMind supports, or mend its installation; to accept it, ask for the PyTorch engine.",
    seen_in="0.4 to 0.9 (source and public threads), WARNING",
    matches=(
        "2026-01-01 00:00:00,000 - lmdeploy - WARNING - archs.py:41 - Fallback to pytorch engine because '/app/model/gate' not supported by turbomind engine.",
        "Fallback to pytorch engine because turbomind engine is not installed correctly. If you insist to use turbomind engine, you may need to reinstall",
    ),
    ignores=(
        "2026-01-01 00:00:03,000 - lmdeploy - WARNING - async_engine.py:433 - n(2) > 1 hasn't been supported yet. Fallback to 1",
        "# Fallback to pytorch engine because x not supported by turbomind engine",
    ),
    read=_engine,
)
GEMM = Rule(
    id="lmdeploy/default-gemm",
    compiler=NAME,
    anchor=("is not found; using default GEMM algo",),
    pattern=r"^\[WARNING\] (?P<reason>\S{1,300} is not found; using default GEMM algo)\s*$",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.OPERATOR,
    meaning="TurboMind, or FasterTransformer, found no table of tuned algorithms: cuBLAS runs its default ones.",
    help="Write the table with the tuner of the library (gpt_gemm, llama_gemm), and start the server where it lies.",
    seen_in="0.0 to 0.6 (source of FasterTransformer, public threads), once a process",
    matches=("[WARNING] gemm_config.in is not found; using default GEMM algo",),
    ignores=("When [WARNING] gemm_config.in is not found; using default GEMM algo is printed, all is well",),
    read=called("gemm", "linear"),
)
OPERATOR = Rule(
    id="lmdeploy/default-implementation",
    compiler=NAME,
    anchor=("fallback to default implementation", "fast_hadamard_transform not installed"),
    pattern=OPENS + r"(?:Op (?P<said>[\w.]{1,120}) (?P<reason>fallback to default implementation)\b"
    r"|fast_hadamard_transform not installed, falling back to matmul-based)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The operator has no kernel for this device: its default implementation runs.",
    help="Add a kernel for the device's back end, or install the library that the message names.",
    seen_in="0.9 (source), DEBUG and INFO",
    matches=(
        "Op OpType.PagedAttention fallback to default implementation.",
        "fast_hadamard_transform not installed, falling back to matmul-based Hadamard transform. Install it for better performance.",
    ),
    ignores=("Op 3: x, fallback to default implementation",),
    read=_operator,
)
KERNEL = Rule(
    id="lmdeploy/slower-kernel",
    compiler=NAME,
    anchor=(
        "index kernel instead of DeepGEMM",
        "symmetric-memory LM-head disabled",
        "symmetric-memory all-reduce is unavailable",
        "falling back to BF16 indexer",
    ),
    pattern=OPENS
    + r"(?P<reason>DSA (?P<index>index scoring) is using the Triton FP8 index kernel instead of DeepGEMM MQA logits"
    r"|symmetric-memory (?P<head>LM-head) disabled: .{1,200}"
    r"|PyTorch symmetric-memory (?P<reduce>all-reduce) is unavailable.{1,200}"
    r"|Ascend backend does not support FP8 (?P<indexer>indexer); falling back to BF16 indexer)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The kernel that fits best can't be used on this device or in this build: a slower one runs.",
    help="Install what the line names, or allow it on this device.",
    seen_in="0.18 (source), WARNING",
    matches=(
        "2026-01-01 00:00:00,000 - lmdeploy - WARNING - nsa.py:131 - DSA index scoring is using the Triton FP8 index kernel instead of DeepGEMM MQA logits.",
        "symmetric-memory LM-head disabled: x",
        "PyTorch symmetric-memory all-reduce is unavailable: multicast is not supported.",
        "Ascend backend does not support FP8 indexer; falling back to BF16 indexer.",
    ),
    read=lambda rule, record, match: called(
        "all_reduce" if match["reduce"] else "lm_head" if match["head"] else "indexer", "dsa_index"
    )(rule, record, match),
)
TURBOMIND = Marker(
    id="lmdeploy/turbomind",
    compiler=NAME,
    anchor=("[TM][INFO]", "[TM][WARNING]", "[TM][DEBUG]"),
    pattern=r"^\[TM\]\[(?:INFO|WARNING|DEBUG)\]",
    shows="TurboMind runs.",
    seen_in="0.1 to 0.9, INFO and WARNING",
    matches=(
        "[TM][INFO] [BlockManager] block_size = 6 MB",
        "[TM][WARNING] [LlamaTritonModel] `max_context_token_num` is not set",
    ),
    ignores=("the line [TM][INFO] says",),
)
SETTING = "--log-level DEBUG"
REQUIRED = frozenset({Kind.DEVICE_FALLBACK, Kind.OP_FALLBACK})


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """A line of TurboMind shows that it was chosen; operators are named at DEBUG only."""
    turbomind = evidence.first(TURBOMIND.id)
    if turbomind is None:
        engine = Proof(
            State.UNPROVEN, "no line shows that the TurboMind engine runs", None, "--log-level INFO"
        )
    else:
        engine = Proof(State.PROVEN, "TurboMind prints: it is the engine that serves", turbomind)
    why = "operators of the PyTorch engine are named at DEBUG only, and no line ends their list"
    return {
        Kind.DEVICE_FALLBACK: engine,
        Kind.OP_FALLBACK: Proof(State.UNOBSERVABLE, why, None, SETTING),
    }


READER = Reader(
    name=NAME,
    rules=(ENGINE, GEMM, OPERATOR, KERNEL),
    markers=(TURBOMIND,),
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    manual=__doc__,
    silent="partly: another engine is warned of, operators are told at DEBUG",
    seen_in="0.4 to 0.9 (source and public threads), 0.18 (source)",
)
