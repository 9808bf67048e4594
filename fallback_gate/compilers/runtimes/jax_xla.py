r"""jax: JAX and the XLA compiler beneath it.

    %pure_callback.1 = f32[16,64]{1,0} custom-call(...), custom_call_target="xla_ffi_python_cpu_callback", ...

**What falls back.** A host callback leaves the device: Python computes on the CPU, with a copy there and back at
each call. A whole program runs on the CPU where the accelerator's plug-in is missing. An operation that XLA has
no fast form for on this device is expanded: `lax.ragged_dot` on the CPU into a dense product over all groups.
Convolutions run by a plain loop on the CPU, or on a GPU by cuDNN's fallback engines, where the fast ones refuse.
With `jax_debug_nans` a function that gives a nan runs again without jit. An operation without a form for the
platform is not compiled at all.

**At which setting it speaks.** Callbacks: in the compiled HLO (`lowered.compile().as_text()`, or
`--xla_dump_to`), and in a printed jaxpr. A missing plug-in: a warning where the machine has a GPU or TPU; one that fails: an
ERROR.

**When it is silent.** By default, on callbacks. At every setting: on expansions made before HLO, of which no
name is left. `JAX_PLATFORMS=cuda,cpu` without a plug-in takes the CPU without a word; `cuda` alone fails. At
INFO each machine without a TPU prints `Unable to initialize backend 'tpu'`: no fallback.

**What proves the end.** The closing record of a recorded run, which tells of each module that went to XLA. A log
alone proves nothing: printed HLO shows its own callbacks, but not that every function was printed, nor what was
expanded before it.

Since 0.8 an instruction names a stack frame by number, which the tables at the head of its module resolve: file,
line and all functions around it. Before, it has file and line, and no function but the compiled one. What JAX
prints of a function that is only lowered has places with `as_text(debug_info=True)`; else its module's name tells
the function.

Library calls that the compiler chose (`TopK`, `lapack_*`, `__cublas$gemm`, `__ynn_fusion`) are no fallbacks.

Wording seen in 0.4.38, 0.6.2, 0.7.2, 0.8.2, 0.9, 0.10 and 0.12 (run); warnings in the source of 0.3 to 0.10.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule, Sighting
from fallback_gate.compilers.runtimes import jax_convolutions, jax_errors, mlir_places, xla_module
from fallback_gate.compilers.runtimes.jaxpr import API, HELP, MEANING, NAME, TRACED
from fallback_gate.model import Kind, Location, Proof, Report, Scope, State
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

_OP_NAME = Pattern(r"op_name=\"(?P<path>[^\"]{1,1000})\"")
_OP_TYPE = Pattern(r"op_type=\"(?P<name>\w{1,60})\"")
_SOURCE = Pattern(r"source_file=\"(?P<file>[^\"]{1,500})\" source_line=(?P<line>\d{1,9})")
_FRAME = Pattern(r"[{ ]stack_frame_id=(?P<id>\d{1,9})\b")
_JIT = Pattern(r"^(?:p?jit|jvp|transpose|vmap)\((?P<name>[^()]{1,200})\)$")
_MODULE = Pattern(r"^p?(?:jit|map)_(?P<name>(?!_lambda_)\w{1,200})")
_PRIMITIVES = {"while", "cond", "scan", "checkpoint", "remat", "shmap_body"}


def callback(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A callback: its kind, and from metadata and module the user's functions and the place of the call."""
    node = match["node"] or ""
    module = xla_module.module_of(record)
    path, behind = _OP_NAME.search(record.text), mlir_places.origin(record)
    parts = (path["path"] if path else "/".join(behind.path)).split("/")
    kind = _primitive(record, node, parts)
    named = [found["name"] for part in reversed(parts) if (found := _JIT.match(part))]
    functions = [name for name in named if name not in _PRIMITIVES]
    if len(functions) > 1 and functions[-2] == "main":  # up to 0.6 each function is lowered as one named main
        del functions[-2]
    if not functions and (whole := _MODULE.match(module.name)):
        functions = [whole["name"]]
    places = tuple(behind.places) or _places(record, module)
    called = [name for place in places if (name := _function(place.function)) and name != "<module>"]
    yield by_groups(rule, record, match)._replace(
        op=kind,
        names=tuple(dict.fromkeys((kind, API.get(kind, f"jax.{kind}"), match["target"]))),
        stack=tuple(dict.fromkeys((*called, *functions))),
        files=tuple(dict.fromkeys(place.file for place in places if place.file)),
        location=places[0]._replace(function=_function(places[0].function)) if places else None,
        site="/".join(filter(None, (module.name, node))) if node and not places else None,
        reason=f"custom call of {match['target']}",
    )


def _primitive(record: Record, node: str, path: list[str]) -> str:
    """The kind of callback, by the metadata or the instruction's own name."""
    op_type = _OP_TYPE.search(record.text)
    bare = node.rpartition(".")[0] if node.rpartition(".")[2].isdecimal() else node
    called = path[-1] if path[-1] in API or "callback" in path[-1] else ""
    called = called or next((name for part in path if (name := part.removesuffix(":")) in API), "")
    is_named = bare in API or "callback" in bare
    return op_type["name"] if op_type else bare if is_named else called or "callback"


def _places(record: Record, module: xla_module.Module) -> tuple[Location, ...]:
    """Where the user's code calls it, innermost first. Before 0.8 the metadata tells the place alone."""
    frame = _FRAME.search(record.text)
    if frame and (places := module.frames(int(frame["id"]), record)):
        return places
    place = _SOURCE.search(record.text)
    return (Location(place["file"], int(place["line"])),) if place else ()


def _function(name: str | None) -> str | None:
    """A function by the name in its source; a lambda with the function around it."""
    if name is None:
        return None
    last = name.rpartition("<locals>.")[2]
    return name.replace("<locals>.", "") if last == "<lambda>" else last


CALLBACK = Rule(
    id="jax/host-callback",
    compiler=NAME,
    anchor=("_python_cpu_callback", "_python_gpu_callback"),
    pattern=r"^\s*(?:(?:ROOT )?%?(?P<node>[\w.-]{1,200})(?::\d{1,9})? = |stablehlo\.).*(?:custom_call_target=\"|custom_call @)(?P<target>xla_[a-z_]{0,40}python_[cg]pu_callback)\b",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning=MEANING,
    help=HELP,
    seen_in="0.4.38 to 0.12 (run), HLO and StableHLO",
    matches=(
        '  %pure_callback.1 = f32[16,64]{1,0} custom-call(%ynn_fusion.6), custom_call_target="xla_ffi_python_cpu_callback", api_version=API_VERSION_TYPED_FFI, metadata={op_type="pure_callback" op_name="jit(decode_step)/pure_callback" stack_frame_id=22}',
        "    %5 = stablehlo.custom_call @xla_ffi_python_gpu_callback(%4) {api_version = 4 : i32} : (tensor<16x64xf32>) -> tensor<16x64xf32>",
        '  custom-call.9 = f32[1,8]{1,0} custom-call(dynamic-slice.1), custom_call_target="xla_python_cpu_callback", metadata={op_name="jit(lanes)/jit(main)/vmap(while)/body/pure_callback" source_file="/app/ferry.py" source_line=9}',
        '  %custom-call.0 = (f32[4,8]{1,0}) custom-call(s64[] %constant.1, f32[4,8]{1,0} %get-tuple-element.6), custom_call_target="xla_python_cpu_callback", api_version=API_VERSION_STATUS_RETURNING, metadata={op_name="jit(simulate)/jit(main)/while/body/pure_callback" source_file="/app/sim.py" source_line=21}',
        '  custom-call.30 = () custom-call(constant.21, reduce.29), custom_call_target="xla_python_cpu_callback", custom_call_has_side_effect=true, metadata={op_name="jit(simulate)/jit(main)/while/body/debug_callback" source_file="/app/sim.py" source_line=29}',
    ),
    ignores=(
        'from instruction: %custom-call.0 = (f32[4,8]{1,0}) custom-call(s64[] %constant.1), custom_call_target="xla_python_cpu_callback"',
        '  %custom-call = f32[16,1]{1,0} custom-call(%a), custom_call_target="TopK"',
        "xla_ffi_python_cpu_callback",
    ),
    read=callback,
)

NO_PLUGIN = Rule(
    id="jax/runs-on-cpu",
    compiler=NAME,
    anchor=(
        "may be present on this machine, but ",
        " backend failed to initialize: ",
        "found, falling back to CPU",
    ),
    pattern=r"(?:An? (?:NVIDIA|Google|AMD) (?P<a>GPU|TPU) may be present on this machine, but (?P<reason>.{0,200}?)\. Falling back to \w+"
    r"|\b(?P<b>CUDA|ROCM|TPU) backend failed to initialize: (?P<error>.*)"
    r"|No (?P<c>GPU|TPU|GPU/TPU) found, falling back to CPU\. \(Set TF_CPP_MIN_LOG_LEVEL=0)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="JAX can't use the accelerator: the whole program runs on the CPU.",
    help="Install the plug-in of the accelerator (pip install 'jax[cuda13]'); JAX_PLATFORMS=cuda fails instead of falling back.",
    seen_in="0.3 to 0.10 (source), WARNING",
    matches=(
        "WARNING:2026-01-01 00:00:00,000:jax._src.xla_bridge:882: An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed. Falling back to cpu.",
        "CUDA backend failed to initialize: no supported devices.(Set TF_CPP_MIN_LOG_LEVEL=0 and rerun for more info.)",
        "WARNING:absl:No GPU/TPU found, falling back to CPU. (Set TF_CPP_MIN_LOG_LEVEL=0 and rerun for more info.)",
    ),
    ignores=(
        "INFO:2026-11-30 00:13:13,125:jax._src.xla_bridge:849: Unable to initialize backend 'tpu': INTERNAL: Failed to open libtpu.so",
        "serve.py: No GPU found, falling back to CPU.",
    ),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(
            op=match["a"] or match["b"] or match["c"],
            names=(match["a"] or match["b"] or match["c"],),
            reason=match["reason"] or match["error"],
        ),
    ),
)

NO_BACKEND = Rule(
    id="jax/no-backend",
    compiler=NAME,
    anchor=("RuntimeError: Unable to initialize backend ",),
    pattern=r"^\s*RuntimeError: Unable to initialize backend '(?P<op>\w{1,40})': (?P<reason>.*)",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="The platform that JAX_PLATFORMS names can't be used: the program ended.",
    help="Install the platform's plug-in, or look at the machine: the line holds the error.",
    seen_in="0.10 (run), an exception",
    matches=(
        "RuntimeError: Unable to initialize backend 'tpu': INTERNAL: Failed to open libtpu.so (set JAX_PLATFORMS='' to automatically choose an available backend)",
    ),
)

NO_PLATFORM = Rule(
    id="jax/no-platform",
    compiler=NAME,
    anchor=(" requested, but no platforms that are instances of ",),
    pattern=r"Unknown backend: '(?P<op>\w{1,40})' (?P<reason>requested, but no platforms that are instances of \w{1,40} are present.*)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="The program asks for a platform that is not there: it ended, or its author caught the error and went on without it.",
    help="Install the platform's plug-in; the line lists the platforms that are present.",
    seen_in="0.4.38 and 0.6.2 (run), an exception",
    matches=(
        "no gpu, on the host: Unknown backend: 'gpu' requested, but no platforms that are instances of gpu are present. Platforms present are: cpu",
        "RuntimeError: Unknown backend: 'gpu' requested, but no platforms that are instances of gpu are present. Platforms present are: cpu",
    ),
)


def printed(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """A function's module; the head of any module is kept for the instructions below it."""
    xla_module.keep(record, match)
    if match[0].startswith("module @"):
        mlir_places.keep(record)
    if match[0].startswith("Hlo") and (function := _COMPILED.match(match["module"])):
        yield Sighting(marker.id, record.position, (function["name"],))


_COMPILED = Pattern(r"^p?(?:jit|map)_(?P<name>.{1,200})")
RULES = (CALLBACK, TRACED, NO_PLUGIN, NO_BACKEND, NO_PLATFORM, *jax_convolutions.RULES, *jax_errors.RULES)
MARKERS = (
    Marker(
        id="jax/hlo-printed",
        compiler=NAME,
        anchor=("HloModule ", "module @", "FileNames", "StackFrames"),
        pattern=xla_module.HEAD,
        shows="The HLO of a compiled function was printed.",
        seen_in="0.10 (run)",
        matches=(
            "HloModule jit_decode_step, is_scheduled=true, entry_computation_layout={(f32[16,64]{1,0})->f32[16,64]{1,0}}",
        ),
        ignores=("# HloModule jit_x", "HloModule SyncTensorsGraph.34, is_scheduled=true", "FileNames"),
        read=printed,
    ),
)
REQUIRED = frozenset({Kind.DEVICE_FALLBACK, Kind.REFERENCE_KERNEL})
SETTING = "fallback-gate record -- COMMAND: its closing record tells what each module held that went to XLA"


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """No line shows that all functions were printed, nor what was expanded before HLO."""
    if "jax/hlo-printed" in evidence.facts or Kind.DEVICE_FALLBACK in evidence.reported:
        why = "the log does not show that the HLO of every compiled function is printed"
        device = Proof(State.UNPROVEN, why, None, SETTING)
    else:
        device = Proof(State.UNOBSERVABLE, "host callbacks show in the HLO only", None, SETTING)
    why = "operations that are expanded before HLO (ragged_dot on the CPU) leave no name behind"
    return {
        Kind.DEVICE_FALLBACK: device,
        Kind.REFERENCE_KERNEL: Proof(State.UNOBSERVABLE, why, None, SETTING),
    }


READER = Reader(
    name=NAME,
    rules=RULES,
    markers=MARKERS,
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    manual=__doc__,
    silent="partly: a missing plug-in, where the machine has a GPU or TPU",
    seen_in="0.4.38 to 0.10 (run), 0.3 to 0.10 (source)",
)
