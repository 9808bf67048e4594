"""Room 1: one JSON object a line, as collectors keep logs: the lines that were written come out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback_gate import check
from fallback_gate.model import Outcome
from fallback_gate.sources.json_lines import are_in, plain, plain_lines

SAMPLES = Path(__file__).parents[2] / "sample_logs/torch"
BREAK = (
    "V1130 00:29:06.251000 4674 torch/_dynamo/symbolic_convert.py:5124] [0/0] [__graph_breaks] "
    'Graph break in user code at /app/"net".py:64'
)
TRACEBACK = "V1130 00:29:06.251000 4674 torch/_dynamo/symbolic_convert.py:5124] [0/0] [__graph_breaks] "

# The objects, by the documentation of each.
OBJECTS: dict[str, Any] = {
    "Elasticsearch": lambda line: {"@timestamp": "2026-11-30T12:00:00Z", "message": line, "kubernetes": {"pod": {"name": "t-0"}}},
    "Fluent Bit": lambda line: {"stream": "stderr", "message": line, "kubernetes": {"pod_name": "t-0"}},
    "journald": lambda line: {"__REALTIME_TIMESTAMP": "1", "MESSAGE": line, "_PID": "42", "_HOSTNAME": "n1"},
    "Google Cloud": lambda line: {"textPayload": line + "\n", "resource": {"labels": {"pod_name": "t-0"}}},
    "Google Cloud, structured": lambda line: {"severity": "ERROR", "jsonPayload": {"message": line}},
    "CloudWatch": lambda line: {"timestamp": 1764504000000, "message": line, "ingestionTime": 1},
    "Datadog": lambda line: {"id": "x", "attributes": {"message": line, "host": "h"}},
    "structlog": lambda line: {"event": line, "level": "info"},
    "Vector": lambda line: {"file": "/var/log/x", "host": "h", "message": line, "source_type": "file"},
}  # fmt: skip


@pytest.mark.parametrize("form", OBJECTS)
def test_a_break_is_read_with_its_stack_and_its_physical_line(tmp_path: Path, form: str) -> None:
    log = tmp_path / "export.jsonl"
    written = [
        "noise",
        BREAK,
        TRACEBACK + "User code traceback:",
        TRACEBACK + '  File "/app/net.py", line 64, in route',
    ]
    log.write_text("".join(json.dumps(OBJECTS[form](line)) + "\n" for line in written), encoding="utf-8")
    (finding,) = check([str(log)], policy="builtin:strict").findings
    assert (finding.event.op, finding.event.line) == ("route", 2)
    assert finding.event.location is not None
    assert finding.event.location.file == '/app/"net".py'


def test_a_text_of_more_lines_loses_none_of_them(tmp_path: Path) -> None:
    log = tmp_path / "export.jsonl"
    log.write_text(json.dumps({"message": f"noise\nmore noise\n{BREAK}\nnoise"}) + "\n", encoding="utf-8")
    (finding,) = check([str(log)], policy="builtin:strict").findings
    assert (finding.event.kind.value, finding.event.line) == ("graph_break", 1)


def test_two_pods_are_two_processes_though_their_ids_are_one(tmp_path: Path) -> None:
    log = tmp_path / "export.jsonl"
    pods = [json.dumps({"message": BREAK, "kubernetes": {"pod_name": pod}}) for pod in ("a-0", "a-1")]
    log.write_text("\n".join(pods), encoding="utf-8")
    assert len(check([str(log)], policy="builtin:strict").processes) == 2


@pytest.mark.parametrize(
    ("logger", "opening"),
    [
        ("torch._dynamo.convert_frame", "WARNING:torch._dynamo.convert_frame:"),
        ("TensorRT", "WARNING:TensorRT:"),
        ("te_compiler", "WARNING:te_compiler:"),
        ("torchvision.io", ""),
        ("serve", ""),
    ],
)
def test_a_record_keeps_level_and_name_of_a_logger_that_tells_what_it_is(logger: str, opening: str) -> None:
    said = {"name": logger, "levelname": "WARNING", "message": "torch._dynamo hit\nmore"}
    assert b"".join(plain_lines([json.dumps(said).encode()])).decode() == (
        f"{opening}torch._dynamo hit\x1f\nmore"
    )


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("nn.dense: Only float32 tensor dtypes are supported.", ("tvm.byoc", "nn.dense")),
        (
            "Default DLA is enabled but layer gate_mix_1 is not supported on DLA, falling back to GPU.",
            ("tensorrt", "gate_mix_1"),
        ),
    ],
)
def test_what_a_logger_called_tensorrt_says_is_read_from_json_too(
    tmp_path: Path, message: str, told: tuple[str, str]
) -> None:
    log = tmp_path / "export.jsonl"
    said = {"logger": "TensorRT", "level": "info", "message": message}
    log.write_text(json.dumps(said) + "\n", encoding="utf-8")
    (finding,) = check([str(log)], policy="builtin:strict").findings
    assert (finding.event.compiler, finding.event.op) == told


@pytest.mark.parametrize(
    "line",
    [
        b'{"log": "text\\n", "stream": "stdout"}',  # Docker's own
        b'{"fallback_gate_closing": 1, "pid": 7}',
        b'{"traceEvents": [',
        b'V1130 00:29:06.251000 4674 torch/a.py:1] [0/0] {"message": "x"}',
        b"text",
        b"",
    ],
)
def test_what_is_no_such_object_stays(line: bytes) -> None:
    assert not are_in(line, within=None)
    assert plain(line)[0] == line


@given(st.lists(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r\n\x1f{"))))
def test_any_text_comes_out_as_it_went_in(texts: list[str]) -> None:
    block = "\n".join(json.dumps({"message": text}) for text in texts).encode()
    assert list(plain_lines([block])) == ["\n".join(texts).encode()]


@given(st.binary(max_size=200))
def test_no_bytes_break_it(tail: bytes) -> None:
    plain(b'{"message": "' + tail)
    plain(b'{"message": "a", "x": ' + tail + b"}")
    plain(b'words "message": "' + tail + b'"')


LIKE_THE_TEXT = {
    "blanks first": lambda line: "  " + json.dumps({"message": line}),
    "an array, one a line": lambda line: "[" + json.dumps({"message": line}) + ",",
    "a comma first": lambda line: "," + json.dumps({"message": line}),
    "two on one line": lambda line: json.dumps({"message": "a"}) + json.dumps({"message": line}),
    "a control character": lambda line: json.dumps({"message": line + " @"}).replace("@", "\t"),
    "a name twice": lambda line: json.dumps({"message": line, "m": "x"}).replace('"m"', '"message"'),
    "two texts": lambda line: json.dumps({"message": "info", "msg": line}),
    "an empty text before": lambda line: json.dumps({"message": "", "msg": line}),
    "a text within, too": lambda line: json.dumps({"message": "info", "jsonPayload": {"message": line}}),
    "another name": lambda line: json.dumps({"short_message": line}),
    "deep within": lambda line: json.dumps({"data": [{"a": {"b": {"c": {"d": {"e": line}}}}}]}),
    "a list": lambda line: json.dumps({"message": [line]}),
    "an object": lambda line: json.dumps({"message": {"text": line}}),
    "an object in its text": lambda line: json.dumps({"message": json.dumps({"message": line})}),
    "journald's bytes": lambda line: json.dumps({"MESSAGE": list(line.encode())}),
    "an escaped name": lambda line: json.dumps({"message": line}).replace("message", "mess\\u0061ge"),
    "a container runtime": lambda line: (
        "2026-11-29T12:00:00.000339563Z stderr F " + json.dumps({"message": line})
    ),
    "a text of more lines": lambda line: json.dumps({"message": f"a\nb\n{line}\nc"}),
    "behind other words": lambda line: "app: " + json.dumps({"message": line}),
    "without its start": lambda line: json.dumps({"a": "b", "message": line})[4:],
    "more than a MiB": lambda line: json.dumps({"message": line, "padding": "y" * (1100 << 10)}),
}


@pytest.mark.parametrize("form", LIKE_THE_TEXT)
def test_one_line_in_another_form_hides_no_kernel(tmp_path: Path, form: str) -> None:
    """A log that passes, with one fallback kernel in its generated code; 481 lines stand before it."""
    lines = (SAMPLES / "clean.2.14.1.log").read_text(encoding="utf-8").splitlines()
    at = next(n for n, line in enumerate(lines) if "def call(" in line) + 8
    written = [json.dumps({"message": line}) for line in lines]
    log = tmp_path / "export.jsonl"
    log.write_text("\n".join(written), encoding="utf-8")
    assert check([str(log)], policy="builtin:strict").outcome is Outcome.PASS
    prefix = lines[at].partition("[__output_code]")[0] + "[__output_code]"
    written.insert(at, LIKE_THE_TEXT[form](f"{prefix}         buf26 = torch.ops.aten.topk.default(buf25, 2)"))
    log.write_text("\n".join(written), encoding="utf-8")
    (finding,) = check([str(log)], policy="builtin:strict").findings
    assert (finding.event.op, finding.event.line) == ("aten::topk", at + 1)


def test_a_byte_that_is_no_text_hides_no_kernel() -> None:
    assert plain(b'{"message": "a\xffb"}') == ("a\ufffdb".encode(), None)


@pytest.mark.parametrize(
    "line",
    [
        '{"message": "V1130 cut',
        '{"@timestamp": "2026-11-30T12:00:00Z", "kuber',
        '{"message": "a"} b',
        '{"message": "a", "n": ' + "1" * 5000 + "}",
        '{"message": "a", "n": ' + "[" * 100_000 + "}",
        '{"message": "a", "padding": "' + "y" * (3 << 20) + '"}',
        '{"MESSAGE": null, "_PID": "7"}',  # journalctl without --all leaves out what is long
    ],
    ids=["cut", "cut before its text", "more behind", "a number", "deep", "long", "left out"],
)
def test_a_line_of_which_something_is_lost_proves_nothing(tmp_path: Path, line: str) -> None:
    lines = (SAMPLES / "clean.2.14.1.log").read_text(encoding="utf-8").splitlines()
    log = tmp_path / "export.jsonl"
    log.write_text("\n".join([*(json.dumps({"message": line}) for line in lines), line]), encoding="utf-8")
    verdict = check([str(log)], policy="builtin:strict")
    assert verdict.outcome is Outcome.UNPROVEN
    assert "line 646 holds a JSON object" in (verdict.logs[0].problem or "")


def test_a_record_in_one_object_is_read_as_on_lines_of_its_own(tmp_path: Path) -> None:
    """Stack, reason and the end of a list are found; the numbers stay those of the objects."""
    log = tmp_path / "export.jsonl"
    stack = [TRACEBACK + "User code traceback:", TRACEBACK + '  File "/app/net.py", line 64, in route']
    texts = ["a\nb\n", "\n".join([BREAK, *stack]), "c\nd", BREAK.replace("64", "65")]
    log.write_text("\n".join(json.dumps({"message": text, "host": "n1"}) for text in texts), encoding="utf-8")
    verdict = check([str(log)], policy="builtin:strict", excerpts=True, hash_logs=True)
    events = [finding.event for finding in verdict.findings]
    assert [(event.op, event.line) for event in events] == [("route", 2), ("*", 4)]
    assert verdict.logs[0].lines == 4
    assert [number for number, _ in verdict.excerpts[str(log), 2]] == [1, 2, 3, 4]


def test_line_numbers_hold_beyond_the_window(tmp_path: Path) -> None:
    log = tmp_path / "export.jsonl"
    lines = [json.dumps({"message": "noise\n" * 40, "n": number}) for number in range(40_000)]
    lines[30_000] = json.dumps({"message": BREAK})
    log.write_text("\n".join(lines), encoding="utf-8")
    (finding,) = check([str(log)], policy="builtin:strict").findings
    assert finding.event.line == 30_001


def test_a_traceback_beside_the_text_is_read(tmp_path: Path) -> None:
    log = tmp_path / "export.jsonl"
    traceback = (
        'Traceback (most recent call last):\n  File "/a.py", line 3, in f\ntorch._dynamo.exc.Unsupported: no'
    )
    log.write_text(json.dumps({"message": "failed", "exc_info": traceback}) + "\n", encoding="utf-8")
    (finding,) = check([str(log)], policy="builtin:strict").findings
    assert (finding.event.kind.value, finding.event.line) == ("compile_error", 1)


def test_banners_may_come_first(tmp_path: Path) -> None:
    log = tmp_path / "export.jsonl"
    log.write_text("Starting\n" + json.dumps({"message": BREAK}) + "\n", encoding="utf-8")
    (finding,) = check([str(log)], policy="builtin:strict").findings
    assert finding.event.line == 2
