"""Closing records of the other compilers: each report word for word, and each fact that a proof takes."""

from __future__ import annotations

from typing import Any

import pytest

from fallback_gate.compilers.closing import graphs as closing_graphs
from fallback_gate.compilers.closing import runtimes as closing_runtimes
from fallback_gate.model import Kind, Location, Report, Scope
from tests.compilers.conftest import Read
from tests.compilers.test_closing import CPU, CUDA, MODEL, OV, TRT, line, session

AZURE = "AzureExecutionProvider"
Says = tuple[str, str, str, tuple[str, ...]]  # rule, operator, reason, names


def says(reports: list[Report]) -> list[Says]:
    return [(one.id, one.op, one.reason or "", one.names) for one in reports]


def ort(*sessions: dict[str, Any]) -> dict[str, Any]:
    return {"onnxruntime": {"made": len(sessions), "sessions": list(sessions)}}


def made(asked: list[str] | None, got: list[str], number: int = 0, **more: Any) -> dict[str, Any]:
    return {"session": number, "asked": asked, "error": None, "got": got, "nodes": None, **more}


LOST, PLACED, UNMADE = (
    f"onnxruntime/{name}" for name in ("provider-lost", "node-placement", "session-not-made")
)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (ort(made([TRT, CUDA, CPU], [CUDA, CPU])), [(LOST, TRT, f"asked for, and the session has {CUDA}, {CPU}", (TRT, CUDA, CPU))]),
        (ort(made([TRT, CUDA], [CPU])), [
            (LOST, TRT, f"asked for, and the session has {CPU}", (TRT, CPU)), (LOST, CUDA, f"asked for, and the session has {CPU}", (CUDA, CPU)),
        ]),
        (ort(made([CUDA], [])), []),
        (ort(made([CUDA, CPU], [CUDA, CPU], nodes={CPU: [["MatMul", "mm", 3]]})),
         [(LOST, CUDA, f"all nodes of the session are on {CPU}, though {CUDA} was asked", (CUDA, CPU))]),
        (ort(made(None, [OV, CUDA, CPU], nodes={CPU: [], AZURE: []})),
         [(LOST, OV, f"all nodes of the session are on {CPU}, though {OV}, {CUDA} was asked", (OV, CUDA, CPU))]),
        (ort(made([AZURE, CPU], [AZURE, CPU], nodes={CPU: [["MatMul", "mm", 3]]})), []),
        (ort(made([CPU], [CUDA, CPU], nodes={CPU: [["MatMul", "mm", 3]]})), []),
        (ort(made([OV, CPU], [OV, CPU], nodes={OV: [["A", "a", 1]], CPU: [["TopK", "/l0/TopK", 2], ["Sort", "", 1], ["x"], "y", [5, "z", 1]]})), [
            (PLACED, "TopK", f"placed on {CPU} (2 nodes), beside {OV}", ("TopK", "/l0/TopK")), (PLACED, "Sort", f"placed on {CPU} (1 nodes), beside {OV}", ("Sort",)),
        ]),
        (ort(made([OV, CPU], [OV, CPU], nodes={OV: [["A", "a", 1]], CPU: "x"})), []),
        (ort({"session": 0, "asked": [CUDA], "error": "Fail: x"}), [(UNMADE, "*", "Fail: x", ())]),
        (ort({"session": 0, "asked": [TRT, CPU], "error": "Fail"}, made([CPU], [CPU])), [(LOST, TRT, f"asked for, and the session has {CPU}", (TRT, CPU))]),
        (ort({"session": 0, "asked": [TRT, CPU], "error": "Fail"}, made([CPU], [CPU], 1)), [(UNMADE, "*", "Fail", ())]),
    ],
)  # fmt: skip
def test_what_is_said_of_sessions(read: Read, facts: dict[str, Any], expected: list[Says]) -> None:
    reports = read(line(facts)).reports
    assert says(reports) == expected
    for one in reports:
        layer = one.names[1] if one.id == PLACED and len(one.names) > 1 else None
        assert (one.layer, one.site, one.hint) == (layer, layer, one.id == UNMADE)


@pytest.mark.parametrize(
    ("facts", "proves"),
    [
        (session([CPU], [CPU]), {Kind.COMPILE_ERROR, Kind.DEVICE_FALLBACK}),
        (session([CPU, AZURE], [CPU]), {Kind.COMPILE_ERROR, Kind.DEVICE_FALLBACK}),
        (session([CUDA, CPU], [CUDA, CPU]), {Kind.COMPILE_ERROR}),
        (session([], [CPU]), {Kind.COMPILE_ERROR}),
        (ort(made([CUDA], [CUDA], 0, nodes={CUDA: []}), made([CUDA], [CUDA], 1)), {Kind.COMPILE_ERROR}),
        (ort(made([CPU], [CPU], 0), made([CPU], [CPU], 1, error="x")), set()),
        (ort(made([CPU], [CPU], 0), made([CPU], [CPU], 1, problem="x")), set()),
        ({"onnxruntime": {"made": 2, "sessions": [made([CPU], [CPU])]}}, set()),
        ({"onnxruntime": {"made": 1, "sessions": [made([CPU], [CPU])], "problem": "x"}}, set()),
        ({"onnxruntime": {"made": 0, "sessions": []}}, set()),
    ],
)  # fmt: skip
def test_what_is_proven_of_sessions(facts: dict[str, Any], proves: set[Kind]) -> None:
    found = closing_runtimes.HEARINGS["onnxruntime"].proves(facts["onnxruntime"])
    said = {
        Kind.COMPILE_ERROR: "the process tells each session that it made, and each was made",
        Kind.DEVICE_FALLBACK: "the process tells who runs the nodes of each session that it made",
    }
    assert found == {kind: said[kind] for kind in proves}


def models(*changed: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"openvino": {"made": len(changed), "models": [{**MODEL, **one} for one in changed], **more}}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (models({"asked": "AUTO:GPU.0,CPU", "devices": ["(CPU)", "NPU.1"]}), [("openvino/auto-device-missing", "GPU", "AUTO:GPU.0,CPU runs the model on CPU, NPU", ("GPU",))]),
        (models({"asked": "AUTO:GPU(5),CPU", "devices": ["CPU"]}), [("openvino/auto-device-missing", "GPU", "AUTO:GPU(5),CPU runs the model on CPU", ("GPU",))]),
        (models({"asked": "AUTO:GPU.1,CPU", "devices": ["(GPU.0)"]}), []), (models({"asked": "AUTO:XPU,CPU", "devices": ["(XPU)"]}), []),
        (models({"asked": "MULTI:GPU,CPU"}), []), (models({"asked": "AUTO"}), []), (models({"asked": "AUTO:GPU", "devices": []}), []),
        (models({"asked": "AUTO:GPU,CPU"}, {"asked": "AUTO:NPU,CPU"}), [
            ("openvino/auto-device-missing", "GPU", "AUTO:GPU,CPU runs the model on CPU", ("GPU",)),
            ("openvino/auto-device-missing", "NPU", "AUTO:NPU,CPU runs the model on CPU", ("NPU",)),
        ]),
    ],
)  # fmt: skip
def test_what_is_said_of_devices(read: Read, facts: dict[str, Any], expected: list[Says]) -> None:
    assert says(read(line(facts)).reports) == expected


def test_what_is_said_of_reference_kernels(read: Read) -> None:
    told = [
        ["Gather", "ref_any_f32", "/l0/Gather"],
        ["x"],
        "y",
        ["A", "", "b"],
        ["TopK", "ref_any_i32", "/l1/TopK"],
    ]
    reports = read(line(models({"reference": told}))).reports
    assert [(one.id, one.op, one.layer) for one in reports] == [
        ("openvino/reference-kernel", "Gather", "/l0/Gather"), ("openvino/reference-kernel", "TopK", "/l1/TopK"),
    ]  # fmt: skip
    assert "ref_any_f32" in (reports[0].reason or "")
    assert read(line(models({"reference": "x"}))).reports == []


@pytest.mark.parametrize(
    ("facts", "whole"),
    [
        (models({}), True), (models({}, {}), True), (models({}, problem="x"), False), (models({}, made=2), False), (models(), False),
        (models({}, {"problem": "x"}), False), (models({"error": "x"}), False), (models({"kernels": {}}), False),
        (models({"devices": ["CPU", "GPU"]}), False), (models({"devices": ["(CPU)"]}), True), (models({"reference": None}), False),
        (models({"references": 1}), False), (models({"reference": [["a", "b", "c"]], "references": 1}), True),
    ],
)  # fmt: skip
def test_what_is_proven_of_kernels(facts: dict[str, Any], whole: bool) -> None:
    found = closing_runtimes.HEARINGS["openvino"].proves(facts["openvino"])
    why = "the process tells the kernel of each node of each model that it compiled"
    assert found == ({Kind.REFERENCE_KERNEL: why} if whole else {})


def jax(**facts: Any) -> dict[str, Any]:
    return {"jax": {"asked": None, "platforms": ["cpu"], "modules": 3, "unread": 0, "sites": [], **facts}}


def site(what: str, name: str, path: str, **more: Any) -> dict[str, Any]:
    return {
        "what": what,
        "name": name,
        "path": path,
        "function": "gate_attn",
        "file": "/app/moe.py",
        "line": 32,
        **more,
    }


def test_what_is_said_of_a_callback(read: Read) -> None:
    path = "jit(serve)/jit(decode_step)/pure_callback"
    (one,) = read(
        line(jax(sites=[site("callback", "xla_ffi_python_cpu_callback", path), site("other", "x", "y")]))
    ).reports
    assert says([one]) == [
        ("jax/host-callback", "pure_callback", f"xla_ffi_python_cpu_callback in {path}",
         ("pure_callback", "jax.pure_callback", "lax.pure_callback", "xla_ffi_python_cpu_callback")),
    ]  # fmt: skip
    assert one.stack == ("gate_attn", "decode_step", "serve")
    assert (one.location, one.files) == (Location("/app/moe.py", 32, "gate_attn"), ("/app/moe.py",))


def test_what_is_said_of_an_expanded_operation(read: Read) -> None:
    told = site("expanded", "ragged_dot_general", "jit(f)/x", function="", file="", line=0)
    (one,) = read(line(jax(sites=[told]))).reports
    assert says([one]) == [
        ("jax/expanded-operation", "ragged_dot", "ragged_dot_general in jit(f)/x",
         ("ragged_dot", "jax.ragged_dot", "lax.ragged_dot", "ragged_dot_general")),
    ]  # fmt: skip
    assert (one.stack, one.location, one.files) == (("f",), None, ())
    (one,) = read(line(jax(sites=[{**told, "file": "m.py", "path": "f", "what": "callback"}]))).reports
    assert (one.op, one.stack, one.location, one.files) == ("f", (), Location("m.py", None, None), ("m.py",))
    (one,) = read(line(jax(sites=[{**told, "path": "", "what": "callback"}]))).reports
    assert one.op == "ragged_dot_general"


@pytest.mark.parametrize(
    ("asked", "platforms", "lost"),
    [
        ("cuda,cpu", ["cpu"], True), (" tpu , cpu", ["gpu", "cpu"], True), ("cuda", ["gpu"], False), ("rocm", ["gpu"], False),
        ("cuda", ["cuda"], False), ("gpu", ["cuda"], True), ("cpu,cuda", ["cpu"], False), ("cuda", [], False), (None, ["cpu"], False),
    ],
)  # fmt: skip
def test_a_platform_that_ran_nothing(read: Read, asked: str | None, platforms: list[str], lost: bool) -> None:
    expected = []
    if asked and lost:
        first = asked.split(",")[0].strip()
        reason = f"JAX_PLATFORMS={asked} ran on {', '.join(platforms)}"
        expected = [("jax/runs-on-cpu", first, reason, (first,))]
    assert says(read(line(jax(asked=asked, platforms=platforms))).reports) == expected


SITE = {"what": "other"}


@pytest.mark.parametrize(
    ("facts", "whole"),
    [
        ({}, True), ({"modules": 0}, False), ({"unread": 1}, False), ({"problem": "x"}, False),
        ({"sites": [SITE] * 199}, True), ({"sites": [SITE] * 200}, False), ({"sites": [SITE, {"problem": "x"}]}, False),
    ],
)  # fmt: skip
def test_what_is_proven_of_modules(facts: dict[str, Any], whole: bool) -> None:
    why = "the process looked at each module that it compiled: "
    proof = {
        Kind.DEVICE_FALLBACK: why + "the callbacks in them are told",
        Kind.REFERENCE_KERNEL: why + "what was expanded in them (ragged_dot) is told",
    }
    assert closing_graphs.HEARINGS["jax"].proves(jax(**facts)["jax"]) == (proof if whole else {})


def test_what_is_said_of_interpreted_kernels(read: Read) -> None:
    told = [{"name": "gate_attn", "file": "/app/k.py", "line": 12}, {"name": ""}, {"name": "bare"}]
    first, second = read(line({"triton": {"interpreted": told}})).reports
    assert says([first, second]) == [
        ("triton/interpreted", name, "TRITON_INTERPRET: the interpreter ran it", (name,)) for name in ("gate_attn", "bare")
    ]  # fmt: skip
    assert (first.stack, first.files, first.location) == (
        ("gate_attn",),
        ("/app/k.py",),
        Location("/app/k.py", 12, "gate_attn"),
    )
    assert (second.stack, second.files, second.location) == (("bare",), (), Location(None, None, "bare"))
    assert closing_graphs.HEARINGS["triton"].proves({"interpreted": []}) == {}


def test_what_is_said_of_a_program_without_jit_and_of_pallas_kernels_that_are_interpreted(read: Read) -> None:
    told = {"without_jit": 1, "interpreted": [{"name": "gate_attn", "file": "/app/k.py", "line": 12}]}
    without, kernel = read(line(jax(**told))).reports
    assert (without.id, without.kind, without.scope, without.op) == (
        "jax/jit-disabled",
        Kind.EAGER_FRAME,
        Scope.PROGRAM,
        "*",
    )
    assert says([kernel]) == [
        ("jax/interpreted", "gate_attn", "interpret=True: the interpreter ran it", ("gate_attn",))
    ]
    assert kernel.location == Location("/app/k.py", 12, "gate_attn")
    assert read(line(jax(without_jit=0, interpreted=[]))).reports == []


def tvm(*builds: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"tvm": {"made": len(builds), "builds": list(builds), "last_resort": "watched", **more}}


def function(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "scheduled": True, "reduces": True, "extern": [], "fallback": False, **more}


PACKED, PLAIN = "tvm-relax/packed-call", "tvm-relax/no-schedule"


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (tvm({"packed": {"tvm.contrib.sort.topk": 2}}), [(PACKED, "tvm.contrib.sort.topk", "2 calls of a packed function")]),
        (tvm({"operators": {"relax.topk": 3}}), []),
        (tvm({"codegen": False, "operators": {"relax.topk": 3, "relax.call_tir": 9, "relax.shape_of": 1}}), [(PACKED, "relax.topk", "3 calls that no pass lowered")]),
        (tvm({"functions": [function("fused_matmul4_relu", extern=["cblas.matmul", "x"])]}), [
            (PACKED, "fused_matmul4_relu", "fused_matmul4_relu calls cblas.matmul"), (PACKED, "fused_matmul4_relu", "fused_matmul4_relu calls x"),
        ]),
        (tvm({"functions": [function("matmul", scheduled=False)]}), [(PLAIN, "matmul", "it has a reduction, and no schedule")]),
        (tvm({"functions": [function("matmul", fallback=True)]}), [(PLAIN, "matmul", "scheduled by dl.gpu.Fallback, though it has a reduction")]),
        (tvm({"functions": [function("add", scheduled=False, reduces=False), function("matmul")]}), []),
        (tvm({"codegen": False, "packed": {"a": 1}}, {"codegen": True, "packed": {"b": 1}}), [(PACKED, "b", "1 calls of a packed function")]),
        (tvm({"codegen": False, "packed": {"a": 1}}, {"packed": {"b": 1}}), [(PACKED, "b", "1 calls of a packed function")]),
    ],
)  # fmt: skip
def test_what_is_said_of_builds(
    read: Read, facts: dict[str, Any], expected: list[tuple[str, str, str]]
) -> None:
    reports = read(line(facts)).reports
    assert [(one.id, one.op, one.reason) for one in reports] == expected
    for one in reports:
        if " calls " in (one.reason or "") and "matmul" in one.op:
            assert (one.reason or "").rpartition(" ")[2] in one.names
            assert "matmul" in one.names


def test_the_names_of_an_operator_that_nothing_lowered(read: Read) -> None:
    (one,) = read(line(tvm({"codegen": False, "operators": {"relax.topk": 1}}))).reports
    assert {"relax.topk", "topk"} <= set(one.names)


TUNED = {"functions": [function("add")]}


@pytest.mark.parametrize(
    ("facts", "proves"),
    [
        (tvm(TUNED), "both"), (tvm(TUNED, last_resort="unnamed"), "both"), (tvm({"scheduled": 1}), "both"),
        (tvm({"scheduled": 1}, last_resort="unnamed"), "calls"), (tvm(TUNED, {"scheduled": 1}, last_resort=None), "calls"),
        (tvm(), "nothing"), (tvm(TUNED, made=2), "nothing"), (tvm(TUNED, problem="x"), "nothing"), (tvm(TUNED, {"problem": "x"}), "nothing"),
        (tvm({"functions": [{}] * 199}), "both"), (tvm({"functions": [{}] * 200}), "nothing"),
    ],
)  # fmt: skip
def test_what_is_proven_of_builds(facts: dict[str, Any], proves: str) -> None:
    why = "the process looked at each module that it built: "
    calls = {Kind.OP_FALLBACK: why + "what it calls outside of the module is told"}
    both = {**calls, Kind.UNTUNED_CONFIG: why + "each function without a schedule is told"}
    expected = {"both": both, "calls": calls, "nothing": {}}[proves]
    assert closing_graphs.HEARINGS["tvm.relax"].proves(facts["tvm"]) == expected
