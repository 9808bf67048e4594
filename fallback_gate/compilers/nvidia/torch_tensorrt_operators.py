r"""Room 3: Torch-TensorRT's messages about one operator that it leaves to PyTorch, though it may have a converter.

A validator looks at the arguments and shapes of a node before its converter is chosen. Most messages are
DEBUG, that of `topk` is a warning. By default Python prints them without a prefix.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.nvidia import torch_tensorrt_report as report
from fallback_gate.compilers.rule import Rule
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.scan.record import Record

NAME = "torch_tensorrt"
SAYS = r"(?:^|[\]:] ?|- )"  # a message opens its line, or follows the logger
_OPERATORS = {
    "aten.repeat": "aten::repeat",
    "linalg_cross": "aten::linalg_cross",
    "Strided + dilated deconvolution": "aten::convolution",
    "Concatenation": "aten::cat",
    "diagonal size": "aten::diagonal",
    "GLU": "aten::glu",
    "cumsum": "aten::cumsum",
    "key and value": "aten::scaled_dot_product_attention",
}


def refused(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A validator's message, in whichever wording names the operator."""
    told = match.groupdict()
    name = told["op"] or next(_OPERATORS[told[f"o{n}"]] for n in range(2, 7) if told[f"o{n}"])
    node = told["node"] or told["n3"]
    said = report.named(by_groups(rule, record, match), name)
    if said:
        reason = next((told[f"r{n}"] for n in range(1, 7) if told[f"r{n}"]), None)
        names = (*said.names, node) if node else said.names
        yield said._replace(names=names, layer=node, site=node, reason=reason)


def of_operator(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A message that names an operator as Python does."""
    said = report.named(by_groups(rule, record, match), match["op"])
    return (said,) if said else ()


REFUSED = Rule(
    id="torch-tensorrt/validator-refused",
    compiler=NAME,
    anchor=(
        "will run in PyTorch",
        ". Falling back to PyTorch",
        "; falling back to PyTorch",
        "TensorRT-RTX. Falling back to PyTorch.",
        "Concatenation rejected by TRT",
        "Unable to validate diagonal size",
        "falling back to PyTorch on TensorRT-RTX",
        "Unable to validate GLU",
        "key and value have different shapes, which is",
    ),
    pattern=SAYS
    + r"(?:\[[\w ]{1,40} validator\] (?P<r1>.{1,300}?)(?:\. Therefore,|[.;,])? (?P<op>aten(?:::|\.)\w{1,60}) will run in PyTorch"
    r"|(?P<o2>[a-z][\w.]{1,60}) node (?P<node>\S{1,120}) (?P<r2>.{1,300}?)(?:\. F|; f)alling back to PyTorch"
    r"|(?P<o3>Strided \+ dilated deconvolution) '(?P<n3>[^']{1,120})' (?P<r3>is not supported on TensorRT-RTX)"
    r"|(?P<o4>Concatenation) (?P<r4>rejected by TRT), "
    r"|Meta information of input is missing\. (?P<r5>Unable to validate (?P<o5>diagonal size|GLU))"
    r"|(?P<o6>key and value) (?P<r6>have different shapes), which is not supported)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The operator has a converter that does not take it as it is used here: it runs in PyTorch.",
    help="The line says which argument or shape is out of reach; change it, or allow the operator as cold.",
    seen_in="2.9 to 2.14 (source), WARNING or DEBUG",
    matches=(
        "[top_k validator] Currently only topk values up to 3840 are supported, got k=5000. Therefore, aten::topk will run in PyTorch",
        "DEBUG:torch_tensorrt.dynamo.conversion.aten_ops_converters:[sort validator] Skipping node sort_1 with 0-D (scalar) input; aten.sort will run in PyTorch.",
        "aten.repeat node repeat_2 would produce a rank-9 output, which exceeds TensorRT's maximum supported tensor rank of 8. Falling back to PyTorch for this node.",
        "linalg_cross node linalg_cross has no shape metadata for x; falling back to PyTorch.",
        "Strided + dilated deconvolution 'convolution_1' is not supported on TensorRT-RTX. Falling back to PyTorch.",
        "Concatenation rejected by TRT, torch.tensor([]) or 1D empty tensor at position 0 PyTorch allows this",
        "Meta information of input is missing. Unable to validate diagonal size, falling back to PyTorch operation.",
        "Meta information of input is missing. Unable to validate GLU's split dimension, falling back to PyTorch operation.",
        "cumsum node cumsum_1 has no input shape metadata; falling back to PyTorch on TensorRT-RTX < 1.7 with refit enabled.",
        "key and value have different shapes, which is not supported. Please try setting decompose_attention=True in the compilation settings.",
    ),
    ignores=(
        "FP8 is not supported on this system. Model will run in PyTorch mode.",
        "[W] All models will run in PyTorch when --torch-inference is set.",
    ),
    read=refused,
)
COMPLEX = Rule(
    id="torch-tensorrt/complex-operator",
    compiler=NAME,
    anchor=("has no explicit rewrite rule.",),
    pattern=SAYS + r"Complex op '(?P<op>[^']{1,120})' (?P<reason>has no explicit rewrite rule)\.",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The operator works on complex numbers, which TensorRT has not: it runs in PyTorch.",
    help="Write the operator with real numbers, or compile with use_complex_decomposition=True.",
    seen_in="2.12 to 2.14 (source), INFO",
    matches=(
        "Complex op 'torch.ops.aten.fft_r2c' has no explicit rewrite rule. Wrapping with view_as_complex/view_as_real so the op receives genuine complex tensors",
    ),
    read=of_operator,
)
