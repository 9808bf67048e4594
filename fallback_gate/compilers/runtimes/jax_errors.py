"""Room 3: functions of JAX that are not compiled, or no longer run as they were. The manual page is `jax`.

    Invalid nan value encountered in the output of a jax.jit function. Calling the de-optimized version.
    NotImplementedError: MLIR translation rule for primitive 'lu' not found for platform METAL
    ValueError: Only interpret mode is supported on CPU backend.
    jax.errors.JaxRuntimeError: NOT_FOUND: No FFI handler registered for acme_gate_attn on a platform Host (canonical host)
    ERROR:...:jax._src.xla_bridge:444: Jax plugin configuration error: Exception when calling jax_plugins.xla_cuda12.initialize()

The sources are jax/_src/api_util.py and jax/_src/interpreters/mlir.py, jax/_src/xla_bridge.py, jax/_src/pallas and xla/service/cpu.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.runtimes.jaxpr import NAME
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

DEOPTIMISED = Rule(
    id="jax/deoptimised",
    compiler=NAME,
    anchor=("Calling the de-optimized ",),
    pattern=r"(?P<reason>Invalid (?:nan )?value encountered in the (?:output|backward pass) of a .{1,60} function\. Calling the de-optimized \w.{0,40})",
    kind=Kind.EAGER_FRAME,
    scope=Scope.UNKNOWN,
    meaning="jax_debug_nans or jax_debug_infs found a value: the whole function ran again operation by operation, without jit.",
    help="Mend the operation that the FloatingPointError below names; keep jax_debug_nans out of the release build.",
    seen_in="0.4.38, 0.6.2 and 0.10 (run), printed to stdout",
    matches=(
        "Invalid nan value encountered in the output of a jax.jit function. Calling the de-optimized version.",
        "Invalid nan value encountered in the backward pass of a jax.jit function. Calling the de-optimized backward pass.",
        "Invalid value encountered in the output of a jit-decorated/pmap-decorated function. Calling the de-optimized version.",
    ),
    ignores=("Calling the de-optimized version.",),
)


def refused(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The primitive or the handler that is missing, else the call of Pallas."""
    op = match["primitive"] or match["pallas"] or match["handler"] or match["untyped"] or "pallas_call"
    yield by_groups(rule, record, match)._replace(op=op, names=(op,), reason=match[0].strip())


NOT_LOWERED = Rule(
    id="jax/not-lowered",
    compiler=NAME,
    anchor=(
        "MLIR translation rule for primitive ",
        "Unimplemented primitive in Pallas ",
        "Only interpret mode is supported on ",
        "No FFI handler registered for ",
        "No registered implementation for ",
    ),
    pattern=r"\bMLIR translation rule for primitive '(?P<primitive>[\w.-]{1,80})' not found for platforms? .{1,80}"
    r"|\bUnimplemented primitive in Pallas [\w ]{1,30} lowering(?: for [\w. ]{1,60})?: (?P<pallas>[\w.-]{1,80})\b"
    r"|(?:^|: |Error )Only interpret mode is supported on \w{1,20} backend\b"
    r"|\bNo FFI handler registered for (?P<handler>[\w.$-]{1,200}) on a platform \w{1,40}"
    r"|\bNo registered implementation for (?:untyped )?custom call to \x22?(?P<untyped>[\w.$-]{1,200})\x22? for (?:platform )?\w{1,40}",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="The operation has no form for this platform: the function is not compiled, and the program ended or went on without it.",
    help="Register the handler (jax.ffi.register_ffi_target) or name a platform that has the operation; interpret=True runs a Pallas kernel step by step.",
    seen_in="0.4.38, 0.6.2 and 0.10 (run and source), an exception",
    matches=(
        "NotImplementedError: MLIR translation rule for primitive 'lu' not found for platform METAL",
        "NotImplementedError: Unimplemented primitive in Pallas TPU lowering for tc: cumsum. Please file an issue at https://github.com/jax-ml/jax/issues/new/choose.",
        "NotImplementedError: Unimplemented primitive in Pallas Triton lowering: sort. Please file an issue",
        "ValueError: Only interpret mode is supported on CPU backend.",
        "JaxRuntimeError: NOT_FOUND: No FFI handler registered for acme_gate_attn on a platform Host (canonical host)",
        "XlaRuntimeError: UNIMPLEMENTED: No registered implementation for untyped custom call to acme_gate_attn for Host",
    ),
    ignores=(
        'raise ValueError("Only interpret mode is supported on CPU backend.")',
        "No registered implementation for the interface",
    ),
    read=refused,
)

_RAISED = Pattern(r"^(?:\w+\.)*[A-Z]\w*(?:Error|Exception): (?P<reason>.*\S)")
_OF_TRACEBACK = Pattern(r"^(?:\s|$|Traceback \(|The above exception|During handling)")
_OF_A_TRACEBACK = 60  # lines of those of a plug-in
_LIBRARY = {"cuda": "GPU", "rocm": "GPU", "libtpu": "TPU", "tpu": "TPU"}


def _not_loaded(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The device of the plug-in; the last exception of the traceback below tells the reason."""
    plugin = match["plugin"]
    device = _LIBRARY.get(plugin, plugin)
    reason = match["reason"]
    for line in record.following(_OF_A_TRACEBACK):
        if told := _RAISED.match(line.text):
            reason = told["reason"]
        elif not _OF_TRACEBACK.match(line.text):
            break
    yield by_groups(rule, record, match)._replace(
        op=device, names=tuple(dict.fromkeys((device, plugin))), reason=reason
    )


PLUGIN_FAILED = Rule(
    id="jax/plugin-failed",
    compiler=NAME,
    anchor=("Jax plugin configuration error: ",),
    pattern=r"\bJax plugin configuration error: (?P<reason>Exception when calling (?:\w+\.)*(?:xla_)?(?P<plugin>[A-Za-z_]{1,40}?)\d{0,3}\.initialize\(\))",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="The accelerator's plug-in is installed and fails as it loads: JAX goes on without it, on the CPU.",
    help="Mend the library that the exception names (an LD_LIBRARY_PATH with another CUDA hides pip's); JAX_PLATFORMS=cuda fails instead.",
    seen_in="0.4 to 0.8 (source and public threads), ERROR",
    matches=(
        "ERROR:2026-01-01 00:00:00,000:jax._src.xla_bridge:444: Jax plugin configuration error: Exception when calling jax_plugins.xla_cuda12.initialize()\nTraceback (most recent call last):\nRuntimeError: Unable to load cuSPARSE. Is it installed?",
    ),
    ignores=(
        'pattern = r"Jax plugin configuration error: Exception when calling jax_plugins"',
        "Jax plugin configuration error: Plugin module mine does not exist",
    ),
    read=_not_loaded,
)
RULES = (DEOPTIMISED, NOT_LOWERED, PLUGIN_FAILED)
