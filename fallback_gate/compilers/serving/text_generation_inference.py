r"""TGI: Hugging Face's Text Generation Inference: CUDA graphs that are off, a fused norm that is missing.

    2026-01-01 00:00:00.000 | WARNING  | text_generation_server.cli:serve:101 - LoRA adapters incompatible with CUDA Graphs. Disabling CUDA Graphs.

**What falls back.** Decode runs without CUDA graphs; T5's layer norm runs in PyTorch.

**At which setting it speaks.** By default.

**When it is silent.** The attention implementation and quantised kernels are chosen without a word.

**What proves the end.** Nothing: no line says that graphs are on.

Wording from the source at db931fcf42.
"""

from __future__ import annotations

from collections.abc import Mapping

from fallback_gate.compilers.rule import Evidence, Reader, Rule
from fallback_gate.compilers.serving.python_log import OPENS
from fallback_gate.model import Kind, Proof, Scope, State

NAME = "TGI"

GRAPHS_OFF = Rule(
    id="tgi/cuda-graphs-disabled",
    compiler=NAME,
    anchor=("LoRA adapters incompatible with CUDA Graphs", "Cuda Graphs are disabled (CUDA_GRAPHS="),
    pattern=OPENS
    + r"(?P<reason>LoRA adapters incompatible with CUDA Graphs|Cuda Graphs are disabled \(CUDA_GRAPHS=[^)]{0,80}\))",
    kind=Kind.CUDAGRAPH_SKIP,
    scope=Scope.PROGRAM,
    meaning="No CUDA graph is captured: each kernel of each decode step is launched on its own.",
    help="Merge the adapters into the model, or set --cuda-graphs to the batch sizes that are served.",
    seen_in="3.x (source), WARNING and INFO",
    matches=(
        "2026-01-01 00:00:00.000 | WARNING  | text_generation_server.cli:serve:101 - LoRA adapters incompatible with CUDA Graphs. Disabling CUDA Graphs.",
        "Cuda Graphs are disabled (CUDA_GRAPHS=None).",
    ),
    ignores=("Are Cuda Graphs are disabled (CUDA_GRAPHS=None)?",),
)
APEX = Rule(
    id="tgi/layer-norm",
    compiler=NAME,
    anchor=("discovered apex but it failed to load, falling back",),
    pattern=OPENS + r"(?P<reason>discovered apex but it failed to load), falling back to (?P<op>\w{1,60})",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="apex's fused layer norm did not load: PyTorch's runs.",
    help="Install an apex that was built for this PyTorch, or none.",
    seen_in="1.x to 3.x (source), WARNING",
    matches=("discovered apex but it failed to load, falling back to T5LayerNorm",),
)
REQUIRED = frozenset({Kind.CUDAGRAPH_SKIP})


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """No line of TGI shows that graphs were captured."""
    return {
        Kind.CUDAGRAPH_SKIP: Proof(State.UNPROVEN, "TGI does not print that its CUDA graphs were captured")
    }


READER = Reader(
    name=NAME,
    rules=(GRAPHS_OFF, APEX),
    markers=(),
    required=REQUIRED,
    prove=prove,
    manual=__doc__,
    silent="partly: CUDA graphs that are off are told, the choice of kernels is not",
    seen_in="1.x to 3.x (source)",
)
