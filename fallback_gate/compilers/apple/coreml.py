r"""coreml: Apple's Core ML: the converter coremltools, and ExecuTorch's partitioner for it.

    NotImplementedError: PyTorch convert function for op 'acme::gate_attn' not implemented.
    INFO:...coreml_partitioner:Skipping op for CoreML delegation because it is not supported by CoreML: aten.topk.default

**What falls back.** The converter converts all or nothing: the program ended or went on without the model.
What ExecuTorch's partitioner does not delegate runs on its portable kernels on the CPU.

**At which setting it speaks.** The converter's error is a Python exception, its progress a bar. The partitioner
logs at INFO (`logging.basicConfig(level=logging.INFO)` before lowering), each text once a partitioning.

**When it is silent.** The partitioner is silent by default, and its conversions look like any other. Core ML
itself never tells where an operator runs (CPU, GPU or Neural Engine), but for a Neural Engine that can't compile
the model, on stderr: only `MLComputePlan` (macOS 14.4) or
Xcode's performance report does, so a log alone passes only where the policy accepts that
(`proof: {accept_unobservable: [device_fallback]}`, and `op_fallback` where no partitioner is used).
Precision notes of the converter (`Will do best-effort cast`) are no fallback, and neither are the
placeholders and outputs that the partitioner skips.

**What proves the end.** For the partitioner: a partitioning that began at INFO
(`CoreMLPartitioner::partition`) and was done (`Core ML partitioner will take over torch mutable buffer`,
unless the program turned that off). For the converter: each conversion that began came to the end of its
last pipeline.

Wording seen in coremltools 4.1 to 9.0 (8.3 and 9.0 run), ExecuTorch 0.4 to 1.5 (1.5 run).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule, Sighting
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.patterns import BEFORE, BEHIND
from fallback_gate.scan.record import Record
from fallback_gate.scan.view import LONGEST_LINE

NAME = "coreml"


def lacked(report: Report, said: str) -> Report:
    """The report, for an operator without a namespace: what stands behind the dot of `max.dim` is its overload."""
    name, dot, rest = said.partition(".")
    bare = bool(dot) and "::" not in said and "." not in rest
    return shared.named(report, name, said) if bare else shared.named(report, said)


NO_CONVERTER = Rule(
    id="coreml/no-converter",
    compiler=NAME,
    anchor=("PyTorch convert function for op ", "Unsupported fx node "),
    pattern=r"(?P<reason>PyTorch convert function for op '(?P<op>[^'\s{}]{1,200})' not implemented"
    r"|Unsupported fx node (?P<layer>\w{1,200}), kind (?P<kind>[\w:.]{1,200}))",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="coremltools has no converter for the operator: the model is not converted.",
    help="Register one (https://apple.github.io/coremltools/docs-guides/source/composite-operators.html), or rewrite the "
    "operator in the model.",
    seen_in="4.1 to 9.0, an exception",
    matches=(
        "NotImplementedError: PyTorch convert function for op 'acme::gate_attn' not implemented.",
        "RuntimeError: PyTorch convert function for op 'hardswish_' not implemented.",
        "RuntimeError: PyTorch convert function for op 'max.dim' not implemented.",
        "NotImplementedError: Unsupported fx node gate_attn, kind acme::gate_attn",
        "ValueError: Unsupported fx node renorm, kind renorm",
        "coreml not available, keeping torch: PyTorch convert function for op 'special_bessel_j1' not implemented.",
    ),
    ignores=(
        '    raise NotImplementedError(f"PyTorch convert function for op {op} not implemented.")',
        """    f"PyTorch convert function for op '{node.kind}' not implemented.\"""",
    ),
    read=lambda rule, record, match: (lacked(by_groups(rule, record, match), match["op"] or match["kind"]),),
)
FAILED = Rule(
    id="coreml/conversion-failed",
    compiler=NAME,
    anchor=("ERROR - converting ",),
    pattern=rf"^{BEFORE}"
    + r"ERROR - converting '(?P<op>[^'\s]{1,200})' op \(located at: '(?P<layer>[^']{0,300})'\):",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="The converter of the operator raised an error: the model is not converted.",
    help="The exception below the line says what the converter lacks; rewrite the operator in the model.",
    seen_in="6.0 to 9.0 (9.0 run), ERROR",
    matches=("ERROR - converting 'rms_norm' op (located at: 'aten_rms_norm_default'):",),
    ignores=("ERROR - converting the file failed",),
    read=lambda rule, record, match: (shared.named(by_groups(rule, record, match), match["op"]),),
)
ATTRIBUTE = Rule(
    id="coreml/attribute-not-converted",
    compiler=NAME,
    anchor=("Only torch.Tensor attr handled yet",),
    pattern=r"\bNotImplementedError:? (?P<reason>Only torch\.Tensor attr handled yet)",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="The exported program holds a graph in a graph (torch.cond, a loop): the model is not converted.",
    help="Write the branch with torch.where, or convert each graph on its own.",
    seen_in="9.0 (run), an exception",
    matches=("NotImplementedError: Only torch.Tensor attr handled yet",),
    ignores=('    raise NotImplementedError("Only torch.Tensor attr handled yet")',),
)
NOT_DELEGATED = Rule(
    id="coreml/not-delegated",
    compiler=NAME,
    anchor=("Skipping op for CoreML delegation ",),
    pattern=r"Skipping op for CoreML delegation because (?P<reason>it is not supported by CoreML"
    r"|it is in skip_ops_for_coreml_delegation|it contains symbolic args): (?P<op>[\w.:]{1,200})",
    kind=Kind.OP_FALLBACK,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="Core ML does not take the operator: it runs on ExecuTorch's portable CPU kernel.",
    help="Rewrite the operator with ones that Core ML has. Where the line says skip_ops_for_coreml_delegation, the "
    "program asked for it.",
    seen_in="0.4 to 1.5 (1.5 run), INFO",
    matches=(
        "INFO:executorch.backends.apple.coreml.partition.coreml_partitioner:Skipping op for CoreML delegation because it is not supported by CoreML: acme.gate_attn.default",
        "Skipping op for CoreML delegation because it is in skip_ops_for_coreml_delegation: aten.embedding.default",
    ),
    ignores=("Skipping op for CoreML delegation because it is not get_attr or call_function: placeholder",),
)
REFUSED = Rule(
    id="coreml/full-graph",
    compiler=NAME,
    anchor=("CoreML does not support the op ",),
    pattern=r"NotImplementedError: (?P<reason>CoreML does not support the op (?P<op>[\w.:]{1,200})), but you have set lower_full_graph=True",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="Core ML does not take the operator, and the whole graph was asked for: the lowering ended here.",
    help="Rewrite the operator with ones that Core ML has.",
    seen_in="1.0 to 1.5 (1.5 run), an exception",
    matches=(
        "NotImplementedError: CoreML does not support the op acme.gate_attn.default, but you have set lower_full_graph=True in the CoreMLPartitioner.",
    ),
)


ANE = Rule(
    id="coreml/neural-engine",
    compiler=NAME,
    anchor=("failed to compile ANE model using ANEF", "ANECF error: ", "ANECCompileOffline() failed: "),
    pattern=r"(?P<reason>failed to compile ANE model using ANEF\. Error=.{1,100}|ANECF error: (?:failed to load ANE model|ANECCompile\()|ANECCompileOffline\(\) failed: .{1,60})",
    kind=Kind.COMPILE_ERROR,
    shared_anchor=True,
    scope=Scope.PROGRAM,
    meaning="The model, or a part of it, was not compiled for the Neural Engine: loading goes on, and the CPU or the GPU runs it.",
    help="Bisect the model (coremltools' ct.models.utils.bisect_model) for what the Neural Engine lacks: ranks above 5, large tensors, types.",
    seen_in="iOS 15 to 26, macOS 12 to 26 (public threads), stderr",
    matches=(
        "E5RT encountered an STL exception. msg = MILCompilerForANE error: failed to compile ANE model using ANEF. Error=_ANECompiler : ANECCompile() FAILED.",
        "[espresso] [Espresso::handle_ex_plan] exception=ANECF error: ANECCompile(/var/mobile/Library/Caches/com.apple.aned/tmp/x/) FAILED: err=(",
        " ANECCompileOffline() failed: OSStatus=0, aneCompileStatus=1, statusdict={",
    ),
    ignores=("[espresso] ANECF error:", "ANECF error: not entitled"),
    read=shared.called("ANE", "Neural Engine"),
)


def bar(said: bytes) -> Callable[[Marker, Record, Match[str]], Iterable[Sighting]]:
    """A progress bar, which the scan takes off a line like any envelope: it is looked for in the line as it stands."""

    def read(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
        end = min(record.end, record.start + LONGEST_LINE)
        if record.view.buffer.find(said, record.start, end) >= 0:
            yield from shared.step(marker, record, match)

    return read


BEGAN = Marker(
    id="coreml/partition-began",
    compiler=NAME,
    anchor=("CoreMLPartitioner::partition",),
    pattern=r"(?:^|[\]:\s])CoreMLPartitioner::partition" + BEHIND,
    shows="A partitioning began, and INFO was on.",
    seen_in=NOT_DELEGATED.seen_in,
    matches=(
        "INFO:executorch.backends.apple.coreml.partition.coreml_partitioner:CoreMLPartitioner::partition",
    ),
    ignores=("See CoreMLPartitioner::partition for more.",),
    read=shared.step,
)
DONE = Marker(
    id="coreml/partition-done",
    compiler=NAME,
    anchor=("Core ML partitioner will take over ",),
    pattern=r"Core ML partitioner will take over torch mutable buffer as Core ML state",
    shows="The partitioning was done: all that it does not take was named.",
    seen_in=NOT_DELEGATED.seen_in,
    matches=(
        "INFO:executorch.backends.apple.coreml.partition.coreml_partitioner:Core ML partitioner will take over torch mutable buffer as Core ML state, so if your model contains mutable buffer, then you will need MacOS15+/iOS18+ to execute.",
    ),
    read=shared.step,
)
CONVERTING = Marker(
    id="coreml/converting",
    compiler=NAME,
    anchor=("PyTorch Frontend ==> MIL Ops: ",),
    pattern=r"",
    shows="A conversion began.",
    seen_in="6.0 to 9.0 (9.0 run), a progress bar",
    matches=("Converting PyTorch Frontend ==> MIL Ops:   0%|          | 0/126 [00:00<?, ? ops/s]",),
    ignores=("Converting PyTorch Frontend ==> MIL Ops:  50%|#####     | 63/126 [00:00<00:00, 90.0 ops/s]",),
    read=bar(b"Converting PyTorch Frontend ==> MIL Ops:   0%"),
)
CONVERTED = Marker(
    id="coreml/converted",
    compiler=NAME,
    anchor=("Running MIL backend_",),
    pattern=r"",
    shows="A conversion came to the end of its last pipeline.",
    seen_in=CONVERTING.seen_in,
    matches=(
        "Running MIL backend_mlprogram pipeline: 100%|██████████| 12/12 [00:00<00:00, 138.90 passes/s]",
    ),
    ignores=("Running MIL backend_mlprogram pipeline:   0%|          | 0/12 [00:00<?, ? passes/s]",),
    read=bar(b"_mlprogram pipeline: 100%"),
)
EXECUTORCH = Marker(
    id="coreml/executorch",
    compiler=NAME,
    anchor=("The model with identifier executorch_",),
    pattern=r"The model with identifier executorch_[\w-]{1,60} was exported with CoreML specification version",
    shows="ExecuTorch handed a part of a graph to the converter.",
    seen_in="1.5 (run), WARNING, where no deployment target was given",
    matches=(
        "The model with identifier executorch_64880954-97a8-4362-abe1-b8bb10dbb92f was exported with CoreML specification version 6, and it will not run on all version of iOS/macOS.",
    ),
)
RULES = (NO_CONVERTER, FAILED, ATTRIBUTE, NOT_DELEGATED, REFUSED, ANE)
MARKERS = (BEGAN, DONE, CONVERTING, CONVERTED, EXECUTORCH)
SETTING = "logging.basicConfig(level=logging.INFO) before ExecuTorch's lowering"
PLACEMENT = (
    "coremltools' MLComputePlan or Xcode's report, "
    "and `proof: {accept_unobservable: [device_fallback]}` in the policy"
)
PARTITION = f"{SETTING}; without ExecuTorch: `proof: {{accept_unobservable: [op_fallback]}}` in the policy"


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """Each partitioning was done at INFO and each conversion ended; where the model runs is told by no log."""
    why = "Core ML picks CPU, GPU or Neural Engine for each operator without a word"
    return {
        Kind.COMPILE_ERROR: _converted(evidence),
        Kind.OP_FALLBACK: _delegated(evidence),
        Kind.DEVICE_FALLBACK: Proof(State.UNOBSERVABLE, why, None, PLACEMENT),
    }


def _converted(evidence: Evidence) -> Proof:
    begun, ended = shared.steps(evidence, CONVERTING), shared.steps(evidence, CONVERTED)
    if not shared.each_ended(begun, ended):
        why = "the log does not show that each conversion came to its end"
        return Proof(State.UNPROVEN, why, begun[-1] if begun else None)
    return Proof(State.PROVEN, "each conversion came to the end of its pipelines", ended[-1])


def _delegated(evidence: Evidence) -> Proof:
    begun, done = shared.steps(evidence, BEGAN), shared.steps(evidence, DONE)
    if shared.each_ended(begun, done):
        why = "each partitioning was done with INFO on: what is not delegated is named"
        return Proof(State.PROVEN, why, done[-1])
    if begun or done:
        why = "a partitioning began, and no line shows that it was done"
        return Proof(State.UNPROVEN, why, begun[-1] if begun else None, SETTING)
    if evidence.first(EXECUTORCH.id) is not None:
        why = "ExecuTorch's partitioner is silent at this level about what it leaves out"
        return Proof(State.UNPROVEN, why, evidence.first(EXECUTORCH.id), SETTING)
    why = "a partitioner that leaves operators out would be silent at this level"
    return Proof(State.UNOBSERVABLE, why, None, PARTITION)


READER = Reader(
    name=NAME,
    rules=RULES,
    markers=MARKERS,
    required=frozenset({Kind.COMPILE_ERROR, Kind.OP_FALLBACK, Kind.DEVICE_FALLBACK}),
    prove=prove,
    setting=SETTING,
    manual=__doc__,
    silent="partly: the converter raises an error, the partitioner and Core ML itself say nothing",
    seen_in="coremltools 4.1 to 9.0 (9.0 run), ExecuTorch 0.4 to 1.5 (1.5 run)",
)
