"""Lines that smell of a fallback and that no rule knows: notes, and unproven under the strict mode."""

from __future__ import annotations

from pathlib import Path

import pytest

from fallback_gate import check
from fallback_gate.model import Outcome

SAMPLES = Path(__file__).parents[2] / "sample_logs"
CLEAN = Path(__file__).parents[1] / "data" / "clean.2.9.1.log"
NEAR = (
    "mylib: gate_attn is not supported on the NPU accelerator",
    "[WARN] layer 3 fell back to the host",
    "Falling back: no kernel for this shape",
    "kernel: using a naive implementation for group norm",
    "op runs on the CPU instead",
    "this step executes in eager mode",
    # as today's stacks say it, of what no rule has heard of
    "mylib.gate_mix fellback to eager due to being a leaf view node",
    "mylib: the gates FALLBACK to HOST execution",
    "mylib: gates are off, using eager mode by default",
    "mylib: paged logits is unavailable; using the PyTorch fallback. Set MYLIB=1",
    "No choices for GATE, using ATen backend as fallback",
    "mylib: gate_mix is not currently implemented for the Gate device",
    "mylib: aten::gate_mix.out is not yet supported on GateX HPU.",
    "ERROR: Following gates are not supported by GATE delegate:",
    "CUDA gate interp type:4 not support, back to CPU",
    "Gate config is old. Speed may be sub-optimal",
    "The split-K setting may be suboptimal. Expect suboptimal performance",
    "mylib: no tuned gate config for (256, 64, 7168)",
    "mylib: using default gate tactic",
    "mylib: gate kernel not used, no idea",
    "Unknown plan, disabling torch.compile. This is the same as mode=none",
    "mylib: no gates, disabling CUDA graphs",
    "HIP Graphs are disabled (GRAPHS=None).",
    "GATE is set, setting cudagraph mode to NONE",
)
FAR = (
    "it falls backwards",
    "supported on the fast path",
    "the slow path was removed in 2.1",
    "eager mode is off",
    "# falling back to the old name is fine",
    "config: rope_scaling missing, using fallback value 1.0",
    "Using default logging config",
    "UTF-7 is not supported by this reader",
    "Python 3.9 is supported on the cluster",
    "users in eager anticipation",
    "tuned 3 kernels, no tuned radio",
    "performance may vary",
)


def judged(tmp_path: Path, lines: tuple[str, ...], *, strict: bool) -> tuple[Outcome | None, list[str]]:
    log = tmp_path / "compile.log"
    log.write_bytes(CLEAN.read_bytes() + "".join(f"{line}\n" for line in lines).encode())
    verdict = check([log], "builtin:strict", strict=strict)
    told = verdict.reasons if strict else verdict.notes
    return verdict.outcome, [one for one in told if "smell" in one]


@pytest.mark.parametrize("line", NEAR)
def test_a_near_miss_is_noted(tmp_path: Path, line: str) -> None:
    outcome, told = judged(tmp_path, (line,), strict=False)
    assert outcome is Outcome.PASS
    assert len(told) == 1
    assert line in told[0]
    assert f"compile.log:{len(CLEAN.read_text().splitlines()) + 1}" in told[0]


@pytest.mark.parametrize("line", NEAR)
def test_strict_makes_it_unproven(tmp_path: Path, line: str) -> None:
    outcome, told = judged(tmp_path, (line,), strict=True)
    assert outcome is Outcome.UNPROVEN
    assert len(told) == 1


@pytest.mark.parametrize("line", FAR)
def test_what_does_not_smell(tmp_path: Path, line: str) -> None:
    assert judged(tmp_path, (line,), strict=True) == (Outcome.PASS, [])


def test_one_note_a_wording(tmp_path: Path) -> None:
    lines = tuple(f"mylib: op 'x{n}' at 0x{n:x} falls back to cpu" for n in range(7))
    _, told = judged(tmp_path, (*lines, "mylib: kernel falls back to cpu"), strict=False)
    assert [one.split(" of ")[0] for one in told] == ["7 lines smell", "1 line smells"]


def test_the_middle_of_a_long_line_that_quotes_others_is_none(tmp_path: Path) -> None:
    """A structured trace has the text of an exception in one line, further in than the scan looks back."""
    quoted = "x" * 20_000 + r" skipped\n  falling back to eager\n" + "x" * 20_000
    assert judged(tmp_path, (f'V {{"fail": "{quoted}"}}',), strict=True) == (Outcome.PASS, [])
    for plain in (f"{'x' * 20_000} skipped  falling back to eager", r"skipped\n  falling back to eager"):
        assert judged(tmp_path, (plain,), strict=True)[0] is Outcome.UNPROVEN


def test_a_known_fallback_is_no_near_miss() -> None:
    logs = sorted((SAMPLES / "torch").glob("*.log"))
    assert logs
    for log in logs:
        verdict = check([log], "builtin:strict")
        assert [note for note in verdict.notes if "smell" in note] == [], log.name


DRIFTED = "generic: fallback to eager: op= gate_attn"


def test_a_line_with_the_anchor_of_a_shipped_rule_in_other_words(tmp_path: Path) -> None:
    """The wording of a new version: its anchor still stands, and the pattern no longer matches."""
    log = tmp_path / "compile.log"
    log.write_bytes(CLEAN.read_bytes() + f"{DRIFTED}\n+ echo {DRIFTED}\n# {DRIFTED}\n".encode())
    at = len(CLEAN.read_text().splitlines()) + 1
    verdict = check([log], "builtin:strict")
    assert verdict.outcome is Outcome.PASS
    (note,) = (note for note in verdict.notes if "anchor" in note)
    assert note.startswith(
        "1 line has the anchor of generic/fallback-to-eager, but its pattern does not match"
    )
    assert f"compile.log:{at}: {DRIFTED}" in note
    assert check([log], "builtin:strict", strict=True).outcome is Outcome.UNPROVEN


@pytest.mark.parametrize(
    "line",
    [
        "epoch 3: Graph break statistics: 0",
        "Failed to create /var/cache/serve: file exists",
        "Current batch size 64",
        "[2026-01-01 00:00:00 TP0] Prefill batch, #new-seq: 1, #new-token: 512, #cached-token: 0, cuda graph: False",
        "Cannot load library libfoo.so",
        "telemetry: metrics, set to disabled",
        "the query is not optimized",
        "Custom ops: gate_attn, moe_dispatch",
        "lost [node7] and retrying.",
        "worker 3: claimed 8 jobs",
        "form: Failed validator: email",
        "[I] ===== Summary =====",
        "today the plan runs late",
    ],
)
def test_an_anchor_that_other_lines_share_is_none(tmp_path: Path, line: str) -> None:
    log = tmp_path / "compile.log"
    log.write_bytes(CLEAN.read_bytes() + f"{line}\n".encode())
    verdict = check([log], "builtin:strict", strict=True)
    assert verdict.outcome is Outcome.PASS


@pytest.mark.parametrize(
    "said",
    [
        "[__graph_breaks] Graph break found in user code at /app/net.py:3",
        "Graph break from `Tensor.tolist()`, consider setting:",
    ],
)
def test_but_a_record_of_pytorchs_that_opens_with_one_is_known_to_no_rule(tmp_path: Path, said: str) -> None:
    log = tmp_path / "compile.log"
    record = f"V1130 02:30:57.000000 5684 torch/_dynamo/symbolic_convert.py:5124] [0/0] {said}\n"
    log.write_bytes(CLEAN.read_bytes() + record.encode())
    notes = check([log], "builtin:strict").notes
    assert any(note.startswith("1 line has the anchor of torch/graph-break") for note in notes)
    assert check([log], "builtin:strict", strict=True).outcome is Outcome.UNPROVEN
