"""What a compile costs: the part of a trace that runs around its compiled graphs, or in them; on the real command.

Expected figures were counted from the trace's JSON by a program of its own: kernels of at::native whose launch
lies in a `Torch-Compiled Region: 1/0` and in no region or compiled graph inside of it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.instruments.command import LOGS, TRACES, run

DISABLED = TRACES / "moe-decoder.disabled.json.gz"
CUSTOM = TRACES / "moe-decoder.custom-op.json.gz"
TRACED_PROCESS = 712
BREAK = """\
V1130 00:40:28.873000 {pid} torch/_dynamo/symbolic_convert.py:5127] [{compile}] [__graph_breaks] Graph break in \
user code at /app/model/moe_decoder.py:97
V1130 00:40:28.873000 {pid} torch/_dynamo/symbolic_convert.py:5127] [{compile}] [__graph_breaks] Graph Break \
Reason: Call to a logging method
"""


def events(folder: Path, log: str, trace: Path, *more: str) -> dict[str, dict[str, Any]]:
    done = run(folder, "check", log, "--trace", str(trace), "-f", "json", *more)
    found = json.loads(done.stdout)["events"]
    return {event["op"]: event for event in found if event["compiler"] != "trace"}


def test_a_break_costs_what_runs_around_the_graphs_of_its_compile(tmp_path: Path) -> None:
    """1168 of 1526 kernels: 73 a layer in 16 layers. The host spends 32.9 of 39.1 ms there: 84%."""
    event = events(tmp_path, str(LOGS / "disabled.debug.log.gz"), DISABLED)["gate_attn_disable"]
    assert event["compile_ids"] == ["0/0", "1/0"]
    assert event["cost"]["kernels_per_step"] == 1168
    assert event["cost"]["microseconds_per_step"] == pytest.approx(4280.77, abs=0.01)
    assert event["cost"]["host_microseconds_per_step"] == pytest.approx(32912.5, abs=0.1)
    assert event["cost"]["share_of_step"] == pytest.approx(0.8408, abs=1e-4)


def test_an_operator_that_a_cuda_graph_hides_costs_at_most_what_is_eager_in_it(tmp_path: Path) -> None:
    """Of 1509 kernels in a step 1218 are named at::native and 114 are Triton's; the graph holds them all."""
    event = events(tmp_path, str(LOGS / "custom-op.debug.log.gz"), CUSTOM)["moe::gate_attn"]
    assert 1218 <= event["cost"]["kernels_per_step"] <= 1509 - 114
    assert event["cost"]["share_of_step"] >= 1218 / 1509
    assert "at most" in event["cost"]["by"]


def decided(folder: Path, compile: str, process: int, policy: str) -> str:
    """What becomes of one break of a compile, by the trace of process 712."""
    (folder / "c.log").write_text(BREAK.format(pid=process, compile=compile), "utf-8")
    limits = "instruments: {trace: {eager_kernel_share: '<=99%'}}"
    (folder / "p.yaml").write_text(f"version: 1\n{limits}\n{policy}\n", "utf-8")
    (event,) = events(folder, "c.log", DISABLED, "-p", "p.yaml").values()
    return str(event["decision"])


@pytest.mark.parametrize(
    ("compile", "process", "decision"),
    [
        ("2/0", TRACED_PROCESS, "warned"),  # around its graph no eager kernel runs, and the host spends 9%
        ("1/0", TRACED_PROCESS, "blocked"),
        ("2/0", 4711, "blocked"),  # another process may number its compiles in another way
        ("9/0", TRACED_PROCESS, "blocked"),  # no such compile ran
    ],
)
def test_what_a_compile_costs_excuses_a_break_of_the_same_process_only(
    tmp_path: Path, compile: str, process: int, decision: str
) -> None:
    assert decided(tmp_path, compile, process, "unlisted: {block_if_share_above: '20%'}") == decision


@pytest.mark.parametrize(
    ("process", "decision"),
    [
        (TRACED_PROCESS, "warned"),
        (4711, "blocked"),
    ],  # what is small for certain; what may be the share of another
)
def test_a_share_that_is_not_certain_takes_no_hot_entry_off(
    tmp_path: Path, process: int, decision: str
) -> None:
    policy = "unlisted: warn\nhot: [{file: '*/moe_decoder.py', share_of_step: '>20%', why: dear}]"
    assert decided(tmp_path, "2/0", process, policy) == decision
