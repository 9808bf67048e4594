"""Room 3: the serving stacks: operator names, who printed it, traps, and what a log of them proves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fallback_gate.compilers import READERS
from fallback_gate.model import Kind, ProcessKey, Proof, State

VLLM = "INFO 01-01 00:00:00 [gpu_model_runner.py:1] "
SGLANG = "[2026-01-01 00:00:00{}] "
CAPTURED = VLLM + "Graph capturing finished in 21 secs, took 0.61 GiB"
COMPILED = VLLM + "Compiling a graph for compile range (1, 2048) takes 12.31 s"
STARTED = VLLM + "init engine (profile, create kv cache, warmup model) took 61.02 seconds"
Read = Callable[..., Any]


def proof_of(read: Read, compiler: str, *lines: str) -> dict[ProcessKey, dict[Kind, Proof]]:
    """What each process of the log proves of this compiler."""
    said = read(*lines, name="serve.log").evidence.processes
    return {
        process: dict(READERS[compiler].prove(by[compiler])) for process, by in said.items() if compiler in by
    }


@pytest.mark.parametrize(
    ("line", "compiler", "op", "name"),
    [
        (
            "WARNING 01-01 00:00:50 [fused_moe.py:668] Using default MoE config. Performance might be sub-optimal! "
            "Config file not found at /v/configs/E=64,N=512,device_name=NVIDIA_GATE.json",
            "vLLM",
            "fused_moe",
            "E=64,N=512,device_name=NVIDIA_GATE",
        ),
        (
            "WARNING 01-01 00:00:50 [fused_moe.py:668] Using default MoE config. Performance might be sub-optimal! "
            "Config file not found at ['/mine/E=8,N=1,device_name=X.json', '/v/configs/E=8,N=1,device_name=X.json']",
            "vLLM",
            "fused_moe",
            "E=8,N=1,device_name=X",
        ),
        (
            "[2026-01-01 00:00:41 TP3] Using default MoE config. Performance might be sub-optimal! "
            "Config file not found at /s/configs/E=64,N=96,device_name=X.json, you can create them with https://a",
            "SGLang",
            "fused_moe",
            "E=64,N=96,device_name=X",
        ),
        (
            "[2026-01-01 00:00:41 TP3] Using default W8A8 Block FP8 kernel config. Performance might be sub-optimal! "
            "Config file not found at /s/configs/N=576,K=7168,device_name=X,dtype=fp8_w8a8,block_shape=[128, 128].json",
            "SGLang",
            "w8a8_block_fp8_matmul",
            "N=576,K=7168,device_name=X,dtype=fp8_w8a8,block_shape=[128, 128]",
        ),
        (
            "[2026-01-01 00:00:41 TP3] Using MoE kernel config with down_moe=False. Performance might be sub-optimal! "
            "Config file not found at /s/configs/E=64,N=96,device_name=X_down.json, you can create them with https://a",
            "SGLang",
            "fused_moe_down",
            "E=64,N=96,device_name=X_down",
        ),
        (
            "[2026-01-01 00:00:41 TP3] Layer 'model.layers.0.mlp.down_proj' is not supported by AWQMarlin. "
            "Falling back to unoptimized AWQ kernels.",
            "SGLang",
            "model.layers.0.mlp.down_proj",
            "AWQMarlin",
        ),
        (
            "WARNING 01-01 00:00:41 [awq_marlin.py:1] Layer 'model.layers.0.mlp.down_proj' is not supported by "
            "AWQMarlin. Falling back to unoptimized AWQ kernels.",
            "vLLM",
            "model.layers.0.mlp.down_proj",
            "AWQMarlin",
        ),
        (
            "The fast path is not available because one of `(selective_state_update, causal_conv1d_fn)` is None. "
            "Falling back to the naive implementation.",
            "transformers",
            "selective_scan",
            "causal_conv1d_fn",
        ),
        (
            "2024-11-25 03:36:47,633 - lmdeploy - WARNING - archs.py:53 - Fallback to pytorch engine because "
            "`/app/gate` not supported by turbomind engine.",
            "LMDeploy",
            "turbomind",
            "/app/gate",
        ),
    ],
)
def test_one_compiler_reports_a_message_and_names_what_it_is_about(
    line: str, compiler: str, op: str, name: str, read: Read
) -> None:
    (report,) = read(line).reports
    assert (report.compiler, report.op) == (compiler, op)
    assert name in report.names


@pytest.mark.parametrize(
    "line",
    [
        "INFO 01-01 00:00:00 [vllm.py:2005] Cudagraph is disabled under eager mode",
        "WARNING 01-01 00:00:00 [utils.py:276] Using default LoRA kernel configs",
        "INFO 01-01 00:00:00 [arg_utils.py:1] Falling back to V0 Engine",
        "Weight cache IPC loading failed; falling back to disk loading",
        "[2026-01-01 00:00:01] server_args=ServerArgs(model_path='/m', disable_cuda_graph=False, fallback=None)",
        "2026-01-01 00:00:03,000 - lmdeploy - WARNING - async_engine.py:433 - n(2) > 1 hasn't been supported yet. Fallback to 1",
        "load_tensors: tensor 'token_embd.weight' (q4_K) (and 0 others) cannot be used with preferred buffer type CPU_REPACK, using CPU instead",
        'INFO: 10.0.0.1 "POST /v1" prompt: Enforce eager set, disabling torch.compile and CUDAGraphs',
        '{"role": "user", "content": "Cuda graph is disabled because of using torch native attention backend"}',
        "> Using default MoE config. Performance might be sub-optimal! Config file not found at /x.json",
    ],
)
def test_what_looks_like_a_fallback_and_is_none(line: str, read: Read) -> None:
    assert read(line).reports == []


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "WARNING 01-01 00:00:00 [fused_moe.py:1165] ",
        "[2026-01-01 00:00:00,123][vllm.worker][WARNING] - ",
        "2026-01-01 00:00:00,123 WARNING vllm.worker: ",
        "2026-01-01T00:00:00.123Z WARN vllm.worker: ",
        "2026-01-01 00:00:00.123 | WARNING  | vllm.worker:run:12 - ",
        "W0101 00:00:00.000000 1234 worker.py:12] ",
        "[00:00:00] WARNING  ",
        "[WARNING] ",
        "WARNING: ",
        "WARNING:vllm.worker:",
        "[rank0]: ",
    ],
)
def test_a_message_opens_behind_what_a_logger_of_python_puts_there(prefix: str, read: Read) -> None:
    line = (
        prefix
        + "Using default MoE config. Performance might be sub-optimal! Config file not found at /c.json"
    )
    (report,) = read(line).reports
    assert (report.compiler, report.op) == ("vLLM", "fused_moe")


def test_the_workers_of_vllm_are_told_apart(read: Read) -> None:
    said = "WARNING 01-01 00:00:00 [all_reduce.py:1] Custom allreduce is disabled because of x"
    processes = read(
        f"(VllmWorker rank=1 pid=12) {said}",
        f"(EngineCore_DP0 pid=9) {said}",
        f"(APIServer pid=1) {said}",
        said,
    ).processes
    assert [(process.rank, process.pid) for process in processes] == [
        (1, 12),
        (None, 9),
        (None, None),
        (None, None),
    ]


def test_the_ranks_of_sglang_are_in_its_tag(read: Read) -> None:
    said = "Custom: Cuda graph is disabled because of x".removeprefix("Custom: ")
    lines = [SGLANG.format(tag) + said for tag in ("", " TP0", " DP1 TP3 EP3")]
    assert [process.rank for process in read(*lines).processes] == [0, 0, 3]


def test_two_reports_of_one_shape_are_one_site_and_two_shapes_are_two(read: Read) -> None:
    said = "WARNING 01-01 00:00:50 [fused_moe.py:668] Using default MoE config. Performance might be sub-optimal! Config file not found at /v/"
    reports = read(said + "E=1,N=2.json", said + "E=1,N=2.json", said + "E=1,N=4.json").reports
    assert [report.site for report in reports] == ["E=1,N=2", "E=1,N=2", "E=1,N=4"]


def test_llama_cpp_takes_the_reason_from_the_line_before(read: Read) -> None:
    reports = read(
        "sched_reserve: layer 0 is assigned to device CUDA0 but the Flash Attention tensor is assigned to device CPU (usually due to missing support)",
        "sched_reserve: Flash Attention was auto, set to disabled",
    ).reports
    (report,) = reports
    assert (report.op, report.position) == ("flash_attn", 2)
    assert report.reason == (
        "layer 0 is assigned to device CUDA0 but the Flash Attention tensor is assigned to device CPU"
    )


@pytest.mark.parametrize(
    ("lines", "states"),
    [
        ((COMPILED, CAPTURED), ("proven", "proven", "proven")),
        ((COMPILED, STARTED), ("proven", "unproven", "proven")),
        ((STARTED,), ("unproven", "unproven", "proven")),
        ((CAPTURED,), ("unproven", "proven", "proven")),
        ((COMPILED,), ("unproven", "unproven", "unproven")),
    ],
)
def test_what_a_log_of_vllm_proves(lines: tuple[str, ...], states: tuple[str, ...], read: Read) -> None:
    (proof,) = proof_of(read, "vLLM", *lines).values()
    kinds = (Kind.EAGER_FRAME, Kind.CUDAGRAPH_SKIP, Kind.UNTUNED_CONFIG)
    assert tuple(proof[kind].state.value for kind in kinds) == states
    assert proof[Kind.SLOWER_KERNEL].state is proof[Kind.OP_FALLBACK].state is State.UNOBSERVABLE


ENGINE = (
    "INFO 01-01 00:00:00 [core.py:71] Initializing a V1 LLM engine (v0.10.0) with config: model='/app/gate'"
)


@pytest.mark.parametrize(
    ("lines", "states"),
    [
        ((ENGINE, COMPILED, CAPTURED, STARTED), {State.PROVEN}),
        ((ENGINE, COMPILED, CAPTURED, ENGINE, COMPILED, CAPTURED), {State.PROVEN}),
        ((ENGINE, COMPILED, CAPTURED, STARTED, ENGINE), {State.UNPROVEN}),
        ((ENGINE, COMPILED, CAPTURED, STARTED, ENGINE, COMPILED), {State.UNPROVEN}),
    ],
)
def test_an_engine_that_starts_behind_another_has_to_end_its_warm_up(
    lines: tuple[str, ...], states: set[State], read: Read
) -> None:
    (proof,) = proof_of(read, "vLLM", *lines).values()
    kinds = (Kind.EAGER_FRAME, Kind.CUDAGRAPH_SKIP, Kind.UNTUNED_CONFIG)
    assert {proof[kind].state for kind in kinds} == states


def test_one_engine_of_vllm_proves_nothing_for_another(read: Read) -> None:
    lines = (f"(EngineCore_DP0 pid=8) {COMPILED}", f"(EngineCore_DP1 pid=9) {COMPILED}")
    proof = proof_of(read, "vLLM", *lines, f"(EngineCore_DP0 pid=8) {CAPTURED}")
    states = {process.pid: said[Kind.CUDAGRAPH_SKIP].state for process, said in proof.items()}
    assert states == {8: State.PROVEN, 9: State.UNPROVEN}


@pytest.mark.parametrize(
    ("loaded", "captured", "state"),
    [
        (("",), ("",), State.PROVEN),
        ((" DP0 TP0", " DP1 TP0"), (" DP0 TP0", " DP1 TP0"), State.PROVEN),
        ((" DP0 TP0", " DP1 TP0"), (" DP0 TP0",), State.UNPROVEN),
        ((" TP0",), (), State.UNPROVEN),
    ],
)
def test_what_a_log_of_sglang_proves(
    loaded: tuple[str, ...], captured: tuple[str, ...], state: State, read: Read
) -> None:
    lines = [SGLANG.format(tag) + "Load weight end. elapsed=18.1 s, type=G" for tag in loaded]
    lines += [SGLANG.format(tag) + "Capture cuda graph end. Time elapsed: 2.00 s" for tag in captured]
    (proof,) = proof_of(read, "SGLang", *lines).values()
    assert proof[Kind.CUDAGRAPH_SKIP].state is proof[Kind.UNTUNED_CONFIG].state is state


def test_a_server_of_sglang_that_starts_behind_another_has_to_capture_its_graphs(read: Read) -> None:
    start = SGLANG.format("") + "server_args=ServerArgs(model_path='/app/gate', disable_cuda_graph=False)"
    load = SGLANG.format(" TP0") + "Load weight end. elapsed=18.1 s, type=G"
    capture = SGLANG.format(" TP0") + "Capture cuda graph end. Time elapsed: 2.00 s"
    for lines, state in (
        ((start, load, capture), State.PROVEN),
        ((start, load, capture, start, load, capture), State.PROVEN),
        ((start, load, capture, start), State.UNPROVEN),
        ((start, load, capture, start, load), State.UNPROVEN),
    ):
        (proof,) = proof_of(read, "SGLang", *lines).values()
        assert proof[Kind.CUDAGRAPH_SKIP].state is state, lines


@pytest.mark.parametrize(
    ("captured", "state"),
    [
        ("target decode", State.PROVEN),
        ("target verify", State.PROVEN),
        ("target prefill", State.UNPROVEN),
        ("draft decode", State.UNPROVEN),
    ],
)
def test_only_the_decode_graphs_of_the_target_prove_for_sglang(
    captured: str, state: State, read: Read
) -> None:
    lines = (
        SGLANG.format("") + "Load weight end. elapsed=18.1 s, type=G",
        SGLANG.format("") + f"Capture {captured} CUDA graph end. elapsed=2.00 s, mem usage=1.00 GB, avail",
    )
    (proof,) = proof_of(read, "SGLang", *lines).values()
    assert proof[Kind.CUDAGRAPH_SKIP].state is state


def test_turbomind_itself_shows_that_lmdeploy_did_not_fall_back(read: Read) -> None:
    (proof,) = proof_of(read, "LMDeploy", "[TM][INFO] [BlockManager] block_size = 6 MB").values()
    assert proof[Kind.DEVICE_FALLBACK].state is State.PROVEN


@pytest.mark.parametrize("name", ["TGI", "DeepSpeed", "transformers", "llama.cpp"])
def test_a_stack_without_a_positive_line_proves_nothing(name: str, read: Read) -> None:
    line = "load_tensors: offloaded 33/33 layers to GPU"
    evidence = next(iter(read(line).evidence.processes.values()))["llama.cpp"]
    proof = READERS[name].prove(evidence)
    assert READERS[name].required <= proof.keys()
    assert State.PROVEN not in {said.state for said in proof.values()}
