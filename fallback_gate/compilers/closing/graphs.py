"""Room 3: what a process tells of JAX and TVM as it ends: what stands in the modules that they compiled.

JAX prints neither its callbacks nor what it expanded before HLO; TVM neither the packed calls of a module nor its
functions without a schedule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fallback_gate.compilers.closing.records import (
    Closing,
    Facts,
    Hearing,
    base,
    count,
    names,
    rows,
    rule,
    table,
    text,
)
from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.tvm import names as tvm_names
from fallback_gate.model import Kind, Location, Report, Scope
from fallback_gate.scan.record import Record

_JAX = ("jax", "jax")
_TVM = ("tvm.relax", "tvm")
_TRITON = ("triton", "triton")
_PLUMBING = {
    f"relax.{name}"
    for name in ("call_tir", "call_tir_inplace", "call_tir_with_grad", "null_value", "shape_of")
}
_SAME_PLATFORM = {"cuda": "gpu", "rocm": "gpu"}


def jax_site(rule: Rule, record: Record, closing: Closing, facts: Facts) -> Iterable[Report]:
    """A callback or an expanded operation at its place."""
    what = "callback" if rule is CALLBACK else "expanded"
    for one in rows(facts.get("sites")):
        if one.get("what") == what:
            told, where = text(one.get("name")), text(one.get("path"))
            path = where.split("/")
            op = told.removesuffix("_general") if what == "expanded" else path[-1] or told
            jitted = [
                part.partition("(")[2].removesuffix(")") for part in reversed(path) if part.startswith("jit(")
            ]
            further = (op, f"jax.{op}", f"lax.{op}", told)
            reason = f"{told} in {where}" if where else told
            report = base(rule, record, closing, op, reason, *further)
            own = text(one.get("function"))
            report = report._replace(stack=tuple(dict.fromkeys(filter(None, (own, *jitted)))))
            if file := text(one.get("file")):
                place = Location(file, count(one.get("line")) or None, own or None)
                report = report._replace(location=place, files=(file,))
            yield report


def other_platform(rule: Rule, record: Record, closing: Closing, facts: Facts) -> Iterable[Report]:
    """The first platform that was asked for ran nothing."""
    wanted = text(facts.get("asked")).split(",")[0].strip()
    got = names(facts.get("platforms"))
    if wanted and got and wanted not in got and _SAME_PLATFORM.get(wanted, wanted) not in got:
        yield base(
            rule, record, closing, wanted, f"JAX_PLATFORMS={text(facts.get('asked'))} ran on {', '.join(got)}"
        )


def interpreted(rule: Rule, record: Record, closing: Closing, facts: Facts) -> Iterable[Report]:
    """A kernel that an interpreter ran."""
    for one in rows(facts.get("interpreted")):
        if kernel := text(one.get("name")):
            asked = "interpret=True" if rule.compiler == "jax" else "TRITON_INTERPRET"
            report = base(rule, record, closing, kernel, f"{asked}: the interpreter ran it", kernel)
            file = text(one.get("file"))
            place = Location(file or None, count(one.get("line")) or None, kernel)
            yield report._replace(stack=(kernel,), files=(file,) if file else (), location=place)


def without_jit(rule: Rule, record: Record, closing: Closing, facts: Facts) -> Iterable[Report]:
    """A program, or a part of one, whose operations were compiled one by one."""
    if times := count(facts.get("without_jit")):
        yield base(
            rule, record, closing, "*", f"jit was switched off, {times} times: operations run one by one"
        )


def _modules_prove(facts: Facts) -> Mapping[Kind, str]:
    sites = rows(facts.get("sites"))
    if not count(facts.get("modules")) or facts.get("unread") or facts.get("problem"):
        return {}
    if len(sites) >= 200 or any("problem" in one for one in sites):
        return {}
    why = "the process looked at each module that it compiled: "
    return {
        Kind.DEVICE_FALLBACK: why + "the callbacks in them are told",
        Kind.REFERENCE_KERNEL: why + "what was expanded in them (ragged_dot) is told",
    }


def _builds(facts: Facts) -> list[Facts]:
    """The modules that went to code generation; where none did, those that a pipeline made."""
    builds = rows(facts.get("builds"))
    return [build for build in builds if build.get("codegen") is not False] or builds


def packed(rule: Rule, record: Record, closing: Closing, facts: Facts) -> Iterable[Report]:
    """Calls that leave the module for a packed function of a library, and operators that nothing lowered."""
    for build in _builds(facts):
        for name, times in table(build.get("operators")).items():
            if build.get("codegen") is False and text(name) not in _PLUMBING:
                op, *further = tvm_names.relax(text(name))
                yield base(rule, record, closing, op, f"{count(times)} calls that no pass lowered", *further)
        for name, times in table(build.get("packed")).items():
            yield base(rule, record, closing, text(name), f"{count(times)} calls of a packed function")
        for one in rows(build.get("functions")):
            for name in names(one.get("extern")):
                op, *further = tvm_names.fused(text(one.get("name")))
                yield base(rule, record, closing, op, f"{op} calls {name}", *further, name)


def unscheduled(rule: Rule, record: Record, closing: Closing, facts: Facts) -> Iterable[Report]:
    """Functions with a reduction that have no schedule, or the one of last resort."""
    for build in _builds(facts):
        for one in rows(build.get("functions")):
            if one.get("reduces") and (one.get("fallback") or not one.get("scheduled")):
                op, *further = tvm_names.fused(text(one.get("name")))
                last = "scheduled by dl.gpu.Fallback, though it has a reduction"
                reason = last if one.get("fallback") else "it has a reduction, and no schedule"
                yield base(rule, record, closing, op, reason, *further)


def _builds_prove(facts: Facts) -> Mapping[Kind, str]:
    builds = rows(facts.get("builds"))
    if not builds or count(facts.get("made")) != len(builds) or facts.get("problem"):
        return {}
    if any("problem" in one or len(rows(one.get("functions"))) >= 200 for one in builds):
        return {}
    why = "the process looked at each module that it built: "
    found = {Kind.OP_FALLBACK: why + "what it calls outside of the module is told"}
    scheduled = any(one.get("scheduled") for one in builds)
    if not scheduled or facts.get("last_resort") == "watched":
        found[Kind.UNTUNED_CONFIG] = why + "each function without a schedule is told"
    return found


_SITE = (
    '{"asked": "cuda,cpu", "platforms": ["cpu"], "modules": 3, "sites": [{"what": "WHAT", "name": "NAME", "path": '
    '"jit(decode_step)/PATH", "function": "gate_attn", "file": "/app/moe.py", "line": 32}]}'
)
_CALLBACK = (
    _SITE.replace("WHAT", "callback")
    .replace("NAME", "xla_ffi_python_cpu_callback")
    .replace("PATH", "pure_callback")
)
_EXPANDED = (
    _SITE.replace("WHAT", "expanded")
    .replace("NAME", "ragged_dot_general")
    .replace("PATH", "ragged_dot_general")
)
_BUILD = (
    '{"made": 1, "builds": [{"packed": {"tvm.contrib.sort.topk": 1}, "functions": [{"name": "fused_matmul4_relu", '
    '"scheduled": false, "reduces": true, "extern": [], "fallback": false}]}]}'
)
CALLBACK = rule(
    _JAX, "jax/host-callback", Kind.DEVICE_FALLBACK, Scope.OPERATOR,
    "The program calls back into Python on the host: tensors are copied there and back at each call.",
    "Write the function in jax.numpy, or as a Pallas or FFI kernel; take jax.debug.print and checkify out of the release build.",
    jax_site, _CALLBACK,
)  # fmt: skip

_JAX_RULES = (
    CALLBACK,
    rule(
        _JAX, "jax/expanded-operation", Kind.REFERENCE_KERNEL, Scope.OPERATOR,
        "XLA has no fast form of the operation on this device: it was expanded, on the CPU into a product over all groups.",
        "Use a kernel of your own (Pallas, FFI) on this device, or run it where XLA has one.", jax_site, _EXPANDED,
    ),
    rule(
        _JAX, "jax/runs-on-cpu", Kind.DEVICE_FALLBACK, Scope.PROGRAM,
        "The first platform that JAX was to use ran nothing.",
        "Install the platform's plug-in; JAX_PLATFORMS with the platform alone fails instead of falling back.",
        other_platform, _CALLBACK,
    ),
    rule(
        _JAX, "jax/jit-disabled", Kind.EAGER_FRAME, Scope.PROGRAM,
        "jit was off: each operation runs by itself, none is fused with the next.",
        "Take jax.disable_jit() out of the release build, and unset JAX_DISABLE_JIT.", without_jit,
        '{"platforms": ["gpu"], "modules": 8, "without_jit": 1, "sites": []}',
    ),
    rule(
        _JAX, "jax/interpreted", Kind.REFERENCE_KERNEL, Scope.OPERATOR,
        "The Pallas kernel was not compiled: it runs as a loop of plain XLA operations over its grid.",
        "Take interpret=True out of the release build.", interpreted,
        '{"modules": 3, "interpreted": [{"name": "gate_attn", "file": "/app/kernels.py", "line": 12}], "sites": []}',
    ),
)  # fmt: skip
_TRITON_RULES = (
    rule(
        _TRITON, "triton/interpreted", Kind.EAGER_FRAME, Scope.REGION,
        "The kernel was not compiled: Triton's interpreter ran it in Python, on the CPU.",
        "Unset TRITON_INTERPRET where the release is built and served.", interpreted,
        '{"interpreted": [{"name": "gate_attn", "file": "/app/model/kernels.py", "line": 12}]}',
    ),
)  # fmt: skip
_TVM_RULES = (
    rule(
        _TVM, "tvm-relax/packed-call", Kind.OP_FALLBACK, Scope.OPERATOR,
        "The module calls a packed function of a library in place of one that was generated.",
        "Register an FLegalize for the operator, or allow the library call.", packed, _BUILD,
    ),
    rule(
        _TVM, "tvm-relax/no-schedule", Kind.UNTUNED_CONFIG, Scope.OPERATOR,
        "The function has a reduction and no schedule, or dlight's last resort: it runs as plain loops.",
        "Tune the function with MetaSchedule and apply the database, or schedule it (dlight, a schedule rule of your own).",
        unscheduled, _BUILD,
    ),
)  # fmt: skip

HEARINGS: Mapping[str, Hearing] = {
    "jax": Hearing("jax", _JAX_RULES, _modules_prove),
    "tvm.relax": Hearing("tvm", _TVM_RULES, _builds_prove),
    "triton": Hearing("triton", _TRITON_RULES, lambda facts: {}),
}
