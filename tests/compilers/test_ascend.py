"""Room 3: the messages of Huawei's Ascend stack, and what its logs prove; wording from its own sources."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback_gate.compilers import READERS
from fallback_gate.compilers.ascend import names as ascend_names
from fallback_gate.model import Kind, Location, State

Read = Callable[..., Any]
STAMP = "2026-01-01-00:00:00.000.000"
START = "ATC start working now, please wait for a moment."
SUCCESS = "ATC run success, welcome to the next use."


def ge(said: str, level: str = "DEBUG", pid: int = 11) -> str:
    """A plog line of the graph engine."""
    return f"[{level}] GE({pid},atc):{STAMP} [dnnengine_manager.cc:226]21 GetDNNEngineName: {said}"


def placed(node: str, engine: str = "AIcoreEngine", lib: str = "AIcoreEngine", pid: int = 11) -> str:
    """The engine of a node, as the graph engine of 2025 words it."""
    return ge(f"DNNEngineManager:Set kernel_lib {lib}, atomic engine {engine}, to node {node}", pid=pid)


def refused(node: str, kind: str, kernel: str = "AIcoreEngine") -> str:
    """An engine's refusal."""
    said = "DNNEngineManager:Check support failed, kernel_name is"
    return ge(f"{said} {kernel}, op type is {kind}, op name is {node}", level="INFO")


def states(said: Any, compiler: str) -> dict[str, State]:
    """What the log proves about a compiler, in its one process."""
    (by,) = (mine[compiler] for mine in said.evidence.processes.values() if compiler in mine)
    return {kind.value: proof.state for kind, proof in READERS[compiler].prove(by).items()}


@pytest.mark.parametrize(
    ("line", "told", "also"),
    [
        (placed("mod_1", "DNN_VM_AICPU_ASCEND", "aicpu_ascend_kernel"), ("device_fallback", "mod_1", "operator"), set()),
        (placed("Mod7", "DNN_VM_AICPU", "aicpu_tf_kernel"), ("device_fallback", "Mod7", "operator"), {"Mod"}),
        (
            "W11001: [PID: 23383] 2025-08-27-20:57:16.972.690 Op [/model.23/Mod] does not hit the high-priority operator information library, which might result in compromised performance.",
            ("device_fallback", "/model.23/Mod", "operator"),
            set(),
        ),
        (
            "EZ3003: No supported Ops kernel and engine are found for [gate_mix_1], optype [GateMix].",
            ("op_fallback", "GateMix", "operator"),
            {"gate_mix_1"},
        ),
        (
            "EZ3002: 2024-11-05-22:31:29.035.909 Optype [TransData] of Ops kernel [AIcoreEngine] is unsupported. Reason: dtype.",
            ("op_fallback", "TransData", "operator"),
            set(),
        ),
        (
            "E40021: [PID: 10534] 2025-07-23-10:49:25.578.073 Failed to compile Op [IsFinite2]. (oppath: [Compile /opt/is_finite.py failed",
            ("compile_error", "IsFinite2", "operator"),
            {"IsFinite"},
        ),
        (
            "RuntimeError: The operator 'aten::gate_mix.out' would execute its main computation on CPU through explicit CPU kernel because no kernel, but CPU fallback is disabled by TORCH_NPU_FALLBACK_CPU_DISABLE=1.",
            ("device_fallback", "aten::gate_mix", "operator"),
            {"aten::gate_mix.out"},
        ),
        ("AKG runtime_error: code 7 for akg_fused_x_0, fallback to FX.", ("compile_error", "akg_fused_x_0", "operator"), set()),
        ("RuntimeError: torch.ops.aten._fft_c2r.out ge_converter is not supported!", ("compile_error", "aten::_fft_c2r", "operator"), set()),
        (
            "Cross-stream operation detected in pattern match. Match nodes: add_1, rms_norm_2. Stream distribution: {}. Fusion is not supported for cross-stream operations.",
            ("slower_kernel", "add_1", "operator"),
            {"rms_norm_2"},
        ),
        (
            "[INFO] DEVICE(11,7f00,python):2026-01-01 [a.cc:1] SetKernelInfo] Try to use backoff CPU kernel, node:Default/gate/Sort-op12",
            ("device_fallback", "Sort", "operator"),
            {"Default/gate/Sort-op12"},
        ),
        (
            "DEBUG 01-01 00:00:00 [modelslim_config.py:773] No quant method matched for model.layers.0.mlp.gate, falling back to base",
            ("slower_kernel", "model.layers.0.mlp.gate", "operator"),
            set(),
        ),
        ("Current batch size 96 is larger than 64, using eager mode.", ("cudagraph_skip", "*", "program"), set()),
    ],
)  # fmt: skip
def test_one_line(line: str, told: tuple[str, str, str], also: set[str], read: Read) -> None:
    said = read(line)
    assert said.told == [told]
    assert also <= set(said.reports[0].names)


@pytest.mark.parametrize(
    "line",
    [
        "ATC run failed, Please check the detail log, Try 'atc --help' for more information",
        "Skip cache decode_step as following errors: ['unserializable']",
        "Skipped fx_pass _reinplace_inplaceable_ops_pass for unsupported fx graph 140211.",
        "Python Graph is deprecated, config field llm.engine.graph will be removed on 2027/3/31.Automatically falling back to C++ graph.",
        "INFO 01-01 00:00:00 [platform.py:60] Breakable cudagraph is force disabled on Ascend because DeepSeek V4 PIECEWISE cudagraph is not supported yet.",
        "[rank0]:[W OpCommand.cpp:88] Warning: Cannot create tensor with interal format while allow_internel_format=False, tensor will be created with base format.",
        "[ERROR] 2026-01-01-00:00:00 (PID:11, Device:0, RankID:-1) ERR01007 OPS feature not supported",
        "    aten.cumsum.default: 2, reason: input dtype torch.int64 not supported",
        refused("gate_mix_1", "GateMix", "aicpu_tf_kernel"),
        placed("conv_1"),
    ],
)
def test_a_line_that_is_no_fallback(line: str, read: Read) -> None:
    assert read(line).reports == []


@pytest.mark.parametrize(
    ("line", "pid"),
    [
        (placed("a"), 11),
        ("[PID: 321725] 2025-12-20-22:25:54.410.921 Unsupported_Operator(EZ3002): Optype", 321725),
        (
            "[ERROR] 2025-12-20-22:25:54 (PID:58133, Device:0, RankID:-1) ERR00100 PTA call acl api failed.",
            58133,
        ),
        ("W11001: Op [Slice_29] does not hit", None),
        ("a call f(4711, x): done", None),
    ],
)
def test_the_process_that_a_line_names(line: str, pid: int | None) -> None:
    class Cut:
        text = line

    assert ascend_names.process_id(Cut()) == pid  # type: ignore[arg-type]


def test_a_placement_on_a_cpu_is_told_with_the_type_and_who_refused(read: Read) -> None:
    said = read(refused("gate_mix_1", "GateMix"), placed("gate_mix_1", "DNN_VM_AICPU", "aicpu_tf_kernel"))
    (report,) = said.reports
    assert (report.op, report.names, report.position) == ("gate_mix_1", ("gate_mix_1", "GateMix"), 2)
    assert report.reason == "placed on DNN_VM_AICPU (aicpu_tf_kernel) after AIcoreEngine refused it"
    assert report.pid == 11
    assert not report.hint


def test_a_refusal_after_which_another_core_takes_the_operator_is_none(read: Read) -> None:
    assert read(refused("mix_1", "Mix"), placed("mix_1", "VectorEngine", "VectorEngine")).reports == []


def test_a_refusal_alone_is_a_hint(read: Read) -> None:
    (report,) = read(refused("mix_1", "Mix"), refused("add_1", "Add", "aicpu_tf_kernel")).reports
    assert (report.op, report.names, report.hint) == ("mix_1", ("mix_1", "Mix"), True)


def test_messages_of_atc_on_one_line_are_told_apart(read: Read) -> None:
    rest = "does not hit the high-priority operator information library, which might result in compromised performance."
    said = read(f"W11001: [PID: 7] {STAMP} Op [/a/Mod] {rest} W11001: [PID: 7] {STAMP} Op [/a/Div] {rest}")
    assert [report.op for report in said.reports] == ["/a/Mod", "/a/Div"]
    assert {report.pid for report in said.reports} == {7}


CLEAN = (START, placed("conv_1"), placed("matmul_1"), SUCCESS)


@pytest.mark.parametrize(
    ("lines", "state"),
    [
        (CLEAN, State.PROVEN),
        ((START, SUCCESS), State.UNOBSERVABLE),
        (CLEAN[:-1], State.UNPROVEN),
        ((*CLEAN[:-1], "ATC run failed, Please check the detail log"), State.UNPROVEN),
        ((START, placed("conv_1"), SUCCESS, placed("matmul_1")), State.UNPROVEN),
        ((*CLEAN, START, SUCCESS), State.UNPROVEN),
        ((*CLEAN, START), State.UNPROVEN),
        ((START, refused("mix_1", "Mix"), SUCCESS), State.UNOBSERVABLE),
    ],
)
def test_what_a_log_of_atc_proves(lines: tuple[str, ...], state: State, read: Read) -> None:
    said = read(*lines)
    merged = [by["cann"] for by in said.evidence.processes.values()]
    for other in merged[1:]:
        merged[0].merge(other)
    assert READERS["cann"].prove(merged[0])[Kind.DEVICE_FALLBACK].state is state


def test_the_summary_of_fallbacks_counts_under_its_header_only(read: Read) -> None:
    row = "    aten.cumsum.default: 2, reason: input dtype torch.int64 not supported"
    said = read(
        "Supported op nums: 3/5",
        "Unsupported ops:",
        "    Cast: 2",
        "Fallback aten ops:",
        row,
        "    aten.sort.stable: 1, reason: not in lowering whitelist",
        "done",
        row,
    )
    assert [(report.op, report.position) for report in said.reports] == [
        ("aten::cumsum", 5),
        ("aten::sort", 6),
    ]
    assert said.reports[1].reason == "not in lowering whitelist"


def test_the_list_at_exit_tells_rank_and_reason(read: Read) -> None:
    log = "[2026-01-01 00:00:00] [RANK3] [INFO] "
    said = read(
        log + "Lowered 1x aten.add.Tensor(Tensor(torch.float32)) -> Tensor(torch.float32)",
        log + "Fallback 2x aten.cumsum.default(Tensor(torch.int64), 1) -> Tensor(torch.int64)  # reason: dtype, has_lowering=True, has_decompose=False",
    )  # fmt: skip
    (report,) = said.reports
    assert (report.op, report.reason, report.rank) == ("aten::cumsum", "dtype", 3)
    assert said.markers == {"torchair-inductor/lowered"}
    assert states(said, "torchair.inductor") == {"op_fallback": State.UNPROVEN}


HEADER = "[INFO] PIPELINE(11,7f00,python):2026-01-01-00:00:00.000.000 [a.cc:1] CheckInterpretNodeLineInfos] Found unsupported syntax in graph mode, those codes would be fallen back to Python interpreter:"
NEXT = "[INFO] PIPELINE(11,7f00,python):2026-01-01-00:00:00.000.000 [a.cc:1] Run] Status record: end validate action."
END = f"[INFO] COMMON(11,7f00,python):{STAMP} [a.cc:257] ClearSingleton] End clear singleton."
CACHE = f"[WARNING] PIPELINE(11,7f00,python):{STAMP} [a.cc:471] GetCachedFuncGraph] Use the compilation cache and execute the backend actions only. Be aware of correctness risks."
BYTECODE = f'[INFO] PI(11,7f00,python):{STAMP} [a.cc:485] JitCompile] Start compile <code object gate at 0x7fe2e2280540, file "/app/net.py", line 8>'


RULER = "----------------------------------------"
FOLDED = (  # a NumPy array of constants, which the interpreter makes while the graph is compiled
    " After Parser Phase (total: 1)",
    RULER,
    "# No. 1:",
    "In file /app/net.py:31, 12~31",
    "        a = np.array([1, 2, 3])",
    "            ^~~~~~~~~~~~~~~~~~~",
    "",
    RULER,
)


def test_interpreted_code_is_what_is_left_after_optimizing(read: Read) -> None:
    said = read(
        HEADER,
        RULER,
        *FOLDED,
        " After Optimizer Phase (total: 3)",
        RULER,
        "# No. 1:",
        "Script: __call_func_str__(__input_0__,)",
        "",
        "In file /app/net.py:40, 8~30",
        "        b = np.sort(x.asnumpy())",
        "            ^~~~~~~~~~~~~~~~~~~~",
        "",
        "# No. 2:",
        "Script: getattr(__py_exec_index1_getattr__, __py_exec_index2_getattr__, )",
        "",
        "In file /app/net.py:40, 20~29",
        "        b = np.sort(x.asnumpy())",
        "                    ^~~~~~~~~",
        "",
        "# No. 3:",
        "Script: __import__('mindspore').graph._utils.jit_fallback_utils.get_local_variable(__py_exec_index0__)",
        "",
        "",
        RULER,
        NEXT,
    )
    one, two = said.reports
    assert (one.op, one.location, one.position) == ("np.sort", Location("/app/net.py", 40), 13)
    assert (two.op, two.location, two.position) == ("x.asnumpy", Location("/app/net.py", 40), 20)
    assert one.reason == "b = np.sort(x.asnumpy())"
    assert {report.kind for report in said.reports} == {Kind.GRAPH_BREAK}
    assert {report.pid for report in said.reports} == {11}


def test_code_that_was_folded_into_a_constant_is_not_interpreted(read: Read) -> None:
    said = read(HEADER, RULER, *FOLDED, " After Optimizer Phase (total: 0)", RULER, "", RULER, NEXT)
    assert said.reports == []


def test_what_the_parser_hands_over_waits_for_the_list(read: Read) -> None:
    parsed = HEADER.replace("CheckInterpretNodeLineInfos", "MakeInterpretNode").replace("PIPELINE", "PARSER")
    assert read(parsed, "", "In file /app/net.py:31, 12~31").reports == []
    listed = (HEADER, RULER, *FOLDED, " After Optimizer Phase (total: 0)", RULER)
    begun, ended = (NEXT.replace("end", how) for how in ("start", "end"))
    for lines, state in (
        ((begun, parsed, ended, END), State.UNPROVEN),
        ((begun, parsed, *listed, ended, END), State.PROVEN),
        ((begun, parsed, *listed, ended), State.UNPROVEN),
        ((begun, parsed, *listed, END), State.UNPROVEN),
        ((begun, ended, END, begun, ended), State.UNPROVEN),
        ((begun, ended, CACHE, END), State.UNPROVEN),
        ((begun, ended, BYTECODE, END), State.UNPROVEN),
        ((begun, ended, END), State.PROVEN),
    ):
        assert states(read(*lines), "mindspore")["graph_break"] == state, lines


def pijit(said: str, level: str = "INFO") -> str:
    """A line of the capture of bytecode."""
    return f"[{level}] PI(11,7f00,python):{STAMP} [mindspore/ccsrc/frontend/jit/pi/a.cc:1] {said}"


def test_a_break_within_a_callee_is_one_in_its_caller(read: Read) -> None:
    said = read(
        pijit(
            "DoByteCode] Function 'asnumpy' break graph at: 42 CALL 1 Loc(1090,1090,15,38), "
            'file "/opt/site-packages/mindspore/common/tensor.py:1090"'
        ),
        pijit(
            "BuildSubGraph] Failed to build subgraph for call node 40 CALL 0 sub-graph=0x561bb4951a80, "
            "function=<bound method Tensor.asnumpy of Tensor(shape=[3])>"
        ),
        pijit("DoByteCode] Function '1I.45B.gate' break graph at: 40 CALL 0 Loc(13,13,16,27), file \"/app/net.py:13\""),
        pijit("DoByteCode] Function 'gate' break graph at: 44 POP_JUMP 20 -> 65 Loc(11,11,7,18), file \"/app/net.py:11\""),
    )  # fmt: skip
    assert [(report.names, report.location) for report in said.reports] == [
        (("gate", "Tensor.asnumpy"), Location("/app/net.py", 13, "gate")),
        (("gate",), Location("/app/net.py", 11, "gate")),
    ]


def test_a_break_with_its_reason_stands_in_the_users_code(read: Read) -> None:
    (report,) = read(
        pijit("StopTraceAt] [graph_break] ", "DEBUG"),
        "Graph break at: In file /opt/site-packages/mindspore/common/tensor.py:1090",
        "        return TensorPy_.asnumpy(self)",
        "",
        "Reason: Unsupported function",
        "",
        "From user code:",
        "In file /app/net.py:13",
        '    print("hi", y.asnumpy())',
        "In file /opt/site-packages/mindspore/common/tensor.py:1090",
        "        return TensorPy_.asnumpy(self)",
        "",
        pijit("Next"),
    ).reports
    assert (report.location, report.reason) == (Location("/app/net.py", 13), "Unsupported function")
    assert report.names == ("y.asnumpy", "TensorPy_.asnumpy")
    assert report.files == ("/app/net.py",)


def test_a_function_that_is_left_to_python(read: Read) -> None:
    error = pijit(
        "JitCompileWithTry] got an unexpected c++ error [Illegal type in the graph: AbstractScalar", "ERROR"
    )
    (unnamed,) = read(error, "Please check your code:", "]").reports
    assert (unnamed.op, unnamed.scope.value, unnamed.kind) == ("*", "unknown", Kind.EAGER_FRAME)
    code = '<code object 5I.41B.gate at 0x7fe2b4a05930, file "/app/net.py", line -1>'
    named = read(
        error, "Please check your code:", "]", pijit(f"CodeHook] Fall back to python execute: {code}")
    )
    assert {(report.op, report.scope.value, report.location) for report in named.reports} == {
        ("gate", "region", Location("/app/net.py", None, "gate"))
    }


def test_syntax_that_is_refused_stands_at_the_innermost_place(read: Read) -> None:
    (report,) = read(
        "RuntimeError: Unsupported expression 'Set'.",
        "More details please refer to syntax support at https://www.mindspore.cn",
        "",
        "# In file /app/net.py:21~25, 4~29",
        "    def construct(self, x):",
        "",
        "# In file /app/net.py:24, 12~21",
        "        s = {1, 2, 3}",
        "            ^~~~~~~~~",
    ).reports
    assert (report.op, report.location) == ("Set", Location("/app/net.py", 24))


def test_interpreted_code_of_the_first_versions(read: Read) -> None:
    said = read(
        HEADER.replace("graph", "Graph", 1),
        "\t#1: In file /app/net.py(31)",
        "            a = np.array([1, 2, 3])",
        "\t#2: In file /app/net.py(32)",
        "            return a",
        "",
        "# 3: In file /app/other.py(1)",
        NEXT,
    )
    assert [(report.op, report.location.line) for report in said.reports][:2] == [("np.array", 31), ("*", 32)]
    assert [report.scope.value for report in said.reports][:2] == ["site", "site"]


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=60), max_size=12))
def test_whatever_follows_the_header_it_is_told(lines: list[str]) -> None:
    from tests.compilers.conftest import _read

    reports = [
        report for report in _read(HEADER, *lines).reports if report.id == "mindspore/interpreted-code"
    ]
    assert reports
    assert all(1 <= report.position <= len(lines) + 1 for report in reports)


@pytest.mark.parametrize(
    ("lines", "compiler", "state"),
    [
        ((NEXT,), "mindspore", State.UNPROVEN),
        ((HEADER,), "mindspore", State.UNOBSERVABLE),
        (("INFO 01-01 00:00:00 [acl_graph.py:252] Replaying aclgraph",), "vllm-ascend", State.UNPROVEN),
        (("k_0 = async_compile.mlir_auto_fallback('k_0', '''",), "torch_npu.inductor", State.UNOBSERVABLE),
        (
            ("Success to capture fx_graph graph_1 for graph key{8_128}. Start to run AclGraph{id: 7} with the updated node num {2}.",),
            "torchair",
            State.UNPROVEN,
        ),
    ],
)  # fmt: skip
def test_a_run_without_an_end_is_not_proven(
    lines: tuple[str, ...], compiler: str, state: State, read: Read
) -> None:
    assert state in states(read(*lines), compiler).values()
    assert State.PROVEN not in states(read(*lines), compiler).values()


def test_upstream_gemm_messages_are_not_of_the_npu(read: Read) -> None:
    said = "No choices for GEMM, using ATen backend as fallback"
    upstream = f"W1130 00:29:06.251000 4674 torch/_inductor/kernel/mm.py:802] [0/0] {said}"
    here = f"W1130 00:29:06.251000 4674 torch_npu/_inductor/kernel/mm.py:802] [0/0] {said}"
    assert [r.compiler for r in read(here).reports] == ["torch_npu.inductor"]
    assert "torch_npu.inductor" not in {r.compiler for r in read(upstream).reports}
