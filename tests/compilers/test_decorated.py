"""Room 3: what a viewer or a collector puts before or behind each line hides no fallback where the proof is kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fallback_gate.compilers import READERS, ending
from fallback_gate.compilers.rule import Rule
from fallback_gate.model import State

SAMPLES = Path(__file__).parent.parent.parent / "sample_logs"
Read = Callable[..., Any]

# HTML, a collector's own tail, Python's bytes, `cat -A`, a C string; and a quotation, a table, a diff.
BEHIND = ["<br/>", " (stdout)", "\\n'", "$", "\0"]
BEFORE = ["    ", "| ", "+"]


def sample(name: str) -> list[str]:
    """The lines of a sample log."""
    return (SAMPLES / name).read_text(encoding="utf-8").splitlines()


def proven(said: Any, compiler: str) -> set[State]:
    """What the log proves about a compiler, in its one process."""
    (by,) = said.evidence.processes.values()
    return {proof.state for proof in READERS[compiler].prove(by[compiler]).values()}


NO_RECORD = [
    "DEBUG:autotvm:Cannot find tuning records for:",
    "    target=llvm -keys=cpu",
    "    key=('batch_matmul.x86', ('TENSOR', (4, 16, 16), 'float32'), ('TENSOR', (4, 16, 16), 'float32'))",
    "TVM will apply a default schedule which may negatively impact performance.",
]


@pytest.mark.parametrize(
    ("before", "behind"), [("", ""), *(("", text) for text in BEHIND), *((text, "") for text in BEFORE)]
)
def test_an_operator_without_a_record(before: str, behind: str, read: Read) -> None:
    clean = sample("tvm/relay-tuned.0.16.log")
    at = next(number for number, line in enumerate(clean) if "te_compiler" in line)
    lines = [f"{before}{line}{behind}" for line in (*clean[:at], *NO_RECORD, *clean[at:])]
    assert read(*lines).told == [("untuned_config", "batch_matmul", "operator")]


@pytest.mark.parametrize(
    ("before", "behind"), [("| ", ""), ("+", ""), ("", "<br/>"), ("", " (stdout)"), ("", "$")]
)
def test_a_build_that_is_cut_in_a_record_or_a_torn_line(before: str, behind: str, read: Read) -> None:
    clean = sample("tvm/relay-tuned.0.16.log")
    end = max(at for at, line in enumerate(clean) if "te_compiler" in line)
    for tail in (*([NO_RECORD[: n + 1] for n in range(4)]), ["DEBU"], [""]):
        lines = [f"{before}{line}{behind}" for line in (*clean[: end + 1], *tail)]
        assert proven(read(*lines), "tvm.relay") == {State.UNPROVEN}, tail


@pytest.mark.parametrize("before", ["    ", "| ", "+", "log: "])
def test_a_summary_without_its_table(before: str, read: Read) -> None:
    lines = [before + line for line in sample("executorch/two-models-one-table.1.5.log")]
    assert proven(read(*lines), "executorch") == {State.UNPROVEN}


@pytest.mark.parametrize(
    ("before", "behind"), [("", ""), ("| ", ""), ("+", ""), ("    ", ""), ("", "<br/>"), ("", " (stdout)")]
)
@pytest.mark.parametrize(
    "end",
    [
        ["Traceback (most recent call last):", '  File "/app/serve.py", line 40, in <module>', "KeyError: 3"],
        ["Segmentation fault (core dumped)"],
        ["##[error]Process completed with exit code 137.", "Post job cleanup."],
        ["*** SIGSEGV received", "    @     0x7f3a2c2a1520  (unknown)", "    @     0x7f3a2c2a1521  main"],
    ],
)
def test_a_run_that_failed(before: str, behind: str, end: list[str], read: Read) -> None:
    lines = [f"{before}{line}{behind}" for line in ("loading", "", "serving", *end)]
    assert (ending.failed(reversed(lines)) or "").startswith("the run failed")
    fine = [f"{before}{line}{behind}" for line in ("loading", "", "serving", "done")]
    assert ending.failed(reversed(fine)) is None


EITHER = (
    *("litert-converter/not-converted", "litert-converter/flex", "litert-converter/custom"),
    *("neuron/unsupported-operations", "neuron/check-model", "tflite/opengl", "migraphx/host-time"),
    *("torch-tunableop/results-rejected", "torchair-inductor/summary"),
)
HIDDEN_BY = {
    **dict.fromkeys(EITHER, [*BEFORE[:2], *BEHIND]),
    **dict.fromkeys(("torch/compile-error", "torch/cudagraph-skip", "onnxruntime/retry"), BEFORE[:2]),
    **dict.fromkeys(
        ("cann/kernel-not-compiled", "openvino/not-converted", "coreml/conversion-failed"), BEFORE[:2]
    ),
    **dict.fromkeys(("torchair/no-converter", "migraphx/kernel-failed"), BEFORE[:2]),
    **dict.fromkeys(("tensorrt/parser-refused", "tensorrt/unsupported-node", "vela/on-cpu"), BEHIND),
    **dict.fromkeys(("vela/operators-on-cpu", "llama-cpp/fused-operator-disabled"), BEHIND),
    **dict.fromkeys(("executorch-mlx/not-delegated", "executorch-mlx/nothing-partitioned"), BEHIND),
    **dict.fromkeys(("openvino/reference-kernel", "torch-npu-inductor/unnamed-fx-graph"), BEHIND),
}
RULES = [rule for reader in READERS.values() for rule in reader.rules if rule.id in HIDDEN_BY]


def test_each_rule_is_found_that_is_named_here() -> None:
    assert {rule.id for rule in RULES} == HIDDEN_BY.keys()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_an_addition_to_each_line_hides_no_event(rule: Rule, read: Read) -> None:
    for text in rule.matches:
        lines = text.split("\n")
        if "fallback_gate_closing" in text:  # a record of our own
            continue
        plain = {report.id for report in read(*lines).reports}
        assert rule.id in plain
        for added in HIDDEN_BY[rule.id]:
            where = "{1}{0}" if added in BEFORE else "{0}{1}"
            told = read(*(where.format(line, added) for line in lines)).reports
            assert {report.id for report in told} == plain, (text, added)
