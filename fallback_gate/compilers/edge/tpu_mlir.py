r"""tpu_mlir: Sophgo's compiler for its TPUs: operators that its converter lacks, and those that run on the chip's CPU.

    RuntimeError: Op not support:{'DFT'}
    RuntimeError: [!Error]: tpuc-opt convtopk.mlir --processor-assign=...
    %0:2 = "tpu.GenericCpu"(%arg0) {cpu_op_name = "topk", param = {K = 2 : i64, ...

**What falls back.** A model with an operator that the converter lacks, or whose lowering fails, is not compiled. What
the TPU lacks is lowered to `tpu.GenericCpu`: the chip's CPU runs it, in a part of the model of its own.

**At which setting it speaks.** A refusal: always. An operator on the CPU: only in the module that the compiler writes
beside the model (`NAME_CHIP_QUANTIZATION_final.mlir`). Print that file into the log, or give it as a log.

**When it is silent.** On operators on the CPU, at each level of the log. What the TPU runs dynamically stays on the TPU.

**What proves the end.** Nothing in the log. `[Success]` ends each step, whatever went to the CPU.

Seen in 1.30 (run), for bm1684, bm1684x and cv183x.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

NAME = "tpu_mlir"
SETTING = "cat *_final.mlir at the end of the log"
_NEARBY = 100  # lines of a native stack between the reason and the step that failed
_WHY = Pattern(
    r"error: (?:loc\(\x22(?P<layer>[^\x22]{1,300})\x22\): )?'top\.(?P<op>\w{1,80})' op .{0,300}"
    r"|UNREACHABLE executed at \S{0,300}/TopToTpu/\w{1,20}/(?P<lowered>\w{1,80})\.cpp:\d{1,6}!"
)
_PLACE = Pattern(r"loc\((?P<name>#loc\d{1,9}|\x22[^\x22]{1,300}\x22)\)\s*$")

NOT_CONVERTED = Rule(
    id="tpu-mlir/not-converted",
    compiler=NAME,
    anchor=("Op not support:{", " Op not support now"),
    pattern=r"^RuntimeError: (?:(?P<reason>Op not support):\{(?P<ops>[^{}]{1,4000})\}|(?P<op>[A-Za-z][\w:.]{0,120}) Op not support now)\s*$",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="The converter lacks the operator: there is no model for the chip.",
    help="Replace the operator in the model, keep it outside, or add a converter for it.",
    seen_in="1.30 (run), an exception",
    matches=("RuntimeError: Op not support:{'DFT'}", "RuntimeError: aten::gate_attn Op not support now"),
    ignores=('            raise RuntimeError("Op not support:{}".format(unsupported))',),
    read=lambda rule, record, match: (
        shared.listed(rule, record, match)
        if match["ops"]
        else (shared.named(by_groups(rule, record, match), match["op"]),)
    ),
)


def failed(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The model by its file; the operator where a line above names it: as an error, or by the lowering that gave up."""
    report = by_groups(rule, record, match)._replace(site=match["model"])
    why = next((found for line in record.preceding(_NEARBY) if (found := _WHY.search(line.text))), None)
    if why is None:
        yield report
        return
    op = why["op"] or why["lowered"]
    layer = why["layer"]
    names = tuple(filter(None, (op, layer)))
    yield report._replace(op=op, names=names, layer=layer, scope=Scope.OPERATOR, reason=why[0][:300])


TOOL_FAILED = Rule(
    id="tpu-mlir/step-failed",
    compiler=NAME,
    anchor=("RuntimeError: [!Error]: tpuc-opt ",),
    pattern=r"^RuntimeError: (?P<reason>\[!Error\]: tpuc-opt (?P<model>\S{1,300}).{0,300})",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="A step of the compiler failed on the model: there is none for the chip.",
    help="The lines above it tell the operator or the assertion; try another quantization, or keep the operator outside.",
    seen_in="1.30 (run), an exception",
    matches=(
        'RuntimeError: [!Error]: tpuc-opt convtopk.mlir --processor-assign="chip=cv183x mode=BF16 num_device=1 num_core=1"',
        "<unknown>:0: error: loc(\"y_Einsum\"): 'top.Einsum' op attribute 'mode' failed to satisfy constraint\nRuntimeError: [!Error]: tpuc-opt einsum_origin.mlir --struct-optimize -o einsum.mlir",
        "UNREACHABLE executed at /opt/tpu-mlir/lib/Conversion/TopToTpu/CV18xx/TopK.cpp:25!\nRuntimeError: [!Error]: tpuc-opt convtopk.mlir --convert-top-to-tpu",
    ),
    ignores=("[Success]: tpuc-opt convtopk.mlir --processor-assign",),
    read=failed,
)


def placed(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The operator, and what tells two of them apart: its name in the model, or the number of its place."""
    place = _PLACE.search(record.whole_line()[-400:])
    layer = place["name"].strip('"') if place else None
    yield by_groups(rule, record, match)._replace(names=(match["op"],), site=layer)


ON_CPU = Rule(
    id="tpu-mlir/on-cpu",
    compiler=NAME,
    anchor=("tpu.GenericCpu",),
    pattern=r"(?P<reason>\x22tpu\.GenericCpu\x22)\([^(){}]{0,2000}\) (?:<?\{[^{}]{0,200}?)cpu_op_name = \x22(?P<op>\w{1,80})\x22",
    kind=Kind.DEVICE_FALLBACK,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="The TPU has no kernel of the operator: the chip's CPU runs it, with a stop of the TPU before and behind it.",
    help="Keep the operator outside of the model, replace it, or look whether another chip's TPU has it.",
    seen_in="1.30 (run), *_final.mlir",
    matches=(
        '      %0:2 = "tpu.GenericCpu"(%arg0) {cpu_op_name = "topk", param = {K = 2 : i64, axis = 3 : i64}} : (tensor<1x8x14x14xf32, 4379910144 : i64>) -> tensor<1x8x14x2xf32, 4379922432 : i64> loc(#loc6)',
        '      %3 = "tpu.GenericCpu"(%arg0, %arg1, %2, %0, %1) {cpu_op_name = "onnx_nms", param = {center_point_box = 0 : i64}} : (tensor<1x100x4xf32>) -> tensor<20x3xf32> loc(#loc7)',
    ),
    ignores=("error: 'tpu.GenericCpu' op requires attribute 'cpu_op_name'",),
    read=placed,
)

DEPLOYED = Marker(
    id="tpu-mlir/step",
    compiler=NAME,
    anchor=("[Success]: tpuc-opt ",),
    pattern=r"^\[Success\]: tpuc-opt \S",
    shows="A step of the compiler succeeded.",
    seen_in="1.30 (run)",
    matches=("[Success]: tpuc-opt clean_origin.mlir --struct-optimize --shape-infer -o clean.mlir",),
)
MODULE = Marker(
    id="tpu-mlir/module",
    compiler=NAME,
    anchor=("module.chip = ",),
    pattern=r"^module @\S{1,300} attributes \{.{0,2000}\bmodule\.chip = \x22(\w{1,40})\x22.{0,2000}\bmodule\.state = \x22TPU_ADDRESSED\x22",
    ignores=(
        'module @convtopk attributes {module.chip = "cv183x", module.platform = "ONNX", module.state = "TOP_F32"} {',
    ),
    shows="The module that the compiler made of the model is printed, and for which chip.",
    seen_in="1.30 (run), *_final.mlir",
    matches=(
        'module @convtopk attributes {module.FLOPs = 84672 : i64, module.addr_mode = "basic", module.chip = "bm1684", module.cores = 1 : i64, module.platform = "ONNX", module.state = "TPU_ADDRESSED", module.top_run_mode = "STATIC"} {',
    ),
)
REQUIRED = frozenset({Kind.COMPILE_ERROR, Kind.DEVICE_FALLBACK})


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """A module tells which operators run on the CPU; nothing tells that it is printed whole, of each model."""
    why = "no line shows that each model was compiled"
    refused = Proof(State.UNPROVEN, why, None, SETTING)
    if (module := evidence.first(MODULE.id)) is None:
        why = "the log does not tell which operators run on the CPU"
        return {
            Kind.COMPILE_ERROR: refused,
            Kind.DEVICE_FALLBACK: Proof(State.UNOBSERVABLE, why, None, SETTING),
        }
    why = "a module is printed, and no line shows that it is whole, and of each model"
    return {Kind.COMPILE_ERROR: refused, Kind.DEVICE_FALLBACK: Proof(State.UNPROVEN, why, module, SETTING)}


READER = Reader(
    name=NAME,
    rules=(NOT_CONVERTED, TOOL_FAILED, ON_CPU),
    markers=(DEPLOYED, MODULE),
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    manual=__doc__,
    silent="partly: what is not compiled is an error, an operator on the chip's CPU is not told",
    seen_in="tpu_mlir 1.30 (run)",
)
