"""Room 3: PyTorch's record prefix, in each of its forms."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fallback_gate import check
from fallback_gate.compilers.torch import proof as torch_proof
from fallback_gate.compilers.torch.log import parse
from fallback_gate.compilers.torch.user_stack import frames, is_library, user_stack
from fallback_gate.model import Kind, Location, Outcome, State

Read = Callable[..., Any]

OPENING = "V1130 00:29:06.251000 4674 torch/_dynamo/symbolic_convert.py:5124] "


@pytest.mark.parametrize(
    ("line", "level", "pid", "compile_id", "artifact", "message"),
    [
        (OPENING + "[0/0] [__graph_breaks] Graph break", "V", 4674, "0/0", "graph_breaks", "Graph break"),
        (OPENING + "[1/0_1] [__output_code]     x", "V", 4674, "1/0_1", "output_code", "    x"),
        (OPENING + "text", "V", 4674, "", None, "text"),
        (OPENING + "[__graph_breaks] text", "V", 4674, "", "graph_breaks", "text"),
        (OPENING + "[!0/2/0] text", "V", 4674, "!0/2/0", None, "text"),
        ("30%|###  | 3/9" + OPENING + "[0/0] text", "V", 4674, "0/0", None, "text"),
        (
            "W0812 15:05:52.194000 1848694 torch/_dynamo/x.py:556] [4/0] torch._dynamo hit",
            "W", 1848694, "4/0", None, "torch._dynamo hit",
        ),
        (
            "V1130 01:17:55.025000 139853580790656 torch/_dynamo/logging.py:56] [0/0] Step 1",
            "V", 139853580790656, "0/0", None, "Step 1",
        ),
        (
            r"I1130 00:29:06.251000 4674 C:\venv\Lib\site-packages\torch\_inductor\graph.py:9] [0/0] text",
            "I", 4674, "0/0", None, "text",
        ),
        (
            "[2026-11-30 01:18:36,471] [4/0] torch._dynamo.symbolic_convert.__graph_breaks: [DEBUG] Graph break: x",
            "V", None, "4/0", "graph_breaks", "Graph break: x",
        ),
        (
            "[2023-10-04 16:27:06,745] torch._inductor.graph: [INFO] Using FallbackKernel: aten.cumsum",
            "I", None, "", None, "Using FallbackKernel: aten.cumsum",
        ),
        (
            "[2023-03-31 05:57:27,551] torch._dynamo.symbolic_convert: [WARNING] Graph break",
            "W", None, "", None, "Graph break",
        ),
    ],
)  # fmt: skip
def test_an_opening(
    line: str, level: str, pid: int | None, compile_id: str, artifact: str | None, message: str
) -> None:
    log = parse(line)
    assert log
    assert (log.level, log.pid, log.compile_id, log.artifact) == (level, pid, compile_id, artifact)
    assert log.message == message
    assert log.frame == compile_id.split("_")[0]
    assert log.prefix in line
    assert (log.prefix + " " + message in line) or not message


@pytest.mark.parametrize(
    "line",
    [
        "",
        "/opt/torch/_inductor/lowering.py:2633: UserWarning: text",
        "torch._dynamo.exc.Unsupported: text",
        "W1130 00:29:06.251000 4674 vllm/engine.py:12] text",
        "INFO 11-30 00:29:06 torch/_dynamo/x.py:1] text",
        "[2026-11-30 01:18:36,471] [INFO] torch.text",
        "V1130 00:29:06.251000 4674 torch/_dynamo/x.py] text",
    ],
)
def test_no_opening(line: str) -> None:
    assert parse(line) is None


@pytest.mark.parametrize(
    ("path", "library"),
    [
        ("/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", True),
        (r"C:\venv\Lib\site-packages\torch\nn\modules\module.py", True),
        ("/usr/lib/python3/dist-packages/torch/_dynamo/eval_frame.py", True),
        ("/usr/lib/python3.11/contextlib.py", True),
        ("<frozen runpy>", True),
        ("<eval_with_key>.3", True),
        ("/opt/venv/lib/python3.11/site-packages/transformers/models/llama/modeling_llama.py", False),
        ("/app/torch/model.py", False),
        ("/app/model/decoder.py", False),
        ("model.py", False),
    ],
)
def test_whose_code_a_frame_is(path: str, library: bool) -> None:
    assert is_library(path) is library


def test_the_users_frames_innermost_first() -> None:
    lines = [
        '  File "/app/main.py", line 79, in <module>',
        "    step(prompt())",
        '  File "/opt/v/lib/python3.11/site-packages/torch/_dynamo/eval_frame.py", line 5, in __call__',
        '  File "/app/decoder.py", line 150, in torch_dynamo_resume_in_forward_at_149',
        '  File "/app/breaks.py", line 37, in gate_attn',
        "    ^^^^^^",
        "not a frame",
    ]
    stack = user_stack(lines)
    assert stack.functions == ("gate_attn", "forward")
    assert stack.files == ("/app/breaks.py", "/app/decoder.py", "/app/main.py")
    assert stack.innermost == Location("/app/breaks.py", 37, "gate_attn")
    assert [frame.line for frame in frames(lines)] == [79, 150, 37]
    assert user_stack(["nothing"]).functions == ()


FORMATS = (
    logging.BASIC_FORMAT,
    "%(levelname)s: %(message)s",
    "%(asctime)s - %(name)s - %(levelname)s - %(message)s",
    "[%(asctime)s][%(name)s][%(levelname)s] - %(message)s",
    "%(asctime)s | %(levelname)-8s | %(name)s:%(lineno)d - %(message)s",
    "%(asctime)s %(process)d [%(threadName)s] %(levelname)s %(name)s: %(message)s",
    "%(levelname)-8s %(name)s:%(filename)s:%(lineno)d %(message)s",
    "%(asctime)s.%(msecs)03d %(levelname)s [%(name)s] %(message)s",
    "%(asctime)s - %(levelname)s - %(name)s -   %(message)s",
    "%(levelname)s:     %(message)s",
    "%(asctime)s - trainer - %(levelname)s - %(message)s",
    "[%(asctime)s: %(levelname)s/MainProcess] %(message)s",
)
BREAK = (
    "Graph break in user code at /app/seg/net.py:34\nGraph Break Reason: Data-dependent branching\n"
    "  Explanation: Detected data-dependent branching.\n\nUser code traceback:\n"
    '  File "/app/seg/main.py", line 9, in <module>\n    print(f(x))\n'
    '  File "/app/seg/net.py", line 34, in route\n    if y.sum() < 0:\n'
)
LIMIT = (
    "torch._dynamo hit config.recompile_limit (3)\n   function: 'forward' (/app/seg/net.py:19)\n"
    "   last reason: 0/2: self.schedule == 'sigmoid'"
)
CODE = "Output code: \n# AOT ID: ['0_inference']\ndef call(args):\n        buf0 = torch.ops.aten.topk.default(arg0_1, 2)\n"
WRITTEN = (
    ("torch._dynamo.symbolic_convert", "INFO", "Step 1: torchdynamo start tracing route /app/seg/net.py:30"),
    ("torch._dynamo.symbolic_convert.__graph_breaks", "DEBUG", BREAK),
    ("torch._inductor.codecache.__output_code", "DEBUG", CODE),
    ("torch._inductor.codecache.__output_code", "DEBUG", "Output code written to: /tmp/c.py"),
    ("torch._dynamo.convert_frame", "WARNING", LIMIT),
    ("app", "INFO", "        buf1 = torch.ops.aten.sort.default(arg0_1)"),
)


@pytest.mark.parametrize("form", FORMATS)
def test_records_in_a_format_of_the_programs_own_report_and_prove_nothing(read: Read, form: str) -> None:
    formatter = logging.Formatter(form)
    text = "\n".join(
        formatter.format(logging.LogRecord(name, getattr(logging, level), "/t/symbolic_convert.py", 5368, said, (), None))
        for name, level, said in WRITTEN
    )  # fmt: skip
    lines = text.split("\n")
    said = read(*lines)
    found = [(r.id, r.op, r.stack, r.position) for r in said.reports]
    at = {part: 1 + next(i for i, line in enumerate(lines) if part in line) for part in ("Graph break in", "topk", "hit config")}  # fmt: skip
    expected = [
        ("torch/graph-break", "route", ("route",), at["Graph break in"]),
        ("torch/fallback-kernel", "aten::topk", (), at["topk"]),
        ("torch/recompile-limit", "forward", ("forward",), at["hit config"]),
    ]
    assert found == expected
    (by,) = said.evidence.processes.values()
    proof = torch_proof.prove(by["torch.compile"])
    assert {state.state for state in proof.values()} == {State.UNPROVEN}
    assert "format of the program's own" in proof[Kind.GRAPH_BREAK].why


NAMES = "torch._dynamo.symbolic_convert.__graph_breaks"


@pytest.mark.parametrize(
    "before",
    [
        "D1130 12:00:00.123456 140 symbolic_convert.py:5124] ",  # glog, absl
        f"node-7 DEBUG {NAMES} ",
        f"2026-11-30 12:00:00,123 [Thread-1] DEBUG {NAMES} - ",
        f"12:00:00 SpawnProcess-1 DEBUG {NAMES}: ",
        f"{NAMES}: ",
        f"D {NAMES} ",
        "[DEBUG|symbolic_convert.py:5124] 2026-11-30 12:00:00,123 >> ",
    ],
)
def test_in_whatever_format_a_break_is_reported_where_its_logger_or_file_is_named(
    read: Read, before: str
) -> None:
    (report,) = read(f"{before}Graph break in user code at /app/net.py:34").reports
    assert (report.id, report.location) == ("torch/graph-break", Location("/app/net.py", 34))
    assert not read(f"{before}see: Graph break in user code at /app/net.py:34 means").reports


@pytest.mark.parametrize(
    "line",
    [
        "INFO:torch._dynamo.symbolic_convert:Step 1: torchdynamo start tracing forward /app/other.py:10",
        "DEBUG:torch._inductor.codecache.__output_code:Output code: ",
    ],
)
def test_a_process_whose_records_have_another_format_does_not_pass_by_the_proof_of_another(
    tmp_path: Path, line: str
) -> None:
    """The parent formats its records, its child does not: nothing shows what the parent's compiler did."""
    child = (Path(__file__).parents[2] / "sample_logs/torch/clean.2.14.1.log").read_text(encoding="utf-8")
    log = tmp_path / "run.log"
    log.write_text(child, encoding="utf-8")
    assert check([str(log)], policy="builtin:strict").outcome is Outcome.PASS
    log.write_text(f"{line}\n{child}", encoding="utf-8")
    assert check([str(log)], policy="builtin:strict").outcome is Outcome.UNPROVEN


@pytest.mark.parametrize(
    "opening",
    [
        "2026-12-01 00:21:19.216 | DEBUG    | torch._{0}:{1}:5368 - ",  # loguru: the module and its function
        "I1201 00:21:44.034895 140113939774336 {2}.py:5368] ",  # absl
        "2026-12-01T00:21:19Z [debug    ] ",  # structlog
        "\x1b[1m",  # structlog without a processor for the level
        " 45868 MainThread ",
    ],
)
def test_records_that_another_logging_library_prints(read: Read, opening: str) -> None:
    written = (
        ("dynamo.symbolic_convert", "step", "TRACE POP_TOP"),
        ("dynamo.symbolic_convert", "log_graph_break", BREAK),
        ("inductor.graph", "_compile_to_module_lines", CODE + 'if __name__ == "__main__":\n    main()\n'),
        ("inductor.graph", "run_node", "run_node y = sort(x)\n        y = torch.ops.aten.sort.default(x)"),
    )
    lines = "\n".join(
        opening.format(module, function, module.rpartition(".")[2]) + said
        for module, function, said in written
    ).split("\n")
    said = read(*lines)
    at = {
        part: 1 + next(i for i, line in enumerate(lines) if part in line)
        for part in ("Graph break in", "topk")
    }
    assert [(r.id, r.op, r.position) for r in said.reports] == [
        ("torch/graph-break", "route", at["Graph break in"]),
        ("torch/fallback-kernel", "aten::topk", at["topk"]),
    ]
    for by in said.evidence.processes.values():
        assert State.PROVEN not in {state.state for state in torch_proof.prove(by["torch.compile"]).values()}


def test_records_in_the_columns_of_rich(read: Read) -> None:
    """A wide console: the message in a column of its own, the file of the record at the end of its first line."""
    messages = (
        ("symbolic_convert.py:5368", BREAK),
        ("graph.py:3114", CODE),
        ("graph.py:3004", "Finished codegen"),
    )
    lines = [
        f"{'[12/01/26 00:21:27] DEBUG    ' if not at else ' ' * 29}{said:<90}{file if not at else ''}"
        for file, message in messages
        for at, said in enumerate(message.split("\n"))
    ]
    found = [(r.id, r.op, r.location and r.location.line, r.reason) for r in read(*lines).reports]
    assert found == [
        ("torch/graph-break", "route", 34, "Data-dependent branching"),
        (
            "torch/fallback-kernel",
            "aten::topk",
            None,
            "the generated wrapper calls it: no kernel was generated",
        ),
    ]
