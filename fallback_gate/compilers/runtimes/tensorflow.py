r"""tensorflow: TensorFlow with AutoGraph and XLA (`tf.function`, `jit_compile=True`, auto-clustering).

    WARNING:tensorflow:AutoGraph could not transform <function run_experts at 0x7f1c> and will run it as-is.
    I0000 00:00:1795999573.9   14696 compilability_check_util.cc:62] Found uncompilable node PyFunc (op PyFunc): No registered 'PyFunc' OpKernel for XLA_CPU_JIT devices ...

**What falls back.** A function that AutoGraph can't transform runs as plain Python while it is traced. With
auto-clustering, an operator that XLA lacks stays outside the clusters, and a cluster that it can't compile runs by
TensorFlow's kernels; with `jit_compile=True` it is an error, as is a shape that depends on data. Keras turns the
compile of a whole model off for one layer that XLA can't take, with a Python warning.

**At which setting it speaks.** AutoGraph and clusters that failed: a warning. Clusters: `TF_CPP_VMODULE=mark_for_compilation_pass=2`
counts the operators outside, `...=5,compilability_check_util=5` names each node with its reason.

**When it is silent.** By default, on clusters: `Compiled cluster using XLA!` is printed once a process, and
says nothing of what was left outside. Functions without a source (made by `exec`) give no AutoGraph warning. With
soft placement, the default, `tf.device("/GPU:0")` without a GPU takes the CPU.

**What proves the end.** Nothing yet: graphs are clustered as they come, until the program ends.

`_Arg`, `_Retval`, the read of a variable and the like are bookkeeping, and each eager one-operator graph is left unclustered: no
fallbacks. Nor is retracing (`5 out of the last 5 calls to`): the function is compiled anew. `Could not find cuda
drivers on your machine, GPU will not be used` comes with each import on a machine without a GPU, also where
TensorFlow only stands beside another framework: no fallback. `Cannot dlopen some GPU libraries` needs a GPU.

Wording seen in 2.16 and 2.21 (run); older forms in the source of 2.0 to 2.20.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule
from fallback_gate.compilers.runtimes.tensorflow_clusters import NAME, NOT_COMPILED, UNCLUSTERED, UNCOMPILABLE
from fallback_gate.compilers.runtimes.tensorflow_conversion import NO_JIT, NOT_CONVERTED
from fallback_gate.compilers.shared import called
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

_I = "I0000 00:00:1795999573.963662   14696 "
_W = "2026-01-01 00:00:00.000001: W tensorflow/core/kernels/"

_FUNCTION = Pattern(
    r"^<(?:bound method|cyfunction|function|method|built-in function) (?P<name>[\w.<>]{1,300})"
)
_CAUSE = Pattern(r"^Cause: (?P<reason>.*\S)")


def as_is(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The function by its name in the repr; the line after it tells the cause."""
    what = match["now"] or match["once"]
    named = _FUNCTION.match(what)
    name = named["name"] if named else what
    reason = None
    for line in record.following(3):
        if cause := _CAUSE.match(line.text):
            reason = cause["reason"]
            break
    plain = name.rpartition("<locals>.")[2]
    yield by_groups(rule, record, match)._replace(
        op=plain, names=tuple(dict.fromkeys((plain, name))), stack=(plain,), reason=reason
    )


AS_IS = Rule(
    id="tensorflow/autograph-as-is",
    compiler=NAME,
    anchor=("AutoGraph could not transform ", " could not be transformed and will be executed as-is"),
    pattern=r"(?:AutoGraph could not transform (?P<now>.{1,1000}?) and will run it as-is"
    r"|(?:^|WARNING:tensorflow: ?|Entity )(?P<once><.{1,1000}?>) could not be transformed and will be executed as-is)",
    kind=Kind.EAGER_FRAME,
    scope=Scope.REGION,
    meaning="AutoGraph could not transform the function: it runs as plain Python at tracing time, loops unrolled or values frozen.",
    help="The line Cause says what can't be transformed; rewrite it, or mark it with tf.autograph.experimental.do_not_convert.",
    seen_in="2.21 (run), 2.0 (source), WARNING",
    matches=(
        "WARNING:tensorflow:AutoGraph could not transform <function run_experts at 0x7f1c> and will run it as-is.",
        "WARNING:tensorflow:Entity <bound method Layer.call of <Layer object at 0x7f>> could not be transformed and will be executed as-is.",
    ),
    ignores=(
        "WARNING:tensorflow:5 out of the last 5 calls to <function layer at 0x7fc4> triggered tf.function retracing.",
    ),
    read=as_is,
)

_REFUSED = Pattern(r"(?:^|, |\}\})(?P<op>[A-Z]\w{1,80}) \((?=No registered|\w)")
_BARE_NAMES = Pattern(r"^(?:[A-Z]\w{1,80}(?:, |$)){1,200}$")


def unsupported(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """Each operator of the list."""
    report = by_groups(rule, record, match)
    found: dict[str, None] = {}
    rest = match["listed"]
    while (op := _REFUSED.search(rest)) and len(found) < 200:
        found.setdefault(op["op"])
        rest = rest[op.end() :]
    if _BARE_NAMES.match(match["listed"]):
        found = dict.fromkeys(match["listed"].split(", "))
    for name in found:
        yield report._replace(op=name, names=(name,), reason=match["listed"][:500])
    if not found:
        yield report._replace(scope=Scope.UNKNOWN, reason=match["listed"][:500])


UNSUPPORTED = Rule(
    id="tensorflow/xla-unsupported",
    compiler=NAME,
    anchor=("Detected unsupported operations when trying to ",),
    pattern=r"Detected unsupported operations when trying to compile graph \S{1,300} on (?P<layer>\w{1,40}): ?(?P<listed>.*)",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="The function must be compiled by XLA as a whole (jit_compile=True), and XLA lacks the operator.",
    help="Replace the operator, or compile the parts of the function around it.",
    seen_in="2.21 (run), an exception and a WARNING; 1.x (public log), names without reasons",
    matches=(
        "InvalidArgumentError: Compilation failure: Detected unsupported operations when trying to compile graph body_14[] on XLA_TPU_JIT:ResizeNearestNeighbor, ResizeNearestNeighborGrad",
        "W0000 00:00:1795998201.0    1221 op_kernel.cc:1858] OP_REQUIRES failed at xla_ops.cc:602 : INVALID_ARGUMENT: Detected unsupported operations when trying to compile graph __inference_layer_42[] on XLA_CPU_JIT: PyFunc (No registered 'PyFunc' OpKernel for XLA_CPU_JIT devices compatible with node {{node PyFunc}}){{node PyFunc}}",
    ),
    read=unsupported,
)


NO_DEVICE = Rule(
    id="tensorflow/no-device",
    compiler=NAME,
    anchor=("Could not satisfy device specification ",),
    pattern=r"(?P<reason>Could not satisfy device specification '[^']{0,200}?\bdevice:(?P<op>\w{1,40}):\d{1,6}'\. .{0,300})",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="The program asks for a device that is not there, without soft placement: it ended, or went on without it.",
    help="Install the device's libraries; with soft placement TensorFlow would take the CPU without a word.",
    seen_in="2.16 (run), an exception",
    matches=(
        "tensorflow.python.framework.errors_impl.InvalidArgumentError: Could not satisfy device specification '/job:localhost/replica:0/task:0/device:GPU:0'. enable_soft_placement=0. Supported device types [CPU]. All available devices [/job:localhost/replica:0/task:0/device:CPU:0].",
    ),
)

NO_GPU = Rule(
    id="tensorflow/no-gpu-libraries",
    compiler=NAME,
    anchor=("Cannot dlopen some GPU libraries",),
    pattern=r"(?P<reason>Cannot dlopen some (?P<op>GPU) libraries)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="Libraries of the GPU are missing: the whole program runs on the CPU.",
    help="Install the versions of CUDA and cuDNN that this TensorFlow was built for (pip install 'tensorflow[and-cuda]').",
    seen_in="2.1 to 2.21 (public logs), WARNING",
    matches=(
        "W0000 00:00:1729782634.4    1221 gpu_device.cc:2344] Cannot dlopen some GPU libraries. Please make sure the missing libraries mentioned above are installed properly if you would like to use GPU.",
    ),
)

CUDNN_FALLBACK = Rule(
    id="tensorflow/cudnn-fallback-engine",
    compiler=NAME,
    anchor=("provided by cuDNN frontend heuristics worked",),
    pattern=r"(?P<reason>None of the algorithms provided by cuDNN frontend heuristics worked); trying fallback algorithms\.  (?P<what>Conv|Matmul): (?P<site>.{0,300})",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="No engine that cuDNN proposes for the operator runs here: one of its fallback engines does, some of which "
    "are very slow.",
    help="Install the CUDA and cuDNN that this TensorFlow was built for and that know the GPU, or leave it more memory.",
    seen_in="2.10 to 2.16 (source), WARNING, once a shape",
    matches=(
        _W
        + "conv_ops_fused_impl.h:625] None of the algorithms provided by cuDNN frontend heuristics worked; trying fallback algorithms.  Conv: batch: 64 in_depths: 3 out_depths: 64 in: 32, 32",
        _W
        + "matmul_op_fused.cc:331] None of the algorithms provided by cuDNN frontend heuristics worked; trying fallback algorithms.  Matmul: m=64, n=128, k=256",
    ),
    ignores=(
        "None of the algorithms provided by cuDNN frontend heuristics worked; trying fallback algorithms",
    ),
    read=lambda rule, record, match: called("convolution" if match["what"] == "Conv" else "matmul")(
        rule, record, match
    ),
)

MARKERS = (
    Marker(
        id="tensorflow/cluster-compiled",
        compiler=NAME,
        anchor=("] Compiled cluster using XLA!",),
        pattern=r"\] Compiled cluster using XLA!",
        shows="XLA compiled a cluster; the line is printed once for all.",
        seen_in="2.21 (run)",
        matches=(
            "I0000 00:00:1795998201.054464    1221 device_compiler.h:208] Compiled cluster using XLA!  This line is logged at most once for the lifetime of the process.",
        ),
    ),
    Marker(
        id="tensorflow/clustered",
        compiler=NAME,
        anchor=("*** Clustering info for graph of size ",),
        pattern=r"\] \*\*\* Clustering info for graph of size \d{1,9}",
        shows="A graph was clustered, and the operators outside the clusters are counted.",
        seen_in="2.21 (run)",
        matches=(_I + "mark_for_compilation_pass.cc:1693] *** Clustering info for graph of size 41",),
    ),
)
REQUIRED = frozenset({Kind.EAGER_FRAME, Kind.OP_FALLBACK})
SETTING = "TF_CPP_VMODULE=mark_for_compilation_pass=5,compilability_check_util=5, and a marker in the policy for the end"


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """No line shows that the last graph was clustered."""
    if "tensorflow/clustered" in evidence.facts:
        outside = Proof(State.UNPROVEN, "nothing shows that the last graph was clustered", None, SETTING)
    else:
        outside = Proof(State.UNOBSERVABLE, "this level does not show what XLA left outside", None, SETTING)
    why = "nothing shows that every function was traced, and one without a source gives no warning"
    return {Kind.EAGER_FRAME: Proof(State.UNPROVEN, why), Kind.OP_FALLBACK: outside}


RULES = (
    AS_IS,
    UNSUPPORTED,
    NOT_CONVERTED,
    NO_JIT,
    UNCOMPILABLE,
    UNCLUSTERED,
    NOT_COMPILED,
    NO_DEVICE,
    NO_GPU,
    CUDNN_FALLBACK,
)
READER = Reader(
    name=NAME,
    rules=RULES,
    markers=MARKERS,
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    manual=__doc__,
    silent="partly: AutoGraph warns, clusters are not shown",
    seen_in="2.16 and 2.21 (run), 2.0 to 2.20 (source)",
)
