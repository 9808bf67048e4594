"""ipex: Intel Extension for PyTorch on the CPU: models and modules that are left as they were.

    Both JIT and TorchDynamo failed, fallback to original model.

**What falls back.** Graph capture or `ipex.llm.optimize` gives the user's own model back; a fused module gives
way to PyTorch's.

**At which setting it speaks.** By default, as a WARNING or a Python warning (once a line of source).

**When it is silent.** Operators that oneDNN runs by its reference code: see the reader `onednn`.

**What proves the end.** Nothing: a model that was optimised prints no line.

Wording seen in the source of 2.x.
"""

from __future__ import annotations

from fallback_gate.compilers import shared
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.model import Kind, Scope

NAME = "ipex"
SEEN = "intel-extension-for-pytorch 2.x (source)"

GRAPH_CAPTURE = Rule(
    id="ipex/graph-capture",
    compiler=NAME,
    anchor=("Both JIT and TorchDynamo failed, fallback",),
    pattern=r"(?P<reason>Both JIT and TorchDynamo failed), fallback to original model",
    kind=Kind.EAGER_FRAME,
    scope=Scope.PROGRAM,
    meaning="Neither TorchScript nor Dynamo captured the model: it runs eager.",
    help="Call torch.compile or torch.jit.trace on the model by itself: the error tells what can't be captured.",
    seen_in=f"{SEEN}, WARNING",
    matches=("Both JIT and TorchDynamo failed, fallback to original model.",),
)

LLM = Rule(
    id="ipex/llm-optimize",
    compiler=NAME,
    anchor=("fail to apply ipex.llm.optimize",),
    pattern=r"fail to apply ipex\.llm\.optimize(?: due to: (?P<reason>.*))?, (?:.*)fallback to (?:the origin model|default path)",
    kind=Kind.EAGER_FRAME,
    scope=Scope.PROGRAM,
    meaning="The model is used as it was, without the extension's fused attention and linear layers.",
    help="The line gives the reason; most often the architecture is not in the extension's list.",
    seen_in=f"{SEEN}, WARNING",
    matches=("fail to apply ipex.llm.optimize due to: unknown arch, fallback to the origin model",),
)

EMBEDDING_BAG = Rule(
    id="ipex/embedding-bag",
    compiler=NAME,
    anchor=("Fallback to torch.embedding bag",),
    pattern=r"\[NotSupported\](?P<reason>.*?) ?Fallback to torch\.embedding bag",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The fused embedding bag does not take these options: PyTorch's own operator runs.",
    help="Leave out the option that the line names.",
    seen_in=f"{SEEN}, Python warning",
    matches=("UserWarning: [NotSupported]max_norm is set. Fallback to torch.embedding bag.",),
    at_least=True,
    read=shared.called("aten::embedding_bag", "torch.embedding_bag", "EmbeddingBag"),
)

CONCAT_LINEAR = Rule(
    id="ipex/concat-linear",
    compiler=NAME,
    anchor=("Concat linear fusion for CPU WOQ failed",),
    pattern=r"Concat linear fusion for CPU WOQ failed because (?P<reason>[^.]{0,300})\.",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="Linear layers with quantised weights that share an input run one by one in place of one fused layer.",
    help="Quantise all linear layers of the block, or allow it.",
    seen_in=f"{SEEN}, WARNING",
    matches=(
        "Concat linear fusion for CPU WOQ failed because linear is not converted to WOQ Linear. Falling back to separate linears.",
    ),
    read=shared.called("concat_linear", "Linear"),
)

REQUIRED = frozenset({Kind.EAGER_FRAME, Kind.OP_FALLBACK, Kind.SLOWER_KERNEL})

READER = Reader(
    name=NAME,
    rules=(GRAPH_CAPTURE, LLM, EMBEDDING_BAG, CONCAT_LINEAR),
    markers=(),
    required=REQUIRED,
    prove=shared.unended("a model that was optimised prints no line", "", *REQUIRED),
    manual=__doc__,
    silent="no: warned of by default",
    seen_in="intel-extension-for-pytorch 2.x (source)",
)
