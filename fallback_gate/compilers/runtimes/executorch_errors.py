"""Room 3: programs that ExecuTorch does not make, or does not load: out variants, kernels and backends that lack.

    [operator_registry.cpp:256] kernel 'aten::bucketize.Tensor_out' not found.
    [method.cpp:540] Missing operator: [16] aten::scatter.src_out
    RuntimeError: Node aten_linear_default with op <EdgeOpOverload: aten.linear.default>: schema = ... was not decomposed or delegated.

An operator that no delegate takes needs a kernel in the runtime's own library; where it has none, the method is not loaded.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.runtimes.executorch_names import NAME
from fallback_gate.compilers.shared import words
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.scan.record import Record


def missing(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """Each operator of the printed set."""
    report = by_groups(rule, record, match)
    for op in words(match["listed"]):
        yield report._replace(op=op, names=(op, op.rpartition("::")[2]), reason="it has no out variant")


MISSING = Rule(
    id="executorch/no-out-variant",
    compiler=NAME,
    anchor=("Missing out variants: {",),
    pattern=r"(?:^|[\w:] )Missing out variants: \{(?P<listed>[^{}]{1,10000})\}",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="ExecuTorch can't lower the operator: there is no program.",
    help="Register an out variant of the operator (torch.library), or rewrite it.",
    seen_in="1.5 (run), an exception",
    matches=(
        "RuntimeError: Missing out variants: {'acme::gate_attn'}",
        "WARNING:export:RuntimeError Missing out variants: {'shop::fuse_gate'}",
    ),
    ignores=('raise RuntimeError(f"Missing out variants: {missing_out_vars}")',),
    read=missing,
)


def of_overload(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """`aten::scatter.src_out`, or `aten.linear.default`, is the operator `aten::scatter`, or `aten::linear`."""
    said = match.groupdict()
    told = next(text for text in (said.get("op"), said.get("kernel"), said.get("edge")) if text)
    namespace, _, rest = told.replace("::", ".", 1).partition(".")
    name = rest.partition(".")[0]
    layer = said.get("layer")
    names = (f"{namespace}::{name}", told, name, *((layer,) if layer else ()))
    yield by_groups(rule, record, match)._replace(
        op=names[0],
        names=tuple(dict.fromkeys(names)),
        site=layer,
        reason=said.get("reason") or f"the runtime has no kernel {told}",
    )


NO_KERNEL = Rule(
    id="executorch/no-kernel",
    compiler=NAME,
    anchor=("Missing operator: [", "kernel '"),
    pattern=r"\bMissing operator: \[-?\d{1,9}\] (?P<op>[a-zA-Z_]\w{0,60}::\w[\w.]{0,150})\s*$"
    r"|(?:^|\] |: )kernel '(?P<kernel>[a-zA-Z_]\w{0,60}::\w[\w.]{0,150})' not found\.",
    kind=Kind.COMPILE_ERROR,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="No delegate takes the operator, and the runtime has no kernel for it: the method is not loaded.",
    help="Link the library of kernels that has the operator, whole (--whole-archive), or add it to the selective build; else decompose it before lowering.",
    seen_in="0.1 to 1.2 (source and public threads), ERROR",
    matches=(
        "E 00:00:25.912566 executorch:method.cpp:540] Missing operator: [16] acme::scatter.src_out",
        "11-24 09:35:11.099: I/ETLOG(3388): Missing operator: [4] aten::native_dropout.out",
        "[operator_registry.cpp:256] kernel 'aten::bucketize.Tensor_out' not found.",
    ),
    ignores=(
        "IBKeymaster: kernel 'ntt' not found",
        "Missing operator: [==] between operands",
    ),
    read=of_overload,
)

NOT_DECOMPOSED = Rule(
    id="executorch/not-decomposed",
    compiler=NAME,
    anchor=("was not decomposed or delegated",),
    pattern=r"\bNode (?P<layer>\w{1,200}) with op (?:<EdgeOpOverload: )?(?P<edge>[a-zA-Z_]\w{0,60}\.\w[\w.]{0,150}).{0,2000}? (?P<reason>was not decomposed or delegated)\b",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="The partitioner kept the operator whole for its delegate, and then did not take it: there is no program.",
    help="Decompose the operator first (ExportedProgram.run_decompositions), or rewrite it in a form that the backend takes.",
    seen_in="0.6 to 1.2 (source and public threads), an exception of to_edge_transform_and_lower",
    matches=(
        "RuntimeError: Node aten_linear_default_2 with op <EdgeOpOverload: aten.linear.default>: schema = aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor was not decomposed or delegated.",
        "Node eye with op aten.eye.default was not decomposed or delegated.",
    ),
    ignores=("the op was not decomposed or delegated",),
    read=of_overload,
)

NOT_CORE = Rule(
    id="executorch/not-in-core-aten",
    compiler=NAME,
    anchor=(" is not in Core ATen opset", " is not Aten Canonical"),
    pattern=r"(?:^|\s)Operator torch\._ops\.(?P<edge>[a-zA-Z_]\w{0,60}\.\w[\w.]{0,150}) (?P<reason>is not (?:in Core ATen opset|Aten Canonical))\b",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="The operator is none of those that ExecuTorch's edge dialect holds: there is no program.",
    help="Decompose it before lowering, or turn the check off (EdgeCompileConfig(_check_ir_validity=False)) where a delegate takes it.",
    seen_in="1.5 (run), earlier wording in the source of torch 2.1 to 2.5, an exception",
    matches=(
        "torch._export.verifier.SpecViolationError: \nOperator torch._ops.aten.bucketize.Tensor is not in Core ATen opset (https://pytorch.org/docs/stable/torch.compiler_ir.html#core-aten-ir).",
        "torch._export.verifier.SpecViolationError: Operator torch._ops.aten.rms_norm.default is not Aten Canonical.",
    ),
    ignores=('f"Operator {op.__module__}.{op.__name__} is not Aten Canonical."',),
    read=of_overload,
)

XNNPACK = Rule(
    id="executorch/xnnpack-lacks-operator",
    compiler=NAME,
    anchor=("is not supported in XNNPACK Delegate",),
    pattern=r"\bFor (?P<layer>\w{1,200}), call_function:(?P<edge>[a-zA-Z_]\w{0,60}\.\w[\w.]{0,150}) (?P<reason>is not supported in XNNPACK Delegate)",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="The partitioner gave XNNPACK an operator that its delegate can't write: there is no program.",
    help="Update ExecuTorch, or leave the module out of the partitioner; an operator in training mode needs model.eval() first.",
    seen_in="0.1 to 1.2 (source and public threads), an exception of to_backend",
    matches=(
        "RuntimeError: For aten_acme_gate_default, call_function:aten.acme_gate.default is not supported in XNNPACK Delegate",
    ),
    ignores=('f"For {node}, {node.op}:{node.target.__name__} is not supported in XNNPACK Delegate"',),
    read=of_overload,
)

NOT_INITIALISED = Rule(
    id="executorch/backend-not-initialised",
    compiler=NAME,
    anchor=("Init failed for backend ",),
    pattern=r"(?P<reason>Init failed for backend (?P<op>\w{1,80}): (?:0x)?[0-9a-f]{1,8})\s*$",
    kind=Kind.COMPILE_ERROR,
    shared_anchor=True,
    scope=Scope.PROGRAM,
    meaning="The delegate can't load the part of the program that was lowered for it: the method is not loaded.",
    help="The lines above it tell what the delegate lacks; link it with its libraries, and lower again for this device and version.",
    seen_in="0.1 to 1.5 (source and public threads), ERROR",
    matches=("[method.cpp:114] Init failed for backend CoreMLBackend: 0x23",),
    ignores=("bgfx::init failed for backend Vulkan",),
)

RULES = (MISSING, NO_KERNEL, NOT_DECOMPOSED, NOT_CORE, XNNPACK, NOT_INITIALISED)
