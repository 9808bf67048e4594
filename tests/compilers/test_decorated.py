"""Room 3: what a viewer or a collector puts before or behind each line hides no fallback where the proof is kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fallback_gate.compilers import READERS, ending
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
